//! Routes that nobody has go: those whose node was seen to go at once, the others slowly.

use std::sync::Arc;
use std::time::Duration;

use controllers::route::{Budget, Options};
use tests::control_plane::cluster;
use tests::wait;

use crate::cloud::{Cloud, List, foreign, route};
use crate::controller::*;

const LEASE: &str = "cloud-controller-manager";

fn often(options: Options) -> Options {
    Options { period: Some(Duration::from_millis(500)), ..options }
}

/// Routes that are nobody's.
fn stale(count: usize) -> Vec<cloud_provider::Route> {
    (100..100 + count).map(|nth| route(&network(nth), "gone")).collect()
}

/// How many routes lead to a machine that is no node's.
fn stale_left(cloud: &Cloud) -> usize {
    cloud.routes().iter().filter(|it| it.ends_with("> gone")).count()
}

#[tokio::test]
async fn case_181_routes_of_unknown_nodes_go_inside_and_stay_outside() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let kept = ["10.10.0.0/24", "0.0.0.0/0", "10.244.0.0/15", "192.0.2.0/24"];
    cloud.has(kept.map(|it| route(it, "other")).into_iter().chain([route("10.244.50.0/24", "other")]));
    create_all(&cluster, [node(1)]).await;
    let _controller = Controller::start(&cluster, &cloud, often(options()));
    let mut expected: Vec<_> = kept.iter().map(|it| format!("{it} > other")).collect();
    expected.push("10.244.1.0/24 > hop-n1".to_owned());
    has(&cloud, &expected).await;
    lists(&cloud, 2).await;
    has(&cloud, &expected).await;
}

#[tokio::test]
async fn case_182_a_blackhole_goes_inside_and_stays_outside() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let hole = |it: &str| cloud_provider::Route { state: cloud_provider::RouteState::Blackhole, ..route(it, "") };
    cloud.has([hole("10.244.8.0/24"), hole("10.9.0.0/24"), route("10.244.7.0/24", "")]);
    create_all(&cluster, [node(1)]).await;
    let _controller = Controller::start(&cluster, &cloud, options());
    has(&cloud, &["10.244.1.0/24 > hop-n1".to_owned(), "10.9.0.0/24 > nothing".to_owned()]).await;
}

#[tokio::test]
async fn a_node_that_is_seen_to_go_takes_its_route_with_it() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    // Its routes have no names of their own, as this one shows.
    cloud.has([route("10.244.1.0/24", "hop-n1")]);
    create_all(&cluster, (1..=4).map(node)).await;
    // Nothing else may go: this process has just begun.
    let _controller = Controller::start(&cluster, &cloud, careful());
    has(&cloud, &[1, 2, 3, 4].map(|nth| format!("{} > hop-n{nth}", network(nth)))).await;
    for name in ["n2", "n3"] {
        delete(&cluster, name).await;
    }
    has(&cloud, &[1, 4].map(|nth| format!("{} > hop-n{nth}", network(nth)))).await;
    assert_eq!(cloud.lists_at().len(), 1, "what the watch shows needs no list");
    // Its network is given to another node: one change.
    let changes = cloud.changes().len();
    delete(&cluster, "n4").await;
    create_all(&cluster, [node_with("other", &[&network(4)])]).await;
    has(&cloud, &["10.244.1.0/24 > hop-n1".to_owned(), "10.244.4.0/24 > hop-other".to_owned()]).await;
    becomes(&cluster, "other", "False RouteCreated").await;
    assert!(cloud.changes().len() - changes <= 2, "{:?}", cloud.changes());
}

