//! Settings about load balancers.

use std::time::Duration;

use aerostat_sdk::allowed::{self, Allowed};
use aerostat_sdk::backend::Pauses;
use aerostat_sdk::form::{Bool, Custom, Integer, List, OneOf, Seconds, Span, Text};
use aerostat_sdk::{Result, settings};
use openstack_api::{ID, id, name};

use crate::patterns;

const SECOND: Duration = Duration::from_secs(1);

/// How load is spread.
pub(crate) const METHODS: OneOf<&'static str> = OneOf(&[
    ("ROUND_ROBIN", "ROUND_ROBIN"),
    ("LEAST_CONNECTIONS", "LEAST_CONNECTIONS"),
    ("SOURCE_IP", "SOURCE_IP"),
    ("SOURCE_IP_PORT", "SOURCE_IP_PORT"),
]);
/// A pattern for names of subnets.
pub(crate) const PATTERN: Custom<String> = Custom {
    allowed: "a name with * and ?, or a regular expression after ~, each with ! before it for all others",
    parse: |text| name(text).filter(|it| patterns::is_readable(it)),
};
/// Tags of subnets.
pub(crate) const TAGS: Custom<String> = Custom {
    allowed: "tags with commas between them, of which a subnet has one; after & it has all, after ! it has none",
    parse: name,
};
/// A reference of the key manager.
pub(crate) const TLS_REFERENCE: Custom<String> = Custom {
    allowed: "a reference of the key manager that ends with /containers/ or /secrets/ and an id",
    parse: tls_reference,
};
/// From one check to the next.
pub(crate) const DELAY: Seconds = Seconds::between(1, 86_400);
/// How many checks decide.
pub(crate) const RETRIES: Integer = Integer::between(1, 10);

