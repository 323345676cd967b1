//! Routes for pods in the router, and the rights of ports, by the real binary.

use std::collections::BTreeMap;

use futures::future::join_all;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tests::clouds::openstack::{Kind, World};
use tests::simulator::{Fault, Recorded};
use tests::{operator, wait};

use crate::ground::Ground;

const FLAGS: [&str; 4] = [
    "--cluster-cidr=10.244.0.0/16",
    "--configure-cloud-routes=true",
    "--route-reconciliation-period=2s",
    "--route-deletion-warm-up=0s",
];
/// The nodes that there are before routes are made.
const NODES: u64 = 20;

fn destination(number: u64) -> String {
    format!("10.244.{number}.0/24")
}

/// The routes of the router, by destination.
fn routes(world: &World) -> BTreeMap<String, String> {
    let router = world.all(Kind::Router).find(|it| it["name"] == "r1").unwrap();
    let text = |it: &Value, key: &str| it[key].as_str().unwrap().to_owned();
    let all = router["routes"].as_array().unwrap().iter();
    all.map(|it| (text(it, "destination"), text(it, "nexthop"))).collect()
}

/// The networks that the port of a node lets through.
fn pairs(world: &World, number: u64) -> Vec<String> {
    let port = world.all(Kind::Port).find(|it| it["name"] == format!("web-{number}")).unwrap();
    let all = port["allowed_address_pairs"].as_array().unwrap().iter();
    all.map(|it| it["ip_address"].as_str().unwrap().to_owned()).collect()
}

impl Ground {
    /// Gives nodes their networks of pods.
    async fn give_networks(&self, numbers: impl Iterator<Item = u64>) {
        let nodes = self.nodes();
        join_all(numbers.map(async |number| {
            let network = destination(number);
            let patch = json!({ "spec": { "podCIDR": network, "podCIDRs": [network] } });
            let name = format!("web-{number}");
            nodes.patch(&name, &PatchParams::default(), &Patch::Strategic(patch)).await.unwrap();
        }))
        .await;
    }

    /// Waits until exactly these nodes have a route and its right, beside the routes of persons.
    async fn has_routes(&self, numbers: &[u64]) {
        let mut wanted: BTreeMap<_, _> =
            numbers.iter().map(|it| (destination(*it), format!("10.6.0.{}", it + 10))).collect();
        wanted.insert("192.168.77.0/24".to_owned(), "10.6.0.98".to_owned());
        let mut seen = String::new();
        let settled = wait::within(wait::DEADLINE, async || {
            self.cloud.with(|world| {
                let lacks: Vec<_> = numbers.iter().filter(|it| pairs(world, **it) != [destination(**it)]).collect();
                seen = format!("{:#?}, without rights {lacks:?}", routes(world));
                (routes(world) == wanted && lacks.is_empty()).then_some(())
            })
        });
        assert!(settled.await.is_some(), "{seen} instead of {wanted:#?}");
    }
}

