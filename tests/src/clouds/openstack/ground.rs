//! Networks, routers and servers that a test puts into a region before it begins.

use ipnet::IpNet;
use serde_json::{Value, json};

use super::kind::Kind;
use super::network::free_address;
use super::world::{World, text};

impl World {
    /// Adds a network: an external one is there for every project.
    pub fn add_network(&mut self, name: &str, external: bool) -> String {
        let network = json!({
            "name": name, "description": "", "status": "ACTIVE", "admin_state_up": true, "shared": false,
            "router:external": external, "port_security_enabled": true, "mtu": 1450, "subnets": [], "tags": [],
            "availability_zones": [], "availability_zone_hints": [], "revision_number": 1,
        });
        self.insert(Kind::Network, network)
    }

    /// Adds a subnet with these tags. The first address of it is its gateway's.
    ///
    /// # Panics
    ///
    /// Panics if `cidr` is no network.
    pub fn add_subnet(&mut self, network: &str, name: &str, cidr: &str, tags: &[&str]) -> String {
        let range: IpNet = cidr.parse().expect("the test names a network");
        let mut hosts = range.hosts();
        let gateway = hosts.next().expect("a network has an address");
        let start = hosts.next().unwrap_or(gateway);
        let end = match range {
            IpNet::V4(it) => it.hosts().last().map_or_else(|| start.to_string(), |it| it.to_string()),
            IpNet::V6(it) => it.broadcast().to_string(),
        };
        let external = self.get(Kind::Network, network).is_some_and(|it| it["router:external"] == json!(true));
        let subnet = json!({
            "name": name, "description": "", "network_id": network, "cidr": cidr, "gateway_ip": gateway.to_string(),
            "ip_version": if cidr.contains(':') { 6 } else { 4 }, "enable_dhcp": false, "tags": tags,
            "allocation_pools": [{ "start": start.to_string(), "end": end }], "dns_nameservers": [], "host_routes": [],
            "ipv6_address_mode": null, "ipv6_ra_mode": null, "service_types": [], "subnetpool_id": null, "router:external": external,
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
            "revision_number": 1, "_for_all": external,
        });
        let id = self.insert(Kind::Subnet, subnet);
        if let Some(list) = self.get_mut(Kind::Network, network).and_then(|it| it["subnets"].as_array_mut()) {
            list.push(json!(id));
        }
        id
    }

    /// Adds a port with these addresses in these subnets of one network; without an address it gets a free one.
    ///
    /// # Panics
    ///
    /// Panics if there is no such subnet.
    pub fn add_port(&mut self, name: &str, device: (&str, &str), places: &[(&str, Option<&str>)]) -> String {
        let first = self.get(Kind::Subnet, places[0].0).expect("the subnet was made before");
        let network = text(first, "network_id").to_owned();
        let mut fixed = Vec::new();
        for (subnet, address) in places {
            let address = address.map(str::to_owned).or_else(|| free_address(self, subnet));
            fixed.push(json!({ "subnet_id": subnet, "ip_address": address.expect("the subnet has a free address") }));
        }
        let id = uuid::Uuid::new_v4();
        let [.., a, b, c] = *id.as_bytes();
        let port = json!({
            "id": id.to_string(), "name": name, "description": "", "network_id": network, "status": "ACTIVE",
            "admin_state_up": true, "device_id": device.0, "device_owner": device.1, "fixed_ips": fixed,
            "mac_address": format!("fa:16:3e:{a:02x}:{b:02x}:{c:02x}"), "allowed_address_pairs": [], "security_groups": [],
            "port_security_enabled": true, "binding:vnic_type": "normal", "extra_dhcp_opts": [], "tags": [],
            "ip_allocation": "immediate", "revision_number": 1, "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z",
        });
        self.insert(Kind::Port, port)
    }

    /// Adds a router with a gateway to an external network and an interface in each of these subnets.
    pub fn add_router(&mut self, name: &str, external: &str, subnets: &[&str]) -> String {
        let router = json!({
            "name": name, "description": "", "status": "ACTIVE", "admin_state_up": true, "routes": [], "tags": [],
            "external_gateway_info": { "network_id": external, "enable_snat": true, "external_fixed_ips": [] },
            "availability_zones": [], "availability_zone_hints": [], "flavor_id": null, "revision_number": 1,
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        });
        let id = self.insert(Kind::Router, router);
        for subnet in subnets {
            self.add_port("", (&id, "network:router_interface"), &[(subnet, None)]);
        }
        id
    }

    /// Adds a flavor of servers.
    pub fn add_flavor(&mut self, name: &str) -> String {
        self.insert(Kind::Flavor, json!({ "name": name, "ram": 4096, "disk": 40, "vcpus": 2 }))
    }

    /// Adds a server that runs, with no port yet.
    pub fn add_server(&mut self, name: &str, flavor: &str) -> String {
        self.add_server_as(&uuid::Uuid::new_v4().to_string(), name, flavor)
    }

    /// As [`World::add_server`], with this id, in the place of one that has it.
    pub fn add_server_as(&mut self, id: &str, name: &str, flavor: &str) -> String {
        let server = json!({
            "id": id, "name": name, "status": "ACTIVE", "metadata": {}, "accessIPv4": "", "accessIPv6": "", "config_drive": "",
            "created": "2026-01-01T00:00:00Z", "updated": "2026-01-01T00:00:00Z", "hostId": "", "image": "", "key_name": null,
            "progress": 0, "user_id": super::USER, "locked": false, "description": name, "tags": [],
            "trusted_image_certificates": null, "security_groups": [], "os-extended-volumes:volumes_attached": [],
            "OS-DCF:diskConfig": "MANUAL", "OS-EXT-AZ:availability_zone": "nova", "OS-EXT-STS:power_state": 1,
            "OS-EXT-STS:task_state": null, "OS-EXT-STS:vm_state": "active", "OS-SRV-USG:launched_at": "2026-01-01T00:00:00.000000",
            "OS-SRV-USG:terminated_at": null, "_flavor": flavor,
        });
        let id = self.insert(Kind::Server, server);
        let tenant = json!(self.project);
        if let Some(it) = self.get_mut(Kind::Server, &id) {
            it["tenant_id"] = tenant;
        }
        id
    }

    /// Takes a server away with its ports.
    pub fn remove_server(&mut self, id: &str) {
        self.remove(Kind::Server, id);
        for port in self.ids(Kind::Port, |it| text(it, "device_id") == id) {
            self.remove_port(&port);
        }
    }

    /// Deletes a server as Nova does: its volumes are free again, also one that is on its way there.
    pub fn delete_server(&mut self, id: &str) {
        self.remove_server(id);
        let is_its = |it: &Value| text(it, "_server") == id || self.server_that_gets(text(it, "id")) == Some(id);
        for volume in self.ids(Kind::Volume, is_its) {
            self.free_volume(&volume);
        }
    }

    /// The id of the only object of a kind with this name.
    ///
    /// # Panics
    ///
    /// Panics if there is none, or more than one.
    #[must_use]
    pub fn named(&self, kind: Kind, name: &str) -> String {
        let found: Vec<&Value> = self.with(kind, "name", name).collect();
        let [one] = found[..] else { panic!("not one {kind:?} is called {name}: {found:?}") };
        text(one, "id").to_owned()
    }
}
