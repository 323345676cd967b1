//! The annotations of a Service: the one table that they are read by, refused by and described by.

use aerostat_sdk::annotations::{Bool, Form, Integer, Key, List, OneOf, Port, Row, Text};

use super::firewall;
use super::forms::{dns_name, ipv4, name, path};
use crate::api::load_balancers::{HealthProtocol, Kind, Network, Protocol, Slug, Stack};
use crate::settings::{KINDS, uuid};

macro_rules! vendor {
    ($name:literal) => {
        concat!("service.beta.kubernetes.io/do-loadbalancer-", $name)
    };
}

const PORTS: List<Port> = List { of: Port, what: "ports", example: "80,8080" };
const RULES: List<Form<String>> = List { of: firewall::RULE, what: "", example: "ip:192.0.2.1,cidr:198.51.100.0/24" };

/// Those that it asks the host to write.
pub(crate) const WRITTEN: [&str; 2] = [ID.name, TYPE.name];

pub(super) const ID: Key<Form<String>> = Key::new(
    "kubernetes.digitalocean.com/load-balancer-id",
    Form { allowed: "the UUID of a load balancer", parse: uuid },
    "Written back. Set on a new Service, it adopts that load balancer, if its address is in the Service's status, if \
     it sends to nothing but this Service's node ports on nodes of this cluster, or if the operator set adoptById.",
);
pub(super) const DISOWN: Key<Bool> = Key::new(
    "service.kubernetes.io/do-loadbalancer-disown",
    Bool,
    "Leaves the Service alone: nothing is created, changed or deleted for it.",
)
.default("false");

pub(super) const NAME: Key<Form<String>> = Key::new(
    vendor!("name"),
    Form {
        allowed: "a name of at most 255 letters, digits, dots and dashes that begins with a letter or digit and does \
                  not end with a dash",
        parse: name,
    },
    "The load balancer's name. It is created by its default name and renamed once it serves.",
)
.default("a and the Service's UID");
pub(super) const TYPE: Key<OneOf<Kind>> = Key::new(
    vendor!("type"),
    OneOf(&KINDS),
    "A proxy that understands HTTP, or one that passes packets through. Written back.",
)
.default("setting defaultLoadBalancerType")
.only_at_creation();
pub(super) const NETWORK: Key<OneOf<Network>> = Key::new(
    vendor!("network"),
    OneOf(&[("EXTERNAL", Network::External), ("INTERNAL", Network::Internal)]),
    "Who reaches it: everybody, or the VPC.",
)
.default("EXTERNAL")
.only_at_creation();
pub(super) const NETWORK_STACK: Key<OneOf<Stack>> = Key::new(
    vendor!("network-stack"),
    OneOf(&[("IPV4", Stack::Ipv4), ("DUALSTACK", Stack::DualStack)]),
    "Its address families.",
)
.default("DUALSTACK if it is external and its type or all nodes allow it, else IPV4")
.only_at_creation();
pub(super) const IP: Key<Form<String>> =
    Key::new(vendor!("ip"), Form { allowed: "an IPv4 address", parse: ipv4 }, "An address of one's own.")
        .only_at_creation();
pub(super) const SUBNET: Key<Form<String>> = Key::new(
    vendor!("subnet-uuid"),
    Form { allowed: "the UUID of a subnet", parse: uuid },
    "The subnet of the VPC that it is put into.",
)
.only_at_creation();

pub(super) const PROTOCOL: Key<OneOf<Protocol>> = Key::new(
    vendor!("protocol"),
    OneOf(&[("tcp", Protocol::Tcp), ("http", Protocol::Http), ("https", Protocol::Https), ("http2", Protocol::Http2)]),
    "What TCP ports speak that no other annotation lists. REGIONAL only.",
)
.hint("for http3 there is an annotation of its own")
.default("tcp");
pub(super) const HTTP_PORTS: Key<List<Port>> =
    Key::new(vendor!("http-ports"), PORTS, "Ports of the Service that speak HTTP. REGIONAL only.");
