//! The settings of routes.

use aerostat_sdk::form::{Custom, List};
use aerostat_sdk::{Error, Result, settings};

use super::{IbmAccountSettings, IbmWord, REGION, VPC_ID};

/// Zones of a region: each has so many.
const USUAL_ZONES: [&str; 3] = ["-1", "-2", "-3"];
/// The most zones that routes are made for.
const MOST_ZONES: usize = 8;

aerostat_sdk::table! {
    /// All of them.
    pub(crate) const TABLE;
    ROUTING_TABLE: IbmWord = ("routingTable", Custom { allowed: "the id of a routing table", parse: super::id },
        "The routing table for routes of pods: the one that the nodes' subnets have.").otherwise("the VPC's default");
    ROUTE_ZONES: List<Custom<String>> = ("routeZones",
        List { of: Custom { allowed: "the name of a zone", parse: super::id }, what: "zones", example: "us-south-1,us-south-2" },
        "The zones whose machines reach pods by routes: a route counts in one zone alone.").otherwise("the three of the region");
}

/// The place of the cluster's routes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct IbmRouteSettings {
    pub(crate) vpc: String,
    /// The id of the routing table, if one is set.
    pub(crate) table: Option<String>,
    /// Each once, in the order of the setting.
    pub(crate) zones: Vec<String>,
}

impl IbmRouteSettings {
    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values; and without a VPC.
    pub(crate) fn read() -> Result<Self> {
        let account = IbmAccountSettings::read()?;
        let vpc = account.vpc.ok_or_else(|| {
            Error::invalid(format_args!(
                "routes need setting {}: on classic infrastructure there are none. Start without --configure-cloud-routes",
                VPC_ID.name
            ))
        })?;
        Ok(Self { vpc, table: settings::read(&ROUTING_TABLE)?, zones: zones()? })
    }
}

/// The zones that each route has an entry in. Without a region, as before anything is configured, three that have no name.
///
/// # Errors
///
/// As [`IbmRouteSettings::read`].
pub(crate) fn zones() -> Result<Vec<String>> {
    let Some(words) = settings::read(&ROUTE_ZONES)? else {
        let region = settings::read(&REGION)?.unwrap_or_default();
        return Ok(USUAL_ZONES.map(|end| format!("{region}{end}")).to_vec());
    };
    let mut zones: Vec<String> = Vec::new();
    for word in words {
        if !zones.contains(&word) {
            zones.push(word);
        }
    }
    match zones.len() {
        1..=MOST_ZONES => Ok(zones),
        count => Err(Error::invalid(format_args!(
            "setting {}: {count} zones are not between 1 and {MOST_ZONES}",
            ROUTE_ZONES.name
        ))),
    }
}
