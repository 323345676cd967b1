//! The fields of a load balancer. What the API may leave out, or say as null, has its default here.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lenient;

/// A load balancer as the API shows it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct LoadBalancer {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) status: Status,
    /// Empty until there is one.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(crate) ip: String,
    /// Empty where there is none.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(crate) ipv6: String,
    #[serde(default)]
    pub(crate) region: Option<Region>,
    #[serde(default, rename = "type", deserialize_with = "lenient::word")]
    pub(crate) kind: Kind,
    #[serde(default, deserialize_with = "lenient::word")]
    pub(crate) network: Network,
    #[serde(default, deserialize_with = "lenient::word")]
    pub(crate) network_stack: Stack,
    #[serde(default)]
    pub(crate) size: Option<String>,
    #[serde(default, deserialize_with = "lenient::not_zero")]
    pub(crate) size_unit: Option<u32>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(crate) forwarding_rules: Vec<Rule>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(crate) health_check: HealthCheck,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(crate) sticky_sessions: StickySessions,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(crate) droplet_ids: BTreeSet<u64>,
    /// The tag whose droplets are the targets, in the place of a list of them. Mostly empty.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(crate) tag: String,
    /// Its own tags. Absent: the API does not say.
    #[serde(default)]
    pub(crate) tags: Option<Vec<String>>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(crate) redirect_http_to_https: bool,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(crate) enable_proxy_protocol: bool,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(crate) enable_backend_keepalive: bool,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(crate) disable_lets_encrypt_dns_records: bool,
    #[serde(default, deserialize_with = "lenient::not_zero")]
    pub(crate) http_idle_timeout_seconds: Option<u32>,
    #[serde(default, deserialize_with = "lenient::not_empty")]
    pub(crate) vpc_uuid: Option<String>,
    #[serde(default, deserialize_with = "lenient::not_empty")]
    pub(crate) subnet_uuid: Option<String>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub(crate) firewall: Firewall,
    #[serde(flatten)]
    pub(crate) kept: Kept,
}

/// All that a creation or a replacement says. What it does not say falls back to the API's default.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub(crate) struct Spec {
    pub(crate) name: String,
    pub(crate) region: String,
    #[serde(rename = "type")]
    pub(crate) kind: Kind,
    pub(crate) network: Network,
    pub(crate) network_stack: Stack,
    #[serde(flatten)]
    pub(crate) size: Option<Size>,
    pub(crate) algorithm: Algorithm,
    /// In their order by port and protocol.
    pub(crate) forwarding_rules: Vec<Rule>,
    pub(crate) health_check: HealthCheck,
    pub(crate) sticky_sessions: StickySessions,
    pub(crate) droplet_ids: BTreeSet<u64>,
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
    /// Always there: an empty object is what takes earlier rules away.
    pub(crate) firewall: Firewall,
    /// An address of one's own. Only for a creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ip: Option<String>,
    #[serde(flatten)]
    pub(crate) kept: Kept,
}

/// What others say about a load balancer, in the panel or by the API: handed on as it is, so that a replacement does
/// not reset it.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Kept {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project_id: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tls_cipher_policy: Option<Value>,
}

/// How far it is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    New,
    Active,
    Errored,
    /// One that is new to us: wait.
    #[serde(other)]
    Other,
}

/// Where it is.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Region {
    pub(crate) slug: String,
}

/// What kind of load balancer it is.
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

/// Who reaches it.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Network {
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

/// Deprecated, and ignored by the API.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Algorithm {
    #[default]
    RoundRobin,
    LeastConnections,
}

/// How large it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub(crate) enum Size {
    /// In nodes.
    #[serde(rename = "size_unit")]
    Unit(u32),
    /// By a name, as in the regions that have no nodes.
    #[serde(rename = "size")]
    Slug(Slug),
}

/// The sizes with names.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub(crate) enum Slug {
    #[serde(rename = "lb-small")]
    Small,
    #[serde(rename = "lb-medium")]
    Medium,
    #[serde(rename = "lb-large")]
    Large,
}

/// What it listens for.
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
pub(crate) struct Rule {
    pub(crate) entry_port: u16,
    pub(crate) entry_protocol: Protocol,
    pub(crate) target_port: u16,
    pub(crate) target_protocol: Protocol,
    #[serde(default, deserialize_with = "lenient::not_empty", skip_serializing_if = "Option::is_none")]
    pub(crate) certificate_id: Option<String>,
    #[serde(default, deserialize_with = "lenient::or_default", skip_serializing_if = "lenient::is_false")]
    pub(crate) tls_passthrough: bool,
}

