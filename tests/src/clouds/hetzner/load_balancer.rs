//! A load balancer, from what a test says about it to the whole object that the service shows.

mod kind;
mod service;
mod target;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::SystemTime;

use serde_json::{Value, json};

pub use self::kind::Kind;
pub use self::service::{HealthCheck, HealthCheckHttp, Http, Service};
pub use self::target::Target;

pub(super) use self::service::{PORTS, new as new_service, updated as updated_service};
pub(super) use self::target::Named;

use super::action::rfc3339;
use super::location::Location;
use super::selector::Labels;

/// A load balancer of the project.
#[derive(Clone, Debug)]
pub struct LoadBalancer {
    /// Unique in the whole service.
    pub id: u64,
    /// Unique in the project.
    pub name: String,
    /// Its labels.
    pub labels: Labels,
    /// The name of its type: what it may have at most.
    pub kind: String,
    /// For example `fsn1`.
    pub location: String,
    /// `round_robin` or `least_connections`.
    pub algorithm: String,
    /// Whether it serves at its public addresses.
    pub public: bool,
    /// Given when its creation ends.
    pub ipv4: Option<Ipv4Addr>,
    /// Given when its creation ends.
    pub ipv6: Option<Ipv6Addr>,
    /// The name service's word on the IPv4 address.
    pub ipv4_ptr: Option<String>,
    /// The name service's word on the IPv6 address.
    pub ipv6_ptr: Option<String>,
    /// The network that it is attached to with its address there, if any: the service knows one at most.
    pub private_net: Option<(u64, Ipv4Addr)>,
    /// The services that it forwards.
    pub services: Vec<Service>,
    /// Where it forwards to.
    pub targets: Vec<Target>,
    /// Whether it cannot be deleted.
    pub protected: bool,
    /// When it was asked for. Tests that need an older one move it.
    pub created_at: SystemTime,
    /// Whether lists show it, once they are up to date. One that is not listed can still be asked for by id.
    pub listed: bool,
}

impl LoadBalancer {
    /// A finished load balancer of the smallest type in `fsn1`, which forwards nothing, with addresses made from its id.
    #[must_use]
    pub fn new(id: u64, name: &str) -> LoadBalancer {
        let [.., last] = id.to_be_bytes();
        LoadBalancer {
            id,
            name: name.to_owned(),
            labels: Labels::new(),
            kind: "lb11".to_owned(),
            location: "fsn1".to_owned(),
            algorithm: "round_robin".to_owned(),
            public: true,
            // The last of the three ranges set aside for documentation: the service gives others away.
            ipv4: Some(Ipv4Addr::new(192, 0, 2, last)),
            ipv6: Some(Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, u16::from(last))),
            ipv4_ptr: None,
            ipv6_ptr: None,
            private_net: None,
            services: Vec::new(),
            targets: Vec::new(),
            protected: false,
            created_at: SystemTime::now(),
            listed: true,
        }
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> LoadBalancer {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Its type.
    ///
    /// # Panics
    ///
    /// Panics if there is no such type.
    #[must_use]
    pub fn kind(&self) -> &'static Kind {
        Kind::find(&self.kind).unwrap_or_else(|| panic!("there is no load balancer type {}", self.kind))
    }

    /// The certificates that it uses, each once.
    #[must_use]
    pub fn certificates(&self) -> Vec<u64> {
        let http = self.services.iter().filter_map(|it| it.http.as_ref());
        let mut all = Vec::from_iter(http.flat_map(|it| it.certificates.iter().copied()));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The service on a port.
    #[must_use]
    pub fn service(&self, listen_port: u16) -> Option<&Service> {
        self.services.iter().find(|it| it.listen_port == listen_port)
    }

    /// The object as the service shows it. `selected` are the servers of a label selector.
    pub(super) fn object(&self, selected: impl Fn(&str) -> Vec<u64>) -> Value {
        let health = Vec::from_iter(
            self.services.iter().map(|it| json!({ "listen_port": it.listen_port, "status": "healthy" })),
        );
        let private_net = self.private_net.iter().map(|(network, ip)| json!({ "network": network, "ip": ip }));
        json!({
            "id": self.id,
            "name": self.name,
            "labels": self.labels,
            "load_balancer_type": self.kind().object(),
            "location": Location::find(&self.location).map_or(Value::Null, Location::object),
            "algorithm": { "type": self.algorithm },
            "public_net": {
                "enabled": self.public,
                "ipv4": { "ip": self.ipv4, "dns_ptr": self.ipv4_ptr },
                "ipv6": { "ip": self.ipv6, "dns_ptr": self.ipv6_ptr },
            },
            "private_net": private_net.collect::<Vec<_>>(),
            "services": self.services,
            "targets": self.targets.iter().map(|it| it.object(&health, &selected)).collect::<Vec<_>>(),
            "protection": { "delete": self.protected },
            "created": rfc3339(self.created_at),
            "included_traffic": 21_990_232_555_520_u64,
            "ingoing_traffic": 0,
            "outgoing_traffic": 0,
        })
    }
}
