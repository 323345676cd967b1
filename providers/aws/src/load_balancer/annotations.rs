//! The table of annotations, for Network and for Classic Load Balancers: its rows read, refuse and describe them.

use aerostat_sdk::form::{AnyCase, Bool, Custom, Integer, List, OneOf, Text};

macro_rules! vendor {
    ($name:literal) => {
        concat!("service.beta.kubernetes.io/aws-load-balancer-", $name)
    };
}

type AwsWord = Custom<String>;
type Words = Custom<Vec<String>>;

const GROUPS: Words = Custom { allowed: "a list of ids of security groups such as sg-1,sg-2", parse: groups };
const ARN: AwsWord = Custom {
    allowed: "the ARN of a certificate of ACM or IAM such as arn:aws:acm:eu-central-1:123456789012:certificate/4711",
    parse: certificate,
};
const ITEM: AwsWord = Custom { allowed: "no empty item", parse: item };
const ADDRESS: AwsWord = Custom::ipv4("an IPv4 address");
const CIDR: AwsWord = Custom::cidr("a network such as 10.0.0.0/8");
/// How many checks decide.
const THRESHOLD: Integer = Integer::between(2, 10);

aerostat_sdk::table! {
    /// All of them.
    pub(crate) const TABLE;
    TYPE: Custom<LoadBalancerKind> = (vendor!("type"), Custom { allowed: "nlb, external, nlb-ip, or anything else", parse: kind },
        "nlb is a Network Load Balancer. external and nlb-ip leave the Service to the AWS Load Balancer Controller. \
         Anything else is a Classic Load Balancer. It cannot change while there is a load balancer.")
        .otherwise("a Classic Load Balancer");
    INTERNAL: Custom<bool> = (vendor!("internal"), Custom { allowed: "false, or anything else for true",
        parse: |text| Some(text != "false") },
        "Whether it is reached from the VPC alone.").otherwise("false").only_at_creation();
    PROXY_PROTOCOL: OneOf<()> = (vendor!("proxy-protocol"), OneOf(&[("*", ())]),
        "Tells the targets of all ports who the client is, by version 1 of the PROXY protocol. Classic only.");
    LOG_ENABLED: Bool = (vendor!("access-log-enabled"), Bool, "Whether access is logged into a bucket of S3, which \
         access-log-s3-bucket-name has to name.")
        .default("false");
    LOG_INTERVAL: OneOf<u32> = (vendor!("access-log-emit-interval"), OneOf(&[("5", 5), ("60", 60)]),
        "After how many minutes the log goes on with a new file. Classic only.").otherwise("as AWS has it: 60");
    LOG_BUCKET: Text = (vendor!("access-log-s3-bucket-name"), Text("the name of a bucket"), "The bucket of the log.");
    LOG_PREFIX: Text = (vendor!("access-log-s3-bucket-prefix"), Text("a path in it"),
        "Where in the bucket the log is.");
    DRAINING_ENABLED: Bool = (vendor!("connection-draining-enabled"), Bool,
        "Whether connections to a node that goes may end by themselves. Classic only.").default("false");
    DRAINING_TIMEOUT: Integer = (vendor!("connection-draining-timeout"), Integer::between(1, 3_600).of("seconds"),
        "How long they may. Classic only.").otherwise("as AWS has it: 300");
    IDLE_TIMEOUT: Integer = (vendor!("connection-idle-timeout"), Integer::between(1, 4_000).of("seconds"),
        "After how long an idle connection ends. Classic only.").default("60");
    CROSS_ZONE: Bool = (vendor!("cross-zone-load-balancing-enabled"), Bool,
        "Whether each zone sends to the nodes of all zones.").default("false");
    SECURITY_GROUPS: Words = (vendor!("security-groups"), GROUPS,
        "Its security groups, instead of one that is made for it. Their rules are not touched. A Network Load Balancer \
         has security groups only with setting loadBalancers.nlbSecurityGroupMode.");
    EXTRA_SECURITY_GROUPS: Words = (vendor!("extra-security-groups"), GROUPS,
        "Security groups beside the one that is made for it. Classic only: an error with nlb.");
    CERTIFICATE: AwsWord = (vendor!("ssl-cert"), ARN,
        "The certificate: where it is set, TLS ends at the load balancer, on the ports in ssl-ports.");
    SSL_PORTS: Text = (vendor!("ssl-ports"), Text("port numbers and port names with commas between them, or *"),
        "On which ports TLS ends. White space is a part of a name.").default("*");
    SSL_POLICY: Text = (vendor!("ssl-negotiation-policy"), Text("the name of a policy"),
        "Which versions and ciphers of TLS are spoken.").otherwise("AWS's default for a new one, then as it is");
    BACKEND_PROTOCOL: Custom<BackendProtocol> = (vendor!("backend-protocol"), Custom {
        allowed: "http, https, ssl or tcp", parse: backend },
        "What nodes speak. To a Network Load Balancer only ssl matters: TLS to the nodes of ports where TLS ends.")
        .otherwise("tcp");
    ADDITIONAL_TAGS: Text = (vendor!("additional-resource-tags"), Text("key=value pairs with commas between them"),
        "Tags for what is made: load balancer, listeners, target groups and security groups.");
    HEALTH_PROTOCOL: AnyCase<HealthProtocol> = (vendor!("healthcheck-protocol"), AnyCase(OneOf(&[
        ("tcp", HealthProtocol::Tcp), ("http", HealthProtocol::Http), ("https", HealthProtocol::Https),
        ("ssl", HealthProtocol::Ssl),
    ])), "How nodes are checked. ssl is for Classic only.")
        .otherwise("tcp; http with externalTrafficPolicy Local, or with setting loadBalancers.healthProbeMode Shared");
    HEALTH_PORT: Custom<HealthPort> = (vendor!("healthcheck-port"), Custom {
        allowed: "a port, or traffic-port", parse: health_port },
        "Which port of the nodes is checked.")
        .otherwise("traffic-port; healthCheckNodePort with externalTrafficPolicy Local");
    HEALTH_PATH: AwsWord = (vendor!("healthcheck-path"), Custom::path("a path that begins with /"),
        "The path of checks by HTTP.").otherwise("/; /healthz with externalTrafficPolicy Local");
    HEALTHY: Integer = (vendor!("healthcheck-healthy-threshold"), THRESHOLD, "How many good checks take a node in.")
        .otherwise("nlb: 3, 2 with externalTrafficPolicy Local; Classic: 2");
    UNHEALTHY: Integer = (vendor!("healthcheck-unhealthy-threshold"), THRESHOLD, "How many bad checks take a node out.")
        .otherwise("nlb: 3, 2 with externalTrafficPolicy Local; Classic: 6");
    HEALTH_TIMEOUT: Integer = (vendor!("healthcheck-timeout"), Integer::between(2, 120).of("seconds"),
        "After which time a check is bad. nlb: at most healthcheck-interval. Classic: at most 60.").otherwise("nlb: as AWS has it; Classic: 5");
    HEALTH_INTERVAL: Integer = (vendor!("healthcheck-interval"), Integer::between(5, 300).of("seconds"),
        "From one check to the next.").otherwise("nlb: 30, 10 with externalTrafficPolicy Local; Classic: 10");
    GROUP_ATTRIBUTES: Text = (vendor!("target-group-attributes"),
        Text("preserve_client_ip.enabled and proxy_protocol_v2.enabled, each with =true or =false, with a comma between"),
        "What nodes learn of the client. Taken off, the last values stay. nlb only: an error with Classic.");
    ELASTIC_IPS: List<AwsWord> = (vendor!("eip-allocations"), List { of: ITEM, what: "allocations of elastic IPs",
        example: "eipalloc-1,eipalloc-2" }, "Its addresses, one for each subnet. nlb only, and not with internal.").only_at_creation();
    PRIVATE_IPS: List<AwsWord> = (vendor!("private-ipv4-addresses"), List { of: ADDRESS, what: "IPv4 addresses",
        example: "10.0.1.5,10.0.2.5" }, "Its private addresses, one for each subnet. nlb only, with internal.").only_at_creation();
    NODE_LABELS: Text = (vendor!("target-node-labels"), Text("a label selector such as pool=web,ssd"),
        "Only nodes with these labels take traffic.").otherwise("all nodes").selects_nodes();
    SUBNETS: Words = (vendor!("subnets"),
        Custom { allowed: "a list of ids or names of subnets such as subnet-1,subnet-2", parse: words },
        "Its subnets, each in a zone of its own. A name is the value of the tag Name.")
        .otherwise("one of each zone, by tags and route tables");
    SOURCE_RANGES: List<AwsWord> = ("service.beta.kubernetes.io/load-balancer-source-ranges",
        List { of: CIDR, what: "networks", example: "10.0.0.0/8,192.0.2.0/24" },
        "From where clients may come. spec.loadBalancerSourceRanges wins.").otherwise("everywhere");
}

