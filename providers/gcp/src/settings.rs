//! The settings of the provider.

pub(crate) mod balancers;

use aerostat_sdk::form::{Custom, OneOf};
use aerostat_sdk::{Result, settings};
use gcp_api::PROJECT_ID;

pub(crate) use gcp_api::OWN_PROJECT;

aerostat_sdk::table! {
    /// Those about the network and the machines, beside the project.
    pub(crate) const PROJECT;
    REGION: Custom<String> = ("region", Custom::slug("the name of a region such as europe-west1"),
        "The region of the cluster: machines of its zones are nodes.").required();
    NETWORK_PROJECT: Custom<String> = ("networkProject", PROJECT_ID,
        "The project of a shared VPC: firewalls and routes are there.").otherwise("the value of project");
    NETWORK: Custom<String> = ("network", Custom::slug("the name of a network"), "The network of the cluster.").default("default");
    STACK: OneOf<bool> = ("stackType", OneOf(&[("IPV4", false), ("IPV4_IPV6", false), ("IPV6", true)]),
        "With IPV6, IPv6 addresses of a node come before the others.").default("IPV4");
}

/// The project, its network and the region, as the operator wrote them.
#[derive(Clone, Debug)]
pub(crate) struct ProjectSettings {
    /// The id of the machines' project.
    pub(crate) project: String,
    /// The region of the cluster.
    pub(crate) region: String,
    /// The id of the network's project.
    pub(crate) network_project: String,
    /// The name of the network.
    pub(crate) network: String,
    /// Whether IPv6 addresses of nodes come first.
    pub(crate) ipv6_first: bool,
}

impl ProjectSettings {
    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    pub(crate) fn read() -> Result<Self> {
        let project = settings::get(&OWN_PROJECT)?;
        Ok(Self {
            region: settings::get(&REGION)?,
            network_project: settings::read(&NETWORK_PROJECT)?.unwrap_or_else(|| project.clone()),
            network: settings::get(&NETWORK)?,
            ipv6_first: settings::get(&STACK)?,
            project,
        })
    }
}

/// Refuses settings that cannot work. A project that is missing is the host's to refuse: it asks for the description of a module before
/// anything is configured, too.
///
/// # Errors
///
/// As [`ProjectSettings::read`].
pub(crate) fn check() -> Result<()> {
    settings::read(&OWN_PROJECT)?.map_or(Ok(()), |_| ProjectSettings::read().map(drop))
}