aerostat_sdk::table! {
    /// Those about load balancers.
    pub(crate) const TABLE;
    PROVIDER: Custom<String> = ("loadBalancers.provider", Custom { allowed: "the name of a driver such as amphora or ovn", parse: name },
        "The driver of Octavia that makes them.").default("amphora");
    METHOD: OneOf<&'static str> = ("loadBalancers.method", METHODS, "How load is spread.")
        .otherwise("ROUND_ROBIN; SOURCE_IP_PORT with driver ovn");
    NETWORK: Custom<String> = ("loadBalancers.networkID", ID, "The network of their addresses.")
        .otherwise("the subnet's");
    SUBNET: Custom<String> = ("loadBalancers.subnetID", ID, "The subnet of their addresses.")
        .otherwise("the one in which the first node's address is");
    MEMBER_SUBNET: Custom<String> = ("loadBalancers.memberSubnetID", ID, "The subnet from which nodes are reached.")
        .otherwise("the subnet of their addresses");
    FLOATING_NETWORK: Custom<String> = ("loadBalancers.floatingNetworkID", ID, "The external network of floating IPs.")
        .otherwise("the external network, if there is one alone");
    FLOATING_SUBNET_ID: Custom<String> = ("loadBalancers.floatingSubnetID", ID, "The subnet of floating IPs.")
        .otherwise("the cloud chooses");
    FLOATING_SUBNET: Custom<String> = ("loadBalancers.floatingSubnet", PATTERN,
        "Which subnets floating IPs are taken from, by name: the next where one is full.").otherwise("the cloud chooses");
    FLOATING_TAGS: Custom<String> = ("loadBalancers.floatingSubnetTags", TAGS,
        "Which subnets floating IPs are taken from, by tags: the next where one is full.").otherwise("the cloud chooses");
    CREATE_MONITOR: Bool = ("loadBalancers.createMonitor", Bool, "Whether the health of nodes is checked.")
        .otherwise("false; true with externalTrafficPolicy Local for load balancers that Aerostat makes");
    MONITOR_DELAY: Seconds = ("loadBalancers.monitorDelay", DELAY, "From one health check to the next.").default("5s");
    MONITOR_TIMEOUT: Seconds = ("loadBalancers.monitorTimeout", DELAY, "After which time a health check has failed.").default("3s");
    MONITOR_RETRIES: Integer = ("loadBalancers.monitorMaxRetries", RETRIES, "How many checks take a node in.").default("1");
    MONITOR_RETRIES_DOWN: Integer = ("loadBalancers.monitorMaxRetriesDown", RETRIES, "How many failed checks take a node out.")
        .default("3");
    MANAGE_GROUPS: Bool = ("loadBalancers.manageSecurityGroups", Bool,
        "Whether each load balancer gets a security group on the ports of its nodes that lets it in.").default("false");
    INTERNAL: Bool = ("loadBalancers.internal", Bool,
        "Whether no load balancer gets a floating IP, whatever annotations say.").default("false");
    NODE_SELECTOR: Text = ("loadBalancers.nodeSelector", Text("a label selector"),
        "Only nodes with these labels take traffic, unless annotation node-selector says which.").otherwise("all nodes").selects_nodes();
    CASCADE: Bool = ("loadBalancers.cascadeDelete", Bool,
        "Whether a load balancer is deleted by one request, with all that it has.").default("true");
    FLAVOR: Custom<String> = ("loadBalancers.flavorID", ID, "Their flavour.").otherwise("Octavia's default");
    ZONE: Custom<String> = ("loadBalancers.availabilityZone", Custom { allowed: "the name of an availability zone", parse: name },
        "Where they are built.").otherwise("Octavia's default");
    INGRESS_HOSTNAME: Bool = ("loadBalancers.enableIngressHostname", Bool,
        "Whether Services with the PROXY protocol show a name instead of an address.").default("false");
    HOSTNAME_SUFFIX: Custom<String> = ("loadBalancers.ingressHostnameSuffix", Custom::dns_name("a DNS name such as nip.io"),
        "What that name ends with, after the address.").default("nip.io");
    MAX_SHARED: Integer = ("loadBalancers.maxShared", Integer::between(1, 100), "How many Services may share one load balancer.")
        .default("2");
    CONTAINER_STORE: OneOf<ContainerStore> = ("loadBalancers.containerStore", OneOf(&[
        ("none", ContainerStore::None), ("barbican", ContainerStore::Barbican), ("external", ContainerStore::External)]),
        "Where certificates for TLS are kept. With barbican they are looked for there, by endpoint key-manager; with external they are \
         not looked for; with none TLS is refused.").default("none");
    DEFAULT_TLS: Custom<String> = ("loadBalancers.defaultTLSContainerRef", TLS_REFERENCE,
        "The certificate with which TLS ends at each load balancer.").otherwise("TLS does not end there");
    ALLOWED_TLS: List<Custom<String>> = ("loadBalancers.allowedTLSContainerRefs",
        allowed::names("references of the key manager", "https://keys.example.com/v1/secrets/5c1f9d3e-0d11-4c9e-8f3b-2f5a3d4f7a11"),
        "Which certificates authors of Services may name, with annotation `default-tls-container-ref`: with one of them a load \
         balancer can speak for its domain. `none` allows none, `*` all.").default("none");
    SERIAL: Bool = ("loadBalancers.providerRequiresSerialAPICalls", Bool,
        "Whether the driver makes one thing at a time: listeners, pools and members are requests of their own.").default("false");
    FORMER_CLUSTER: Custom<String> = ("loadBalancers.formerClusterName", Custom { allowed: "the name of a cluster", parse: name },
        "The cluster's name before it changed: load balancers with that name are this cluster's, and get the new one.").otherwise("none");
    POLL_INTERVAL: Span = ("pollInterval", Span::between(SECOND, Duration::from_mins(5)),
        "How long to wait before a load balancer that Octavia builds or changes is read again.").default("5s");
    CREATE_AGAIN_AFTER: Span = ("createAgainAfter", Span::between(SECOND, Duration::from_hours(1)),
        "After a creation without a clear answer: how long the load balancer must be absent from the list before it is created \
         again.").default("60s");
}

/// Where certificates are kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ContainerStore {
    /// Nowhere: TLS is refused.
    None,
    /// In Barbican, where they are looked for.
    Barbican,
    /// In what only the driver knows.
    External,
}

/// Where a load balancer's address and its floating IP come from, as far as one place says it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct NetworkChoice {
    /// The network of the address.
    pub(crate) network: Option<String>,
    /// The subnet of the address.
    pub(crate) subnet: Option<String>,
    /// The subnet from which nodes are reached.
    pub(crate) member_subnet: Option<String>,
    /// The external network of the floating IP.
    pub(crate) floating_network: Option<String>,
    /// The subnet of the floating IP.
    pub(crate) floating_subnet: FloatingSubnetChoice,
}

/// Which subnets a floating IP may be taken from. An id wins over the others.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct FloatingSubnetChoice {
    /// This one.
    pub(crate) id: Option<String>,
    /// Those whose names match.
    pub(crate) pattern: Option<String>,
    /// Those whose tags match.
    pub(crate) tags: Option<String>,
}