#[tokio::test]
async fn a_route_with_an_unknown_name_is_listed_before_it_goes() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([cloud_provider::Route { id: "k8s-1".to_owned(), ..route("10.244.1.0/24", "hop-n1") }]);
    create_all(&cluster, [node(1), node(2)]).await;
    let _controller = Controller::start(&cluster, &cloud, careful());
    becomes(&cluster, "n2", "False RouteCreated").await;
    assert_eq!(cloud.lists_at().len(), 1);
    // What the list shows is known.
    delete(&cluster, "n1").await;
    has(&cloud, &["10.244.2.0/24 > hop-n2".to_owned()]).await;
    assert_eq!(cloud.lists_at().len(), 1);
    delete(&cluster, "n2").await;
    has(&cloud, &[]).await;
    assert_eq!(cloud.lists_at().len(), 2);
}

#[tokio::test]
async fn case_200_without_a_node_no_route_goes() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has(stale(100));
    let controller = Controller::start(&cluster, &cloud, often(options()));
    let message = event(&cluster, LEASE, "RouteDeletionWithheld").await;
    assert!(message.contains("and 95 more") && message.contains("no nodes"), "{message}");
    assert_eq!(controller.counter("aerostat_route_deletions_withheld_total"), 100.0, "it is said once");
    // A person cannot have meant that.
    controller.requested.approve(tokio::time::Instant::now());
    lists(&cloud, 3).await;
    assert!(cloud.changes().is_empty(), "{:?}", cloud.changes());
}

#[tokio::test]
async fn case_200_no_more_than_a_tenth_go_unless_a_person_approves() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has(stale(50));
    create_all(&cluster, [node(1)]).await;
    let budget = Budget { percent: 10, least: 1, window: Duration::from_secs(600) };
    let controller = Controller::start(&cluster, &cloud, often(Options { budget, ..options() }));
    let message = event(&cluster, LEASE, "RouteDeletionWithheld").await;
    assert!(message.contains("10 percent") && message.contains("aerostat.dev/cloud-writes-approved"), "{message}");
    lists(&cloud, 3).await;
    assert_eq!(stale_left(&cloud), 45);
    controller.requested.approve(tokio::time::Instant::now());
    wait::until("all go", async || (stale_left(&cloud) == 0).then_some(())).await;
}

#[tokio::test]
async fn case_200_in_the_first_minute_only_what_was_seen_goes() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has(stale(5));
    create_all(&cluster, [node(1)]).await;
    let controller = Controller::start(&cluster, &cloud, often(careful()));
    let message = event(&cluster, LEASE, "RouteDeletionWithheld").await;
    assert!(message.contains("only just begun to lead"), "{message}");
    becomes(&cluster, "n1", "False RouteCreated").await;
    lists(&cloud, 2).await;
    assert_eq!(stale_left(&cloud), 5);
    controller.requested.approve(tokio::time::Instant::now());
    wait::until("all go", async || (stale_left(&cloud) == 0).then_some(())).await;
}

#[tokio::test]
async fn no_route_goes_just_after_the_provider_was_replaced() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has(stale(1));
    create_all(&cluster, [node(1)]).await;
    let warm_up = Duration::from_secs(2);
    let begun = tokio::time::Instant::now();
    // As if it happened a moment after the controller has begun, when its own time is over.
    cloud.replaced_at(begun + Duration::from_secs(2));
    let _controller = Controller::start(&cluster, &cloud, often(Options { warm_up, ..options() }));
    event(&cluster, LEASE, "RouteDeletionWithheld").await;
    wait::until("it goes", async || (stale_left(&cloud) == 0).then_some(())).await;
    assert!(begun.elapsed() > Duration::from_secs(4), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn another_account_gets_and_loses_no_route() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.belongs_to("ours");
    create_all(&cluster, [node(1)]).await;
    let _controller = Controller::start(&cluster, &cloud, often(options()));
    becomes(&cluster, "n1", "False RouteCreated").await;
    let changes = cloud.changes().len();
    // The other account has routes of its own.
    cloud.belongs_to("another");
    cloud.has(stale(3));
    create_all(&cluster, [node(2)]).await;
    lists(&cloud, 3).await;
    assert_eq!(cloud.changes().len(), changes, "{:?}", cloud.changes());
    assert_eq!(patches(&cluster, "n2").await, 0, "nothing is known of its routes");
    assert!(is(&nodes(&cluster).get("n1").await.unwrap(), "False RouteCreated"), "it keeps what it has");
    cloud.belongs_to("ours");
    becomes(&cluster, "n2", "False RouteCreated").await;
}

