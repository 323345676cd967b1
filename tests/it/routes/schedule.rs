//! When the cloud is asked, and how often.

use std::sync::Arc;
use std::time::{Duration, Instant};

use controllers::route::Options;
use serde_json::json;
use tests::control_plane::cluster;
use tests::wait;

use crate::cloud::{Call, Cloud};
use crate::controller::*;

#[tokio::test]
async fn case_192_lists_are_one_period_apart_from_start_to_start() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.takes(Duration::from_secs(4), Duration::ZERO);
    create_all(&cluster, [node(1)]).await;
    let period = Duration::from_secs(5);
    let _controller = Controller::start(&cluster, &cloud, Options { period: Some(period), ..options() });
    wait::until("four lists", async || (cloud.lists_at().len() >= 4).then_some(())).await;
    for (nth, two) in cloud.lists_at().windows(2).enumerate() {
        let between = two[1] - two[0];
        // The controller's clock starts a little before the cloud's. From an end to a start it would be nine seconds.
        assert!(between + Duration::from_millis(50) >= period, "after list {nth}: {between:?}");
        assert!(between < period + Duration::from_millis(3500), "after list {nth}: {between:?}");
    }
}

#[tokio::test]
async fn case_194_only_what_matters_to_routes_makes_a_pass() {
    const PASSES: &str = "route_controller_route_sync_total";
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_all(&cluster, [node(1), node_with("n2", &[])]).await;
    let controller = Controller::start(&cluster, &cloud, options());
    becomes(&cluster, "n1", "False RouteCreated").await;
    wait::until("the first pass", async || (controller.counter(PASSES) >= 1.0).then_some(())).await;
    let before = controller.counter(PASSES);
    // Images and annotations are nothing to routes.
    let images = json!({ "status": { "images": [{ "names": ["image"], "sizeBytes": 1 }] } });
    let params = kube::api::PatchParams::default();
    nodes(&cluster).patch_status("n1", &params, &kube::api::Patch::Merge(images)).await.unwrap();
    patch(&cluster, "n1", json!({ "metadata": { "annotations": { "a": "b" } } })).await;
    // A network is: had the others made a pass, there would be two.
    patch(&cluster, "n2", json!({ "spec": { "podCIDR": "10.244.2.0/24", "podCIDRs": ["10.244.2.0/24"] } })).await;
    becomes(&cluster, "n2", "False RouteCreated").await;
    assert_eq!(controller.counter(PASSES) - before, 1.0);
    assert_eq!(cloud.lists_at().len(), 1, "none of them is a list");
    let asked: Vec<_> = cloud.calls().into_iter().map(|it| it.1).filter(|it| matches!(it, Call::Hops(_))).collect();
    assert_eq!(asked, [Call::Hops(vec!["n1".to_owned()]), Call::Hops(vec!["n2".to_owned()])]);
}

#[tokio::test]
async fn case_197_a_node_after_many_is_served_at_once() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::taking(500, 1));
    let many =
        (0..500).map(|nth| node_with(&format!("m{nth}"), &[&format!("10.244.{}.{}/25", nth / 2, nth % 2 * 128)]));
    create_all(&cluster, many).await;
    let _controller = Controller::start(&cluster, &cloud, options());
    wait::until("all routes are there", async || (cloud.routes().len() == 500).then_some(())).await;
    for nth in 0..500 {
        becomes(&cluster, &format!("m{nth}"), "False RouteCreated").await;
    }
    // The last pass is ten seconds old.
    wait::until("a rest", async || (cloud.calls().last()?.0.elapsed() >= Duration::from_secs(11)).then_some(())).await;
    let calls = cloud.calls().len();
    create_all(&cluster, [node_with("late", &["10.244.255.0/24"])]).await;
    let begin = Instant::now();
    wait::until("its route is there", async || (cloud.routes().len() == 501).then_some(())).await;
    let applied = cloud.calls().last().expect("there is one").0 - begin;
    // It would wait ten seconds for the next pass.
    assert!(applied < Duration::from_secs(5), "it waits for no others: {applied:?}");
    let calls: Vec<_> = cloud.calls().into_iter().skip(calls).map(|it| it.1).collect();
    assert_eq!(
        calls,
        [Call::Hops(vec!["late".to_owned()]), Call::Apply(vec!["10.244.255.0/24: - > hop-late".to_owned()])]
    );
}

#[tokio::test]
async fn nodes_that_come_together_are_one_call() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_all(&cluster, [node(1)]).await;
    let _controller = Controller::start(&cluster, &cloud, options());
    becomes(&cluster, "n1", "False RouteCreated").await;
    create_all(&cluster, (2..=21).map(node)).await;
    wait::until("all routes are there", async || (cloud.routes().len() == 21).then_some(())).await;
    let applied = cloud.calls().into_iter().filter(|it| matches!(it.1, Call::Apply(_))).count();
    assert!(applied <= 3, "{applied} calls for 20 nodes");
}
