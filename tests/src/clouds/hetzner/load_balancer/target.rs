//! Where a load balancer forwards to.

use std::net::IpAddr;

use serde::Deserialize;
use serde_json::{Value, json};

/// One target, or all that a selector chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A server.
    Server {
        /// Its id.
        id: u64,
        /// Whether it is reached in the private network.
        use_private_ip: bool,
    },
    /// All servers with certain labels, now and later.
    Selector {
        /// The selector of their labels.
        selector: String,
        /// Whether they are reached in the private network.
        use_private_ip: bool,
    },
    /// An address of a dedicated server.
    Ip(IpAddr),
}

/// A target as requests name it.
#[derive(Deserialize)]
pub(crate) struct Named {
    #[serde(rename = "type")]
    kind: String,
    server: Option<Server>,
    label_selector: Option<Selector>,
    ip: Option<Ip>,
    #[serde(default)]
    use_private_ip: bool,
}

#[derive(Deserialize)]
struct Server {
    id: u64,
}

#[derive(Deserialize)]
struct Selector {
    selector: String,
}

#[derive(Deserialize)]
struct Ip {
    ip: IpAddr,
}

impl Named {
    /// The target, or the field that is missing.
    pub(crate) fn target(self) -> Result<Target, &'static str> {
        let use_private_ip = self.use_private_ip;
        match (self.kind.as_str(), self.server, self.label_selector, self.ip) {
            ("server", Some(it), ..) => Ok(Target::Server { id: it.id, use_private_ip }),
            ("server", None, ..) => Err("server"),
            ("label_selector", _, Some(it), _) => Ok(Target::Selector { selector: it.selector, use_private_ip }),
            ("label_selector", _, None, _) => Err("label_selector"),
            ("ip", .., Some(it)) => Ok(Target::Ip(it.ip)),
            ("ip", .., None) => Err("ip"),
            _ => Err("type"),
        }
    }
}

impl Target {
    /// A server that is reached at its public address.
    #[must_use]
    pub fn server(id: u64) -> Target {
        Target::Server { id, use_private_ip: false }
    }

    /// The id of a server that was named by it.
    #[must_use]
    pub fn server_id(&self) -> Option<u64> {
        match self {
            Target::Server { id, .. } => Some(*id),
            Target::Selector { .. } | Target::Ip(_) => None,
        }
    }

    /// Whether it is the same, however it is reached.
    pub(crate) fn is(&self, other: &Target) -> bool {
        match (self, other) {
            (Target::Server { id, .. }, Target::Server { id: other, .. }) => id == other,
            (Target::Selector { selector, .. }, Target::Selector { selector: other, .. }) => selector == other,
            (Target::Ip(ip), Target::Ip(other)) => ip == other,
            _ => false,
        }
    }

    /// Whether it is a server that is reached in the network of its load balancer, or all that a selector chooses are.
    pub(crate) fn is_in_network(&self) -> bool {
        match self {
            Target::Server { use_private_ip, .. } | Target::Selector { use_private_ip, .. } => *use_private_ip,
            Target::Ip(_) => false,
        }
    }

    /// Whether it is reached by a private address.
    pub(crate) fn uses_private_ip(&self) -> bool {
        self.is_in_network() || matches!(self, Target::Ip(IpAddr::V4(ip)) if ip.is_private())
    }

    /// The object as the service shows it.
    pub(crate) fn object(&self, health: &[Value], selected: impl Fn(&str) -> Vec<u64>) -> Value {
        match self {
            Target::Server { id, use_private_ip } => server(*id, *use_private_ip, health),
            Target::Selector { selector, use_private_ip } => {
                let servers = selected(selector).into_iter().map(|id| server(id, *use_private_ip, health));
                json!({
                    "type": "label_selector",
                    "label_selector": { "selector": selector },
                    "use_private_ip": use_private_ip,
                    "targets": servers.collect::<Vec<_>>(),
                })
            }
            Target::Ip(ip) => json!({ "type": "ip", "ip": { "ip": ip }, "health_status": health }),
        }
    }
}

fn server(id: u64, use_private_ip: bool, health: &[Value]) -> Value {
    json!({ "type": "server", "server": { "id": id }, "use_private_ip": use_private_ip, "health_status": health })
}
