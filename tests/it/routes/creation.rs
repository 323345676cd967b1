//! Nodes get their routes, and their condition.

use std::sync::Arc;
use std::time::Duration;

use controllers::route::Options;
use tests::control_plane::cluster;

use crate::cloud::{Call, Cloud, foreign, route};
use crate::controller::*;

/// Lists of all routes come fast.
fn often() -> Options {
    Options { period: Some(Duration::from_millis(500)), ..options() }
}

#[tokio::test]
async fn case_178_two_nodes_get_routes_and_then_nothing_is_done() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_all(&cluster, [node(1), node(2), node_with("bare", &[])]).await;
    let _controller = Controller::start(&cluster, &cloud, often());
    for name in ["n1", "n2"] {
        let node = node_when(&cluster, name, |it| is(it, "False RouteCreated")).await;
        let condition = condition(&node).unwrap();
        assert_eq!(condition.message.as_deref(), Some("RouteController created a route"));
        assert!(condition.last_heartbeat_time.is_some() && condition.last_transition_time.is_some());
    }
    assert_eq!(cloud.routes(), ["10.244.1.0/24 > hop-n1", "10.244.2.0/24 > hop-n2"]);
    lists(&cloud, 3).await;
    assert_eq!(cloud.changes().len(), 2, "no pass after the first has changed anything");
    let hops = cloud.calls().into_iter().filter(|(_, call)| matches!(call, Call::Hops(_))).count();
    assert_eq!(hops, 1, "an answer is kept until the node changes");
    for (name, expected) in [("n1", 1), ("n2", 1), ("bare", 0)] {
        assert_eq!(patches(&cluster, name).await, expected, "{name}");
    }
}

#[tokio::test]
async fn case_178_both_networks_of_a_node_get_a_route() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_all(&cluster, [node_with("n1", &["10.244.1.0/24", "fd00:244:0:1::/64"])]).await;
    let down = cloud_provider::Error::Unavailable("down".to_owned());
    cloud.answers("fd00:244:0:1::/64", Err(down), Some(1));
    let _controller = Controller::start(&cluster, &cloud, options());
    becomes(&cluster, "n1", "True NoRouteCreated").await;
    becomes(&cluster, "n1", "False RouteCreated").await;
    assert_eq!(cloud.routes(), ["10.244.1.0/24 > hop-n1", "fd00:244:0:1::/64 > hop-n1"]);
}

#[tokio::test]
async fn case_180_swapped_routes_end_where_they_should() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([route("10.244.1.0/24", "hop-n2"), route("10.244.2.0/24", "hop-n1")]);
    create_all(&cluster, [node(1), node(2)]).await;
    let _controller = Controller::start(&cluster, &cloud, options());
    becomes(&cluster, "n1", "False RouteCreated").await;
    becomes(&cluster, "n2", "False RouteCreated").await;
    assert_eq!(cloud.routes(), ["10.244.1.0/24 > hop-n1", "10.244.2.0/24 > hop-n2"]);
    assert_eq!(cloud.changes().len(), 2, "each in one change: a deletion cannot come after the creation");
}

#[tokio::test]
async fn case_190_a_condition_of_somebody_else_is_replaced() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_all(&cluster, (1..=3).map(node)).await;
    set_condition(&cluster, "n1", "False", "CalicoIsUp").await;
    set_condition(&cluster, "n2", "True", "Other").await;
    set_condition(&cluster, "n3", "False", "RouteCreated").await;
    cloud.answers("10.244.2.0/24", Err(cloud_provider::Error::Denied("quota".to_owned())), None);
    let _controller = Controller::start(&cluster, &cloud, often());
    becomes(&cluster, "n1", "False RouteCreated").await;
    becomes(&cluster, "n2", "True NoRouteCreated").await;
    lists(&cloud, 2).await;
    assert_eq!(patches(&cluster, "n3").await, 0, "it has the condition already");
    // What the cloud loses is a condition again, and a route.
    cloud.has([]);
    cloud.answers("10.244.3.0/24", Err(cloud_provider::Error::Unavailable("down".to_owned())), Some(1));
    becomes(&cluster, "n3", "True NoRouteCreated").await;
    becomes(&cluster, "n3", "False RouteCreated").await;
}

#[tokio::test]
async fn case_198_another_spelling_of_a_network_is_the_same() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([route("fd00:0244:0000:0001::/64", "hop-n1"), route("::ffff:10.244.2.0/120", "hop-n2")]);
    create_all(&cluster, [node_with("n1", &["fd00:244:0:1::/64"]), node(2)]).await;
    let _controller = Controller::start(&cluster, &cloud, often());
    becomes(&cluster, "n1", "False RouteCreated").await;
    becomes(&cluster, "n2", "False RouteCreated").await;
    lists(&cloud, 2).await;
    assert!(cloud.changes().is_empty(), "{:?}", cloud.changes());
}

#[tokio::test]
async fn a_route_of_somebody_else_is_a_conflict_and_stays() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([foreign("10.244.1.0/24", "gateway"), foreign("10.244.77.0/24", "peering")]);
    create_all(&cluster, [node(1)]).await;
    let _controller = Controller::start(&cluster, &cloud, often());
    becomes(&cluster, "n1", "True NoRouteCreated").await;
    let message = event(&cluster, "n1", "RouteConflict").await;
    assert!(message.contains("10.244.1.0/24") && message.contains("leads to gateway"), "{message}");
    lists(&cloud, 2).await;
    assert!(cloud.changes().is_empty(), "{:?}", cloud.changes());
    cloud.has([foreign("10.244.77.0/24", "peering")]);
    becomes(&cluster, "n1", "False RouteCreated").await;
}

#[tokio::test]
async fn the_younger_node_with_a_network_of_two_gets_an_event() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_all(&cluster, [node(1)]).await;
    let _controller = Controller::start(&cluster, &cloud, options());
    becomes(&cluster, "n1", "False RouteCreated").await;
    // Seconds are what tells nodes apart by age; the same second is told apart by UID.
    create_all(&cluster, [node_with("thief", &["10.244.1.128/25"]), node_with("world", &["0.0.0.0/0"])]).await;
    let older = |it: String| it.contains("n1") || it.contains("thief");
    let message = event(&cluster, "world", "RouteConflict").await;
    assert!(message.contains("not inside --cluster-cidr"), "{message}");
    becomes(&cluster, "world", "True NoRouteCreated").await;
    let refused = tests::wait::until("one of the two is refused", async || {
        let events = [events(&cluster, "n1").await, events(&cluster, "thief").await].concat();
        events.into_iter().find(|it| it.reason.as_deref() == Some("RouteConflict"))?.message
    })
    .await;
    assert!(older(refused), "it names the other one");
    assert!(!cloud.routes().iter().any(|it| it.starts_with("0.0.0.0")));
}

#[tokio::test]
async fn a_node_that_waits_to_be_initialised_gets_its_route_then() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let mut waiting = node(1);
    let taint = serde_json::json!([{ "key": tests::kubelet::UNINITIALIZED, "value": "true", "effect": "NoSchedule" }]);
    waiting.spec.as_mut().unwrap().taints = serde_json::from_value(taint).unwrap();
    create_all(&cluster, [waiting, node(2)]).await;
    let _controller = Controller::start(&cluster, &cloud, options());
    becomes(&cluster, "n2", "False RouteCreated").await;
    assert_eq!(cloud.routes(), ["10.244.2.0/24 > hop-n2"]);
    patch(&cluster, "n1", serde_json::json!({ "spec": { "taints": null } })).await;
    becomes(&cluster, "n1", "False RouteCreated").await;
}
