//! The table of annotations: its rows read, refuse and describe them.

use aerostat_sdk::form::{AnyCase, Custom, Form as _, Integer, List, OneOf, PORTS, Port, Text};
use aerostat_sdk::{Error, Result, annotations};

use super::names::is_of_a_service;
use crate::api::load_balancers::VpcBalancer;

macro_rules! vendor {
    ($name:literal) => {
        concat!("service.kubernetes.io/ibm-load-balancer-cloud-provider-", $name)
    };
}

/// The beginning of the keys.
#[cfg(test)]
pub(super) const PREFIX: &str = vendor!("");

/// The annotations of a Service, read beside the load balancer that there may be.
pub(super) type IbmReading<'a> = annotations::Reading<'a, VpcBalancer>;

/// The labels by which a Service may choose nodes: those of the vendor's controller.
const SELECTABLE: [&str; 16] = [
    "ibm-cloud.kubernetes.io/internal-ip",
    "ibm-cloud.kubernetes.io/machine-type",
    "ibm-cloud.kubernetes.io/os",
    "ibm-cloud.kubernetes.io/region",
    "ibm-cloud.kubernetes.io/subnet-id",
    "ibm-cloud.kubernetes.io/worker-id",
    "ibm-cloud.kubernetes.io/worker-pool-id",
    "ibm-cloud.kubernetes.io/worker-pool-name",
    "ibm-cloud.kubernetes.io/worker-version",
    "ibm-cloud.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

aerostat_sdk::table! {
    /// All of them.
    pub(crate) const TABLE;
    IP_TYPE: OneOf<bool> = (vendor!("ip-type"), OneOf(&[("public", true), ("private", false)]),
        "Whether it is reached from everywhere, or from the VPC alone. It cannot be changed later.").default("public");
    FEATURES: List<AnyCase<IbmFeature>> = (vendor!("enable-features"),
        List { of: AnyCase(OneOf(&[("proxy-protocol", IbmFeature::ProxyProtocol), ("nlb", IbmFeature::Network)])), what: "features",
            example: "proxy-protocol" },
        "With proxy-protocol nodes are told who the client is, by version 1 of the PROXY protocol. With nlb it is a network load balancer, \
         in one subnet, which takes UDP too: that cannot be changed later.");
    NAME: Custom<String> = (vendor!("vpc-lb-name"), Custom {
        allowed: "a name of at most 63 lower-case letters, digits and dashes that begins with a letter, ends with none of the dashes, and \
                  does not begin with kube-", parse: name },
        "Its name. It is made under its usual name, which proves whose it is, and gets this one once it is built. A later change has no effect.")
        .otherwise("kube-, the cluster's id, - and the Service's UID without dashes");
    NODE_SELECTOR: Text = (vendor!("vpc-node-selector"), Text("a label and its value such as kubernetes.io/arch=amd64"),
        "Only nodes with this label take traffic, and all of them: zone then chooses subnets alone, and no node is preferred for its label \
         dedicated=edge. Of other labels than those of IBM Cloud and the usual ones none is allowed.")
        .selects_nodes();
    SUBNETS: List<Custom<String>> = (vendor!("vpc-subnets"),
        List { of: Custom { allowed: "no empty item", parse: item }, what: "ids, names or networks of subnets", example: "sub-1,10.240.1.0/24" },
        "The subnets that it is in. It wins over zone.").otherwise("setting g2VpcSubnetNames").only_at_creation();
    ZONE: Custom<String> = (vendor!("zone"), Custom::slug("the name of a zone such as us-south-1"),
        "It is in the configured subnets of this zone alone, and takes the nodes of this zone.");
    SECURITY_GROUPS: List<Custom<String>> = (vendor!("vpc-security-group"),
        List { of: Custom { allowed: "no empty item", parse: item }, what: "ids or names of security groups", example: "clients,r006-group" },
        "The security groups of the VPC that it has, five at most: they say who may reach it. Setting allowedSecurityGroups says which \
         ones may be named.").otherwise("the VPC's default group")
        .only_at_creation();
    OUTBOUND: List<Port> = (vendor!("vpc-allow-outbound-traffic"), PORTS,
        "The ports of the Service that nodes reach at the public addresses of the load balancer: each is a rule for each address in the security \
         group of setting outboundSecurityGroup.");
    CHECK_PROTOCOL: OneOf<IbmCheck> = (vendor!("vpc-health-check-protocol"),
        OneOf(&[("http", IbmCheck::Http), ("https", IbmCheck::Https), ("tcp", IbmCheck::Tcp)]), "How nodes are checked.")
        .otherwise("http with externalTrafficPolicy Local, else tcp");
    CHECK_PORT: Port = (vendor!("vpc-health-check-port"), Port, "The port of nodes that is checked. Needs vpc-health-check-protocol.")
        .otherwise("the health check's node port with externalTrafficPolicy Local, else the port's node port");
    CHECK_PATH: Custom<String> = (vendor!("vpc-health-check-path"), Custom::path("a path that begins with /"),
        "The path of checks by HTTP.").otherwise("/healthz with externalTrafficPolicy Local, else /");
    CHECK_DELAY: Integer = (vendor!("vpc-health-check-delay"), Integer::between(2, 60),
        "Seconds from one check to the next: more than the timeout.").default("5");
    CHECK_TIMEOUT: Integer = (vendor!("vpc-health-check-timeout"), Integer::between(1, 59),
        "Seconds after which a check has failed.").default("2");
    CHECK_RETRIES: Integer = (vendor!("vpc-health-check-retries"), Integer::between(1, 10),
        "How many failed checks take a node out.").default("2");
    CHECK_UDP: Port = (vendor!("vpc-health-check-udp"), Port,
        "The TCP port of nodes by which those of a Service of UDP are checked. Needed with externalTrafficPolicy Cluster.");
    PORT_RANGE: List<Custom<VpcPorts>> = (vendor!("vpc-port-range"),
        List { of: Custom { allowed: "a range of ports", parse: ports }, what: "ranges of ports", example: "30000-30010,31000-31010" },
        "The ports that a public network load balancer takes: each range begins with a port of the Service. Packets come to nodes at the port \
         that the client has dialled, where a Service of type NodePort has to take them.").otherwise("the ports of the Service");
    IDLE_TIMEOUT: Integer = (vendor!("vpc-idle-connection-timeout"), Integer::between(50, 7_200),
        "Seconds after which idle connections end.").otherwise("the account's");
    MEMBER_QUOTA: Integer = (vendor!("vpc-member-quota"), Integer::between(0, 50),
        "How many nodes of each zone take traffic; 0 for all that fit.").default("0");
}

/// The first and the last port of a range.
pub(super) type VpcPorts = (u16, u16);

/// A feature of a load balancer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum IbmFeature {
    ProxyProtocol,
    /// A network load balancer in the place of an application one.
    Network,
}

