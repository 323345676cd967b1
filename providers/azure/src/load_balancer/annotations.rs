//! The table of annotations: its rows read, refuse and describe them.

use aerostat_sdk::form::{AnyCase, Custom, Integer, List, OneOf, Text};

use crate::id::{is_group, is_name};
use crate::settings::balancers::TAG;

/// "true"; every other value counts as "false", as the vendor's controller reads it.
const FLAG: Custom<bool> = Custom { allowed: "true or false", parse: |text| Some(text.eq_ignore_ascii_case("true")) };
const NAME: Custom<String> =
    Custom { allowed: "the name of an object", parse: |text| is_name(text).then(|| text.to_owned()) };
const GROUP: Custom<String> =
    Custom { allowed: "the name of a resource group", parse: |text| is_group(text).then(|| text.to_owned()) };
const ID: Custom<String> = Custom {
    allowed: "the id of a public IP prefix",
    parse: |text| {
        crate::id::ResourceId::parse(text).filter(|it| it.has_types(&["publicIPPrefixes"])).map(|it| it.to_string())
    },
};
const NAMES: List<Custom<String>> = List { of: NAME, what: "names", example: "lb1,lb2" };
const SERVICE_TAGS: List<Custom<String>> = List {
    of: Custom { allowed: "a service tag", parse: |text| is_name(text).then(|| text.to_owned()) },
    what: "service tags",
    example: "AzureCloud,AzureFrontDoor.Backend",
};
const ADDRESSES: List<Custom<String>> =
    List { of: Custom::address("an address"), what: "addresses", example: "192.0.2.1,2001:db8::1" };
const TAGS: List<Custom<(String, String)>> = List { of: TAG, what: "tags", example: "team=web,cost=7" };
const IDLE: Integer = Integer::between(4, 100).of("minutes");
const INTERVAL: Integer = Integer::between(5, 119).of("seconds");
const PROBES: Integer = Integer::between(2, 119);
const PATH: Custom<String> = Custom::path("a path such as /healthz");
const PROTOCOL: AnyCase<ProbeProtocol> =
    AnyCase(OneOf(&[("tcp", ProbeProtocol::Tcp), ("http", ProbeProtocol::Http), ("https", ProbeProtocol::Https)]));

/// The protocol of a health probe.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ProbeProtocol {
    Tcp,
    Http,
    Https,
}

impl ProbeProtocol {
    /// Its word in the API.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Tcp => "Tcp",
            Self::Http => "Http",
            Self::Https => "Https",
        }
    }

    /// That of an `appProtocol`, if there is one.
    pub(crate) fn of(app_protocol: &str) -> Option<Self> {
        match &*app_protocol.to_ascii_lowercase() {
            "tcp" => Some(Self::Tcp),
            "http" => Some(Self::Http),
            "https" => Some(Self::Https),
            _ => None,
        }
    }
}

