//! The table of annotations: its rows read, refuse and describe them. What OpenStack's own controller reads as a default without a word is
//! refused here.

use aerostat_sdk::form::{Custom, Integer, OneOf, Seconds, Text};

use crate::settings::{DELAY, ID, METHODS, PATTERN, RETRIES, TAGS, TLS_REFERENCE, name};

macro_rules! vendor {
    ($name:literal) => {
        concat!("loadbalancer.openstack.org/", $name)
    };
}

/// Those that are written on Services, as OpenStack's own controller writes them.
pub(crate) const WRITTEN: [&str; 2] = [vendor!("load-balancer-id"), vendor!("load-balancer-address")];

/// Booleans as OpenStack's own controller reads them: no other spelling.
type Flag = OneOf<bool>;

const FLAG: Flag = OneOf(&[("true", true), ("false", false)]);
/// Milliseconds.
const TIMEOUT: Integer = Integer::between(0, 86_400_000).of("milliseconds");

/// How members are told of a client.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ProxyProtocol {
    Off,
    V1,
    V2,
}

aerostat_sdk::table! {
    /// All of them.
    pub(crate) const TABLE;
    INTERNAL: Flag = ("service.beta.kubernetes.io/openstack-internal-load-balancer", FLAG,
        "Whether it has no floating IP. With setting loadBalancers.internal none has one.").default("false");
    CLASS: Custom<String> = (vendor!("class"), Custom { allowed: "the name of a class", parse: name },
        "The class whose networks and subnets it has: settings loadBalancers.classes.");
    FLOATING_NETWORK: Custom<String> = (vendor!("floating-network-id"), ID,
        "The external network of its floating IP. A class wins over it.").otherwise("setting loadBalancers.floatingNetworkID");
    FLOATING_SUBNET_ID: Custom<String> = (vendor!("floating-subnet-id"), ID,
        "The subnet of its floating IP. A class wins over it.").otherwise("setting loadBalancers.floatingSubnetID");
    FLOATING_SUBNET: Custom<String> = (vendor!("floating-subnet"), PATTERN,
        "Which subnets its floating IP is taken from, by name: the next where one is full.")
        .otherwise("setting loadBalancers.floatingSubnet");
    FLOATING_TAGS: Custom<String> = (vendor!("floating-subnet-tags"), TAGS,
        "Which subnets its floating IP is taken from, by tags: the next where one is full.")
        .otherwise("setting loadBalancers.floatingSubnetTags");
    KEEP_FLOATING_IP: Flag = (vendor!("keep-floatingip"), FLAG, "Whether its floating IP stays when the Service goes.").default("false");
    NETWORK: Custom<String> = (vendor!("network-id"), ID, "The network of its address.")
        .otherwise("the class's, or setting loadBalancers.networkID").only_at_creation();
    SUBNET: Custom<String> = (vendor!("subnet-id"), ID, "The subnet of its address.")
        .otherwise("the class's, or setting loadBalancers.subnetID, or where the first node is").only_at_creation();
    MEMBER_SUBNET: Custom<String> = (vendor!("member-subnet-id"), ID, "The subnet from which nodes are reached.")
        .otherwise("the class's, or setting loadBalancers.memberSubnetID, or that of its address");
    PORT: Custom<String> = (vendor!("port-id"), ID, "The port whose address it gets. It wins over network and subnet.").only_at_creation();
    LOAD_BALANCER_ID: Custom<String> = (vendor!("load-balancer-id"), ID,
        "The load balancer that the Service has. Aerostat writes it. Written by a person: the load balancer in which the Service has a part, \
         another Service's or a person's.");
    LOAD_BALANCER_ADDRESS: Text = (vendor!("load-balancer-address"), Text("anything"), "Its address. Aerostat writes it, and does not read it.");
    HOSTNAME: Custom<String> = (vendor!("hostname"), Custom::dns_name("a DNS name such as lb.example.com"),
        "The Service's status shows it instead of the address.");
    NODE_SELECTOR: Text = (vendor!("node-selector"), Text("a label selector"), "Only nodes with these labels take traffic.")
        .otherwise("setting loadBalancers.nodeSelector").selects_nodes();
    CONNECTION_LIMIT: Custom<i64> = (vendor!("connection-limit"), Custom { allowed: "a whole number from -1 on", parse: connection_limit },
        "How many connections each port takes at a time; -1 for any number.").default("-1");
    METHOD: OneOf<&'static str> = (vendor!("lb-method"), METHODS, "How load is spread.").otherwise("setting loadBalancers.method");
    PROXY_PROTOCOL: OneOf<ProxyProtocol> = (vendor!("proxy-protocol"), OneOf(&[("true", ProxyProtocol::V1), ("v1", ProxyProtocol::V1),
        ("v2", ProxyProtocol::V2), ("false", ProxyProtocol::Off)]),
        "Whether nodes are told who the client is, by the PROXY protocol. Not together with x-forwarded-for.").default("false");
    FORWARDED_FOR: Flag = (vendor!("x-forwarded-for"), FLAG,
        "Whether ports speak HTTP, and requests say who the client is in the header X-Forwarded-For.").default("false");
    TIMEOUT_CLIENT: Integer = (vendor!("timeout-client-data"), TIMEOUT, "How long a client may say nothing.").default("50000");
    TIMEOUT_CONNECT: Integer = (vendor!("timeout-member-connect"), TIMEOUT, "How long a connection to a node may take.").default("5000");
    TIMEOUT_MEMBER: Integer = (vendor!("timeout-member-data"), TIMEOUT, "How long a node may say nothing.").default("50000");
    TIMEOUT_INSPECT: Integer = (vendor!("timeout-tcp-inspect"), TIMEOUT, "How long to wait for more of a client's first packets.").default("0");
    FLAVOR: Custom<String> = (vendor!("flavor-id"), ID, "Its flavour.").otherwise("setting loadBalancers.flavorID").only_at_creation();
    ZONE: Custom<String> = (vendor!("availability-zone"), Custom { allowed: "the name of an availability zone", parse: name },
        "Where it is built.").otherwise("setting loadBalancers.availabilityZone").only_at_creation();
    TLS: Custom<String> = (vendor!("default-tls-container-ref"), TLS_REFERENCE,
        "The certificate with which TLS ends at it. Setting loadBalancers.allowedTLSContainerRefs has to name it.")
        .otherwise("setting loadBalancers.defaultTLSContainerRef");
    ENABLE_MONITOR: Flag = (vendor!("enable-health-monitor"), FLAG, "Whether the health of nodes is checked.")
        .otherwise("setting loadBalancers.createMonitor");
    MONITOR_DELAY: Seconds = (vendor!("health-monitor-delay"), DELAY, "From one health check to the next.")
        .otherwise("setting loadBalancers.monitorDelay");
    MONITOR_TIMEOUT: Seconds = (vendor!("health-monitor-timeout"), DELAY, "After which time a health check has failed.")
        .otherwise("setting loadBalancers.monitorTimeout");
    MONITOR_RETRIES: Integer = (vendor!("health-monitor-max-retries"), RETRIES, "How many checks take a node in.")
        .otherwise("setting loadBalancers.monitorMaxRetries");
    MONITOR_RETRIES_DOWN: Integer = (vendor!("health-monitor-max-retries-down"), RETRIES, "How many failed checks take a node out.")
        .otherwise("setting loadBalancers.monitorMaxRetriesDown");
    SOURCE_RANGES: Text = ("service.beta.kubernetes.io/load-balancer-source-ranges", Text("networks with commas between them"),
        "Which clients may reach it, where spec.loadBalancerSourceRanges says nothing. Deprecated.");
}

fn connection_limit(text: &str) -> Option<i64> {
    text.parse().ok().filter(|it| (-1..=i64::from(i32::MAX)).contains(it))
}
