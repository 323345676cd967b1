//! Load balancers with the provider, as the binary runs it: from creation to deletion, and what changes between.

use serde_json::{Value, json};
use tests::clouds::gcp::{Collection, World};

use crate::ground::{Ground, region};

const TYPE: &str = "networking.gke.io/load-balancer-type";

/// The names of machines in a list of links.
fn names(list: &Value) -> Vec<String> {
    let name = |it: &Value| it.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let mut all: Vec<_> = list.as_array().into_iter().flatten().map(name).collect();
    all.sort();
    all
}

/// The machines behind a load balancer: those of its pool, or of all groups.
fn machines(world: &World, balancer: &str) -> Vec<String> {
    if let Some(pool) = world.get(&region().path(Collection::TargetPools, balancer)) {
        return names(&pool["instances"]);
    }
    let mut all: Vec<_> = world.all(Collection::InstanceGroups).flat_map(|(_, it)| names(&it["_members"])).collect();
    all.sort();
    all
}

fn rule(world: &World, balancer: &str) -> Value {
    world.get(&region().path(Collection::ForwardingRules, balancer)).cloned().unwrap_or_default()
}

fn field(world: &World, collection: Collection, balancer: &str, name: &str) -> Value {
    world.get(&region().path(collection, balancer)).map(|it| it[name].clone()).unwrap_or_default()
}

/// Two nodes, a new process without a write, a node that leaves, and nothing that is left.
async fn lives(annotations: Value, network: &str, target: Collection) {
    let mut ground = Ground::start().await;
    let balancer = ground.create("web", &annotations, &json!({})).await;
    let address = ground.address("web").await;
    assert!(address.starts_with(network), "{address}");
    let both = vec!["node-1".to_owned(), "node-2".to_owned()];
    assert_eq!(ground.cloud.with(|world| machines(world, &balancer)), both);
    let begun = ground.cloud.requests().len();
    ground.restart().await;
    // What the rule leads to is read last, or next to last: whatever differs is written then.
    let path = format!("/compute/v1/{}", region().path(target, &balancer));
    ground.cloud.wait_for("it is read again", |all| all[begun..].iter().any(|it| it.is("GET", &path))).await;
    ground.create("second", &annotations, &json!({})).await;
    ground.address("second").await;
    let writes = ground.writes_since(begun);
    assert!(!writes.iter().any(|it| it.contains(&balancer)), "{writes:?}");
    ground.delete("second").await;
    assert_eq!(ground.address("web").await, address);

    ground.leave(2, "c").await;
    ground.becomes("web", "the node has left", |world| machines(world, &balancer) == ["node-1"]).await;
    ground.join(3, "d").await;
    ground.becomes("web", "another node is in it", |world| machines(world, &balancer) == ["node-1", "node-3"]).await;
    ground.delete("web").await;
    assert_eq!(ground.made(), [""; 0]);
    ground.stop().await;
}

#[tokio::test]
async fn an_external_load_balancer_lives_and_leaves_nothing() {
    lives(json!({}), "203.0.113.", Collection::TargetPools).await;
}

#[tokio::test]
async fn an_internal_load_balancer_lives_and_leaves_nothing() {
    lives(json!({ TYPE: "Internal" }), "10.132.", Collection::BackendServices).await;
}

#[tokio::test]
async fn addresses_stay_wherever_the_api_lets_them() {
    let ground = Ground::start().await;
    for kind in ["External", "Internal"] {
        let balancer = ground.create("web", &json!({ TYPE: kind }), &json!({})).await;
        let address = ground.address("web").await;
        let target = if kind == "Internal" { Collection::BackendServices } else { Collection::TargetPools };
        let keeps = async |what: &str, patch: Value, is_so: &dyn Fn(&World) -> bool| {
            ground.patch("web", &patch).await;
            assert_eq!(ground.becomes("web", what, is_so).await, address, "{kind}: {what}");
        };
        let checks =
            |world: &World| field(world, target, &balancer, "healthChecks")[0].as_str().unwrap_or("").to_owned();
        let local = json!({ "spec": { "externalTrafficPolicy": "Local" } });
        keeps("traffic policy Local", local, &|world| checks(world).ends_with(&balancer)).await;
        let cluster = json!({ "spec": { "externalTrafficPolicy": "Cluster" } });
        keeps("traffic policy Cluster", cluster, &|world| checks(world).ends_with("-node")).await;
        let affinity = |value: &'static str| {
            let balancer = balancer.clone();
            move |world: &World| field(world, target, &balancer, "sessionAffinity") == value
        };
        keeps("affinity", json!({ "spec": { "sessionAffinity": "ClientIP" } }), &affinity("CLIENT_IP")).await;
        keeps("no affinity", json!({ "spec": { "sessionAffinity": "None" } }), &affinity("NONE")).await;
        let udp = json!({ "spec": { "ports": [{ "name": "http", "port": 80, "protocol": "UDP" }] } });
        keeps("protocol", udp, &|world| rule(world, &balancer)["IPProtocol"] == "UDP").await;
        let ports = json!({ "spec": { "ports": [{ "name": "http", "port": 80 }, { "name": "https", "port": 443 }] } });
        let both = |world: &World| {
            let rule = rule(world, &balancer);
            rule["portRange"] == "80-443"
                || rule["ports"] == json!(["443", "80"])
                || rule["ports"] == json!(["80", "443"])
        };
        keeps("ports", ports, &both).await;
        ground.delete("web").await;
        assert_eq!(ground.made(), [""; 0]);
    }
    ground.stop().await;
}

#[tokio::test]
async fn another_kind_or_tier_is_another_address() {
    let ground = Ground::start().await;
    let balancer = ground.create("web", &json!({}), &json!({})).await;
    let premium = ground.address("web").await;
    let annotate = async |key: &str, value: &str| {
        ground.patch("web", &json!({ "metadata": { "annotations": { key: value } } })).await;
    };
    annotate("cloud.google.com/network-tier", "Standard").await;
    let is_standard = |world: &World| rule(world, &balancer)["networkTier"] == "STANDARD";
    let standard = ground.becomes("web", "the tier is another", is_standard).await;
    annotate(TYPE, "Internal").await;
    let is_internal = |world: &World| rule(world, &balancer)["loadBalancingScheme"] == "INTERNAL";
    // Everything of the former kind goes, once the new one serves.
    let pools =
        |world: &World| world.all(Collection::TargetPools).chain(world.all(Collection::HttpHealthChecks)).count();
    let internal = ground.becomes("web", "it is internal", |world| is_internal(world) && pools(world) == 0).await;
    annotate(TYPE, "External").await;
    let services =
        |world: &World| world.all(Collection::BackendServices).chain(world.all(Collection::InstanceGroups)).count();
    let external = ground.becomes("web", "it is external", |world| !is_internal(world) && services(world) == 0).await;
    let all = [premium, standard, internal, external];
    assert!(all.iter().enumerate().all(|(at, it)| !all[..at].contains(it)), "{all:?}");
    ground.delete("web").await;
    assert_eq!(ground.made(), [""; 0]);
    ground.stop().await;
}