impl FloatingSubnetChoice {
    /// Whether it says nothing.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The parameters of a monitor.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct MonitorTimes {
    /// Seconds from one check to the next.
    pub(crate) delay: u32,
    /// Seconds after which a check has failed.
    pub(crate) timeout: u32,
    /// How many checks take a node in.
    pub(crate) retries: u32,
    /// How many failed checks take a node out.
    pub(crate) retries_down: u32,
}

/// The settings of load balancers, as the operator wrote them.
pub(crate) struct OctaviaSettings {
    /// The driver.
    pub(crate) provider: String,
    /// How load is spread.
    pub(crate) method: Option<&'static str>,
    /// Where addresses come from.
    pub(crate) networks: NetworkChoice,
    /// Whether health is checked.
    pub(crate) create_monitor: Option<bool>,
    /// How health is checked.
    pub(crate) monitor: MonitorTimes,
    /// Whether security groups are made.
    pub(crate) manage_groups: bool,
    /// Whether all are internal.
    pub(crate) internal: bool,
    /// Whether one request deletes all.
    pub(crate) cascade: bool,
    /// The flavour.
    pub(crate) flavor: Option<String>,
    /// The availability zone.
    pub(crate) zone: Option<String>,
    /// The end of the name in the status, if Services with the PROXY protocol show one.
    pub(crate) ingress_suffix: Option<String>,
    /// How many Services may share a load balancer.
    pub(crate) max_shared: u32,
    /// Where certificates are kept.
    pub(crate) container_store: ContainerStore,
    /// The certificate of all.
    pub(crate) default_tls: Option<String>,
    /// The certificates that authors may name.
    pub(crate) allowed_tls: Allowed,
    /// Whether one thing is made at a time.
    pub(crate) serial: bool,
    /// The cluster's former name.
    pub(crate) former_cluster: Option<String>,
    /// When to ask again.
    pub(crate) pauses: Pauses,
}

impl OctaviaSettings {
    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    pub(crate) fn read() -> Result<Self> {
        let suffix = settings::get(&HOSTNAME_SUFFIX)?;
        let shows_names = settings::get(&INGRESS_HOSTNAME)?;
        Ok(Self {
            provider: settings::get(&PROVIDER)?,
            method: settings::read(&METHOD)?,
            networks: NetworkChoice {
                network: settings::read(&NETWORK)?,
                subnet: settings::read(&SUBNET)?,
                member_subnet: settings::read(&MEMBER_SUBNET)?,
                floating_network: settings::read(&FLOATING_NETWORK)?,
                floating_subnet: FloatingSubnetChoice {
                    id: settings::read(&FLOATING_SUBNET_ID)?,
                    pattern: settings::read(&FLOATING_SUBNET)?,
                    tags: settings::read(&FLOATING_TAGS)?,
                },
            },
            create_monitor: settings::read(&CREATE_MONITOR)?,
            monitor: MonitorTimes {
                delay: settings::get(&MONITOR_DELAY)?,
                timeout: settings::get(&MONITOR_TIMEOUT)?,
                retries: settings::get(&MONITOR_RETRIES)?,
                retries_down: settings::get(&MONITOR_RETRIES_DOWN)?,
            },
            manage_groups: settings::get(&MANAGE_GROUPS)?,
            internal: settings::get(&INTERNAL)?,
            cascade: settings::get(&CASCADE)?,
            flavor: settings::read(&FLAVOR)?,
            zone: settings::read(&ZONE)?,
            ingress_suffix: Some(suffix).filter(|_| shows_names),
            max_shared: settings::get(&MAX_SHARED)?,
            container_store: settings::get(&CONTAINER_STORE)?,
            default_tls: settings::read(&DEFAULT_TLS)?,
            allowed_tls: Allowed::read(&ALLOWED_TLS)?,
            serial: settings::get(&SERIAL)?,
            former_cluster: settings::read(&FORMER_CLUSTER)?,
            pauses: Pauses { poll: settings::get(&POLL_INTERVAL)?, create_again: settings::get(&CREATE_AGAIN_AFTER)? },
        })
    }
}

/// Whether it ends with the kind of an object and its id.
fn tls_reference(text: &str) -> Option<String> {
    let mut parts = text.rsplit('/');
    let (last, kind) = (parts.next()?, parts.next()?);
    let is_of_kind = matches!(kind, "containers" | "secrets");
    (is_of_kind && id(last).is_some() && name(text).is_some()).then(|| text.to_owned())
}