/// How nodes are checked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum IbmCheck {
    Http,
    Https,
    Tcp,
}

/// Refuses a node selector that is none, or of another label: it would choose all nodes with the vendor's controller.
///
/// # Errors
///
/// `invalid`, naming the annotation, its value and the allowed labels.
pub(super) fn check_selector(reading: annotations::Annotations<'_>) -> Result<()> {
    let Some(text) = reading.text(NODE_SELECTOR.name) else { return Ok(()) };
    let pair = text.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
    match pair {
        Some((key, value)) if !value.is_empty() && !value.contains(['=', ',', ' ']) && SELECTABLE.contains(&key) => {
            Ok(())
        }
        _ => Err(Error::invalid(format_args!(
            "annotation {}: {text:?} is not one label=value with one of these labels: {}",
            NODE_SELECTOR.name,
            SELECTABLE.join(", ")
        ))),
    }
}

/// A name that the API takes and that is not one of those that Services have by themselves.
fn name(text: &str) -> Option<String> {
    let is_part = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
    let is_name = text.len() <= 63 && text.bytes().all(is_part) && text.starts_with(|it: char| it.is_ascii_lowercase());
    (is_name && !text.ends_with('-') && !is_of_a_service(text)).then(|| text.to_owned())
}

/// A range of ports: `30000-30010`.
fn ports(text: &str) -> Option<VpcPorts> {
    let (first, last) = text.split_once('-')?;
    let (first, last) = (Port.parse(first)?, Port.parse(last)?);
    (first <= last).then_some((first, last))
}

fn item(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
