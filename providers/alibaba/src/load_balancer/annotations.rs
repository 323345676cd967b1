//! The table of annotations: its rows read, refuse and describe them. Those with the older beginning count where the newer is not written.

use aerostat_sdk::LoadBalancer;
use aerostat_sdk::form::{AnyCase, Bool, Custom, Form as _, Integer, List, OneOf, Text};

use crate::api::listeners::SlbProtocol;

macro_rules! vendor {
    ($name:literal) => {
        concat!("service.beta.kubernetes.io/alibaba-cloud-loadbalancer-", $name)
    };
}

pub(crate) use vendor;

/// The beginning of the keys.
pub(crate) const PREFIX: &str = vendor!("");
/// The beginning of older keys.
pub(super) const OLDER_PREFIX: &str = "service.beta.kubernetes.io/alicloud-loadbalancer-";

const ON_OFF: AnyCase<&str> = AnyCase(OneOf(&[("on", "on"), ("off", "off")]));

aerostat_sdk::table! {
    /// All of them.
    pub(crate) const TABLE;
    ADDRESS_TYPE: AnyCase<&'static str> = (vendor!("address-type"), AnyCase(OneOf(&[("internet", "internet"), ("intranet", "intranet")])),
        "Whether it is reached from the internet, or from the VPC alone. That of a Classic one cannot be changed later.").default("internet");
    NAME: Custom<String> = (vendor!("name"), Custom { allowed: "a name of 1 to 80 letters, digits, dashes, slashes, dots and underscores", parse: name },
        "Its name; that of a Network Load Balancer has up to 128.").otherwise("a and the Service's UID without dashes");
    ID: Custom<String> = (vendor!("id"), Custom { allowed: "the id of a load balancer such as lb-bp1abc", parse: own_id },
        "A load balancer of one's own, in which the Service has its groups of machines. It stays, with everything in it that somebody else made. It needs setting adoptById, or its address in the Service's status.");
    GROUPS: List<Custom<(String, u16)>> = (vendor!("vgroup-port"),
        List { of: Custom { allowed: "the id of a group such as rsp-bp1abc, a colon and a port", parse: own_group }, what: "ids of groups and ports", example: "rsp-bp1abc:80,rsp-bp2def:443" },
        "Groups in the load balancer of annotation id that take the machines of ports in place of the Service's own. They stay, with the machines that somebody else put there.");
    OVERRIDES: Bool = (vendor!("force-override-listeners"), Bool, "Whether the load balancer of annotation id gets listeners for the Service's ports, in place of others there.")
        .default("false");
    ALL_WEIGHT: Integer = (vendor!("weight"), Integer::between(0, 100), "The weight of all nodes together in the groups of annotation vgroup-port: each has its part of it, at least 1 unless it is 0.")
        .otherwise("that of default-weight, each");
    SWITCH: Custom<String> = (vendor!("vswitch-id"), Custom { allowed: "the id of a vSwitch such as vsw-bp1abc", parse: switch },
        "The vSwitch that one of the address type intranet is in.").otherwise("one of setting vswitches").only_at_creation();
    ADDRESS: Custom<String> = (vendor!("ip"), Custom::ipv4("an IPv4 address"), "The address of one of the address type intranet.")
        .otherwise("the cloud's choice").only_at_creation();
    IP_VERSION: AnyCase<&'static str> = (vendor!("ip-version"), AnyCase(OneOf(&[("ipv4", "ipv4"), ("ipv6", "ipv6"), ("DualStack", "DualStack")])),
        "The family of its address: ipv6 is a Classic one's, DualStack a Network one's. It cannot be changed later.").default("ipv4");
    RESOURCE_GROUP: Custom<String> = (vendor!("resource-group-id"), Custom { allowed: "the id of a resource group such as rg-1", parse: group },
        "Its resource group.").otherwise("setting resourceGroup").only_at_creation();
    PRIMARY_ZONE: Custom<String> = (vendor!("master-zoneid"), Custom::slug("the id of a zone such as cn-hangzhou-b"),
        "The zone that it works in.").otherwise("the cloud's choice").only_at_creation();
    OTHER_ZONE: Custom<String> = (vendor!("slave-zoneid"), Custom::slug("the id of a zone such as cn-hangzhou-g"),
        "The zone that takes over.").otherwise("the cloud's choice").only_at_creation();
    INSTANCE_CHARGE: AnyCase<&'static str> = (vendor!("instance-charge-type"),
        AnyCase(OneOf(&[("PayBySpec", "PayBySpec"), ("PayByCLCU", "PayByCLCU")])), "What is paid for it.").default("PayByCLCU").only_at_creation();
    SPEC: Custom<String> = (vendor!("spec"), Custom { allowed: "a size such as slb.s1.small", parse: spec },
        "Its size, with PayBySpec.").otherwise("slb.s1.small with PayBySpec");
    CHARGE: AnyCase<&'static str> = (vendor!("charge-type"),
        AnyCase(OneOf(&[("paybytraffic", "paybytraffic"), ("paybybandwidth", "paybybandwidth")])), "What is paid for traffic from the internet.")
        .otherwise("paybytraffic");
    BANDWIDTH: Integer = (vendor!("bandwidth"), Integer::between(1, 5_120), "Megabits a second of traffic from the internet, with paybybandwidth.")
        .otherwise("the cloud's");
    DELETE_PROTECTION: AnyCase<&'static str> = (vendor!("delete-protection"), ON_OFF, "Whether others cannot delete it.").otherwise("on");
    MODIFICATION_PROTECTION: AnyCase<&'static str> = (vendor!("modification-protection"),
        AnyCase(OneOf(&[("ConsoleProtection", "ConsoleProtection"), ("NonProtection", "NonProtection")])), "Whether it cannot be changed in the console.")
        .otherwise("ConsoleProtection");
    TAGS: List<Custom<(String, String)>> = (vendor!("additional-resource-tags"),
        List { of: Custom { allowed: "a key, and a value such as team=web", parse: tag }, what: "tags", example: "team=web,stage=test" },
        "Tags that it gets. They are never taken away.");
    PRESERVE: Text = (vendor!("preserve-lb-on-delete"), Text("any text"), "It stays when the Service goes.");
    HOSTNAME: Custom<String> = (vendor!("hostname"), Custom::dns_name("a DNS name"),
        "The name that the Service's status shows in place of the address.").otherwise("the address");
    EXTERNAL_ADDRESS: AnyCase<()> = (vendor!("external-ip-type"), AnyCase(OneOf(&[("eip", ())])),
        "The Service's status shows the elastic address that is bound to it, in place of its own.").otherwise("its own");
    PROTOCOLS: List<Custom<(SlbProtocol, u16)>> = (vendor!("protocol-port"),
        List { of: Custom { allowed: "a protocol (tcp, udp, http, https), a colon and a port", parse: protocol }, what: "protocols of ports", example: "https:443,http:80" },
        "The protocols of ports. A Network Load Balancer has tcp, udp and tcpssl.").otherwise("those of the Service");
    CERTIFICATE: Custom<String> = (vendor!("cert-id"), Custom { allowed: "the id of a certificate", parse: words }, "The certificate of ports with https, or, several with commas between them, those of ports with tcpssl.");
    DOMAINS: List<Custom<(String, String)>> = (vendor!("domain-extensions"),
        List { of: Custom { allowed: "a domain, a colon and the id of a certificate", parse: domain }, what: "domains and their certificates", example: "a.example.com:cert-1,*.example.org:cert-2" },
        "Certificates of ports with https for further domains. Other domains lose theirs.").otherwise("as they are");
    FORWARD: List<Custom<(u16, u16)>> = (vendor!("forward-port"),
        List { of: Custom { allowed: "two ports and a colon", parse: ports }, what: "ports", example: "80:443" },
        "Ports with http that send clients to a port with https.");
    SCHEDULER: AnyCase<&'static str> = (vendor!("scheduler"),
        AnyCase(OneOf(&[("rr", "rr"), ("wrr", "wrr"), ("wlc", "wlc"), ("sch", "sch"), ("qch", "qch"), ("tch", "tch")])),
        "How nodes are chosen.").otherwise("rr");
    IDLE_TIMEOUT: Integer = (vendor!("idle-timeout"), Integer::between(1, 900), "Seconds after which idle connections end: of a Network Load Balancer, or, at most 60, of http and https.")
        .otherwise("the cloud's");
    REQUEST_TIMEOUT: Integer = (vendor!("request-timeout"), Integer::between(1, 180), "Seconds that a node has for an answer, with http and https.").otherwise("60");
    ESTABLISHED_TIMEOUT: Integer = (vendor!("established-timeout"), Integer::between(10, 900), "Seconds after which idle connections of tcp end.").otherwise("900");
    PERSISTENCE_TIMEOUT: Integer = (vendor!("persistence-timeout"), Integer::between(0, 3_600), "Seconds for which a client of tcp stays with a node.").otherwise("0");
    TLS_POLICY: Custom<String> = (vendor!("tls-cipher-policy"), Custom { allowed: "the name of a policy such as tls_cipher_policy_1_2", parse: word },
        "The versions and ciphers of https.").otherwise("the cloud's");
    HTTP2: AnyCase<&'static str> = (vendor!("http2-enabled"), ON_OFF, "Whether https has HTTP/2.").otherwise("on");
    DRAIN: AnyCase<&'static str> = (vendor!("connection-drain"), ON_OFF, "Whether connections of tcp end in their time once a node is taken away.").otherwise("off");
    DRAIN_TIMEOUT: Integer = (vendor!("connection-drain-timeout"), Integer::between(10, 900), "Seconds that they have.").otherwise("the cloud's");
    PROXY_PROTOCOL: AnyCase<&'static str> = (vendor!("proxy-protocol"), AnyCase(OneOf(&[("on", "true"), ("off", "false")])),
        "Whether nodes are told the client by the PROXY protocol, version 2, with tcp and udp.").otherwise("off");
    STICKY: AnyCase<&'static str> = (vendor!("sticky-session"), ON_OFF, "Whether a client of http or https stays with a node.").otherwise("off");
    STICKY_TYPE: AnyCase<&'static str> = (vendor!("sticky-session-type"), AnyCase(OneOf(&[("insert", "insert"), ("server", "server")])),
        "Whose cookie says with which: sticky-session needs it.");
    COOKIE: Custom<String> = (vendor!("cookie"), Custom { allowed: "a name of 1 to 200 letters, digits, dashes and underscores", parse: cookie },
        "The name of the cookie: the type server needs it.");
    COOKIE_TIMEOUT: Integer = (vendor!("cookie-timeout"), Integer::between(1, 86_400), "Seconds for which a cookie holds: the type insert needs it.");
    FORWARDED_PROTO: AnyCase<&'static str> = (vendor!("xforwardedfor-proto"), ON_OFF, "Whether the header X-Forwarded-Proto is written.").otherwise("off");
    FORWARDED_PORT: AnyCase<&'static str> = (vendor!("xforwardedfor-slbport"), ON_OFF, "Whether the header X-Forwarded-Port is written.").otherwise("off");
    FORWARDED_CLIENT_PORT: AnyCase<&'static str> = (vendor!("xforwardedfor-clientsrcport"), ON_OFF, "Whether the header X-Forwarded-Client-srcport is written.")
        .otherwise("off");
    ACL_STATUS: AnyCase<&'static str> = (vendor!("acl-status"), ON_OFF, "Whether a list of access says who comes in.").otherwise("off");
    ACL_ID: Custom<String> = (vendor!("acl-id"), Custom { allowed: "ids of lists of access such as acl-1", parse: words }, "The list.");
    ACL_TYPE: AnyCase<&'static str> = (vendor!("acl-type"), AnyCase(OneOf(&[("white", "white"), ("black", "black")])), "Whether it lets in, or keeps out.");
    CHECK_SWITCH: AnyCase<&'static str> = (vendor!("health-check-switch"), ON_OFF, "Whether nodes are checked, with tcp and udp.").otherwise("on");
    CHECK_FLAG: AnyCase<&'static str> = (vendor!("health-check-flag"), ON_OFF, "Whether nodes are checked, with http and https.")
        .otherwise("off, and on with externalTrafficPolicy Local");
    CHECK_TYPE: AnyCase<&'static str> = (vendor!("health-check-type"), AnyCase(OneOf(&[("tcp", "tcp"), ("http", "http"), ("udp", "udp")])),
        "How nodes are checked, with tcp; udp is a Network Load Balancer's, for ports with udp.")
        .otherwise("tcp, and http with externalTrafficPolicy Local");
    CHECK_PATH: Custom<String> = (vendor!("health-check-uri"), Custom::path("a path that begins with /"), "The path of checks by HTTP.")
        .otherwise("/healthz with externalTrafficPolicy Local");
    CHECK_PORT: Custom<String> = (vendor!("health-check-connect-port"), Custom { allowed: "a port, or -520 for the node port", parse: check_port },
        "The port of nodes that is checked.").otherwise("the node port, and the health check's with externalTrafficPolicy Local");
    HEALTHY: Integer = (vendor!("healthy-threshold"), Integer::between(2, 10), "How many good checks bring a node back.").otherwise("3");
    UNHEALTHY: Integer = (vendor!("unhealthy-threshold"), Integer::between(2, 10), "How many failed checks take a node out.").otherwise("3");
    CHECK_INTERVAL: Integer = (vendor!("health-check-interval"), Integer::between(1, 50), "Seconds from one check to the next.").otherwise("2");
    CHECK_CONNECT_TIMEOUT: Integer = (vendor!("health-check-connect-timeout"), Integer::between(1, 300),
        "Seconds after which a check has failed, with tcp and udp.").otherwise("5");
    CHECK_TIMEOUT: Integer = (vendor!("health-check-timeout"), Integer::between(1, 300), "Seconds after which a check has failed, with http and https.")
        .otherwise("5");
    CHECK_DOMAIN: Custom<String> = (vendor!("health-check-domain"), Custom { allowed: "a host", parse: word }, "The header Host of checks by HTTP.")
        .otherwise("the node's address");
    CHECK_CODES: Custom<String> = (vendor!("health-check-httpcode"), Custom { allowed: "words such as http_2xx,http_3xx", parse: words },
        "The status of good checks by HTTP.").otherwise("http_2xx");
    CHECK_METHOD: AnyCase<&'static str> = (vendor!("health-check-method"), AnyCase(OneOf(&[("head", "head"), ("get", "get")])),
        "The method of checks, with http and https.").otherwise("head");
    BACKEND_LABEL: Text = (vendor!("backend-label"), Text("labels and their values such as pool=edge"),
        "Only nodes with these labels take traffic.").selects_nodes();
    WEIGHT: Integer = (vendor!("default-weight"), Integer::between(0, 100), "The weight of nodes.").default("100");
    IGNORE_WEIGHTS: AnyCase<bool> = (vendor!("ignore-weight-update"), AnyCase(OneOf(&[("on", true), ("off", false)])),
        "Whether the weight of nodes that are there stays as it is.").default("off");
    OLDER_LABEL: Text = ("service.beta.kubernetes.io/alicloud-loadbalancer-backend-label", Text("labels and their values such as pool=edge"),
        "The same with the older beginning. Where both are written, nodes have the labels of both.").selects_nodes();
    OLDER: Text = ("service.beta.kubernetes.io/alicloud-loadbalancer-*", Text("as with the newer beginning"),
        "The same with the older beginning, where the newer is not written.");
}

