//! The fields of a load balancer. Those that change by themselves (health, traffic, prices) are not read.

use aerostat_sdk::SortedSet;

use serde::{Deserialize, Serialize};

use crate::algorithm::Algorithm;
use crate::api::{Labels, WithName};

/// A load balancer as the API shows it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct LoadBalancer {
    pub(crate) id: u64,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) labels: Labels,
    #[serde(rename = "load_balancer_type")]
    pub(crate) kind: Kind,
    pub(crate) location: WithName,
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
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Kind {
    pub(crate) name: String,
    pub(crate) max_targets: usize,
    /// When the cloud will offer it no more, as RFC 3339.
    #[serde(default)]
    pub(crate) deprecated: Option<String>,
}

/// How load is spread.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Algorithms {
    #[serde(rename = "type")]
    pub(crate) kind: Algorithm,
}

/// Its public interface.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct PublicNet {
    pub(crate) enabled: bool,
    pub(crate) ipv4: PublicAddress,
    pub(crate) ipv6: PublicAddress,
}

/// An address, and the name that it leads back to.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct PublicAddress {
    #[serde(default)]
    pub(crate) ip: Option<String>,
    #[serde(default)]
    pub(crate) dns_ptr: Option<String>,
}

/// Its place in a private network.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct PrivateNet {
    pub(crate) network: u64,
    #[serde(default)]
    pub(crate) ip: Option<String>,
}

/// Its protection: what must not be done with it.
#[derive(Clone, Copy, Debug, Deserialize)]
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

/// The protocol of a port.
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

/// Further fields of a port that speaks HTTP. A field that is absent is as the cloud has it.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct Http {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cookie_name: Option<String>,
    /// In seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cookie_lifetime: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) certificates: Option<SortedSet<u64>>,
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

/// The request of a health check by HTTP, and the answer that it expects.
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
#[serde(from = "WrittenTarget", into = "WrittenTarget")]
pub(crate) struct Target {
    pub(crate) to: To,
    pub(crate) use_private_ip: bool,
}

/// The machine of a target.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum To {
    /// A cloud server, by its id.
    Server(u64),
    /// A dedicated server, by its address.
    Ip(String),
    /// Servers that somebody chose by their labels, or what this provider does not know: not ours.
    Other(String),
}

/// A target as the API writes it.
#[derive(Deserialize, Serialize)]
struct WrittenTarget {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<WrittenMachine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ip: Option<WrittenMachine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label_selector: Option<WrittenMachine>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    use_private_ip: bool,
}

/// A machine as one of the fields of a target has it, each with one of these: one type has less code than three.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct WrittenMachine {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ip: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    selector: Option<String>,
}

impl From<WrittenTarget> for Target {
    fn from(it: WrittenTarget) -> Self {
        let WrittenTarget { kind, server, ip, label_selector, use_private_ip } = it;
        let to = match (server.and_then(|it| it.id), ip.and_then(|it| it.ip)) {
            (Some(server), _) if kind == "server" => To::Server(server),
            (_, Some(ip)) if kind == "ip" => To::Ip(ip),
            _ => To::Other(label_selector.and_then(|it| it.selector).unwrap_or(kind)),
        };
        Self { to, use_private_ip }
    }
}

impl From<Target> for WrittenTarget {
    fn from(Target { to, use_private_ip }: Target) -> Self {
        let mut written = Self { kind: String::new(), server: None, ip: None, label_selector: None, use_private_ip };
        let (kind, place, machine) = match to {
            To::Server(id) => ("server", &mut written.server, WrittenMachine { id: Some(id), ..Default::default() }),
            To::Ip(ip) => ("ip", &mut written.ip, WrittenMachine { ip: Some(ip), ..Default::default() }),
            To::Other(selector) => (
                "label_selector",
                &mut written.label_selector,
                WrittenMachine { selector: Some(selector), ..Default::default() },
            ),
        };
        *place = Some(machine);
        kind.clone_into(&mut written.kind);
        written
    }
}

impl LoadBalancer {
    /// For a person: its id, and its name.
    pub(crate) fn title(&self) -> String {
        format!("load balancer {} ({})", self.id, self.name)
    }

    /// The value of one of its labels.
    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str).filter(|it| !it.is_empty())
    }
}
