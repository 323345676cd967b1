//! Nodes and their servers as Nova and Neutron show them, by the real binary.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;
use tests::clouds::openstack::{Kind, World};
use tests::simulator::Fault;
use tests::vendor::openstack::server;
use tests::vendor::{OpenStack, Vendor as _};
use tests::{kubelet, operator, wait};

use crate::ground::Ground;

/// The taint of a machine that is off.
const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";
/// Nodes are looked at each second, and ones whose machine is gone go at once.
const FLAGS: [&str; 4] = [
    "--node-monitor-period=1s",
    "--node-deletion-warm-up=0s",
    "--node-deletion-grace-period=0s",
    "--node-deletion-budget=100",
];

/// A region with servers of these names, by number from 1 on.
fn servers(world: &mut World, names: &[&str]) {
    for (number, name) in (1..).zip(names) {
        world.add_node(number, name, Some(&server(number.into())));
    }
}

fn change(world: &mut World, number: u64, key: &str, value: &str) {
    world.get_mut(Kind::Server, &server(number)).unwrap()[key] = json!(value);
}

fn text(of: &Node) -> [Option<String>; 3] {
    let label = |key: &str| of.labels().get(key).cloned();
    let id = of.spec.as_ref().and_then(|it| it.provider_id.clone());
    [id, label("node.kubernetes.io/instance-type"), label("topology.kubernetes.io/zone")]
}

impl Ground {
    /// Waits until a node has these addresses, in this order.
    async fn has_addresses(&self, name: &str, wanted: &[(&str, &str)]) {
        let mut seen = Vec::new();
        let has = wait::within(wait::DEADLINE, async || {
            let node = operator::node(&self.cluster, name).await;
            seen = kubelet::addresses(&node).iter().map(|(kind, it)| format!("{kind} {it}")).collect();
            (kubelet::addresses(&node) == wanted).then_some(())
        });
        assert!(has.await.is_some(), "{name} has {seen:?}, and not {wanted:?}");
    }
}

/// Cases: openstack 1, openstack 9, openstack 12, openstack 15, openstack 19, openstack 20
#[tokio::test]
async fn openstack_001_nodes_are_what_their_servers_are() {
    let prepare = |world: &mut World| {
        // As a pattern, the name of the second is that of the first, too.
        servers(world, &["web-1", "web.1", "bare"]);
        let (outside, port) = (world.named(Kind::Network, "ext"), world.named(Kind::Port, "web-1"));
        world.build_floating_ip(&json!({
            "floating_network_id": outside, "floating_ip_address": "172.24.4.150", "port_id": port,
            "fixed_ip_address": "10.6.0.11",
        }));
        let large = world.add_flavor("big one");
        change(world, 2, "_flavor", &large);
        change(world, 2, "OS-EXT-AZ:availability_zone", "zone 1");
    };
    let ground = Ground::with(prepare, |setup, _| setup).await;
    let large = ground.cloud.with(|world| world.named(Kind::Flavor, "big one"));
    for name in ["web-1", "web.1"] {
        kubelet::join(&ground.cluster.admin, name).await.unwrap();
    }
    let mut bare = kubelet::node("bare");
    bare.spec.get_or_insert_default().provider_id = Some(server(3));
    kubelet::join_as(&ground.cluster.admin, bare).await.unwrap();
    let some = |it: &str| Some(it.to_owned());
    for (name, id, kind, zone) in [
        ("web-1", format!("openstack:///{}", server(1)), "m1.tiny", "nova"),
        // A flavour's name with a space is no label.
        ("web.1", format!("openstack:///{}", server(2)), &large, "zone-1"),
        ("bare", server(3), "m1.tiny", "nova"),
    ] {
        let node = operator::initialized(&ground.cluster, name).await;
        assert_eq!(text(&node), [Some(id), some(kind), some(zone)], "{name}");
    }
    let all = [("InternalIP", "10.6.0.11"), ("InternalIP", "fd00:6::11"), ("ExternalIP", "172.24.4.150")];
    ground.has_addresses("web-1", &all).await;
    ground.stop().await;
}

/// Cases: openstack 11, openstack 14, openstack 16, openstack 17
#[tokio::test]
async fn openstack_014_settings_say_which_addresses_are_whose() {
    let prepare = |world: &mut World| {
        servers(world, &["web-1"]);
        for (name, cidr, address) in [
            ("public", "203.0.113.0/24", "203.0.113.5"),
            ("store", "10.9.0.0/24", "10.9.0.5"),
            ("inner", "10.2.0.0/24", "10.2.0.5"),
        ] {
            let network = world.add_network(name, false);
            let subnet = world.add_subnet(&network, name, cidr, &[]);
            world.add_port(name, (&server(1), "compute:nova"), &[(&subnet, Some(address))]);
        }
    };
    let ground = Ground::with(prepare, |setup, _| {
        setup.edit(|config| {
            let settings = config["provider"]["settings"].as_object_mut().unwrap();
            for (name, value) in [
                ("regionalProviderIDs", "true"),
                ("networking.publicNetworkNames", "public"),
                ("networking.internalNetworkNames", "k8s,inner"),
                ("networking.addressSortOrder", "10.2.0.0/16"),
            ] {
                settings.insert(name.to_owned(), json!(value));
            }
        })
    })
    .await;
    kubelet::join(&ground.cluster.admin, "web-1").await.unwrap();
    let node = operator::initialized(&ground.cluster, "web-1").await;
    assert_eq!(text(&node)[0], Some(format!("openstack://RegionOne/{}", server(1))));
    let node = wait::until("it has addresses", async || {
        Some(operator::node(&ground.cluster, "web-1").await).filter(|it| !kubelet::addresses(it).is_empty())
    })
    .await;
    let addresses = kubelet::addresses(&node);
    assert_eq!(addresses[0], ("InternalIP", "10.2.0.5"), "{addresses:?}");
    let rest: BTreeSet<_> = addresses[1..].iter().copied().collect();
    let expected = [("InternalIP", "10.6.0.11"), ("InternalIP", "fd00:6::11"), ("ExternalIP", "203.0.113.5")];
    assert_eq!(rest, BTreeSet::from(expected), "that of the network store is neither public nor internal");
    ground.stop().await;
}