/// The Service with its annotations under their newer keys.
pub(crate) fn renamed(service: &LoadBalancer) -> LoadBalancer {
    let (older, mut annotations): (Vec<_>, Vec<_>) =
        service.annotations.iter().cloned().partition(|(key, _)| key.starts_with(OLDER_PREFIX));
    for (key, value) in older {
        let newer = format!("{PREFIX}{}", &key[OLDER_PREFIX.len()..]);
        if annotations.iter().all(|(key, _)| *key != newer) {
            annotations.push((newer, value));
        }
    }
    LoadBalancer { annotations, ..service.clone() }
}

fn name(text: &str) -> Option<String> {
    name_of(text, 80)
}

/// A name of at most so many characters.
pub(crate) fn name_of(text: &str, most: usize) -> Option<String> {
    let is_part = |it: char| it.is_alphanumeric() || "-/._".contains(it);
    let starts = text.starts_with(char::is_alphanumeric);
    (starts && text.chars().all(is_part) && text.chars().count() <= most).then(|| text.to_owned())
}

/// The id of a load balancer of either kind.
fn own_id(text: &str) -> Option<String> {
    ["lb-", "nlb-"].iter().find_map(|it| crate::settings::dashed_id(text, it))
}

/// A group of a load balancer of either kind, and a port.
fn own_group(text: &str) -> Option<(String, u16)> {
    let (id, number) = text.split_once(':')?;
    let id = ["rsp-", "sgp-"].iter().find_map(|it| crate::settings::dashed_id(id.trim(), it));
    Some((id?, port(number)?))
}