/// The maker of a Service's load balancer, and its kind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum LoadBalancerKind {
    /// A Network Load Balancer.
    Network,
    /// A Classic Load Balancer.
    Classic,
    /// The AWS Load Balancer Controller makes it.
    External,
}

fn kind(text: &str) -> Option<LoadBalancerKind> {
    Some(match text {
        "nlb" => LoadBalancerKind::Network,
        "external" | "nlb-ip" => LoadBalancerKind::External,
        _ => LoadBalancerKind::Classic,
    })
}

/// The protocol of nodes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum BackendProtocol {
    /// HTTP.
    Http,
    /// HTTP over TLS.
    Https,
    /// TLS.
    Ssl,
    /// Anything over TCP.
    Tcp,
}

fn backend(text: &str) -> Option<BackendProtocol> {
    [
        ("http", BackendProtocol::Http),
        ("https", BackendProtocol::Https),
        ("ssl", BackendProtocol::Ssl),
        ("tcp", BackendProtocol::Tcp),
    ]
    .into_iter()
    .find(|(word, _)| *word == text)
    .map(|(_, it)| it)
}

/// How nodes are checked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum HealthProtocol {
    /// By a connection.
    Tcp,
    /// By a connection with TLS. Classic only.
    Ssl,
    /// By a GET.
    Http,
    /// By a GET over TLS.
    Https,
}

