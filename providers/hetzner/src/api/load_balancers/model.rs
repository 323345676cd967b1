//! The fields of a load balancer. Those that change by themselves (health, traffic, prices) are not read.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Its labels.
pub(crate) type Labels = BTreeMap<String, String>;

/// A load balancer as the API shows it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct LoadBalancer {
    pub(crate) id: u64,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) labels: Labels,
    #[serde(rename = "load_balancer_type")]
    pub(crate) kind: Kind,
    pub(crate) location: Location,
    pub(crate) algorithm: Algorithms,
    pub(crate) public_net: PublicNet,
    #[serde(default)]
    pub(crate) private_net: Vec<PrivateNet>,
    pub(crate) protection: Protection,
    #[serde(default)]
    pub(crate) services: Vec<Service>,
    #[serde(default)]
    pub(crate) targets: Vec<Target>,
    /// As RFC 3339.
    #[serde(default)]
    pub(crate) created: String,
}

/// How large it is.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Kind {
    pub(crate) name: String,
    pub(crate) max_targets: usize,
    /// When the cloud will offer it no more, as RFC 3339.
    #[serde(default)]
    pub(crate) deprecated: Option<String>,
}

/// Where it is.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Location {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) network_zone: String,
}

/// How load is spread.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Algorithms {
    #[serde(rename = "type")]
    pub(crate) kind: Algorithm,
}

/// How load is spread.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Algorithm {
    #[default]
    RoundRobin,
    LeastConnections,
    /// One that this provider does not know.
    #[serde(other)]
    Other,
}

/// Its public interface.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct PublicNet {
    pub(crate) enabled: bool,
    pub(crate) ipv4: PublicAddress,
    pub(crate) ipv6: PublicAddress,
}

/// An address, and the name that it leads back to.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct PublicAddress {
    #[serde(default)]
    pub(crate) ip: Option<String>,
    #[serde(default)]
    pub(crate) dns_ptr: Option<String>,
}

/// Its place in a private network.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct PrivateNet {
    pub(crate) network: u64,
    #[serde(default)]
    pub(crate) ip: Option<String>,
}

/// What must not be done with it.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Protection {
    pub(crate) delete: bool,
}

/// One of its ports.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Service {
    pub(crate) protocol: Protocol,
    pub(crate) listen_port: u16,
    pub(crate) destination_port: u16,
    pub(crate) proxyprotocol: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) http: Option<Http>,
    pub(crate) health_check: HealthCheck,
}

/// What is spoken at a port.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Protocol {
    Tcp,
    Http,
    Https,
    /// One that this provider does not know.
    #[serde(other)]
    Other,
}

/// What a port that speaks HTTP has beside. What is absent is as the cloud has it.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct Http {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cookie_name: Option<String>,
    /// In seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cookie_lifetime: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) certificates: Option<BTreeSet<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) redirect_http: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sticky_sessions: Option<bool>,
    /// In seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeout_idle: Option<u32>,
}

/// How the health of targets is checked.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct HealthCheck {
    pub(crate) protocol: HealthProtocol,
    pub(crate) port: u16,
    /// In seconds.
    pub(crate) interval: u32,
    /// In seconds.
    pub(crate) timeout: u32,
    pub(crate) retries: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) http: Option<HealthHttp>,
}

/// The protocol of a health check.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HealthProtocol {
    Tcp,
    #[serde(alias = "https")]
    Http,
    /// One that this provider does not know.
    #[serde(other)]
    Other,
}

/// What a health check by HTTP asks, and what it expects.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct HealthHttp {
    /// The Host header. The API wants the field, also where it is null.
    #[serde(deserialize_with = "aerostat_sdk::json::empty_as_none")]
    pub(crate) domain: Option<String>,
    pub(crate) path: String,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "aerostat_sdk::json::empty_as_none")]
    pub(crate) response: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status_codes: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tls: Option<bool>,
}

/// Where traffic goes.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Target {
    #[serde(flatten)]
    pub(crate) to: To,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) use_private_ip: bool,
}

/// What a target is.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum To {
    /// A cloud server.
    Server { server: ServerId },
    /// A dedicated server, by its address.
    Ip { ip: Ip },
    /// Servers that somebody chose by their labels: not ours.
    LabelSelector { label_selector: Selector },
    /// What this provider does not know: not ours.
    #[serde(other)]
    Other,
}

/// A cloud server.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub(crate) struct ServerId {
    pub(crate) id: u64,
}

/// The address of a dedicated server.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub(crate) struct Ip {
    pub(crate) ip: String,
}

/// Labels of servers.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub(crate) struct Selector {
    pub(crate) selector: String,
}

impl To {
    /// A cloud server.
    pub(crate) fn server(id: u64) -> Self {
        Self::Server { server: ServerId { id } }
    }

    /// A dedicated server.
    pub(crate) fn ip(ip: impl Into<String>) -> Self {
        Self::Ip { ip: Ip { ip: ip.into() } }
    }
}

impl LoadBalancer {
    /// For a person: its id, and its name.
    pub(crate) fn title(&self) -> String {
        format!("load balancer {} ({})", self.id, self.name)
    }

    /// What one of its labels says.
    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str).filter(|it| !it.is_empty())
    }
}
