//! A private network, from what a test says about it to the whole object that the service shows, and which routes it takes.

use std::net::Ipv4Addr;

use ipnet::{IpNet, Ipv4Net};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::errors::{self, Refused};
use super::selector::Labels;

/// The gateway of the servers' public interfaces.
const PUBLIC_GATEWAY: Ipv4Addr = Ipv4Addr::new(172, 31, 1, 1);

/// The destinations that routes may have, beside everything.
const PRIVATE: [(Ipv4Addr, u8); 3] =
    [(Ipv4Addr::new(10, 0, 0, 0), 8), (Ipv4Addr::new(172, 16, 0, 0), 12), (Ipv4Addr::new(192, 168, 0, 0), 16)];

/// A private network.
#[derive(Clone, Debug)]
pub struct Network {
    /// Unique in the whole service.
    pub id: u64,
    /// Unique in the project.
    pub name: String,
    /// All that the network has.
    pub ip_range: Ipv4Net,
    /// The subnets from which servers and load balancers get their addresses, each with its network zone.
    pub subnets: Vec<Subnet>,
    /// Where packets go that are for none of them.
    pub routes: Vec<Route>,
    /// Its labels.
    pub labels: Labels,
    /// Whether it cannot be deleted.
    pub protected: bool,
}

/// A part of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// The purpose of the subnet.
    pub kind: SubnetKind,
    /// Its addresses.
    pub ip_range: Ipv4Net,
    /// For example `eu-central`.
    pub network_zone: String,
}

/// The purpose of a subnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubnetKind {
    /// Servers and load balancers.
    Cloud,
    /// Dedicated servers behind a virtual switch.
    Vswitch,
}

/// Where a network sends packets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub struct Route {
    /// For which addresses, as `10.244.1.0/24`.
    pub destination: String,
    /// To which address in the network.
    pub gateway: String,
}

impl Route {
    /// A route to `destination` through `gateway`.
    #[must_use]
    pub fn new(destination: &str, gateway: &str) -> Route {
        Route { destination: destination.to_owned(), gateway: gateway.to_owned() }
    }
}

impl Network {
    /// A network `10.0.0.0/8` in `eu-central` with the subnet `10.0.0.0/16` for servers.
    #[must_use]
    pub fn new(id: u64, name: &str) -> Network {
        let net = |length| Ipv4Net::new_assert(Ipv4Addr::new(10, 0, 0, 0), length);
        let subnet = Subnet { kind: SubnetKind::Cloud, ip_range: net(16), network_zone: "eu-central".to_owned() };
        Network {
            id,
            name: name.to_owned(),
            ip_range: net(8),
            subnets: vec![subnet],
            routes: Vec::new(),
            labels: Labels::new(),
            protected: false,
        }
    }

    /// Adds a route.
    #[must_use]
    pub fn route(mut self, destination: &str, gateway: &str) -> Network {
        self.routes.push(Route::new(destination, gateway));
        self
    }

    /// Adds a subnet for dedicated servers.
    #[must_use]
    pub fn vswitch(mut self, ip_range: Ipv4Net) -> Network {
        let network_zone = "eu-central".to_owned();
        self.subnets.push(Subnet { kind: SubnetKind::Vswitch, ip_range, network_zone });
        self
    }

    /// The object as the service shows it, with what is attached to it.
    pub(super) fn object(&self, servers: &[u64], load_balancers: &[u64]) -> Value {
        let subnets = self.subnets.iter().map(|subnet| {
            let vswitch = subnet.kind == SubnetKind::Vswitch;
            let mut object = json!({
                "type": if vswitch { "vswitch" } else { "cloud" },
                "ip_range": subnet.ip_range.to_string(),
                "network_zone": subnet.network_zone,
                "gateway": gateway(self.ip_range),
            });
            object["vswitch_id"] = if vswitch { json!(1_000) } else { Value::Null };
            object
        });
        json!({
            "id": self.id,
            "name": self.name,
            "ip_range": self.ip_range.to_string(),
            "subnets": subnets.collect::<Vec<_>>(),
            "routes": self.routes,
            "servers": servers,
            "load_balancers": load_balancers,
            "protection": { "delete": self.protected },
            "labels": self.labels,
            "created": "2026-08-20T09:30:12+00:00",
            "expose_routes_to_vswitch": false,
        })
    }

