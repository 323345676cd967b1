//! The settings of the provider.

use std::fmt;
use std::time::Duration;

use aerostat_sdk::allowed::{self, Allowed};
use aerostat_sdk::backend::Pauses;
use aerostat_sdk::form::{AnyCase, Bool, Custom, Integer, List, OneOf, Seconds, Span};
use aerostat_sdk::{Error, Result, settings};

use crate::algorithm::Algorithm;

const SECOND: Duration = Duration::from_secs(1);

/// How load is spread.
pub(crate) const ALGORITHMS: AnyCase<Algorithm> =
    AnyCase(OneOf(&[("round_robin", Algorithm::RoundRobin), ("least_connections", Algorithm::LeastConnections)]));
/// How often, and for how long, the health of targets is checked.
pub(crate) const CHECK: Seconds = Seconds::between(1, 3_600);
/// How many checks decide.
pub(crate) const RETRIES: Integer = Integer::between(1, 100);
/// A location, a network zone, a type.
pub(crate) type SettingWord = Custom<String>;

aerostat_sdk::table! {
    /// All of them.
    pub(crate) const TABLE;
    NETWORK: Custom<NetworkSetting> = ("network", Custom {
        allowed: "the id or the name of a network: an id spares a request",
        parse: network,
    }, "The private network of the cluster: nodes get an InternalIP from it, load balancers are attached to it, and routes are \
        written into it. It is also how another project's token is noticed.").otherwise("none");
    FAMILY: OneOf<Families> = ("addressFamily", OneOf(&[
        ("ipv4", Families { ipv4: true, ipv6: false }),
        ("ipv6", Families { ipv4: false, ipv6: true }),
        ("dualstack", Families { ipv4: true, ipv6: true }),
    ]), "Which public addresses nodes get.").default("ipv4");
    ZONE_LABEL: Bool = ("zoneLabel", Bool, "Whether nodes get a zone beside their region.").default("true");
    ROBOT: Bool = ("robot.enabled", Bool,
        "Whether dedicated servers of Robot are nodes: it needs the endpoint robot. Not together with routes.")
        .default("false");
    ROBOT_FORWARD: Bool = ("robot.forwardInternalIPs", Bool,
        "Whether a dedicated server's node keeps the InternalIPs that its kubelet has set.").default("true");
    ROBOT_WAIT: Span = ("robot.rateLimitWait", Span::between(SECOND, Duration::from_hours(1)),
        "How long Robot is left alone once it says that its limit is reached.").default("5m");
    LOCATION: SettingWord = ("loadBalancers.location", Custom::slug("the name of a location such as fsn1"),
        "Where load balancers are built. Not together with networkZone.");
    NETWORK_ZONE: SettingWord = ("loadBalancers.networkZone", Custom::slug("the name of a network zone such as eu-central"),
        "The network zone in which load balancers are built, where the location is all the same.");
    TYPE: SettingWord = ("loadBalancers.type", Custom::slug("the name of a type such as lb11"), "Type of load balancers.")
        .otherwise("lb11 for new ones");
    ALGORITHM: AnyCase<Algorithm> = ("loadBalancers.algorithm", ALGORITHMS, "How load is spread.")
        .otherwise("round_robin for new ones");
    DISABLE_PUBLIC_NETWORK: Bool = ("loadBalancers.disablePublicNetwork", Bool,
        "Whether they are reached from the private network alone.").otherwise("false for new ones");
    DISABLE_PRIVATE_INGRESS: Bool = ("loadBalancers.disablePrivateIngress", Bool,
        "Whether private addresses are left out of a Service's status: needed where kube-proxy uses IPVS.").default("false");
    USE_PRIVATE_IP: Bool = ("loadBalancers.usePrivateIP", Bool,
        "Whether nodes are reached through the private network.").default("false");
    DISABLE_IPV6: Bool = ("loadBalancers.disableIPv6", Bool,
        "Whether IPv6 addresses are left out of a Service's status.").default("false");
    PRIVATE_SUBNET: SettingWord = ("loadBalancers.privateSubnetIPRange", Custom::cidr("a network such as 10.0.1.0/24"),
        "The subnet that they are attached to.").otherwise("the cloud chooses");
    PROXY_PROTOCOL: Bool = ("loadBalancers.usesProxyProtocol", Bool,
        "Whether targets are told who the client is, by the PROXY protocol.").otherwise("false for new ones");
    HEALTH_INTERVAL: Seconds = ("loadBalancers.healthCheckInterval", CHECK, "From one health check to the next.")
        .otherwise("15s for new ones");
    HEALTH_TIMEOUT: Seconds = ("loadBalancers.healthCheckTimeout", CHECK, "After which time a health check has failed.")
        .otherwise("10s for new ones");
    HEALTH_RETRIES: Integer = ("loadBalancers.healthCheckRetries", RETRIES,
        "How many failed checks take a target out.").otherwise("3 for new ones");
    ALLOWED_CERTIFICATES: List<Custom<String>> = ("loadBalancers.allowedCertificates",
        allowed::names("ids or names of certificates", "42,shop-*"),
        "Which certificates authors of Services may name, with annotation `http-certificates`, or `http-managed-certificate-name` for \
         one that was not issued for a Service: with one of them a load balancer can speak for its domain. One that a load balancer has on a port \
         may stay there.").default("none");
    ADOPT_BY_NAME: Bool = ("adoptByName", Bool,
        "Whether a Service may take over a load balancer without a mark by its name annotation. Whoever may write Services \
         can then take each load balancer of the project that is marked for no Service.").default("false");
    POLL_INTERVAL: Span = ("pollInterval", Span::between(SECOND, Duration::from_mins(5)),
        "How long to wait before a load balancer that is being built is read again.").default("5s");
    CREATE_AGAIN_AFTER: Span = ("createAgainAfter", Span::between(SECOND, Duration::from_hours(1)),
        "After a creation without a clear answer: how long the load balancer must be absent from the list before it is \
         created again.").default("60s");
    VOLUMES: Bool = ("volumes", Bool,
        "Whether it makes, attaches and deletes volumes of claims, in the place of the controller of the vendor's CSI driver.")
        .default("false");
}