/// Cases: openstack 2, openstack 3, openstack 4, openstack 5, openstack 6, openstack 7, openstack 8
#[tokio::test]
async fn openstack_002_a_node_goes_as_its_server_does_and_no_sooner() {
    let names = ["off", "shelved", "deleted", "soft", "gone", "broken", "unlisted", "unread"];
    let ground = Ground::with(|world| servers(world, &names), |setup, _| setup.flags(&FLAGS)).await;
    join_all(names.map(async |name| {
        kubelet::join(&ground.cluster.admin, name).await.unwrap();
        operator::initialized(&ground.cluster, name).await;
    }))
    .await;
    ground.cloud.with(|world| {
        for (number, status) in
            [(1, "SHUTOFF"), (2, "SHELVED_OFFLOADED"), (3, "DELETED"), (4, "SOFT_DELETED"), (6, "ERROR")]
        {
            change(world, number, "status", status);
        }
        world.remove_server(&server(5));
    });
    // Lists leave two out: Nova has one, and says nothing about the other.
    for number in [7, 8] {
        OpenStack::hide_machine(ground.cloud.account(), number);
    }
    let path = |number: u64| format!("/compute/v2.1/servers/{}", server(number));
    ground.cloud.inject(Fault::status("GET", &path(8), 500).times(10_000));
    let begun = ground.cloud.requests().len();
    join_all(names.map(async |name| kubelet::post_ready(&ground.cluster.admin, name, false).await.unwrap())).await;

    let nodes = ground.nodes();
    let left = async || {
        let all = nodes.list(&ListParams::default()).await.unwrap().items;
        all.iter().map(ResourceExt::name_any).collect::<BTreeSet<_>>()
    };
    let staying = BTreeSet::from(["broken", "off", "shelved", "unlisted", "unread"].map(str::to_owned));
    wait::until("those of deleted servers go", async || (left().await == staying).then_some(())).await;
    let is_off = async |name: &str| {
        let node = operator::node(&ground.cluster, name).await;
        node.spec.and_then(|it| it.taints).unwrap_or_default().iter().any(|it| it.key == SHUTDOWN)
    };
    for name in ["off", "shelved"] {
        wait::until(&format!("{name} is tainted"), async || is_off(name).await.then_some(())).await;
    }
    // Two such answers in a row delete a node whose server is gone. The pauses after others double: more of them take half a minute.
    let asks = |number: u64| ground.cloud.requests_from(begun).iter().filter(|it| it.path == path(number)).count();
    for number in [7, 8] {
        wait::until("it is asked for three times", async || (asks(number) >= 3).then_some(())).await;
    }
    assert_eq!(left().await, staying);
    for name in ["broken", "unlisted", "unread"] {
        assert!(!is_off(name).await, "{name}");
    }
    ground.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn openstack_021_thousands_of_servers_are_read_by_page() {
    // With ports of the router, and a second one at each of 1,700 servers.
    let (servers, ports) = (2_300_u16, 4_000_usize);
    let prepare = |world: &mut World| {
        for number in 1..=servers {
            world.add_node(number, &format!("web-{number}"), Some(&server(number.into())));
        }
        let network = world.add_network("store", false);
        let subnet = world.add_subnet(&network, "store", "10.9.0.0/16", &[]);
        let more = ports - world.all(Kind::Port).count();
        for number in 1..=more {
            let [high, low] = u16::try_from(number).unwrap().to_be_bytes();
            let address = format!("10.9.{high}.{low}");
            world.add_port("", (&server(u64::try_from(number).unwrap()), "compute:nova"), &[(&subnet, Some(&address))]);
        }
    };
    // All of them wait when the process starts: of nodes that came one by one, each alone might be asked about.
    let nodes: Vec<_> = (1..=20).map(|it| format!("web-{}", it * 100)).collect();
    let ground = Ground::among(&nodes, prepare, |setup, _| setup).await;
    // Pages of so many are written, and checked against their description, by this process beside other tests.
    let pages = Duration::from_mins(1);
    join_all(nodes.iter().map(|it| operator::initialized_after(pages, &ground.cluster, it))).await;
    let asked = ground.cloud.requests();
    // A question about one of them would be one more of these.
    let distinct = |path: &str| {
        let of_path = asked.iter().filter(|it| it.path.starts_with(path));
        of_path.map(|it| it.target.clone()).collect::<BTreeSet<_>>()
    };
    let (of_servers, of_ports) = (distinct("/compute/v2.1/servers"), distinct("/network/v2.0/ports"));
    assert_eq!((of_servers.len(), of_ports.len()), (3, 4), "{of_servers:#?} {of_ports:#?}");
    ground.stop().await;
}
