//! A Classic Load Balancer, as the API shows it.

use aerostat_sdk::{SortedMap, SortedSet};

use crate::api::Element;

/// A Classic Load Balancer without its attributes and tags.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct ClassicLoadBalancer {
    /// Unique in its account and region.
    pub(crate) name: String,
    pub(crate) dns_name: Option<String>,
    pub(crate) is_internal: bool,
    /// By their ports.
    pub(crate) listeners: SortedMap<u16, LiveListener>,
    /// The policies of each port of the instances.
    pub(crate) backends: SortedMap<u16, SortedSet<String>>,
    /// The names of the policies that there are, whether something has them or not; without those for cookies.
    pub(crate) policies: SortedSet<String>,
    pub(crate) subnets: SortedSet<String>,
    pub(crate) groups: SortedSet<String>,
    pub(crate) instances: SortedSet<String>,
    pub(crate) health: Option<ClassicHealthCheck>,
}

/// A listener, and the names of its policies.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct LiveListener {
    pub(crate) listener: ClassicListener,
    pub(crate) policies: SortedSet<String>,
}

/// A port that clients dial, and where it goes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ClassicListener {
    pub(crate) port: u16,
    pub(crate) protocol: ClassicProtocol,
    pub(crate) instance_port: u16,
    pub(crate) instance_protocol: ClassicProtocol,
    /// The ARN of the certificate, where TLS ends.
    pub(crate) certificate: Option<String>,
}

/// The protocol with clients, with instances, and of health checks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ClassicProtocol {
    Tcp,
    Ssl,
    Http,
    Https,
}

/// How instances are checked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ClassicHealthCheck {
    /// `TCP:30080`, `SSL:30443`, `HTTP:10256/healthz`.
    pub(crate) target: String,
    /// In seconds.
    pub(crate) interval: u32,
    /// In seconds.
    pub(crate) timeout: u32,
    pub(crate) unhealthy: u32,
    pub(crate) healthy: u32,
}

/// Attributes of a load balancer beside its listeners. In what is desired, `None` is whatever AWS has.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct ClassicAttributes {
    pub(crate) cross_zone: bool,
    pub(crate) log_enabled: bool,
    /// In minutes.
    pub(crate) log_interval: Option<u32>,
    pub(crate) log_bucket: Option<String>,
    pub(crate) log_prefix: Option<String>,
    pub(crate) draining_enabled: bool,
    /// In seconds.
    pub(crate) draining_timeout: Option<u32>,
    /// In seconds.
    pub(crate) idle_timeout: Option<u32>,
}

impl ClassicProtocol {
    /// As the API writes it in listeners of the vendor's controller.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Ssl => "ssl",
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// Reads either case.
    fn parse(text: &str) -> Option<Self> {
        [Self::Tcp, Self::Ssl, Self::Http, Self::Https].into_iter().find(|it| it.as_str().eq_ignore_ascii_case(text))
    }

    /// Whether TLS ends at a listener with this protocol.
    pub(crate) fn is_tls(self) -> bool {
        matches!(self, Self::Ssl | Self::Https)
    }
}

impl ClassicLoadBalancer {
    pub(super) fn read(it: &Element) -> Self {
        let text = |name: &str| it.text(&[name]).map(str::to_owned);
        let set = |name: &str| it.texts(name).into_iter().collect();
        Self {
            name: text("LoadBalancerName").unwrap_or_default(),
            dns_name: text("DNSName"),
            is_internal: it.text(&["Scheme"]) == Some("internal"),
            listeners: it.items("ListenerDescriptions").filter_map(listener).collect(),
            backends: it.items("BackendServerDescriptions").filter_map(backend).collect(),
            policies: it.child("Policies").map(|it| it.texts("OtherPolicies")).into_iter().flatten().collect(),
            subnets: set("Subnets"),
            groups: set("SecurityGroups"),
            instances: it.each("Instances", "InstanceId").into_iter().collect(),
            health: it.child("HealthCheck").and_then(health),
        }
    }
}

impl ClassicAttributes {
    pub(super) fn read(it: &Element) -> Self {
        let text = |path: &[&str]| it.text(path).map(str::to_owned);
        let flag = |part: &str| it.text(&[part, "Enabled"]) == Some("true");
        let number = |path: &[&str]| it.text(path).and_then(|it| it.parse().ok());
        Self {
            cross_zone: flag("CrossZoneLoadBalancing"),
            log_enabled: flag("AccessLog"),
            log_interval: number(&["AccessLog", "EmitInterval"]),
            log_bucket: text(&["AccessLog", "S3BucketName"]),
            log_prefix: text(&["AccessLog", "S3BucketPrefix"]),
            draining_enabled: flag("ConnectionDraining"),
            draining_timeout: number(&["ConnectionDraining", "Timeout"]),
            idle_timeout: number(&["ConnectionSettings", "IdleTimeout"]),
        }
    }
}

/// `None` for a listener with a protocol that this API does not have.
fn listener(it: &Element) -> Option<(u16, LiveListener)> {
    let text = |name: &str| it.text(&["Listener", name]);
    let protocol = ClassicProtocol::parse(text("Protocol")?)?;
    // What is not said is what clients speak.
    let instance_protocol = text("InstanceProtocol").and_then(ClassicProtocol::parse).unwrap_or(protocol);
    let listener = ClassicListener {
        port: text("LoadBalancerPort")?.parse().ok()?,
        protocol,
        instance_port: text("InstancePort")?.parse().ok()?,
        instance_protocol,
        certificate: text("SSLCertificateId").map(str::to_owned),
    };
    let policies = it.texts("PolicyNames").into_iter().collect();
    Some((listener.port, LiveListener { listener, policies }))
}

fn backend(it: &Element) -> Option<(u16, SortedSet<String>)> {
    let port = it.text(&["InstancePort"])?.parse().ok()?;
    Some((port, it.texts("PolicyNames").into_iter().collect()))
}

fn health(it: &Element) -> Option<ClassicHealthCheck> {
    let number = |name: &str| it.text(&[name]).and_then(|it| it.parse().ok());
    Some(ClassicHealthCheck {
        target: it.text(&["Target"])?.to_owned(),
        interval: number("Interval")?,
        timeout: number("Timeout")?,
        unhealthy: number("UnhealthyThreshold")?,
        healthy: number("HealthyThreshold")?,
    })
}