pub(super) const TLS_PORTS: Key<List<Port>> =
    Key::new(vendor!("tls-ports"), PORTS, "Ports of the Service that speak HTTPS. REGIONAL only.")
        .default("443 with a certificate or passthrough");
pub(super) const HTTP2_PORTS: Key<List<Port>> =
    Key::new(vendor!("http2-ports"), PORTS, "Ports of the Service that speak HTTP/2 over TLS. REGIONAL only.");
pub(super) const HTTP3_PORT: Key<Port> = Key::new(
    vendor!("http3-port"),
    Port,
    "The port of the Service that speaks HTTP/3 as well. Needs a certificate. REGIONAL only.",
);
pub(super) const TLS_PASSTHROUGH: Key<Bool> =
    Key::new(vendor!("tls-passthrough"), Bool, "Leaves TLS to the targets. Not with a certificate. REGIONAL only.")
        .default("false");
pub(super) const CERTIFICATE_ID: Key<Form<String>> = Key::new(
    vendor!("certificate-id"),
    Form { allowed: "the UUID of a certificate", parse: uuid },
    "Where TLS ends at the load balancer. One of Let's Encrypt may be renewed under another id: the annotation stays \
     right. REGIONAL only.",
);
pub(super) const CERTIFICATE_NAME: Key<Text> = Key::new(
    vendor!("certificate-name"),
    Text("name of a certificate"),
    "As the id, which comes first. REGIONAL only.",
);
pub(super) const HOSTNAME: Key<Form<String>> = Key::new(
    vendor!("hostname"),
    Form { allowed: "a DNS name such as lb.example.com", parse: dns_name },
    "Stands in the Service's status in the place of addresses.",
);
pub(super) const ALGORITHM: Key<Text> =
    Key::new(vendor!("algorithm"), Text("round_robin or least_connections"), "Deprecated: the cloud ignores it.")
        .default("round_robin");
pub(super) const SIZE_SLUG: Key<OneOf<Slug>> = Key::new(
    vendor!("size-slug"),
    OneOf(&Slug::NAMED),
    "Its size in regions without nodes. Not with the number of nodes. Taking it away keeps the size.",
);
pub(super) const SIZE_UNIT: Key<Integer> = Key::new(
    vendor!("size-unit"),
    Integer::between(0, 100),
    "How many nodes it has; 0 is as good as none. The cloud changes it once an hour at most. Taking it away keeps the \
     size.",
)
.default("as it is; 1 for a new one");
pub(super) const STICKY_TYPE: Key<Text> =
    Key::new(vendor!("sticky-sessions-type"), Text("none or cookies"), "Whether a client stays with its target.")
        .default("none");
pub(super) const STICKY_COOKIE_NAME: Key<Form<String>> = Key::new(
    vendor!("sticky-sessions-cookie-name"),
    Form { allowed: "a name of 2 to 40 characters", parse: super::forms::cookie_name },
    "The cookie's name. Needed with cookies.",
);
pub(super) const STICKY_COOKIE_TTL: Key<Integer> = Key::new(
    vendor!("sticky-sessions-cookie-ttl"),
    Integer::between(1, u32::MAX),
    "How many seconds the cookie lives. Needed with cookies.",
);
pub(super) const REDIRECT: Key<Bool> =
    Key::new(vendor!("redirect-http-to-https"), Bool, "Sends clients from port 80 to port 443.").default("false");
pub(super) const NO_DNS_RECORDS: Key<Bool> = Key::new(
    vendor!("disable-lets-encrypt-dns-records"),
    Bool,
    "Makes no DNS records for certificates of Let's Encrypt.",
)
.default("false");
pub(super) const PROXY_PROTOCOL: Key<Bool> =
    Key::new(vendor!("enable-proxy-protocol"), Bool, "Tells targets who the client is, by the PROXY protocol.")
        .default("false");
pub(super) const KEEPALIVE: Key<Bool> =
    Key::new(vendor!("enable-backend-keepalive"), Bool, "Keeps HTTP connections to targets open.").default("false");
