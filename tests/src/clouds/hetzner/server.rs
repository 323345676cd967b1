//! A server, from what a test says about it to the whole object that the service shows.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Map, Value, json};

use super::location::Location;
use super::selector::Labels;

/// A virtual machine. What a test does not set is as it is for most servers.
#[derive(Clone, Debug)]
pub struct Server {
    /// Unique in the whole service.
    pub id: u64,
    /// Unique in the project.
    pub name: String,
    /// Where it is in its life.
    pub status: Status,
    /// For example `cx22`.
    pub server_type: String,
    /// For example `fsn1`.
    pub location: String,
    /// The public IPv4 address, if it has one.
    pub ipv4: Option<Ipv4Addr>,
    /// The first address of its public IPv6 network of 64 bits, if it has one.
    pub ipv6: Option<Ipv6Addr>,
    /// The addresses that it has in private networks.
    pub private_net: Vec<PrivateNet>,
    /// Its labels.
    pub labels: Labels,
    /// Whether it cannot be deleted.
    pub protected: bool,
    /// Whether lists show it. One that is not listed can still be asked for by id, as when a list is behind.
    pub listed: bool,
    /// Fields that replace or join the ones above, whether or not the service would ever send them.
    pub fields: Map<String, Value>,
}

/// A server in a private network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateNet {
    /// The id of the network.
    pub network: u64,
    /// Its address there.
    pub ip: Ipv4Addr,
    /// Further addresses that lead to it.
    pub alias_ips: Vec<Ipv4Addr>,
}

/// The service's word on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Being created.
    Initializing,
    /// Being switched on.
    Starting,
    /// Switched on.
    Running,
    /// Being switched off.
    Stopping,
    /// Switched off, and still there.
    Off,
    /// Being deleted.
    Deleting,
    /// Being moved to another host.
    Migrating,
    /// Being rebuilt from an image.
    Rebuilding,
    /// The service does not know.
    Unknown,
}

impl Status {
    /// The word for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Status::Initializing => "initializing",
            Status::Starting => "starting",
            Status::Running => "running",
            Status::Stopping => "stopping",
            Status::Off => "off",
            Status::Deleting => "deleting",
            Status::Migrating => "migrating",
            Status::Rebuilding => "rebuilding",
            Status::Unknown => "unknown",
        }
    }
}

impl Server {
    /// A running server in `fsn1` with a public IPv4 address and an IPv6 network, both made from its id, in no private network.
    #[must_use]
    pub fn new(id: u64, name: &str) -> Server {
        let [.., high, middle, low] = id.to_be_bytes();
        let [.., one, two] = [u16::from_be_bytes([0, high]), u16::from_be_bytes([middle, low])];
        Server {
            id,
            name: name.to_owned(),
            status: Status::Running,
            server_type: "cx22".to_owned(),
            location: "fsn1".to_owned(),
            // Of the range set aside for benchmarks.
            ipv4: Some(Ipv4Addr::new(198, 18 + high % 2, middle, low)),
            ipv6: Some(Ipv6Addr::new(0x2001, 0xdb8, 0xc000 + one, two, 0, 0, 0, 0)),
            private_net: Vec::new(),
            labels: Labels::new(),
            protected: false,
            listed: true,
            fields: Map::new(),
        }
    }

    /// Sets the status.
    #[must_use]
    pub fn status(mut self, status: Status) -> Server {
        self.status = status;
        self
    }

    /// Sets the type, for example `cax11`.
    #[must_use]
    pub fn server_type(mut self, name: &str) -> Server {
        name.clone_into(&mut self.server_type);
        self
    }

    /// Sets the location, for example `hel1`.
    #[must_use]
    pub fn location(mut self, name: &str) -> Server {
        name.clone_into(&mut self.location);
        self
    }

    /// Sets the public IPv4 address; none is allowed.
    #[must_use]
    pub fn ipv4(mut self, address: Option<Ipv4Addr>) -> Server {
        self.ipv4 = address;
        self
    }

    /// Sets the public IPv6 network by its first address; none is allowed.
    #[must_use]
    pub fn ipv6(mut self, network: Option<Ipv6Addr>) -> Server {
        self.ipv6 = network;
        self
    }

    /// Attaches it to a private network, beside those that it is attached to.
    #[must_use]
    pub fn private(mut self, network: u64, ip: Ipv4Addr) -> Server {
        self.private_net.push(PrivateNet { network, ip, alias_ips: Vec::new() });
        self
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Server {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Keeps it out of every list.
    #[must_use]
    pub fn unlisted(mut self) -> Server {
        self.listed = false;
        self
    }

    /// Sets a field of the object as it is shown, which may be one that the description does not know.
    #[must_use]
    pub fn field(mut self, name: &str, value: Value) -> Server {
        self.fields.insert(name.to_owned(), value);
        self
    }

    /// Its address in a private network.
    #[must_use]
    pub fn address_in(&self, network: u64) -> Option<Ipv4Addr> {
        self.private_net.iter().find(|it| it.network == network).map(|it| it.ip)
    }

    /// The object as the service shows it. `load_balancers` are those that it is a target of.
    pub(super) fn object(&self, load_balancers: &[u64]) -> Value {
        let location = Location::find(&self.location);
        let private_net = self.private_net.iter().map(|attached| {
            let [.., b, c, d] = attached.ip.octets();
            json!({
                "network": attached.network,
                "ip": attached.ip,
                "alias_ips": attached.alias_ips,
                "mac_address": format!("86:00:ff:{b:02x}:{c:02x}:{d:02x}"),
            })
        });
        let mut object = json!({
            "id": self.id,
            "name": self.name,
            "status": self.status.word(),
            "created": "2026-08-20T09:30:12+00:00",
            "public_net": {
                "ipv4": self.ipv4.map(|ip| json!({
                    "id": self.id,
                    "ip": ip,
                    "blocked": false,
                    "dns_ptr": format!("static.{}.clients.example.com", ip.to_string().replace('.', "-")),
                })),
                "ipv6": self.ipv6.map(|ip| json!({
                    "id": self.id + 1,
                    "ip": format!("{ip}/64"),
                    "blocked": false,
                    "dns_ptr": [],
                })),
                "floating_ips": [],
                "firewalls": [],
            },
            "private_net": private_net.collect::<Vec<_>>(),
            "server_type": self.kind(),
            "location": location.map_or(json!({ "name": self.location }), Location::object),
            "image": null,
            "iso": null,
            "rescue_enabled": false,
            "locked": false,
            "backup_window": null,
            "outgoing_traffic": 123_456,
            "ingoing_traffic": 123_456,
            "included_traffic": 21_990_232_555_520_u64,
            "protection": { "delete": self.protected, "rebuild": self.protected },
            "labels": self.labels,
            "volumes": [],
            "load_balancers": load_balancers,
            "primary_disk_size": 40,
            "placement_group": null,
        });
        for (name, value) in &self.fields {
            object[name] = value.clone();
        }
        object
    }

    fn kind(&self) -> Value {
        json!({
            "id": 104,
            "name": self.server_type,
            "description": self.server_type.to_uppercase(),
            "category": "cost_optimized",
            "cores": 2,
            "memory": 4.0,
            "disk": 40,
            "deprecated": null,
            "deprecation": null,
            "locations": [],
            "prices": [],
            "storage_type": "local",
            "cpu_type": "shared",
            "architecture": if self.server_type.starts_with("cax") { "arm" } else { "x86" },
        })
    }
}
