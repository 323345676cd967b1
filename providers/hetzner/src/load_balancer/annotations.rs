//! The table of annotations: its rows read, refuse and describe them.

use aerostat_sdk::annotations;
use aerostat_sdk::form::{AnyCase, Bool, Custom, Integer, List, OneOf, Port, Seconds, Text};

use crate::algorithm::Algorithm;
use crate::api::load_balancers::{LoadBalancer, Protocol};
use crate::settings::{ALGORITHMS, CHECK, RETRIES};

macro_rules! vendor {
    ($name:literal) => {
        concat!("load-balancer.hetzner.cloud/", $name)
    };
}

/// The beginning of the keys.
pub(crate) const PREFIX: &str = vendor!("");

/// The annotations of a Service, read beside the load balancer that there may be.
pub(super) type HetznerReading<'a> = annotations::Reading<'a, LoadBalancer>;

type AnnotationWord = Custom<String>;

/// The protocols of a port.
pub(super) const PROTOCOLS: AnyCase<Protocol> =
    AnyCase(OneOf(&[("tcp", Protocol::Tcp), ("http", Protocol::Http), ("https", Protocol::Https)]));
const LIFETIME: Seconds = Seconds::between(1, u32::MAX);
const IDLE: Seconds = Seconds::between(30, 300);
const ITEM: AnnotationWord = Custom { allowed: "no empty item", parse: item };
const CERTIFICATES: List<AnnotationWord> = List { of: ITEM, what: "ids or names of certificates", example: "42,www" };
const DOMAINS: List<AnnotationWord> = List { of: ITEM, what: "domains", example: "example.com,*.example.com" };
const CODES: List<AnnotationWord> = List { of: ITEM, what: "statuses", example: "2??,3??" };
const RESERVED: Text = Text("anything");