#[tokio::test]
async fn by_an_incomplete_list_nothing_goes_and_new_nodes_are_served() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has(stale(3).into_iter().chain([route("10.244.1.0/24", "elsewhere")]));
    cloud.lists(List::Incomplete("a zone does not answer".to_owned()));
    create_all(&cluster, [node(1), node(2)]).await;
    let _controller = Controller::start(&cluster, &cloud, often(options()));
    becomes(&cluster, "n2", "False RouteCreated").await;
    lists(&cloud, 3).await;
    assert_eq!(cloud.changes(), ["10.244.2.0/24: - > hop-n2"]);
    cloud.lists(List::Honest);
    has(&cloud, &["10.244.1.0/24 > hop-n1".to_owned(), "10.244.2.0/24 > hop-n2".to_owned()]).await;
}

#[tokio::test]
async fn next_hops_that_are_spelled_otherwise_move_only_a_few_routes() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has((1..=40).map(|nth| route(&network(nth), &format!("hop-n{nth}"))));
    create_all(&cluster, (1..=40).map(node)).await;
    cloud.spells("zones/z/instances/");
    let budget = Budget { percent: 10, least: 1, window: Duration::from_secs(600) };
    let _controller = Controller::start(&cluster, &cloud, often(Options { budget, ..options() }));
    event(&cluster, LEASE, "RouteDeletionWithheld").await;
    lists(&cloud, 3).await;
    assert_eq!(cloud.routes().iter().filter(|it| it.contains("> zones")).count(), 4);
    for nth in 1..=40 {
        let node = nodes(&cluster).get(&format!("n{nth}")).await.unwrap();
        assert!(!is(&node, "True NoRouteCreated"), "its pods are reached as before");
    }
    // One that changes itself is moved.
    let before = cloud.routes();
    let moved = before.iter().find(|it| it.contains("> hop-")).unwrap().split("> hop-").nth(1).unwrap().to_owned();
    let addresses = serde_json::json!({ "status": { "addresses": [{ "type": "InternalIP", "address": "10.9.9.9" }] } });
    let params = kube::api::PatchParams::default();
    nodes(&cluster).patch_status(&moved, &params, &kube::api::Patch::Merge(addresses)).await.unwrap();
    becomes(&cluster, &moved, "False RouteCreated").await;
    assert_eq!(cloud.routes().iter().filter(|it| it.contains("> zones")).count(), 5);
}

#[tokio::test]
async fn a_foreign_route_stays_whatever_else_goes() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has(stale(5).into_iter().chain([foreign("10.244.200.0/24", "peering"), foreign("10.244.100.0/24", "gone")]));
    create_all(&cluster, [node(1)]).await;
    let _controller = Controller::start(&cluster, &cloud, often(options()));
    let kept = ["10.244.1.0/24 > hop-n1", "10.244.100.0/24 > gone", "10.244.200.0/24 > peering"];
    has(&cloud, &kept.map(str::to_owned)).await;
}

#[tokio::test]
async fn case_188_a_deletion_that_fails_is_nobodys_condition() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has(stale(1));
    cloud.answers(&network(100), Err(cloud_provider::Error::Unavailable("locked".to_owned())), Some(1));
    create_all(&cluster, [node(1)]).await;
    let _controller = Controller::start(&cluster, &cloud, options());
    becomes(&cluster, "n1", "False RouteCreated").await;
    has(&cloud, &["10.244.1.0/24 > hop-n1".to_owned()]).await;
    assert!(events(&cluster, "n1").await.is_empty());
    assert_eq!(patches(&cluster, "n1").await, 1);
}
