//! The settings of the provider.

use std::ops::Deref;

use aerostat_sdk::allowed::{self, Allowed};
use aerostat_sdk::form::{Bool, Custom, List, OneOf, Port};
use aerostat_sdk::{IpFamily, Result, settings};
use aws_api::{CLUSTER_ID, ClusterSettings, REGION, VPC, resource_id};

aerostat_sdk::table! {
    /// All of them, but for those that say which cluster it is.
    pub(crate) const TABLE;
    LEGACY_TAG: Bool = ("legacyClusterTag", Bool,
        "Whether the older tag `KubernetesCluster`, with the cluster's id for its value, marks instances and route tables too: one \
         more list each time.").default("false");
    FAMILIES: List<OneOf<IpFamily>> = ("nodeIPFamilies", List {
        of: OneOf(&[("ipv4", IpFamily::Ipv4), ("ipv6", IpFamily::Ipv6)]), what: "families", example: "ipv6,ipv4" },
        "Of which families nodes get addresses, in this order. DNS names and the host name come with ipv4.").default("ipv4");
    TOPOLOGY_TYPES: List<Custom<String>> = ("topologyInstanceTypes", List {
        of: Custom { allowed: "the beginning of an instance type", parse: type_beginning },
        what: "beginnings of instance types", example: "p,trn,hpc" },
        "Instances of which types get labels about their place in the network, by what their types begin with: it costs a request \
         for each hundred of them in a list. `none` asks for none.").default("hpc,p,trn");
    ROUTE_TABLE: Custom<String> = ("routeTable", Custom {
        allowed: "the id of a route table such as rtb-0123456789abcdef0", parse: |text| resource_id("rtb-", text) },
        "The route table that routes for pods are written into.").otherwise("the one in the VPC with the cluster's tag");
    KEEP_NODE_GROUPS: Bool = ("loadBalancers.disableSecurityGroupIngress", Bool,
        "Whether the security groups of nodes are left alone: whoever runs the cluster lets load balancers in.")
        .default("false");
    CLASSIC_GROUP: Custom<String> = ("loadBalancers.securityGroup", Custom {
        allowed: "the id of a security group such as sg-0123456789abcdef0", parse: |text| resource_id("sg-", text) },
        "The security group of all Classic Load Balancers. Its rules are not touched.")
        .otherwise("each gets one of its own");
    NETWORK_GROUPS: OneOf<NetworkGroups> = ("loadBalancers.nlbSecurityGroupMode", OneOf(&[
        ("None", NetworkGroups::None), ("Managed", NetworkGroups::Managed)]),
        "Whether Network Load Balancers get security groups. One that was made without can never get any.")
        .default("None");
    PROBE_MODE: OneOf<ProbeMode> = ("loadBalancers.healthProbeMode", OneOf(&[
        ("ServiceNodePort", ProbeMode::ServiceNodePort), ("Shared", ProbeMode::Shared)]),
        "What is asked of nodes whether they are healthy, with externalTrafficPolicy Cluster: a node port of the Service, \
         or kube-proxy.").default("ServiceNodePort");
    PROBE_PORT: Port = ("loadBalancers.sharedHealthProbePort", Port,
        "Where kube-proxy is asked, with healthProbeMode Shared.").default("10256");
    PROBE_PATH: Custom<String> = ("loadBalancers.sharedHealthProbePath", Custom::path("a path that begins with /"),
        "What kube-proxy is asked for, with healthProbeMode Shared.").default("/healthz");
    ALLOWED_GROUPS: List<Custom<String>> = ("loadBalancers.allowedSecurityGroups", allowed::names("security groups", "sg-1,sg-2"),
        "Which security groups authors of Services may name, with annotations `security-groups` and `extra-security-groups`. \
         Who is in a security group, and what it lets in, is decided elsewhere. `none` allows none, `*` all, `sg-0a*` those that \
         begin so.").default("none");
    ALLOWED_CERTIFICATES: List<Custom<String>> = ("loadBalancers.allowedCertificates",
        allowed::names("ARNs of certificates", "arn:aws:acm:eu-central-1:123456789012:certificate/*"),
        "Which certificates authors of Services may name, with annotation `ssl-cert`: with one of them a load balancer can speak \
         for its domain.").default("none");
    ALLOWED_ELASTIC_IPS: List<Custom<String>> = ("loadBalancers.allowedElasticIPs",
        allowed::names("allocations of elastic IPs", "eipalloc-1,eipalloc-2"),
        "Which elastic IPs authors of Services may name, with annotation `eip-allocations`.").default("none");
    ALLOWED_LOG_BUCKETS: List<Custom<String>> = ("loadBalancers.allowedLogBuckets", allowed::names("names of buckets", "team-a-logs,team-b-*"),
        "Into which buckets of S3 authors of Services may log, with annotation `access-log-s3-bucket-name`.").default("none");
    ALLOWED_HEALTH_PORTS: List<Custom<String>> = ("loadBalancers.allowedHealthCheckPorts", List {
        of: Custom { allowed: "a port", parse: port_or_none }, what: "ports", example: "8080,10256" },
        "Which ports of nodes authors of Services may have checked, with annotation `healthcheck-port`, beside node ports of \
         the same Service: security groups of nodes are opened there. `none` allows no others.").default("none");
}

fn port_or_none(text: &str) -> Option<String> {
    let is_port = text.parse::<u16>().is_ok_and(|it| it != 0);
    (is_port || text == allowed::NONE).then(|| text.to_owned())
}

/// Whether Network Load Balancers get security groups.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NetworkGroups {
    /// They keep what they have.
    None,
    /// Those of an annotation, or one that is made.
    Managed,
}

