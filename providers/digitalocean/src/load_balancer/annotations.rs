//! The table of annotations: its rows read, refuse and describe them.

use aerostat_sdk::annotations;
use aerostat_sdk::form::{Bool, Custom, Form as _, Integer, List, OneOf, PORTS, Port, Text};

use crate::api::load_balancers::{
    ClientNetwork, HealthProtocol, Kind, LoadBalancer, Protocol, Size, Stack, StickyKind,
};
use crate::settings::KINDS;

macro_rules! vendor {
    ($name:literal) => {
        concat!("service.beta.kubernetes.io/do-loadbalancer-", $name)
    };
}

/// The annotations of a Service, read beside the load balancer that there may be.
pub(super) type DoReading<'a> = annotations::Reading<'a, LoadBalancer>;

type DoWord = Custom<String>;

/// A rule of the firewall.
const RULE: DoWord = Custom { allowed: "a rule such as ip:192.0.2.1", parse: rule };
const RULES: List<DoWord> = List { of: RULE, what: "", example: "ip:192.0.2.1,cidr:198.51.100.0/24" };
const ALGORITHMS: OneOf<&str> = OneOf(&[("round_robin", "round_robin"), ("least_connections", "least_connections")]);
const PROTOCOLS: OneOf<Protocol> =
    OneOf(&[("tcp", Protocol::Tcp), ("http", Protocol::Http), ("https", Protocol::Https), ("http2", Protocol::Http2)]);
const HEALTH_PROTOCOLS: OneOf<HealthProtocol> =
    OneOf(&[("tcp", HealthProtocol::Tcp), ("http", HealthProtocol::Http), ("https", HealthProtocol::Https)]);

/// Those that it asks the host to write.
pub(crate) const WRITTEN: [&str; 2] = [ID.name, TYPE.name];

