//! Nodes whose machine is stopped.

use std::sync::Arc;
use std::time::Duration;

use controllers::node_lifecycle::Options;
use http::Method;
use tests::control_plane::cluster;
use tests::faults::{Fault, Faults};
use tests::wait;

use crate::cloud::{Answer, Cloud, List, machine, names, stopped, unavailable};
use crate::controller::{
    Controller, OPTIONS, SHUTDOWN, asked, create, create_living, event, node, node_when, post_ready, set_taints,
    taints, taken, writes, written,
};

const NODE: &str = r"/api/v1/nodes/n1(\?|$)";
const TAINT: (&str, &str) = (SHUTDOWN, "NoSchedule");

#[tokio::test]
async fn case_080_a_node_whose_machine_is_stopped_is_tainted_once() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([stopped(1)]);
    let mut tainted = node(1);
    set_taints(&mut tainted, &[("foo", "NoSchedule")]);
    create(&cluster, &tainted).await;
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    node_when(&cluster, "n1", |it| taints(it) == [("foo", "NoSchedule"), TAINT]).await;
    let before = cloud.calls().len();
    wait::until("two more looks", async || (cloud.calls().len() >= before + 2).then_some(())).await;
    let taken = taken(&cluster, "n1").await;
    assert_eq!(taken.len(), 1);
    assert!(taken[0].body["metadata"]["resourceVersion"].is_string(), "{:?}", taken[0].body);
}

#[tokio::test]
async fn case_081_a_node_whose_machine_runs_stays_as_it_is() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine(1)]);
    create(&cluster, &node(1)).await;
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    asked(&cloud, "get n1", 3).await;
    assert_eq!(written(&cluster, "n1").await, [""; 0]);
}

#[tokio::test]
async fn case_081_and_100_the_taint_goes_once_the_machine_runs() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine(1)]);
    let mut tainted = node(1);
    set_taints(&mut tainted, &[("foo", "NoSchedule"), TAINT, ("bar", "NoSchedule")]);
    create(&cluster, &tainted).await;
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    node_when(&cluster, "n1", |it| taints(it) == [("foo", "NoSchedule"), ("bar", "NoSchedule")]).await;
}

#[tokio::test]
async fn case_085_an_error_about_one_node_holds_up_no_other() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([stopped(1), stopped(2)]);
    cloud.lists(List::Without(names([1])));
    cloud.answers("n1", Answer::Error(unavailable()));
    for nth in [1, 2] {
        create(&cluster, &node(nth)).await;
    }
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    node_when(&cluster, "n2", |it| taints(it) == [TAINT]).await;
    asked(&cloud, "get n1", 2).await;
    assert_eq!(written(&cluster, "n1").await, [""; 0]);
}

#[tokio::test]
async fn case_093_a_conflict_is_retried_with_the_newer_node() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([stopped(1)]);
    create(&cluster, &node(1)).await;
    let faults = Faults::new();
    faults.set(Fault::status(Method::PATCH, NODE, 409, "Conflict", "injected conflict").times(1));
    // The first pass alone: the next one asks again.
    let options = Options { monitor_period: Duration::from_secs(60), ..OPTIONS };
    let _controller = Controller::start_as(cluster.faulty(&faults), &cloud, options);
    node_when(&cluster, "n1", |it| taints(it) == [TAINT]).await;
    assert_eq!(faults.answered().len(), 1);
    assert_eq!(cloud.calls(), ["get n1"], "the cloud was asked once");
    let patches = writes(&cluster, "n1").await;
    assert_eq!(patches.iter().filter(|it| it.verb == "patch").count(), 1);
}

#[tokio::test]
async fn case_104_silence_about_one_node_delays_no_other() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    cloud.answers("n1", Answer::Silence);
    cloud.has([stopped(2)]);
    for nth in [1, 2] {
        create(&cluster, &node(nth)).await;
    }
    let controller = Controller::start(&cluster, &cloud, OPTIONS);
    asked(&cloud, "get n1", 1).await;
    node_when(&cluster, "n2", |it| taints(it) == [TAINT]).await;
    cloud.has([machine(2)]);
    node_when(&cluster, "n2", |it| taints(it).is_empty()).await;
    create(&cluster, &node(3)).await;
    event(&cluster, "n3", "DeletingNode").await;
    assert_eq!(cloud.asked("get n1"), 1, "nobody asks again while an answer is awaited");
    // Nor does it hold up the end of the process.
    controller.stop().ended().await;
}

#[tokio::test]
async fn a_node_that_is_ready_again_is_free_of_the_taint() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([stopped(1)]);
    create(&cluster, &node(1)).await;
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    node_when(&cluster, "n1", |it| taints(it) == [TAINT]).await;
    // The cloud is late: what the kubelet says counts.
    post_ready(&cluster, "n1", "True").await;
    node_when(&cluster, "n1", |it| taints(it).is_empty()).await;
}