/// Which port of the nodes is checked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum HealthPort {
    /// The one that traffic goes to.
    Traffic,
    /// This one.
    Number(u16),
}

fn health_port(text: &str) -> Option<HealthPort> {
    if text == "traffic-port" {
        return Some(HealthPort::Traffic);
    }
    text.parse().ok().filter(|it| *it != 0).map(HealthPort::Number)
}

/// The items between commas, without empty ones.
fn words(text: &str) -> Option<Vec<String>> {
    let items: Vec<_> = text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect();
    (!items.is_empty()).then_some(items)
}

/// Ids of security groups.
fn groups(text: &str) -> Option<Vec<String>> {
    words(text).filter(|all| all.iter().all(|it| it.starts_with("sg-")))
}

/// The ARN of a certificate that load balancing takes, of any partition: `arn:aws:acm:<region>:<account>:certificate/<id>` or
/// `arn:aws:iam::<account>:server-certificate/<path and name>`. It is read as it is.
fn certificate(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let parts: Vec<&str> = lower.splitn(6, ':').collect();
    let ["arn", partition, service, _, _, resource] = parts[..] else { return None };
    let is_certificate = match service {
        // Several with commas between them are none: AWS takes one. A name in IAM may hold a comma.
        "acm" => resource.starts_with("certificate/") && !resource.contains(','),
        "iam" => resource.starts_with("server-certificate/"),
        _ => false,
    };
    (partition.starts_with("aws") && is_certificate).then(|| text.to_owned())
}

fn item(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// The pairs of `k=v,k2=,k3`, as the vendor's controller reads them: what follows a second `=` is left out, a missing
/// value is empty, and a pair without a key is none. Of a key that is there twice the last value counts.
pub(super) fn pairs(text: &str) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for pair in text.split(',') {
        let mut parts = pair.trim().split('=');
        let (key, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if key.is_empty() {
            continue;
        }
        pairs.retain(|(it, _)| it != key);
        pairs.push((key.to_owned(), value.to_owned()));
    }
    pairs
}

/// Which ports an annotation selects, by number or by name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct SslPorts<'a>(&'a str);

impl<'a> SslPorts<'a> {
    /// Those of the annotation's text; all, if there is none.
    pub(super) fn of(text: Option<&'a str>) -> Self {
        Self(text.unwrap_or("*"))
    }

    /// Whether it selects this one.
    pub(super) fn has(&self, port: &aerostat_sdk::Port) -> bool {
        let is = |item: &str| match item.parse::<u32>() {
            Ok(number) => number == u32::from(port.port),
            Err(_) => item == port.name,
        };
        self.0 == "*" || self.0.split(',').any(is)
    }
}

#[cfg(test)]
mod tests {
    use aerostat_sdk::{Port, Protocol};

    use super::*;

    #[test]
    fn all_annotations_of_the_vendor_are_in_the_table() {
        assert_eq!(TABLE.len(), 31, "30, and the source ranges");
    }

    #[test]
    fn pairs_are_read_as_the_vendor_reads_them() {
        let read: Vec<_> =
            pairs("a=1, b=,c,=x,,a=2=3").into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
        assert_eq!(read, ["b:", "c:", "a:2"]);
    }

    #[test]
    fn a_certificate_is_one_of_acm_or_iam_in_any_partition() {
        for text in [
            "arn:aws:acm:eu-central-1:123456789012:certificate/12345678-1234-1234-1234-123456789012",
            "arn:aws-cn:acm:cn-north-1:123456789012:certificate/1",
            "arn:aws-us-gov:iam::123456789012:server-certificate/web",
            "arn:aws:iam::123456789012:server-certificate/division/team/web,2026=a@b",
            "ARN:aws:acm:us-east-1:123456789012:certificate/1",
        ] {
            assert_eq!(certificate(text).as_deref(), Some(text));
        }
        for text in [
            "web",
            "12345678-1234-1234-1234-123456789012",
            "arn:aws:acm:us-east-1:123456789012",
            "arn:aws:acm:us-east-1:123456789012:certificate/1,arn:aws:acm:us-east-1:123456789012:certificate/2",
            "arn:aws:acm-pca:us-east-1:123456789012:certificate-authority/1",
            "arn:aws:iam::123456789012:role/web",
            "arn:gcp:acm:us-east-1:123456789012:certificate/1",
        ] {
            assert_eq!(certificate(text), None, "{text}");
        }
    }

    #[test]
    fn ports_are_selected_by_number_or_name() {
        let port = Port::new(Protocol::Tcp, 443, 30_443).named("https");
        for (text, has) in [
            (None, true),
            (Some("*"), true),
            (Some("80,443"), true),
            (Some("https"), true),
            (Some("80, 443"), false),
            (Some("http"), false),
        ] {
            assert_eq!(SslPorts::of(text).has(&port), has, "{text:?}");
        }
    }
}