aerostat_sdk::table! {
    /// All of them.
    pub(crate) const TABLE;
    INTERNAL: Custom<bool> = ("service.beta.kubernetes.io/azure-load-balancer-internal", FLAG, "Whether it is reached from the network alone.").default("false");
    INTERNAL_SUBNET: Custom<String> = ("service.beta.kubernetes.io/azure-load-balancer-internal-subnet", NAME, "The subnet of an internal one's address.").otherwise("setting subnetName");
    MODE: Text = ("service.beta.kubernetes.io/azure-load-balancer-mode", Text("the name of a set of machines, or __auto__"),
        "Has no effect: it was for load balancers of SKU Basic, which the vendor has retired.");
    CONFIGURATIONS: List<Custom<String>> = ("service.beta.kubernetes.io/azure-load-balancer-configurations", NAMES, "The load balancers that it may be on, of several.");
    IPV4: Custom<String> = ("service.beta.kubernetes.io/azure-load-balancer-ipv4", Custom::ipv4("an IPv4 address"), "Its IPv4 address. It wins over spec.loadBalancerIP.");
    IPV6: Custom<String> = ("service.beta.kubernetes.io/azure-load-balancer-ipv6", Custom::address("an IPv6 address"), "Its IPv6 address. It wins over spec.loadBalancerIP.");
    PIP_NAME: Custom<String> = ("service.beta.kubernetes.io/azure-pip-name", NAME, "The public address that it has, by its name. It must be there.");
    PIP_NAME_IPV6: Custom<String> = ("service.beta.kubernetes.io/azure-pip-name-ipv6", NAME, "The public IPv6 address that it has, by its name.");
    PIP_PREFIX: Custom<String> = ("service.beta.kubernetes.io/azure-pip-prefix-id", ID, "The prefix that its public address is taken from.");
    PIP_PREFIX_IPV6: Custom<String> = ("service.beta.kubernetes.io/azure-pip-prefix-id-ipv6", ID, "The prefix that its public IPv6 address is taken from.");
    RESOURCE_GROUP: Custom<String> = ("service.beta.kubernetes.io/azure-load-balancer-resource-group", GROUP, "The resource group of its public address. The rules of the endpoint network have to allow it.")
        .otherwise("setting resourceGroup");
    DNS_LABEL: Text = ("service.beta.kubernetes.io/azure-dns-label-name", Text("a DNS label, or nothing"), "The DNS label of its public address. Nothing takes it off.");
    IP_TAGS: List<Custom<(String, String)>> = ("service.beta.kubernetes.io/azure-pip-ip-tags", TAGS, "The IP tags of its public address.").only_at_creation();
    PIP_TAGS: List<Custom<(String, String)>> = ("service.beta.kubernetes.io/azure-pip-tags", TAGS, "The tags of its public address.");
    ADDITIONAL: List<Custom<String>> = ("service.beta.kubernetes.io/azure-additional-public-ips", ADDRESSES, "Further addresses at which it is reached. They are let in, and shown.");
    ALLOWED_TAGS: List<Custom<String>> = ("service.beta.kubernetes.io/azure-allowed-service-tags", SERVICE_TAGS, "The service tags that may reach it.");
    ALLOWED_RANGES: List<Custom<String>> = ("service.beta.kubernetes.io/azure-allowed-ip-ranges", List {
        of: Custom::cidr("a network"), what: "networks", example: "10.0.0.0/8,2001:db8::/32" }, "The networks that may reach it, beside spec.loadBalancerSourceRanges.");
    DENY_OTHERS: Custom<bool> = ("service.beta.kubernetes.io/azure-deny-all-except-load-balancer-source-ranges", FLAG, "Whether a rule keeps out whatever else comes to its address.").default("false");
    NO_SECURITY_RULE: Custom<bool> = ("service.beta.kubernetes.io/azure-disable-load-balancer-nsg-rule", FLAG, "Whether it gets no security rules.").default("false");
    IDLE_TIMEOUT: Integer = ("service.beta.kubernetes.io/azure-load-balancer-tcp-idle-timeout", IDLE, "How long a connection may be silent.").default("4");
    HA_PORTS: Custom<bool> = ("service.beta.kubernetes.io/azure-load-balancer-enable-high-availability-ports", FLAG, "Whether one rule carries all ports. For internal ones.").default("false");
    NO_RESET: Custom<bool> = ("service.beta.kubernetes.io/azure-load-balancer-disable-tcp-reset", FLAG, "Whether silent connections end without a reset.").default("false");
    NO_FLOATING: Custom<bool> = ("service.beta.kubernetes.io/azure-disable-load-balancer-floating-ip", FLAG, "Whether nodes are reached at node ports, and not at its own address.").default("false");
    PROBE_PROTOCOL: AnyCase<ProbeProtocol> = ("service.beta.kubernetes.io/azure-load-balancer-health-probe-protocol", PROTOCOL, "What health probes speak to ports without appProtocol.").default("tcp");
    PROBE_INTERVAL: Integer = ("service.beta.kubernetes.io/azure-load-balancer-health-probe-interval", INTERVAL, "The seconds between health probes.").default("5");
    PROBE_COUNT: Integer = ("service.beta.kubernetes.io/azure-load-balancer-health-probe-num-of-probe", PROBES, "How many health probes decide. Times the interval it is less than 120.").default("2");
    PROBE_PATH: Custom<String> = ("service.beta.kubernetes.io/azure-load-balancer-health-probe-request-path", PATH, "The path of health probes of HTTP.").default("/");
    PORT_NO_RULE: Custom<bool> = ("service.beta.kubernetes.io/port_*_no_lb_rule", FLAG, "Whether a port gets no rule.").default("false");
    PORT_NO_PROBE: Custom<bool> = ("service.beta.kubernetes.io/port_*_no_probe_rule", FLAG, "Whether a port gets no health probe.").default("false");
    PORT_PROTOCOL: AnyCase<ProbeProtocol> = ("service.beta.kubernetes.io/port_*_health-probe_protocol", PROTOCOL, "What the health probe of a port speaks.").otherwise("appProtocol");
    PORT_PORT: Text = ("service.beta.kubernetes.io/port_*_health-probe_port", Text("a port of the Service, by its number or name"), "Which port of the Service the health probe of a port asks.").otherwise("the port itself");
    PORT_INTERVAL: Integer = ("service.beta.kubernetes.io/port_*_health-probe_interval", INTERVAL, "The seconds between health probes of a port.").otherwise("the Service's");
    PORT_COUNT: Integer = ("service.beta.kubernetes.io/port_*_health-probe_num-of-probe", PROBES, "How many health probes of a port decide.").otherwise("the Service's");
    PORT_PATH: Custom<String> = ("service.beta.kubernetes.io/port_*_health-probe_request-path", PATH, "The path of the health probe of a port.").otherwise("the Service's");
    PLS_CREATE: Custom<bool> = ("service.beta.kubernetes.io/azure-pls-create", FLAG, "Whether it is offered through Private Link. For internal ones.").default("false");
    PLS_GROUP: Custom<String> = ("service.beta.kubernetes.io/azure-pls-resource-group", GROUP, "The resource group of its Private Link service.").otherwise("setting privateLinkServiceResourceGroup");
    PLS_NAME: Custom<String> = ("service.beta.kubernetes.io/azure-pls-name", NAME, "The name of its Private Link service.").otherwise("pls- and the name of the frontend");
    PLS_SUBNET: Custom<String> = ("service.beta.kubernetes.io/azure-pls-ip-configuration-subnet", NAME, "The subnet of its Private Link service.").otherwise("the load balancer's");
    PLS_COUNT: Integer = ("service.beta.kubernetes.io/azure-pls-ip-configuration-ip-address-count", Integer::between(1, 8), "How many addresses its Private Link service has.").default("1");
    PLS_ADDRESSES: List<Custom<String>> = ("service.beta.kubernetes.io/azure-pls-ip-configuration-ip-address", List {
        of: Custom::ipv4("an IPv4 address"), what: "IPv4 addresses", example: "10.0.0.7" }, "The fixed addresses of its Private Link service.");
    PLS_FQDNS: Text = ("service.beta.kubernetes.io/azure-pls-fqdns", Text("names with spaces between them"), "The names of its Private Link service.");
    PLS_PROXY: Custom<bool> = ("service.beta.kubernetes.io/azure-pls-proxy-protocol", FLAG, "Whether its Private Link service speaks the proxy protocol.").default("false");
    PLS_VISIBILITY: Text = ("service.beta.kubernetes.io/azure-pls-visibility", Text("subscriptions with spaces between them, or *"), "Which subscriptions see its Private Link service.");
    PLS_APPROVAL: Text = ("service.beta.kubernetes.io/azure-pls-auto-approval", Text("subscriptions with spaces between them"), "Whose connections are approved at once.");
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_are_as_many_as_the_vendor_reads() {
        assert_eq!(super::TABLE.len(), 44);
    }
}
