//! Regions that tests begin with: the one that the recordings were made in, and a plain one.

use serde_json::json;

use super::kind::Kind;
use super::world::World;

/// The flavor of all servers.
const FLAVOR: &str = "m1.tiny";
/// The network of the nodes, whose subnets are `k8s` and `k8s6`.
const NODES: &str = "k8s";
/// The second subnet of the nodes' network.
const NODES6: &str = "k8s6";

impl World {
    /// Puts a network of nodes, an external one and a router between both into a region without anything.
    pub fn build_plain(&mut self) {
        let [nodes, outside] = [(NODES, false), ("ext", true)].map(|(name, outside)| self.add_network(name, outside));
        let subnet = self.add_subnet(&nodes, NODES, "10.6.0.0/16", &[]);
        self.add_subnet(&nodes, NODES6, "fd00:6::/64", &[]);
        self.add_subnet(&outside, "ext-a", "172.24.4.0/24", &[]);
        self.add_router("r1", &outside, &[&subnet]);
        self.add_flavor(FLAVOR);
    }

    /// Puts the networks and routers of the recordings into a region without anything.
    pub fn build_recorded(&mut self) {
        let [k8s, store, ext, ext2] = [(NODES, false), ("store", false), ("ext", true), ("ext2", true)]
            .map(|(name, outside)| self.add_network(name, outside));
        let nodes = self.add_subnet(&k8s, NODES, "10.6.0.0/24", &[]);
        self.add_subnet(&k8s, NODES6, "fd00:6::/64", &[]);
        let second = self.add_subnet(&store, "store", "10.8.0.0/24", &[]);
        self.add_subnet(&ext, "ext-a", "172.24.4.0/24", &[]);
        self.add_subnet(&ext, "ext-b", "172.24.5.0/24", &["public", "blue"]);
        let tiny = self.add_subnet(&ext, "ext-tiny", "172.24.6.0/30", &["public"]);
        self.add_subnet(&ext2, "ext2", "172.25.0.0/24", &[]);
        self.add_port("taken", ("", ""), &[(&tiny, None)]);
        self.add_router("r1", &ext, &[&nodes, &second]);
        let r2 = self.add_router("r2", &ext2, &[]);
        self.add_port("", (&r2, "network:router_interface"), &[(&nodes, Some("10.6.0.2"))]);
        self.add_flavor(FLAVOR);
    }

    /// Adds what persons have in the region of the recordings, once `node-3` and `node-4` are there.
    ///
    /// # Panics
    ///
    /// Panics if one of them is not there.
    pub fn furnish_recorded(&mut self) {
        let (outside, store) = (self.named(Kind::Network, "ext"), self.named(Kind::Subnet, "store"));
        let [third, fourth] =
            ["node-3", "node-4"].map(|name| (self.named(Kind::Port, name), self.named(Kind::Server, name)));
        self.build_floating_ip(&json!({
            "floating_network_id": outside, "floating_ip_address": "172.24.4.150", "port_id": third.0,
            "fixed_ip_address": "10.6.0.13", "description": "of node-3",
        }));
        self.build_floating_ip(&json!({
            "floating_network_id": outside, "floating_ip_address": "172.24.4.200", "description": "reserved by a person",
        }));
        // Neutron lists ports by their ids: this one comes after the first.
        let second = self.add_port("node-4-store", (&fourth.1, "compute:nova"), &[(&store, Some("10.8.0.202"))]);
        if let Some(mut port) = self.remove(Kind::Port, &second) {
            port["id"] = json!("ffffffff-0d11-4c9e-8f3b-2f5a3d4f7a11");
            self.insert(Kind::Port, port);
        }
        if let Some(it) = self.get_mut(Kind::Port, &fourth.0) {
            it["port_security_enabled"] = json!(false);
        }
        for number in [20, 21] {
            self.add_node(number, "twin", None);
        }
        let second = self.named(Kind::Server, "node-2");
        if let Some(it) = self.get_mut(Kind::Server, &second) {
            it["metadata"] = json!({ "hostname": "node-2.example.com" });
        }
        self.insert(Kind::LoadBalancerFlavor, json!({ "name": "single", "description": "", "enabled": true }));
        self.insert(Kind::AvailabilityZone, json!({ "name": "zone-a", "description": "", "enabled": true }));
    }

    /// Adds a server with a port in both subnets of the nodes: 10.6.0.11 and fd00:6::11 for number 1. It has a name, and an id of its own
    /// or one that is made up.
    pub fn add_node(&mut self, number: u16, name: &str, id: Option<&str>) -> String {
        let flavor = self.named(Kind::Flavor, FLAVOR);
        let subnets = [self.named(Kind::Subnet, NODES), self.named(Kind::Subnet, NODES6)];
        let [high, low] = (number + 10).to_be_bytes();
        let addresses = [format!("10.6.{high}.{low}"), format!("fd00:6::{}", number + 10)];
        let places: Vec<(&str, Option<&str>)> =
            subnets.iter().zip(&addresses).map(|(subnet, address)| (&**subnet, Some(&**address))).collect();
        let made_up = uuid::Uuid::new_v4().to_string();
        let server = self.add_server_as(id.unwrap_or(&made_up), name, &flavor);
        let port = self.add_port(name, (&server, "compute:nova"), &places);
        if let Some(it) = self.get_mut(Kind::Port, &port) {
            it["binding:vnic_type"] = json!("normal");
        }
        server
    }
}
