//! Settings about machines, their addresses, and routes.

use aerostat_sdk::form::{Bool, Custom, List};
use aerostat_sdk::{Result, settings};
use openstack_api::{ID, REGION, name, region};

/// The name of a network.
const NETWORK: Custom<String> = Custom { allowed: "the name of a network", parse: name };

aerostat_sdk::table! {
    /// Those about machines and routes.
    pub(crate) const TABLE;
    REGIONAL_IDS: Bool = ("regionalProviderIDs", Bool,
        "Whether provider ids of new nodes name the region: openstack://RegionOne/ and the server's id.").default("false");
    PUBLIC_NETWORKS: List<Custom<String>> = ("networking.publicNetworkNames",
        List { of: NETWORK, what: "names of networks", example: "public,ext-net" },
        "Networks whose addresses are a node's ExternalIP.").otherwise("none");
    INTERNAL_NETWORKS: List<Custom<String>> = ("networking.internalNetworkNames",
        List { of: NETWORK, what: "names of networks", example: "private" },
        "The networks whose addresses are a node's InternalIP: addresses in others are left out.").otherwise("all but the public ones");
    IPV6_DISABLED: Bool = ("networking.ipv6SupportDisabled", Bool, "Whether IPv6 addresses of nodes are left out.").default("false");
    ADDRESS_ORDER: List<Custom<String>> = ("networking.addressSortOrder",
        List { of: Custom::cidr("a network such as 10.0.0.0/8"), what: "networks", example: "10.0.0.0/8,192.168.0.0/16" },
        "Addresses in these networks come first, in their order.").otherwise("the order of the cloud");
    ROUTER: Custom<String> = ("routerID", ID, "The router that routes for pods are written into.").otherwise("no routes");
}

/// The settings of machines, as the operator wrote them.
pub(crate) struct ServerSettings {
    /// The region of the cluster.
    pub(crate) region: String,
    /// Whether new provider ids name the region.
    pub(crate) regional_ids: bool,
    /// Names of networks whose addresses are external.
    pub(crate) public_networks: Vec<String>,
    /// Names of networks whose addresses are internal; empty for all others.
    pub(crate) internal_networks: Vec<String>,
    /// Whether IPv6 addresses are left out.
    pub(crate) ipv6_disabled: bool,
    /// Networks whose addresses come first.
    pub(crate) address_order: Vec<String>,
    /// The router of routes for pods.
    pub(crate) router: Option<String>,
}

impl ServerSettings {
    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    pub(crate) fn read() -> Result<Self> {
        Ok(Self {
            region: region()?,
            regional_ids: settings::get(&REGIONAL_IDS)?,
            public_networks: settings::read(&PUBLIC_NETWORKS)?.unwrap_or_default(),
            internal_networks: settings::read(&INTERNAL_NETWORKS)?.unwrap_or_default(),
            ipv6_disabled: settings::get(&IPV6_DISABLED)?,
            address_order: settings::read(&ADDRESS_ORDER)?.unwrap_or_default(),
            router: settings::read(&ROUTER)?,
        })
    }
}

/// Refuses a setting that cannot work. A region that is missing is the host's to refuse: it asks for the description of a module before
/// anything is configured, too.
///
/// # Errors
///
/// As [`ServerSettings::read`].
pub(crate) fn check() -> Result<()> {
    settings::read(&REGION)?.map_or(Ok(()), |_| ServerSettings::read().map(drop))
}
