//! Several load balancers, of which each Service gets one.

use aerostat_sdk::form::{Bool, Custom};
use aerostat_sdk::{Error, Result, settings};

use super::words::NAME;
use crate::id::is_name;

aerostat_sdk::table! {
    /// Those of single load balancers.
    pub(crate) const TABLE;
    PRIMARY: Custom<String> = ("multipleStandardLoadBalancerConfigurations.*.primaryVMSet", NAME,
        "The scale set or availability set whose machines belong to this load balancer.");
    PLACEMENT: Bool = ("multipleStandardLoadBalancerConfigurations.*.allowServicePlacement", Bool,
        "Whether Services come to this load balancer that do not name it.").otherwise("true");
}

/// One of several load balancers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct BalancerConfiguration {
    /// Its name, without what is added for internal ones.
    pub(crate) name: String,
    /// The scale set whose machines belong to it.
    pub(crate) primary: String,
    /// Whether Services come to it that do not name it.
    pub(crate) takes_services: bool,
}

impl BalancerConfiguration {
    /// All of them, in the order of their names.
    ///
    /// # Errors
    ///
    /// `invalid`, naming a setting, its value and the allowed values, or a load balancer without machines of its own.
    pub(crate) fn all() -> Result<Vec<Self>> {
        let placements = settings::read_each(&PLACEMENT)?;
        let primaries = settings::read_each(&PRIMARY)?;
        if let Some((name, _)) = placements.iter().find(|(name, _)| primaries.iter().all(|(it, _)| it != name)) {
            return Err(Error::invalid(format_args!(
                "setting {} is missing: each of several load balancers has machines of its own",
                PRIMARY.name.replacen('*', name, 1)
            )));
        }
        let configuration = |(name, primary): (String, String)| match is_name(&name) {
            true => {
                let takes_services = placements.iter().find(|(it, _)| *it == name).is_none_or(|(_, takes)| *takes);
                Ok(Self { name, primary, takes_services })
            }
            false => {
                Err(Error::invalid(format_args!("setting {}: no load balancer can be called {name:?}", PRIMARY.name)))
            }
        };
        primaries.into_iter().map(configuration).collect()
    }
}
