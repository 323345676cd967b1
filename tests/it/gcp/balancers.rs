//! Load balancers with the provider, as the binary runs it: from creation to deletion, and what changes between.

use std::collections::BTreeSet;

use futures::future::join_all;
use serde_json::{Value, json};
use tests::clouds::gcp::{Collection, Recorded, World};

use crate::ground::{Ground, region, writes};

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

/// Five at once, with what was recorded of Google's own manager: reads and writes without questions about operations.
#[tokio::test]
async fn load_balancers_made_at_once_ask_less_than_googles_manager() {
    const RECORDED: (usize, usize) = (54, 27);
    let mut ground = Ground::start().await;
    let names = ["one", "two", "three", "four", "five"];
    // All of them wait when the process starts: those that came one by one would not share their reads.
    ground.rest().await;
    join_all(names.map(async |it| ground.create(it, &json!({}), &json!({})).await)).await;
    let begun = ground.cloud.requests().len();
    ground.restart().await;
    let addresses: BTreeSet<String> = join_all(names.map(|it| ground.address(it))).await.into_iter().collect();
    assert_eq!(addresses.len(), names.len());
    let asked = ground.cloud.requests_from(begun);
    let asked = asked.iter().filter(|it| !it.path.contains("/operations/") && it.path.contains("/projects/"));
    let (writes, reads): (Vec<&Recorded>, Vec<&Recorded>) = asked.partition(|it| writes(it));
    assert!(writes.len() <= RECORDED.1, "{writes:#?}");
    assert!(reads.len() <= RECORDED.0, "{reads:#?}");
    join_all(names.map(|it| ground.delete(it))).await;
    assert_eq!(ground.made(), [""; 0]);
    ground.stop().await;
}

/// A Service whose changes keep its address.
struct Kept<'a> {
    ground: &'a Ground,
    name: String,
    balancer: String,
    address: String,
    target: Collection,
}

impl<'a> Kept<'a> {
    async fn create(ground: &'a Ground, kind: &str, what: &str) -> Self {
        let name = format!("{}-{what}", kind.to_lowercase());
        let balancer = ground.create(&name, &json!({ TYPE: kind }), &json!({})).await;
        let address = ground.address(&name).await;
        let target = if kind == "Internal" { Collection::BackendServices } else { Collection::TargetPools };
        Self { ground, name, balancer, address, target }
    }

    /// Changes its `spec`, and waits until its load balancer is so.
    async fn keeps(&self, spec: Value, is_so: impl Fn(&World) -> bool) {
        self.ground.patch(&self.name, &json!({ "spec": spec })).await;
        let what = format!("{} with {spec}", self.name);
        assert_eq!(self.ground.becomes(&self.name, &what, is_so).await, self.address, "{what}");
    }

    /// Gives it another policy, and the first one again. Then it is deleted.
    async fn changes_policy(&self) {
        let check = |world: &World| {
            let checks = field(world, self.target, &self.balancer, "healthChecks");
            checks[0].as_str().unwrap_or("").to_owned()
        };
        self.keeps(json!({ "externalTrafficPolicy": "Local" }), |world| check(world).ends_with(&self.balancer)).await;
        self.keeps(json!({ "externalTrafficPolicy": "Cluster" }), |world| check(world).ends_with("-node")).await;
        self.ground.delete(&self.name).await;
    }

    /// Gives it affinity, and takes it away. Then it is deleted.
    async fn changes_affinity(&self) {
        for (wanted, shown) in [("ClientIP", "CLIENT_IP"), ("None", "NONE")] {
            let is_so = |world: &World| field(world, self.target, &self.balancer, "sessionAffinity") == shown;
            self.keeps(json!({ "sessionAffinity": wanted }), is_so).await;
        }
        self.ground.delete(&self.name).await;
    }

    /// Gives it another protocol, and then two ports. Then it is deleted.
    async fn changes_ports(&self) {
        let udp = json!({ "ports": [{ "name": "http", "port": 80, "protocol": "UDP" }] });
        self.keeps(udp, |world| rule(world, &self.balancer)["IPProtocol"] == "UDP").await;
        let both = |world: &World| {
            let rule = rule(world, &self.balancer);
            rule["portRange"] == "80-443"
                || rule["ports"] == json!(["443", "80"])
                || rule["ports"] == json!(["80", "443"])
        };
        self.keeps(json!({ "ports": [{ "name": "http", "port": 80 }, { "name": "https", "port": 443 }] }), both).await;
        self.ground.delete(&self.name).await;
    }
}

/// Three Services in a project of their own: more would wait for the requests a second that the config grants.
async fn addresses_stay(kind: &str) {
    let ground = Ground::start().await;
    let of = |change| Kept::create(&ground, kind, change);
    tokio::join!(
        async { of("policy").await.changes_policy().await },
        async { of("affinity").await.changes_affinity().await },
        async { of("ports").await.changes_ports().await },
    );
    assert_eq!(ground.made(), [""; 0]);
    ground.stop().await;
}

#[tokio::test]
async fn external_addresses_stay_wherever_the_api_lets_them() {
    addresses_stay("External").await;
}

#[tokio::test]
async fn internal_addresses_stay_wherever_the_api_lets_them() {
    addresses_stay("Internal").await;
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