pub(super) const IDLE_TIMEOUT: Key<Integer> = Key::new(
    vendor!("http-idle-timeout-seconds"),
    Integer::between(30, 600).of("seconds").or_zero(),
    "After how long idle HTTP connections end.",
)
.default("60");
pub(super) const DENY_RULES: Key<List<Form<String>>> = Key::new(vendor!("deny-rules"), RULES, "Who may not connect.");
pub(super) const ALLOW_RULES: Key<List<Form<String>>> =
    Key::new(vendor!("allow-rules"), RULES, "Who alone may connect. spec.loadBalancerSourceRanges takes its place.");

pub(super) const HEALTH_OVERRIDE: Key<Text> = Key::new(
    vendor!("override-health-check"),
    Text("anything"),
    "If it is there, whatever it says, a port of the Service is checked, and not kube-proxy or the node's local pods.",
);
pub(super) const HEALTH_PORT: Key<Port> = Key::new(
    vendor!("healthcheck-port"),
    Port,
    "Which TCP port of the Service is checked. Needs override-health-check.",
)
.default("the first TCP port");
pub(super) const HEALTH_PATH: Key<Form<String>> = Key::new(
    vendor!("healthcheck-path"),
    Form { allowed: "a path that begins with /", parse: path },
    "Which path is asked for. Needs override-health-check.",
)
.default("/");
pub(super) const HEALTH_PROTOCOL: Key<OneOf<HealthProtocol>> = Key::new(
    vendor!("healthcheck-protocol"),
    OneOf(&[("tcp", HealthProtocol::Tcp), ("http", HealthProtocol::Http), ("https", HealthProtocol::Https)]),
    "How the port is checked. Needs override-health-check.",
)
.default("http with a path, else tcp");
pub(super) const HEALTH_INTERVAL: Key<Integer> = Key::new(
    vendor!("healthcheck-check-interval-seconds"),
    Integer::between(3, 300),
    "Seconds from one check to the next.",
)
.default("3");
pub(super) const HEALTH_TIMEOUT: Key<Integer> = Key::new(
    vendor!("healthcheck-response-timeout-seconds"),
    Integer::between(3, 300),
    "Seconds until a check has failed.",
)
.default("5");
pub(super) const HEALTH_UNHEALTHY: Key<Integer> = Key::new(
    vendor!("healthcheck-unhealthy-threshold"),
    Integer::between(2, 10),
    "Failed checks until a target gets no traffic.",
)
.default("3");
pub(super) const HEALTH_HEALTHY: Key<Integer> = Key::new(
    vendor!("healthcheck-healthy-threshold"),
    Integer::between(2, 10),
    "Checks passed until it gets traffic again.",
)
.default("5");

/// All of them.
pub(crate) const TABLE: [&dyn Row; 38] = [
    &ID,
    &DISOWN,
    &NAME,
    &TYPE,
    &NETWORK,
    &NETWORK_STACK,
    &IP,
    &SUBNET,
    &PROTOCOL,
    &HTTP_PORTS,
    &TLS_PORTS,
    &HTTP2_PORTS,
    &HTTP3_PORT,
    &TLS_PASSTHROUGH,
    &CERTIFICATE_ID,
    &CERTIFICATE_NAME,
    &HOSTNAME,
    &ALGORITHM,
    &SIZE_SLUG,
    &SIZE_UNIT,
    &STICKY_TYPE,
    &STICKY_COOKIE_NAME,
    &STICKY_COOKIE_TTL,
    &REDIRECT,
    &NO_DNS_RECORDS,
    &PROXY_PROTOCOL,
    &KEEPALIVE,
    &IDLE_TIMEOUT,
    &DENY_RULES,
    &ALLOW_RULES,
    &HEALTH_OVERRIDE,
    &HEALTH_PORT,
    &HEALTH_PATH,
    &HEALTH_PROTOCOL,
    &HEALTH_INTERVAL,
    &HEALTH_TIMEOUT,
    &HEALTH_UNHEALTHY,
    &HEALTH_HEALTHY,
];
