//! The fields of a load balancer. A field that the API leaves out, or shows as null, empty or zero, has its default here.

use std::ops::Deref;

use aerostat_sdk::SortedSet;
use aerostat_sdk::json::{self, JsonError, sparse};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A load balancer as the API shows it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct LoadBalancer {
    pub(crate) id: String,
    pub(crate) status: Status,
    /// Empty until there is one.
    #[serde(default)]
    pub(crate) ip: String,
    /// Empty where there is none.
    #[serde(default)]
    pub(crate) ipv6: String,
    size: Option<String>,
    pub(crate) size_unit: Option<u32>,
    /// The tag whose droplets are the targets, instead of a list of droplets. Mostly empty.
    #[serde(default)]
    pub(crate) tag: String,
    /// Its own tags. Absent: the API does not show them.
    pub(crate) tags: Option<Vec<String>>,
    #[serde(skip)]
    said: Spec,
}

/// The body of a creation or a replacement. A field that it leaves out gets the API's default.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct Spec {
    pub(crate) name: String,
    #[serde(deserialize_with = "slug")]
    pub(crate) region: String,
    #[serde(rename = "type")]
    pub(crate) kind: Kind,
    pub(crate) network: ClientNetwork,
    pub(crate) network_stack: Stack,
    #[serde(flatten, skip_deserializing)]
    pub(crate) size: Option<Size>,
    /// Deprecated, and ignored by the API.
    #[serde(skip_deserializing)]
    pub(crate) algorithm: &'static str,
    /// In their order by port and protocol.
    pub(crate) forwarding_rules: Vec<ForwardingRule>,
    pub(crate) health_check: HealthCheck,
    pub(crate) sticky_sessions: StickySessions,
    pub(crate) droplet_ids: SortedSet<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tags: Vec<String>,
    pub(crate) redirect_http_to_https: bool,
    pub(crate) enable_proxy_protocol: bool,
    pub(crate) enable_backend_keepalive: bool,
    pub(crate) disable_lets_encrypt_dns_records: bool,
    /// Absent: the default of 60 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) http_idle_timeout_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) vpc_uuid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) subnet_uuid: Option<String>,
    /// Always sent: an empty object removes earlier rules.
    pub(crate) firewall: Firewall,
    /// An address that the account owns. Only for a creation.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) ip: Option<String>,
    /// Set by others, in the panel or by the API: sent back as it is, so that a replacement does not reset it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) project_id: Option<Value>,
    /// As `project_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tls_cipher_policy: Option<Value>,
}

/// Its status.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    New,
    Active,
    Errored,
    /// A status that this provider does not know: wait.
    #[serde(other)]
    Other,
}

/// The kind of a load balancer.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Kind {
    /// A proxy, which understands HTTP.
    #[default]
    Regional,
    /// Passes packets through.
    RegionalNetwork,
    /// One that does not serve a Service.
    #[serde(other)]
    Other,
}

/// Which clients can reach it.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum ClientNetwork {
    #[default]
    External,
    Internal,
}

/// Its address families.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Stack {
    #[default]
    Ipv4,
    DualStack,
}

/// How large it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub(crate) enum Size {
    /// In nodes.
    #[serde(rename = "size_unit")]
    Unit(u32),
    /// By a name, in regions where load balancers have no nodes.
    #[serde(rename = "size")]
    Slug(&'static str),
}

/// The protocol of a port.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Protocol {
    Tcp,
    Udp,
    Http,
    Https,
    Http2,
    Http3,
}

/// From a port of the load balancer to a port of its targets.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub(crate) struct ForwardingRule {
    pub(crate) entry_port: u16,
    pub(crate) entry_protocol: Protocol,
    pub(crate) target_port: u16,
    pub(crate) target_protocol: Protocol,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) certificate_id: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) tls_passthrough: bool,
}

/// How the health of targets is checked.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct HealthCheck {
    pub(crate) protocol: HealthProtocol,
    #[serde(default = "port_80")]
    pub(crate) port: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) check_interval_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) response_timeout_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unhealthy_threshold: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) healthy_threshold: Option<u32>,
    /// Absent: as for the load balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proxy_protocol: Option<bool>,
}

/// The protocol of a health check.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HealthProtocol {
    #[default]
    Http,
    Https,
    Tcp,
}

/// Whether a client stays with its target.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct StickySessions {
    #[serde(rename = "type")]
    pub(crate) kind: StickyKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cookie_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cookie_ttl_seconds: Option<u32>,
}

/// How a client is recognised.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StickyKind {
    #[default]
    None,
    Cookies,
}

/// Which clients may connect, and which may not. Both empty: all may.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct Firewall {
    #[serde(skip_serializing_if = "SortedSet::is_empty")]
    pub(crate) allow: SortedSet<String>,
    #[serde(skip_serializing_if = "SortedSet::is_empty")]
    pub(crate) deny: SortedSet<String>,
}

impl LoadBalancer {
    /// As the API shows it.
    pub(crate) fn read(shown: Value) -> Result<Self, JsonError> {
        let shown = sparse(shown);
        Ok(Self { said: json::read(&shown)?, ..json::read(&shown)? })
    }

    /// The body of a replacement that changes nothing.
    pub(crate) fn spec(&self) -> Spec {
        let named = || Size::NAMED.into_iter().find(|(name, _)| Some(*name) == self.size.as_deref());
        let size = self.size_unit.map(Size::Unit).or_else(|| named().map(|(_, size)| size));
        Spec { size, ..self.said.clone() }
    }
}

impl Deref for LoadBalancer {
    type Target = Spec;

    fn deref(&self) -> &Spec {
        &self.said
    }
}

impl Size {
    /// The sizes with names.
    pub(crate) const NAMED: [(&'static str, Self); 3] = [
        ("lb-small", Self::Slug("lb-small")),
        ("lb-medium", Self::Slug("lb-medium")),
        ("lb-large", Self::Slug("lb-large")),
    ];

    /// In nodes, however it is written.
    pub(crate) fn units(self) -> u32 {
        match self {
            Self::Unit(units) => units,
            Self::Slug("lb-small") => 1,
            Self::Slug("lb-medium") => 3,
            Self::Slug(_) => 6,
        }
    }
}

/// The API takes a region's slug, and shows an object.
fn slug<'de, D: Deserializer<'de>>(region: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    struct LoadBalancerRegion {
        slug: String,
    }
    LoadBalancerRegion::deserialize(region).map(|it| it.slug)
}

fn port_80() -> u16 {
    80
}