fn switch(text: &str) -> Option<String> {
    crate::settings::dashed_id(text, "vsw-")
}

fn group(text: &str) -> Option<String> {
    crate::settings::dashed_id(text, "rg-")
}

fn spec(text: &str) -> Option<String> {
    word(text).filter(|it| it.starts_with("slb."))
}

/// One word: an id, or a host.
pub(crate) fn word(text: &str) -> Option<String> {
    let is_part = |it: u8| it.is_ascii_alphanumeric() || b"-_.$".contains(&it);
    (!text.is_empty() && text.len() <= 80 && text.bytes().all(is_part)).then(|| text.to_owned())
}

/// Words with commas between them.
pub(crate) fn words(text: &str) -> Option<String> {
    let words: Option<Vec<String>> = text.split(',').map(|it| word(it.trim())).collect();
    Some(words?.join(","))
}

fn cookie(text: &str) -> Option<String> {
    let is_part = |it: u8| it.is_ascii_alphanumeric() || b"-_".contains(&it);
    ((1..=200).contains(&text.len()) && text.bytes().all(is_part)).then(|| text.to_owned())
}

fn tag(text: &str) -> Option<(String, String)> {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    let (key, value) = (key.trim(), value.trim());
    // Marks of others are not a Service's to write.
    let is_free =
        !key.is_empty() && !key.contains("aerostat") && !key.starts_with("acs:") && !key.starts_with("aliyun");
    (is_free && !["ack.aliyun.com", "kubernetes.do.not.delete", "kubernetes.reused.by.user"].contains(&key))
        .then(|| (key.to_owned(), value.to_owned()))
}

/// A domain, or all in one (`*.example.org`), and its certificate.
fn domain(text: &str) -> Option<(String, String)> {
    let (domain, certificate) = text.rsplit_once(':')?;
    let domain = domain.trim().to_ascii_lowercase();
    Custom::dns_name("").parse(domain.strip_prefix("*.").unwrap_or(&domain))?;
    Some((domain, word(certificate.trim())?))
}

fn protocol(text: &str) -> Option<(SlbProtocol, u16)> {
    let (word, number) = text.split_once(':')?;
    let protocol = SlbProtocol::ALL.into_iter().find(|it| it.word().eq_ignore_ascii_case(word.trim()))?;
    Some((protocol, port(number)?))
}

fn ports(text: &str) -> Option<(u16, u16)> {
    let (from, to) = text.split_once(':')?;
    Some((port(from)?, port(to)?))
}

/// The number of a port.
pub(crate) fn port(text: &str) -> Option<u16> {
    text.trim().parse().ok().filter(|it| *it != 0)
}

fn check_port(text: &str) -> Option<String> {
    (text == "-520" || text.parse::<u16>().is_ok_and(|it| it != 0)).then(|| text.to_owned())
}
