//! Deletions that wait, or do not happen: time of leadership, age, budget, doubt; and an operator's word.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use cloud_provider::Instance;
use controllers::node_lifecycle::{Budget, Options};
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, ListParams};
use serde_json::json;
use tests::control_plane::{Cluster, cluster};
use tests::wait;
use tokio::time::Instant;

use crate::cloud::{Answer, Cloud, List, machine, names};
use crate::controller::{
    Controller, LIVING, OPTIONS, asked, create, create_all, create_living, deletions, event, events, gone, left,
    left_are, node, passed, patch, writes, written,
};

const HOUR: Duration = Duration::from_secs(3600);
/// Three looks at a doubtful node take no longer on a slow machine, where the pauses between them have doubled a few times.
const LOOKS: Duration = Duration::from_secs(60);

/// An operator says that a node may go.
async fn approve(cluster: &Cluster, name: &str) {
    patch(cluster, name, json!({ "metadata": { "annotations": { "aerostat.dev/delete-approved": "true" } } })).await;
}

/// The message on a node that stays.
async fn told(cluster: &Cluster, name: &str) -> String {
    let event = event(cluster, name, "NodeDeletionWithheld").await;
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    assert_eq!(event.count, Some(1));
    event.message.expect("events have messages")
}

/// Runs with `options` over n1, whose machine is gone, until its deletion is withheld for `reason`; then an operator
/// approves it.
async fn check_approval(options: Options, reason: &str, words: &str) {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    create(&cluster, &node(1)).await;
    let controller = Controller::start(&cluster, &cloud, options);
    controller.withholds(1, reason).await;
    let looks = cloud.asked("get n1");
    let message = told(&cluster, "n1").await;
    assert!(message.contains(words) && message.contains("aerostat.dev/delete-approved=true"), "{message}");
    asked(&cloud, "get n1", looks + 2).await;
    assert_eq!(controller.withheld(reason), 1, "it is told once");
    assert_eq!(written(&cluster, "n1").await, [""; 0]);
    approve(&cluster, "n1").await;
    gone(&cluster, "n1").await;
}

#[tokio::test]
async fn in_the_first_time_of_leadership_only_what_is_approved_goes() {
    check_approval(Options { warm_up: HOUR, ..OPTIONS }, "warm_up", "has begun to work only now").await;
}

#[tokio::test]
async fn a_young_node_goes_only_if_that_is_approved() {
    check_approval(Options { grace: HOUR, ..OPTIONS }, "grace", "too young").await;
}

#[tokio::test]
async fn when_the_first_time_of_leadership_is_over_nodes_go() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    create(&cluster, &node(1)).await;
    let controller = Controller::start(&cluster, &cloud, Options { warm_up: Duration::from_secs(5), ..OPTIONS });
    controller.withholds(1, "warm_up").await;
    gone(&cluster, "n1").await;
}

#[tokio::test]
async fn nothing_goes_just_after_the_provider_was_replaced() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    create(&cluster, &node(1)).await;
    let warm_up = Duration::from_secs(2);
    // As if it happened a moment after the controller has begun, when its own time is over.
    cloud.replaced_at(Instant::now() + Duration::from_secs(2));
    let controller = Controller::start(&cluster, &cloud, Options { warm_up, ..OPTIONS });
    let begun = Instant::now();
    controller.withholds(1, "warm_up").await;
    gone(&cluster, "n1").await;
    assert!(begun.elapsed() > Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn no_more_nodes_go_than_the_budget_unless_approved() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has((11..=20).map(machine));
    create_all(&cluster, 20).await;
    let budget = Budget { percent: 10, least: 1, window: HOUR };
    let controller = Controller::start(&cluster, &cloud, Options { budget, ..OPTIONS });
    controller.withholds(8, "budget").await;
    left_are(&cluster, 18).await;
    passed(&cluster).await;
    assert_eq!(deletions(&cluster).await, 2, "a tenth of twenty");
    let left = left(&cluster).await;
    assert_eq!(left.len(), 18);
    let missing: BTreeSet<_> = left.into_iter().filter(|it| names(1..=10).contains(it)).collect();
    let one = missing.first().expect("eight are left");
    let message = told(&cluster, one).await;
    assert!(message.contains("in 3600 s"), "{message}");
    approve(&cluster, one).await;
    gone(&cluster, one).await;
    assert_eq!(deletions(&cluster).await, 3);
}

