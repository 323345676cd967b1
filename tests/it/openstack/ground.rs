//! The region that the recordings were made in: its networks, routers and servers.

use serde_json::json;
use tests::clouds::openstack::{Kind, Simulator, World};

/// The flavor of all servers.
pub(crate) const FLAVOR: &str = "m1.tiny";

/// Puts the networks and routers of the recordings into a region, and servers with these names.
pub(crate) fn build(cloud: &Simulator, servers: &[&str]) {
    cloud.with(|world| {
        let [k8s, store, ext, ext2] = [("k8s", false), ("store", false), ("ext", true), ("ext2", true)]
            .map(|(name, outside)| world.add_network(name, outside));
        let nodes = world.add_subnet(&k8s, "k8s", "10.6.0.0/24", &[]);
        let nodes6 = world.add_subnet(&k8s, "k8s6", "fd00:6::/64", &[]);
        let second = world.add_subnet(&store, "store", "10.8.0.0/24", &[]);
        world.add_subnet(&ext, "ext-a", "172.24.4.0/24", &[]);
        world.add_subnet(&ext, "ext-b", "172.24.5.0/24", &["public", "blue"]);
        let tiny = world.add_subnet(&ext, "ext-tiny", "172.24.6.0/30", &["public"]);
        world.add_subnet(&ext2, "ext2", "172.25.0.0/24", &[]);
        world.add_port("taken", ("", ""), &[(&tiny, None)]);
        world.add_router("r1", &ext, &[&nodes, &second]);
        let r2 = world.add_router("r2", &ext2, &[]);
        world.add_port("", (&r2, "network:router_interface"), &[(&nodes, Some("10.6.0.2"))]);
        let flavor = world.add_flavor(FLAVOR);
        for name in servers {
            add_server(world, name, &flavor, (&nodes, &nodes6));
        }
    });
}

fn add_server(world: &mut World, name: &str, flavor: &str, (nodes, nodes6): (&str, &str)) {
    let number: u16 = name.rsplit('-').next().and_then(|it| it.parse().ok()).unwrap_or(99);
    let (ipv4, ipv6) = (format!("10.6.0.{}", number + 10), format!("fd00:6::{}", number + 10));
    let server = world.add_server(name, flavor);
    let port = world.add_port(name, (&server, "compute:nova"), &[(nodes, Some(&ipv4)), (nodes6, Some(&ipv6))]);
    if let Some(it) = world.get_mut(Kind::Port, &port) {
        it["binding:vnic_type"] = json!("normal");
    }
}