    /// Checks whether a route can be added, beside `limit` at most.
    pub(super) fn takes(&self, route: &Route, limit: usize) -> Result<(), Refused> {
        let invalid = |field, message: &str| Err(Box::new(errors::invalid(field, message)));
        let destination = match route.destination.parse() {
            Ok(IpNet::V4(net)) if net.trunc() == net => net,
            Ok(_) => return invalid("destination", "it must be an IPv4 network without host bits"),
            Err(_) => return invalid("destination", "it must be a network in CIDR notation"),
        };
        let private = PRIVATE.iter().any(|(net, length)| Ipv4Net::new_assert(*net, *length).contains(&destination));
        if !private && destination.prefix_len() != 0 {
            return invalid("destination", "it must be private or 0.0.0.0/0");
        }
        let overlaps = |net: &Ipv4Net| net.contains(&destination) || destination.contains(net);
        if destination.prefix_len() != 0 {
            if self.subnets.iter().any(|it| overlaps(&it.ip_range)) || destination.contains(&PUBLIC_GATEWAY) {
                return invalid("destination", "it must not overlap with a subnet or 172.31.1.1");
            }
            let mut routes = self.routes.iter().filter_map(|it| it.destination.parse().ok());
            if routes.any(|it: Ipv4Net| it.prefix_len() != 0 && overlaps(&it)) {
                return invalid("destination", "it must not overlap with the destination of another route");
            }
        } else if self.routes.iter().any(|it| it.destination == route.destination) {
            return invalid("destination", "it must not overlap with the destination of another route");
        }
        match route.gateway.parse::<Ipv4Addr>() {
            Ok(it) if it == gateway(self.ip_range) || it == PUBLIC_GATEWAY || !self.ip_range.contains(&it) => {
                return invalid("gateway", "it must be an address of the network, and not its first or 172.31.1.1");
            }
            Ok(_) => {}
            Err(_) => return invalid("gateway", "it must be an IPv4 address"),
        }
        if self.routes.len() >= limit {
            return Err(errors::refused(403, "resource_limit_exceeded", "the network has its maximum of routes"));
        }
        Ok(())
    }

    /// The first address of a subnet of this zone that is free, or the wanted one if it is. `range` chooses the subnet.
    pub(super) fn address(
        &self,
        zone: &str,
        wanted: Option<Ipv4Addr>,
        range: Option<Ipv4Net>,
        taken: impl Fn(Ipv4Addr) -> bool,
    ) -> Result<Ipv4Addr, Refused> {
        let cloud = |it: &&Subnet| it.kind == SubnetKind::Cloud && it.network_zone == zone;
        let chosen = |it: &&Subnet| range.is_none_or(|range| it.ip_range == range);
        let subnets = Vec::from_iter(self.subnets.iter().filter(cloud).filter(chosen));
        if let Some(ip) = wanted {
            let free = subnets.iter().any(|it| it.ip_range.contains(&ip)) && ip != gateway(self.ip_range) && !taken(ip);
            return if free {
                Ok(ip)
            } else {
                Err(errors::refused(422, "ip_not_available", "the provided IP is not available"))
            };
        }
        // From the end, which tests do not give to their servers.
        let mut free = subnets.iter().flat_map(|subnet| {
            let last = u32::from(subnet.ip_range.broadcast());
            (u32::from(subnet.ip_range.network()) + 2..last).rev().map(Ipv4Addr::from)
        });
        free.find(|it| !taken(*it))
            .ok_or_else(|| errors::refused(422, "no_subnet_available", "no subnet or IP is available in the network"))
    }
}

/// The first address, which the network itself has.
fn gateway(range: Ipv4Net) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(range.network()) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(destination: &str, gateway: &str, refused: Option<&str>) {
        let network = Network::new(1, "net").route("10.244.1.0/24", "10.0.0.5");
        let answer = network.takes(&Route::new(destination, gateway), 2);
        let said = answer.err().map(|it| String::from_utf8(it.body).unwrap());
        assert_eq!(said.is_some(), refused.is_some(), "{said:?}");
        assert!(said.unwrap_or_default().contains(refused.unwrap_or_default()));
    }

    #[test]
    fn a_route_leads_from_a_private_network_to_an_address_in_it() {
        check("10.244.2.0/24", "10.0.0.6", None);
        check("0.0.0.0/0", "10.0.0.6", None);
        check("10.244.2.1/24", "10.0.0.6", Some("host bits"));
        check("fd00::/64", "10.0.0.6", Some("IPv4"));
        check("nonsense", "10.0.0.6", Some("CIDR"));
        check("8.8.8.0/24", "10.0.0.6", Some("private"));
        check("10.0.1.0/24", "10.0.0.6", Some("subnet"));
        check("172.31.1.0/24", "10.0.0.6", Some("172.31.1.1"));
        check("10.244.0.0/16", "10.0.0.6", Some("another route"));
        check("10.244.2.0/24", "10.0.0.1", Some("first"));
        check("10.244.2.0/24", "192.168.0.5", Some("address of the network"));
    }

    #[test]
    fn a_network_has_so_many_routes() {
        let network = Network::new(1, "net").route("10.244.1.0/24", "10.0.0.5");
        let refused = network.takes(&Route::new("10.244.2.0/24", "10.0.0.6"), 1).unwrap_err();
        assert_eq!(refused.status, 403);
    }
}
