//! The annotations of a Service, as documentation: what `describe` says, and the README shows.

use aerostat_sdk::Annotation;

use super::annotations as key;

/// Those that it asks the host to write.
pub(crate) const WRITTEN: [&str; 2] = [key::ID, key::TYPE];

/// Key, what may stand in it, what holds without it ("" for nothing), what it does.
type Row = (&'static str, &'static str, &'static str, &'static str);

const BOOLEAN: &str = super::annotations::BOOLEAN;
const PORTS: &str = "ports of the Service, such as 80,8080";

const ROWS: [Row; 38] = [
    (
        key::ID,
        "UUID of a load balancer",
        "",
        "Written back. Set on a new Service, it adopts that load balancer, if its address is in the Service's status \
         or the operator set adoptById.",
    ),
    (key::DISOWN, BOOLEAN, "false", "Leaves the Service alone: nothing is created, changed or deleted for it."),
    (
        key::NAME,
        "at most 255 letters, digits, dots and dashes",
        "a and the Service's UID",
        "The load balancer's name. It is created by its default name and renamed once it serves.",
    ),
    (
        key::TYPE,
        "REGIONAL, REGIONAL_NETWORK",
        "setting defaultLoadBalancerType",
        "A proxy that understands HTTP, or one that passes packets through. Fixed at creation; written back.",
    ),
    (key::NETWORK, "EXTERNAL, INTERNAL", "EXTERNAL", "Who reaches it: everybody, or the VPC. Fixed at creation."),
    (
        key::NETWORK_STACK,
        "IPV4, DUALSTACK",
        "DUALSTACK if it is external and its type or all nodes allow it, else IPV4",
        "Its address families. Fixed at creation.",
    ),
    (key::IP, "IPv4 address", "", "An address of one's own. Only for the creation."),
    (key::SUBNET, "UUID of a subnet of the VPC", "", "The subnet that it is put into. Fixed at creation."),
    (
        key::PROTOCOL,
        "tcp, http, https, http2",
        "tcp",
        "What TCP ports speak that no other annotation lists. REGIONAL only.",
    ),
    (key::HTTP_PORTS, PORTS, "", "Ports that speak HTTP. REGIONAL only."),
    (key::TLS_PORTS, PORTS, "443 with a certificate or passthrough", "Ports that speak HTTPS. REGIONAL only."),
    (key::HTTP2_PORTS, PORTS, "", "Ports that speak HTTP/2 over TLS. REGIONAL only."),
    (
        key::HTTP3_PORT,
        "a port of the Service",
        "",
        "The port that speaks HTTP/3 as well. Needs a certificate. REGIONAL only.",
    ),
    (key::TLS_PASSTHROUGH, BOOLEAN, "false", "Leaves TLS to the targets. Not with a certificate. REGIONAL only."),
    (
        key::CERTIFICATE_ID,
        "UUID of a certificate",
        "",
        "Where TLS ends at the load balancer. One of Let's Encrypt may be renewed under another id: the annotation \
         stays right. REGIONAL only.",
    ),
    (key::CERTIFICATE_NAME, "name of a certificate", "", "As the id, which comes first. REGIONAL only."),
    (key::HOSTNAME, "DNS name", "", "Stands in the Service's status in the place of addresses."),
    (key::ALGORITHM, "round_robin, least_connections", "round_robin", "Deprecated: the cloud ignores it."),
    (
        key::SIZE_SLUG,
        "lb-small, lb-medium, lb-large",
        "",
        "Its size in regions without nodes. Not with the number of nodes.",
    ),
    (
        key::SIZE_UNIT,
        "1 to 100",
        "as it is; 1 for a new one",
        "How many nodes it has. The cloud changes it once an hour at most.",
    ),
    (key::STICKY_TYPE, "none, cookies", "none", "Whether a client stays with its target."),
    (key::STICKY_COOKIE_NAME, "text", "", "The cookie's name. Needed with cookies."),
    (key::STICKY_COOKIE_TTL, "seconds", "", "How long the cookie lives. Needed with cookies."),
    (key::REDIRECT, BOOLEAN, "false", "Sends clients from port 80 to port 443."),
    (key::NO_DNS_RECORDS, BOOLEAN, "false", "Makes no DNS records for certificates of Let's Encrypt."),
    (key::PROXY_PROTOCOL, BOOLEAN, "false", "Tells targets who the client is, by the PROXY protocol."),
    (key::KEEPALIVE, BOOLEAN, "false", "Keeps HTTP connections to targets open."),
    (key::IDLE_TIMEOUT, "30 to 600", "60", "After how many seconds idle HTTP connections end."),
    (key::DENY_RULES, "such as ip:192.0.2.1,cidr:198.51.100.0/24", "", "Who may not connect."),
    (
        key::ALLOW_RULES,
        "such as ip:192.0.2.1,cidr:198.51.100.0/24",
        "",
        "Who alone may connect. spec.loadBalancerSourceRanges takes its place.",
    ),
    (
        key::HEALTH_OVERRIDE,
        "anything",
        "",
        "If it is there, whatever it says, a port of the Service is checked, and not kube-proxy or the node's local \
         pods.",
    ),
    (
        key::HEALTH_PORT,
        "a TCP port of the Service",
        "the first TCP port",
        "Which port is checked. Needs override-health-check.",
    ),
    (key::HEALTH_PATH, "a path", "/", "Which path is asked for. Needs override-health-check."),
    (
        key::HEALTH_PROTOCOL,
        "tcp, http, https",
        "http with a path, else tcp",
        "How the port is checked. Needs override-health-check.",
    ),
    (key::HEALTH_INTERVAL, "3 to 300", "3", "Seconds between two checks."),
    (key::HEALTH_TIMEOUT, "3 to 300", "5", "Seconds until a check has failed."),
    (key::HEALTH_UNHEALTHY, "2 to 10", "3", "Failed checks until a target gets no traffic."),
    (key::HEALTH_HEALTHY, "2 to 10", "5", "Checks passed until it gets traffic again."),
];

/// All annotations that are read.
pub(crate) fn described() -> impl Iterator<Item = Annotation> {
    ROWS.into_iter().map(|(key, values, default, doc)| {
        let annotation = Annotation::new(key, values, doc);
        if default.is_empty() { annotation } else { annotation.default(default) }
    })
}