/// How targets are found to be well.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct HealthCheck {
    #[serde(default, deserialize_with = "lenient::word")]
    pub(crate) protocol: HealthProtocol,
    #[serde(default = "lenient::port_80", deserialize_with = "lenient::port_or_80")]
    pub(crate) port: u16,
    #[serde(default, deserialize_with = "lenient::not_empty", skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    #[serde(default, deserialize_with = "lenient::not_zero", skip_serializing_if = "Option::is_none")]
    pub(crate) check_interval_seconds: Option<u32>,
    #[serde(default, deserialize_with = "lenient::not_zero", skip_serializing_if = "Option::is_none")]
    pub(crate) response_timeout_seconds: Option<u32>,
    #[serde(default, deserialize_with = "lenient::not_zero", skip_serializing_if = "Option::is_none")]
    pub(crate) unhealthy_threshold: Option<u32>,
    #[serde(default, deserialize_with = "lenient::not_zero", skip_serializing_if = "Option::is_none")]
    pub(crate) healthy_threshold: Option<u32>,
    /// Absent: as the load balancer does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) proxy_protocol: Option<bool>,
}

/// How a target is asked.
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
pub(crate) struct StickySessions {
    #[serde(default, rename = "type", deserialize_with = "lenient::word")]
    pub(crate) kind: StickyKind,
    #[serde(default, deserialize_with = "lenient::not_empty", skip_serializing_if = "Option::is_none")]
    pub(crate) cookie_name: Option<String>,
    #[serde(default, deserialize_with = "lenient::not_zero", skip_serializing_if = "Option::is_none")]
    pub(crate) cookie_ttl_seconds: Option<u32>,
}

/// By what a client stays.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StickyKind {
    #[default]
    None,
    Cookies,
}

/// Who may come in, and who may not. Both empty: everybody may.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Firewall {
    #[serde(default, deserialize_with = "lenient::or_default", skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) allow: BTreeSet<String>,
    #[serde(default, deserialize_with = "lenient::or_default", skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) deny: BTreeSet<String>,
}

impl Spec {
    /// What a replacement says that changes nothing about a load balancer.
    pub(crate) fn of(live: &LoadBalancer) -> Self {
        let live = live.clone();
        Self {
            size: live.size(),
            name: live.name,
            region: live.region.map(|it| it.slug).unwrap_or_default(),
            kind: live.kind,
            network: live.network,
            network_stack: live.network_stack,
            algorithm: Algorithm::default(),
            forwarding_rules: live.forwarding_rules,
            health_check: live.health_check,
            sticky_sessions: live.sticky_sessions,
            droplet_ids: live.droplet_ids,
            tags: live.tags.unwrap_or_default(),
            redirect_http_to_https: live.redirect_http_to_https,
            enable_proxy_protocol: live.enable_proxy_protocol,
            enable_backend_keepalive: live.enable_backend_keepalive,
            disable_lets_encrypt_dns_records: live.disable_lets_encrypt_dns_records,
            http_idle_timeout_seconds: live.http_idle_timeout_seconds,
            vpc_uuid: live.vpc_uuid,
            subnet_uuid: live.subnet_uuid,
            firewall: live.firewall,
            ip: None,
            kept: live.kept,
        }
    }
}

impl LoadBalancer {
    /// The size that it has.
    fn size(&self) -> Option<Size> {
        let slug = || Slug::NAMED.into_iter().find(|(name, _)| Some(*name) == self.size.as_deref());
        self.size_unit.map(Size::Unit).or_else(|| slug().map(|(_, slug)| Size::Slug(slug)))
    }
}

impl Slug {
    pub(crate) const NAMED: [(&'static str, Self); 3] =
        [("lb-small", Self::Small), ("lb-medium", Self::Medium), ("lb-large", Self::Large)];
}

impl Size {
    /// In nodes, whichever way it was said.
    pub(crate) fn units(self) -> u32 {
        match self {
            Self::Unit(units) => units,
            Self::Slug(Slug::Small) => 1,
            Self::Slug(Slug::Medium) => 3,
            Self::Slug(Slug::Large) => 6,
        }
    }
}