aerostat_sdk::table! {
    /// All of them.
    pub(crate) const TABLE;
    NAME: AnnotationWord = (vendor!("name"), Custom { allowed: "a name of at most 255 characters", parse: name },
        "The load balancer's name; a change renames it.").otherwise("a and the Service's UID");
    TYPE: AnnotationWord = (vendor!("type"), Custom::slug("the name of a type such as lb11"),
        "How large it is. Removing the annotation keeps the type.").otherwise("setting loadBalancers.type, or else lb11");
    LOCATION: AnnotationWord = (vendor!("location"), Custom::slug("the name of a location such as fsn1"),
        "Where it is built; it wins over network-zone. Empty, it takes back setting loadBalancers.location.")
        .otherwise("setting loadBalancers.location").only_at_creation();
    NETWORK_ZONE: AnnotationWord = (vendor!("network-zone"), Custom::slug("the name of a network zone such as eu-central"),
        "In which network zone it is built. Empty, it takes back setting loadBalancers.networkZone.")
        .otherwise("setting loadBalancers.networkZone").only_at_creation();
    ALGORITHM: AnyCase<Algorithm> = (vendor!("algorithm-type"), ALGORITHMS, "How load is spread.")
        .otherwise("setting loadBalancers.algorithm, or as it is");
    HOSTNAME: AnnotationWord = (vendor!("hostname"), Custom::dns_name("a DNS name such as lb.example.com"),
        "The Service's status shows it instead of addresses.");
    NODE_SELECTOR: Text = (vendor!("node-selector"), Text("a label selector"),
        "Only nodes with these labels take traffic.").otherwise("all nodes").selects_nodes();
    DISABLE_PUBLIC_NETWORK: Bool = (vendor!("disable-public-network"), Bool,
        "Whether it is reached from the private network alone.")
        .otherwise("setting loadBalancers.disablePublicNetwork, or as it is");
    DISABLE_PRIVATE_INGRESS: Bool = (vendor!("disable-private-ingress"), Bool,
        "Leaves private addresses out of the Service's status. Needed where kube-proxy uses IPVS, unless proxy protocol is on.")
        .otherwise("setting loadBalancers.disablePrivateIngress");
    USE_PRIVATE_IP: Bool = (vendor!("use-private-ip"), Bool,
        "Reaches nodes through the private network. Needs setting network. A change takes each target out for a moment.")
        .otherwise("setting loadBalancers.usePrivateIP");
    PRIVATE_IPV4: AnnotationWord = (vendor!("private-ipv4"), Custom::ipv4("an IPv4 address"),
        "Its address in the private network. Needs setting network. A change detaches it from the network for a moment.");
    PRIVATE_SUBNET: AnnotationWord = (vendor!("private-subnet-ip-range"), Custom::cidr("a network such as 10.0.1.0/24"),
        "The subnet that it is attached to. Read when it is attached.").otherwise("setting loadBalancers.privateSubnetIPRange");
    IPV6_DISABLED: Bool = (vendor!("ipv6-disabled"), Bool, "Leaves IPv6 addresses out of the Service's status.")
        .otherwise("setting loadBalancers.disableIPv6");
    IPV4_RDNS: AnnotationWord = (vendor!("ipv4-rdns"), Custom::dns_name("a DNS name"), "The name that its IPv4 address leads back to.");
    IPV6_RDNS: AnnotationWord = (vendor!("ipv6-rdns"), Custom::dns_name("a DNS name"), "The name that its IPv6 address leads back to.");
    IPV4: Text = (vendor!("ipv4"), RESERVED, "Reserved: neither read nor written.");
    IPV6: Text = (vendor!("ipv6"), RESERVED, "Reserved: neither read nor written.");
    ID: Text = (vendor!("id"), RESERVED, "Reserved: neither read nor written.");
    PROTOCOL: AnyCase<Protocol> = (vendor!("protocol"), PROTOCOLS, "What all ports speak.").default("tcp");
    PORT_PROTOCOL: AnyCase<Protocol> = (vendor!("protocol.*"), PROTOCOLS,
        "What one port speaks: protocol.443 says it of port 443. The vendor's controller does not read it.")
        .otherwise("annotation protocol");
    PROXY_PROTOCOL: Bool = (vendor!("uses-proxyprotocol"), Bool, "Tells targets who the client is, by the PROXY protocol.")
        .otherwise("setting loadBalancers.usesProxyProtocol, or as it is");
    COOKIE_NAME: Text = (vendor!("http-cookie-name"), Text("the name of a cookie"),
        "The cookie by which clients stay with their target. HTTP and HTTPS only.").otherwise("as it is");
    COOKIE_LIFETIME: Seconds = (vendor!("http-cookie-lifetime"), LIFETIME, "How long that cookie lives.")
        .otherwise("as it is");
    TIMEOUT_IDLE: Seconds = (vendor!("http-timeout-idle"), IDLE, "After how long idle HTTP connections end.")
        .otherwise("as it is");
    STICKY_SESSIONS: Bool = (vendor!("http-sticky-sessions"), Bool,
        "Whether clients stay with their target. HTTP and HTTPS only.").otherwise("as it is");
    REDIRECT: Bool = (vendor!("http-redirect-http"), Bool,
        "Sends clients from port 80 to port 443. HTTPS only, and port 80 must be no port of the Service.")
        .otherwise("as it is");
    CERTIFICATE_TYPE: OneOf<CertificateSource> = (vendor!("certificate-type"),
        OneOf(&[("uploaded", CertificateSource::Uploaded), ("managed", CertificateSource::Managed)]),
        "Whether certificates are those that http-certificates names, or one that the cloud issues and renews.")
        .default("uploaded");
    HTTP_CERTIFICATES: List<AnnotationWord> = (vendor!("http-certificates"), CERTIFICATES,
        "Where TLS ends at the load balancer, on ports that speak HTTPS.");
    MANAGED_NAME: AnnotationWord = (vendor!("http-managed-certificate-name"),
        Custom { allowed: "a name of at most 255 characters", parse: name }, "The name of the certificate that the cloud issues.")
        .otherwise("ccm-managed-certificate- and the Service's UID");
    MANAGED_DOMAINS: List<AnnotationWord> = (vendor!("http-managed-certificate-domains"), DOMAINS,
        "For which domains the cloud issues it. Needed with certificate-type managed. A certificate that there is keeps its \
         domains.");
    ACME_STAGING: Bool = (vendor!("http-managed-certificate-acme-staging"), Bool,
        "Whether the certificate comes from the issuer's test system.").default("false");
    HEALTH_PROTOCOL: AnyCase<Protocol> = (vendor!("health-check-protocol"), PROTOCOLS,
        "How the health of nodes is checked. https checks by HTTP over TLS.")
        .otherwise("as the port; tcp if no annotation and no setting is about health checks");
    HEALTH_PORT: Port = (vendor!("health-check-port"), Port, "Which port of the nodes is checked: a node port.")
        .otherwise("the port's node port");
    HEALTH_INTERVAL: Seconds = (vendor!("health-check-interval"), CHECK, "From one check to the next.")
        .otherwise("setting loadBalancers.healthCheckInterval, or as it is; 15s for a new one");
    HEALTH_TIMEOUT: Seconds = (vendor!("health-check-timeout"), CHECK, "After which time a check has failed.")
        .otherwise("setting loadBalancers.healthCheckTimeout, or as it is; 10s for a new one");
    HEALTH_RETRIES: Integer = (vendor!("health-check-retries"), RETRIES, "How many failed checks take a node out.")
        .otherwise("setting loadBalancers.healthCheckRetries, or as it is; 3 for a new one");
    HEALTH_DOMAIN: Text = (vendor!("health-check-http-domain"), Text("a host name"), "The Host header of checks by HTTP.");
    HEALTH_PATH: AnnotationWord = (vendor!("health-check-http-path"), Custom::path("a path that begins with /"),
        "The path of checks by HTTP.").otherwise("as it is; / for a new one");
    HEALTH_TLS: Bool = (vendor!("health-check-http-validate-certificate"), Bool, "Whether checks by HTTP use TLS.")
        .otherwise("as it is; true with health-check-protocol https");
    HEALTH_CODES: List<AnnotationWord> = (vendor!("http-status-codes"), CODES, "Which statuses a check by HTTP expects.")
        .otherwise("as it is; 2?? and 3?? for a new one");
}

/// Where certificates come from.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum CertificateSource {
    /// From their owner.
    #[default]
    Uploaded,
    /// From the cloud.
    Managed,
}

/// A name that the cloud accepts.
fn name(text: &str) -> Option<String> {
    ((1..=255).contains(&text.len()) && !text.chars().any(char::is_control)).then(|| text.to_owned())
}

fn item(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