#[tokio::test]
async fn a_window_later_there_is_a_new_budget() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    create_all(&cluster, 2).await;
    let window = Duration::from_secs(6);
    let budget = Budget { percent: 10, least: 1, window };
    let controller = Controller::start(&cluster, &cloud, Options { budget, ..OPTIONS });
    controller.withholds(1, "budget").await;
    gone(&cluster, "n1").await;
    gone(&cluster, "n2").await;
    let mut received = Vec::new();
    for name in ["n1", "n2"] {
        received.extend(writes(&cluster, name).await.iter().map(|it| it.received));
    }
    let pause = received[1].duration_since(received[0]).unsigned_abs();
    // The first deletion may be late at the API server: it counts from when it was allowed.
    assert!(pause + Duration::from_secs(2) >= window, "{pause:?}");
}

#[tokio::test]
async fn an_operators_word_does_not_stand_in_for_the_clouds() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    create(&cluster, &node(1)).await;
    create(&cluster, &node(2)).await;
    approve(&cluster, "n1").await;
    approve(&cluster, "n2").await;
    cloud.lists(List::Incomplete(names([1, 2]), "zone b did not answer".to_owned()));
    let controller = Controller::start(&cluster, &cloud, OPTIONS);
    controller.withholds(2, "incomplete").await;
    let message = told(&cluster, "n1").await;
    assert!(message.contains("zone b did not answer") && !message.contains("approved"), "{message}");

    // Machines of another account prove as little.
    cloud.lists(List::Without(names([LIVING])));
    cloud.has([machine(500)]);
    controller.withholds(2, "unfamiliar").await;
    passed(&cluster).await;
    assert_eq!(deletions(&cluster).await, 0);
}

#[tokio::test]
async fn a_silent_zone_keeps_its_own_nodes_and_no_others() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    let in_zone = |nth, zone: &str| Instance { zone: Some(zone.to_owned()), ..machine(nth) };
    cloud.has([in_zone(1, "a"), in_zone(2, "b")]);
    create_all(&cluster, 2).await;
    // Its kubelet says that it is in the zone that answers; the cloud has never named it.
    let forged = json!({ "metadata": { "labels": { "topology.kubernetes.io/zone": "a" } } });
    let controller = Controller::start(&cluster, &cloud, OPTIONS);
    passed(&cluster).await;
    passed(&cluster).await;
    cloud.lists(List::Gap("b".to_owned(), "it did not answer".to_owned()));
    cloud.loses("n1");
    cloud.answers("n2", Answer::None);
    create(&cluster, &node(3)).await;
    patch(&cluster, "n3", forged).await;
    gone(&cluster, "n1").await;
    controller.withholds(2, "incomplete").await;
    for name in ["n2", "n3"] {
        let message = told(&cluster, name).await;
        assert!(message.contains("zone b: it did not answer"), "{message}");
    }
    assert_eq!(deletions(&cluster).await, 1);
}

#[tokio::test]
async fn two_nodes_with_spellings_of_one_provider_id_both_stay() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    for (nth, id) in [(1, "fake://A"), (2, "fake://a"), (3, "fake://b")] {
        let mut node = node(nth);
        node.spec.get_or_insert_default().provider_id = Some(id.to_owned());
        create(&cluster, &node).await;
    }
    let controller = Controller::start(&cluster, &cloud, OPTIONS);
    gone(&cluster, "n3").await;
    controller.withholds(2, "twin").await;
    let message = told(&cluster, "n1").await;
    assert!(message.contains("another spelling of that of node n2"), "{message}");
    passed(&cluster).await;
    assert_eq!(deletions(&cluster).await, 1);
}

