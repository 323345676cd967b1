//! The settings of the provider.

pub(crate) mod balancers;

use aerostat_sdk::form::{Custom, OneOf};
use aerostat_sdk::{Result, settings};

/// The id of a project.
const PROJECT_ID: Custom<String> = Custom { allowed: "the id of a project such as my-project", parse: project_id };

aerostat_sdk::table! {
    /// Those about the project, its network and its machines.
    pub(crate) const PROJECT;
    OWN_PROJECT: Custom<String> = ("project", PROJECT_ID, "The project of the cluster's machines, by its id.").required();
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

/// A project's id: a name, perhaps with a domain and a colon before it.
fn project_id(text: &str) -> Option<String> {
    let is_allowed = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || matches!(it, b'-' | b'.' | b':');
    let begins_well = text.bytes().next().is_some_and(|it| it.is_ascii_lowercase());
    (begins_well && text.len() <= 63 && text.bytes().all(is_allowed)).then(|| text.to_owned())
}