/// Cases: openstack 56, openstack 58, openstack 59, openstack 61
#[tokio::test(flavor = "multi_thread")]
async fn openstack_056_twenty_nodes_get_routes_by_one_request() {
    let ground = Ground::with(
        |world| {
            let router = world.named(Kind::Router, "r1");
            world.get_mut(Kind::Router, &router).unwrap()["routes"] = json!([
                { "destination": "192.168.77.0/24", "nexthop": "10.6.0.98" },
                { "destination": "10.244.200.0/24", "nexthop": "10.6.0.99" },
            ]);
        },
        |setup, cloud| {
            let router = cloud.with(|world| world.named(Kind::Router, "r1"));
            setup
                .edit(|it| it["provider"]["settings"]["routerID"] = json!(router))
                .flags(&["--configure-cloud-routes=false"])
        },
    )
    .await;
    let first: Vec<u64> = (1..=NODES).collect();
    ground.join(&first).await;
    ground.give_networks(1..=NODES).await;
    let begun = ground.cloud.requests().len();
    let ground = ground.restart(&FLAGS).await;
    // One that leads to no node goes, and one of a person outside of the cluster's networks stays.
    ground.has_routes(&first).await;
    let writes = ground.writes_since(begun);
    let of = |action: &str| writes.iter().filter(|it| it.contains(action)).count();
    assert_eq!(
        (of("add_extraroutes"), of("remove_extraroutes"), of("/ports/"), writes.len()),
        (1, 1, 20, 22),
        "{writes:#?}"
    );

    // Neutron lets nobody change the port of the next node: its route is taken back, and that is told.
    ground.cloud.inject(Fault::status("PUT", "/network/v2.0/ports/*", 403).times(1));
    let begun = ground.cloud.requests().len();
    ground.join(&[21]).await;
    ground.give_networks(std::iter::once(21)).await;
    let taken_back = || {
        let writes = ground.writes_since(begun);
        let at = |action: &str| writes.iter().position(|it| it.contains(action));
        at("403").zip(at("remove_extraroutes")).is_some_and(|(refused, removed)| refused < removed).then_some(())
    };
    wait::until("the route is taken back", async || taken_back()).await;
    operator::event(&ground.cluster, "web-21", &["403"]).await;
    ground.has_routes(&first).await;

    // The router takes no more: one node gets its route, the others wait, which is said once.
    ground.cloud.behave(|it| it.routes = 22);
    ground.join(&[22, 23, 24]).await;
    ground.give_networks(22..=24).await;
    let full = async || {
        let all = kube::Api::<k8s_openapi::api::core::v1::Event>::all(ground.cluster.admin.clone());
        let all = all.list(&kube::api::ListParams::default()).await.unwrap().items.into_iter();
        all.filter(|it| it.reason.as_deref() == Some("RouteTableFull")).collect::<Vec<_>>()
    };
    let told =
        wait::until("it is told that the router is full", async || Some(full().await).filter(|it| !it.is_empty()))
            .await;
    let message = told[0].message.clone().unwrap();
    assert!(message.contains("takes no more routes"), "{message}");
    let lists = |begun: usize| {
        let asked = ground.cloud.requests_from(begun).into_iter();
        asked.filter(|it| it.method.is_safe() && it.path.starts_with("/network/v2.0/routers/")).count()
    };
    let begun = ground.cloud.requests().len();
    wait::until("routes are listed twice more", async || (lists(begun) >= 3).then_some(())).await;
    let told: i32 = full().await.iter().map(|it| it.count.unwrap_or(1)).sum();
    assert_eq!(told, 1);
    assert_eq!(ground.cloud.with(|world| routes(world).len()), 22);

    // The pair that OpenStack's own controller leaves at the port of a node that left goes, too.
    ground.cloud.with(|world| {
        let port = world.named(Kind::Port, "web-1");
        let own = world.get(Kind::Port, &port).unwrap()["allowed_address_pairs"][0].clone();
        let stale = json!({ "ip_address": "10.244.77.0/24", "mac_address": own["mac_address"] });
        world.get_mut(Kind::Port, &port).unwrap()["allowed_address_pairs"] = json!([own, stale]);
    });
    wait::until("the right without a route is gone", async || {
        ground.cloud.with(|world| (pairs(world, 1) == [destination(1)]).then_some(()))
    })
    .await;
    ground.stop().await;
}

#[tokio::test]
async fn openstack_057_without_the_extension_the_list_is_written() {
    let ground = Ground::with(
        |world| {
            let router = world.named(Kind::Router, "r1");
            world.get_mut(Kind::Router, &router).unwrap()["routes"] =
                json!([{ "destination": "192.168.77.0/24", "nexthop": "10.6.0.98" }]);
        },
        |setup, cloud| {
            cloud.behave(|it| _ = it.extensions.remove("extraroute-atomic"));
            let router = cloud.with(|world| world.named(Kind::Router, "r1"));
            setup.edit(|it| it["provider"]["settings"]["routerID"] = json!(router)).flags(&FLAGS)
        },
    )
    .await;
    ground.join(&[1, 2]).await;
    ground.give_networks(1..=2).await;
    // A person's route is in each list that is written.
    ground.has_routes(&[1, 2]).await;
    let asked = ground.cloud.requests().into_iter();
    let lists: Vec<_> = asked.filter(|it| it.is("PUT", "/network/v2.0/routers/*")).collect();
    let is_guarded =
        |sent: &Recorded| sent.headers.get("if-match").is_some_and(|it| it.as_bytes().starts_with(b"revision_number="));
    assert!(!lists.is_empty() && lists.iter().all(is_guarded), "{lists:#?}");
    ground.stop().await;
}