#[tokio::test]
async fn a_node_the_list_lacks_and_get_finds_stays() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    cloud.has([machine(1), machine(2)]);
    cloud.lists(List::Without(names([1])));
    create_all(&cluster, 2).await;
    let controller = Controller::start(&cluster, &cloud, OPTIONS);
    controller.withholds(1, "contradiction").await;
    asked(&cloud, "get n1", 3).await;
    told(&cluster, "n1").await;
    assert_eq!(controller.withheld("contradiction"), 1);
    assert_eq!(events(&cluster, "n2").await.len(), 0);
    assert_eq!(deletions(&cluster).await, 0);
}

#[tokio::test]
async fn adv_71_a_tenth_of_five_hundred_nodes_goes_at_most() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has((1..=500).map(machine));
    create_all(&cluster, 500).await;
    let options = Options { budget: Budget { percent: 10, least: 1, window: HOUR }, ..OPTIONS };

    cloud.lists(List::Without(names(1..=500)));
    cloud.always_answers(Answer::None);
    let controller = Controller::start(&cluster, &cloud, options);
    controller.withholds(500, "unfamiliar").await;
    let all: Api<Event> = Api::all(cluster.admin.clone());
    let of_reason = ListParams::default().fields("reason=NodeDeletionWithheld").limit(1);
    wait::until("one of them is told", async || all.list(&of_reason).await.ok()?.items.pop()).await;
    assert_eq!(deletions(&cluster).await, 0);
    controller.stop().ended().await;

    cloud.lists(List::Without(names(1..=250)));
    cloud.always_answers(Answer::EverySecond);
    let controller = Controller::start(&cluster, &cloud, options);
    controller.withholds(250, "contradiction").await;
    assert_eq!(deletions(&cluster).await, 0);
    controller.stop().ended().await;

    cloud.always_answers(Answer::None);
    let controller = Controller::start(&cluster, &cloud, options);
    controller.withholds(200, "budget").await;
    left_are(&cluster, 450).await;
    passed(&cluster).await;
    assert_eq!(deletions(&cluster).await, 50, "a tenth of five hundred");
    assert_eq!(left(&cluster).await.len(), 450);
}

/// Runs over three nodes whose machines, all of the cluster's, are gone, until their deletion is withheld. Returns what is
/// told of n1.
async fn check_all_gone(account: Option<&str>) -> (Cluster, Arc<Cloud>, Controller, String) {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    if let Some(account) = account {
        cloud.belongs_to(account);
    }
    create_all(&cluster, 3).await;
    let controller = Controller::start(&cluster, &cloud, OPTIONS);
    controller.withholds(3, "unfamiliar").await;
    let message = told(&cluster, "n1").await;
    assert_eq!(deletions(&cluster).await, 0);
    (cluster, cloud, controller, message)
}

#[tokio::test]
async fn all_machines_gone_and_approved_in_the_same_account() {
    let (cluster, cloud, _controller, message) = check_all_gone(Some("team-1")).await;
    assert!(message.contains("aerostat.dev/delete-approved=true") && message.contains("team-1"), "{message}");
    approve(&cluster, "n1").await;
    gone(&cluster, "n1").await;
    assert!(cloud.asked("get n1") >= 2, "{:?}", cloud.calls());
    passed(&cluster).await;
    assert_eq!(left(&cluster).await, ["n2", "n3"], "nobody has approved these");
    approve(&cluster, "n3").await;
    gone(&cluster, "n3").await;
    // A machine that is there keeps its node, whatever was approved. n3 went before: beside a living machine it needs no approval.
    cloud.has([machine(2)]);
    approve(&cluster, "n2").await;
    passed(&cluster).await;
    assert_eq!(left(&cluster).await, ["n2"]);
}

#[tokio::test]
async fn all_machines_gone_in_an_account_that_is_not_told() {
    let (cluster, cloud, _controller, message) = check_all_gone(None).await;
    assert!(message.contains("check whether the credential") && !message.contains("approved"), "{message}");
    approve(&cluster, "n1").await;
    let looks = cloud.asked("get n1");
    let three_more = async || (cloud.asked("get n1") >= looks + 3).then_some(());
    wait::until_after(LOOKS, "three more looks", three_more).await;
    assert_eq!(deletions(&cluster).await, 0);
}