aerostat_sdk::table! {
    /// All of them.
    pub(crate) const TABLE;
    ID: DoWord = ("kubernetes.digitalocean.com/load-balancer-id", Custom::uuid("the UUID of a load balancer"),
        "Written back. Set on a new Service, it adopts that load balancer, if its address is in the Service's status, if \
         it sends to nothing but this Service's node ports on nodes of this cluster, or if the operator set adoptById.");
    DISOWN: Bool = ("service.kubernetes.io/do-loadbalancer-disown", Bool,
        "Leaves the Service alone: nothing is created, changed or deleted for it.").default("false");
    NAME: DoWord = (vendor!("name"), Custom {
        allowed: "a name of at most 255 letters, digits, dots and dashes that begins with a letter or digit and does \
                  not end with a dash",
        parse: name,
    }, "The load balancer's name. It is created by its default name and renamed once it serves.")
        .otherwise("a and the Service's UID");
    TYPE: OneOf<Kind> = (vendor!("type"), KINDS,
        "A proxy that understands HTTP, or one that passes packets through. Written back.")
        .otherwise("setting defaultLoadBalancerType").only_at_creation();
    NETWORK: OneOf<ClientNetwork> = (vendor!("network"),
        OneOf(&[("EXTERNAL", ClientNetwork::External), ("INTERNAL", ClientNetwork::Internal)]),
        "Which clients reach it: all, or those in the VPC.").default("EXTERNAL").only_at_creation();
    NETWORK_STACK: OneOf<Stack> = (vendor!("network-stack"),
        OneOf(&[("IPV4", Stack::Ipv4), ("DUALSTACK", Stack::DualStack)]), "Its address families.")
        .otherwise("DUALSTACK if it is external and its type or all nodes allow it, else IPV4").only_at_creation();
    IP: DoWord = (vendor!("ip"), Custom::ipv4("an IPv4 address"), "An IP address that the account owns.").only_at_creation();
    SUBNET: DoWord = (vendor!("subnet-uuid"), Custom::uuid("the UUID of a subnet"),
        "The subnet of the VPC that it is put into.").only_at_creation();
    PROTOCOL: OneOf<Protocol> = (vendor!("protocol"), PROTOCOLS,
        "The protocol of TCP ports that no other annotation lists. REGIONAL only.")
        .hint("for http3 there is an annotation of its own").default("tcp");
    HTTP_PORTS: List<Port> = (vendor!("http-ports"), PORTS, "Ports of the Service that speak HTTP. REGIONAL only.");
    TLS_PORTS: List<Port> = (vendor!("tls-ports"), PORTS, "Ports of the Service that speak HTTPS. REGIONAL only.")
        .otherwise("443 with a certificate or passthrough");
    HTTP2_PORTS: List<Port> = (vendor!("http2-ports"), PORTS,
        "Ports of the Service that speak HTTP/2 over TLS. REGIONAL only.");
    HTTP3_PORT: Port = (vendor!("http3-port"), Port,
        "The port of the Service that speaks HTTP/3 as well. Needs a certificate. REGIONAL only.");
    TLS_PASSTHROUGH: Bool = (vendor!("tls-passthrough"), Bool,
        "Leaves TLS to the targets. Not with a certificate. REGIONAL only.").default("false");
    CERTIFICATE_ID: DoWord = (vendor!("certificate-id"), Custom::uuid("the UUID of a certificate"),
        "Where TLS ends at the load balancer. One of Let's Encrypt may be renewed under another id: the annotation stays \
         valid. REGIONAL only.");
    CERTIFICATE_NAME: Text = (vendor!("certificate-name"), Text("name of a certificate"),
        "As certificate-id, which wins if both are set. REGIONAL only.");
    HOSTNAME: DoWord = (vendor!("hostname"), Custom::dns_name("a DNS name such as lb.example.com"),
        "The Service's status shows it instead of addresses.");
    ALGORITHM: OneOf<&'static str> = (vendor!("algorithm"), ALGORITHMS,
        "Deprecated: the cloud ignores it.").default("round_robin");
    SIZE_SLUG: OneOf<Size> = (vendor!("size-slug"), OneOf(&Size::NAMED),
        "Its size in regions without nodes. Not together with size-unit. Removing the annotation \
         keeps the size.");
    SIZE_UNIT: Integer = (vendor!("size-unit"), Integer::between(0, 100),
        "How many nodes it has; 0 counts as not set. The cloud changes it once an hour at most. Removing the \
         annotation keeps the size.").otherwise("as it is; 1 for a new one");
    STICKY_TYPE: OneOf<StickyKind> = (vendor!("sticky-sessions-type"),
        OneOf(&[("none", StickyKind::None), ("cookies", StickyKind::Cookies)]),
        "Whether a client stays with its target.").default("none");
    STICKY_COOKIE_NAME: DoWord = (vendor!("sticky-sessions-cookie-name"),
        Custom { allowed: "a name of 2 to 40 characters", parse: cookie_name }, "The cookie's name. Needed with cookies.");
    STICKY_COOKIE_TTL: Integer = (vendor!("sticky-sessions-cookie-ttl"), Integer::between(1, u32::MAX),
        "How many seconds the cookie lives. Needed with cookies.");
    REDIRECT: Bool = (vendor!("redirect-http-to-https"), Bool, "Sends clients from port 80 to port 443.").default("false");
    NO_DNS_RECORDS: Bool = (vendor!("disable-lets-encrypt-dns-records"), Bool,
        "Makes no DNS records for certificates of Let's Encrypt.").default("false");
    PROXY_PROTOCOL: Bool = (vendor!("enable-proxy-protocol"), Bool,
        "Tells targets who the client is, by the PROXY protocol.").default("false");
    KEEPALIVE: Bool = (vendor!("enable-backend-keepalive"), Bool, "Keeps HTTP connections to targets open.")
        .default("false");
    IDLE_TIMEOUT: Integer = (vendor!("http-idle-timeout-seconds"), Integer::between(30, 600).of("seconds").or_zero(),
        "After how long idle HTTP connections end.").otherwise("60");
    DENY_RULES: List<DoWord> = (vendor!("deny-rules"), RULES, "Which clients may not connect.");
    ALLOW_RULES: List<DoWord> = (vendor!("allow-rules"), RULES,
        "Only these clients may connect. spec.loadBalancerSourceRanges replaces it.");
    HEALTH_OVERRIDE: Text = (vendor!("override-health-check"), Text("anything"),
        "If it is set, to whatever value, the health check asks a port of the Service instead of kube-proxy or the local pods.");
    HEALTH_PORT: Port = (vendor!("healthcheck-port"), Port,
        "Which TCP port of the Service is checked. Needs override-health-check.").otherwise("the first TCP port");
    HEALTH_PATH: DoWord = (vendor!("healthcheck-path"), Custom::path("a path that begins with /"),
        "The path of the health check. Needs override-health-check.").otherwise("/");
    HEALTH_PROTOCOL: OneOf<HealthProtocol> = (vendor!("healthcheck-protocol"), HEALTH_PROTOCOLS,
        "How the port is checked. Needs override-health-check.").otherwise("http with a path, else tcp");
    HEALTH_INTERVAL: Integer = (vendor!("healthcheck-check-interval-seconds"), Integer::between(3, 300),
        "Seconds from one check to the next.").default("3");
    HEALTH_TIMEOUT: Integer = (vendor!("healthcheck-response-timeout-seconds"), Integer::between(3, 300),
        "Seconds until a check has failed.").default("5");
    HEALTH_UNHEALTHY: Integer = (vendor!("healthcheck-unhealthy-threshold"), Integer::between(2, 10),
        "Failed checks until a target gets no traffic.").default("3");
    HEALTH_HEALTHY: Integer = (vendor!("healthcheck-healthy-threshold"), Integer::between(2, 10),
        "Checks passed until it gets traffic again.").default("5");
}

/// A name that the cloud accepts.
fn name(text: &str) -> Option<String> {
    let good = text.len() <= 255
        && text.starts_with(|it: char| it.is_ascii_alphanumeric())
        && text.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'-'))
        && !text.ends_with('-');
    good.then(|| text.to_owned())
}

/// A cookie's name, of a length that the cloud accepts.
fn cookie_name(text: &str) -> Option<String> {
    (2..=40).contains(&text.len()).then(|| text.to_owned())
}

fn rule(text: &str) -> Option<String> {
    match text.split_once(':')? {
        ("ip", address) => Custom::address("").parse(address)?,
        ("cidr", range) => Custom::cidr("").parse(range)?,
        _ => return None,
    };
    Some(text.to_owned())
}