/// A network as the operator names it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum NetworkSetting {
    Id(u64),
    Name(String),
}

/// Which public addresses nodes get.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Families {
    pub(crate) ipv4: bool,
    pub(crate) ipv6: bool,
}

/// The settings of machines.
pub(crate) struct Machines {
    pub(crate) network: Option<NetworkSetting>,
    pub(crate) families: Families,
    pub(crate) zone_label: bool,
    pub(crate) robot: bool,
    pub(crate) forward: bool,
}

impl Machines {
    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    pub(crate) fn read() -> Result<Self> {
        Ok(Self {
            network: settings::read(&NETWORK)?,
            families: settings::get(&FAMILY)?,
            zone_label: settings::get(&ZONE_LABEL)?,
            robot: settings::get(&ROBOT)?,
            forward: settings::get(&ROBOT_FORWARD)?,
        })
    }
}

/// The settings of load balancers.
pub(crate) struct BalancerSettings {
    pub(crate) network: Option<NetworkSetting>,
    pub(crate) robot: bool,
    pub(crate) location: Option<String>,
    pub(crate) network_zone: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) algorithm: Option<Algorithm>,
    pub(crate) disable_public_network: Option<bool>,
    pub(crate) disable_private_ingress: bool,
    pub(crate) use_private_ip: bool,
    pub(crate) disable_ipv6: bool,
    pub(crate) private_subnet: Option<String>,
    pub(crate) proxy_protocol: Option<bool>,
    pub(crate) health_interval: Option<u32>,
    pub(crate) health_timeout: Option<u32>,
    pub(crate) health_retries: Option<u32>,
    pub(crate) allowed_certificates: Allowed,
    pub(crate) adopt_by_name: bool,
    pub(crate) pauses: Pauses,
}

impl BalancerSettings {
    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    pub(crate) fn read() -> Result<Self> {
        let (location, network_zone) = (settings::read(&LOCATION)?, settings::read(&NETWORK_ZONE)?);
        if location.is_some() && network_zone.is_some() {
            return Err(Error::invalid(format_args!(
                "settings {} and {} cannot both be set",
                LOCATION.name, NETWORK_ZONE.name
            )));
        }
        Ok(Self {
            network: settings::read(&NETWORK)?,
            robot: settings::get(&ROBOT)?,
            location,
            network_zone,
            kind: settings::read(&TYPE)?,
            algorithm: settings::read(&ALGORITHM)?,
            disable_public_network: settings::read(&DISABLE_PUBLIC_NETWORK)?,
            disable_private_ingress: settings::get(&DISABLE_PRIVATE_INGRESS)?,
            use_private_ip: settings::get(&USE_PRIVATE_IP)?,
            disable_ipv6: settings::get(&DISABLE_IPV6)?,
            private_subnet: settings::read(&PRIVATE_SUBNET)?,
            proxy_protocol: settings::read(&PROXY_PROTOCOL)?,
            health_interval: settings::read(&HEALTH_INTERVAL)?,
            health_timeout: settings::read(&HEALTH_TIMEOUT)?,
            health_retries: settings::read(&HEALTH_RETRIES)?,
            allowed_certificates: Allowed::read(&ALLOWED_CERTIFICATES)?,
            adopt_by_name: settings::get(&ADOPT_BY_NAME)?,
            pauses: Pauses { poll: settings::get(&POLL_INTERVAL)?, create_again: settings::get(&CREATE_AGAIN_AFTER)? },
        })
    }
}

impl fmt::Display for NetworkSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "{id}"),
            Self::Name(name) => write!(f, "{name:?}"),
        }
    }
}

fn network(text: &str) -> Option<NetworkSetting> {
    match text.parse() {
        Ok(id) => Some(NetworkSetting::Id(id)),
        Err(_) => (1..=255).contains(&text.len()).then(|| NetworkSetting::Name(text.to_owned())),
    }
}