/// The check whether nodes are healthy, with externalTrafficPolicy Cluster.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ProbeMode {
    /// A node port of the Service.
    ServiceNodePort,
    /// kube-proxy.
    Shared,
}

/// Refuses a setting that cannot work. What is required and missing is the host's to refuse: it asks for the description of a
/// module before anything is configured, too.
///
/// # Errors
///
/// `invalid`, naming the setting, its value and the allowed values.
pub(crate) fn check() -> Result<()> {
    for text in [&REGION, &VPC, &CLUSTER_ID, &ROUTE_TABLE, &CLASSIC_GROUP, &PROBE_PATH] {
        settings::read(text)?;
    }
    for switch in [&LEGACY_TAG, &KEEP_NODE_GROUPS] {
        settings::read(switch)?;
    }
    settings::read(&FAMILIES)?;
    settings::read(&NETWORK_GROUPS)?;
    settings::read(&PROBE_MODE)?;
    settings::read(&PROBE_PORT)?;
    for list in
        [&ALLOWED_GROUPS, &ALLOWED_CERTIFICATES, &ALLOWED_ELASTIC_IPS, &ALLOWED_LOG_BUCKETS, &ALLOWED_HEALTH_PORTS]
    {
        settings::read(list)?;
    }
    settings::read(&TOPOLOGY_TYPES).map(drop)
}

fn type_beginning(text: &str) -> Option<String> {
    let is_word = !text.is_empty() && text.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'-'));
    is_word.then(|| text.to_owned())
}

/// The marks of the cluster's own resources.
#[derive(Clone, Debug)]
pub(crate) struct ClusterMarks {
    cluster: ClusterSettings,
    pub(crate) has_legacy_tag: bool,
}

/// Beside the tag with its id: the cluster itself.
impl Deref for ClusterMarks {
    type Target = ClusterSettings;

    fn deref(&self) -> &ClusterSettings {
        &self.cluster
    }
}

impl ClusterMarks {
    /// The key of the older tag, whose value is the cluster's id.
    pub(crate) const LEGACY_TAG: &str = ClusterSettings::LEGACY_TAG;

    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    pub(crate) fn read() -> Result<Self> {
        Ok(Self { cluster: ClusterSettings::read()?, has_legacy_tag: settings::get(&LEGACY_TAG)? })
    }

    /// Whether a tag marks the cluster's own.
    pub(crate) fn owns(&self, key: &str, value: &str) -> bool {
        key == self.tag() || (self.has_legacy_tag && key == Self::LEGACY_TAG && value == self.id())
    }
}

/// The settings of machines.
#[derive(Clone, Debug)]
pub(crate) struct MachineSettings {
    pub(crate) cluster: ClusterMarks,
    pub(crate) families: Vec<IpFamily>,
    topology_types: Vec<String>,
}

impl MachineSettings {
    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// As [`ClusterMarks::read`].
    pub(crate) fn read() -> Result<Self> {
        let topology_types = settings::get(&TOPOLOGY_TYPES)?;
        Ok(Self { cluster: ClusterMarks::read()?, families: settings::get(&FAMILIES)?, topology_types })
    }

    /// Whether instances of this type have a place in the network that they tell of.
    pub(crate) fn has_topology(&self, machine_type: &str) -> bool {
        self.topology_types != ["none"] && self.topology_types.iter().any(|it| machine_type.starts_with(it.as_str()))
    }
}

/// The settings of load balancers.
#[derive(Clone, Debug)]
pub(crate) struct LoadBalancerSettings {
    pub(crate) cluster: ClusterMarks,
    /// Whether the security groups of nodes are left alone.
    pub(crate) keep_node_groups: bool,
    /// The security group of all Classic Load Balancers.
    pub(crate) classic_group: Option<String>,
    pub(crate) network_groups: NetworkGroups,
    pub(crate) probe_mode: ProbeMode,
    pub(crate) probe_port: u16,
    pub(crate) probe_path: String,
    pub(crate) allowed_groups: Allowed,
    pub(crate) allowed_certificates: Allowed,
    pub(crate) allowed_elastic_ips: Allowed,
    pub(crate) allowed_log_buckets: Allowed,
    pub(crate) allowed_health_ports: Allowed,
}

impl LoadBalancerSettings {
    /// The port of kube-proxy where that is asked whether nodes are healthy.
    pub(crate) fn shared_probe_port(&self) -> Option<u16> {
        (self.probe_mode == ProbeMode::Shared).then_some(self.probe_port)
    }

    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// As [`ClusterMarks::read`].
    pub(crate) fn read() -> Result<Self> {
        Ok(Self {
            cluster: ClusterMarks::read()?,
            keep_node_groups: settings::get(&KEEP_NODE_GROUPS)?,
            classic_group: settings::read(&CLASSIC_GROUP)?,
            network_groups: settings::get(&NETWORK_GROUPS)?,
            probe_mode: settings::get(&PROBE_MODE)?,
            probe_port: settings::get(&PROBE_PORT)?,
            probe_path: settings::get(&PROBE_PATH)?,
            allowed_groups: Allowed::read(&ALLOWED_GROUPS)?,
            allowed_certificates: Allowed::read(&ALLOWED_CERTIFICATES)?,
            allowed_elastic_ips: Allowed::read(&ALLOWED_ELASTIC_IPS)?,
            allowed_log_buckets: Allowed::read(&ALLOWED_LOG_BUCKETS)?,
            allowed_health_ports: Allowed::read(&ALLOWED_HEALTH_PORTS)?,
        })
    }
}
