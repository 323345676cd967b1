//! Failures while nodes are initialised: conflicts, refusals, a cloud that says no or nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cloud_provider::{AddressKind, Error};
use controllers::node::Options;
use http::Method;
use k8s_openapi::api::core::v1::Event;
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::json;
use tests::control_plane::{Cluster, cluster};
use tests::faults::{Answered, Fault, Faults};
use tests::operator::WATCH_BACK_OFF;
use tests::{kubelet, wait};

use crate::cloud::{Answer, Cloud, machine};
use crate::controller::{
    BUSY_LOOP, Controller, NODE_IP, OPTIONS, addressed, create, events, initialised, nodes, patch, settled, synced,
    waiting, written,
};

const NODE: &str = r"/api/v1/nodes/n1(\?|$)";
const STATUS: &str = r"/api/v1/nodes/n1/status(\?|$)";

/// The pauses between requests.
fn pauses(answered: &[Answered]) -> Vec<Duration> {
    answered.windows(2).map(|it| it[1].time.duration_since(it[0].time).unsigned_abs()).collect()
}

#[tokio::test]
async fn case_026_a_conflict_is_retried_with_the_newer_node() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine(1)]);
    let faults = Faults::new();
    faults.set(Fault::status(Method::PATCH, NODE, 409, "Conflict", "changed meanwhile").times(3));
    let _controller = Controller::start_as(cluster.faulty(&faults), &cloud, OPTIONS);
    create(&cluster, &kubelet::node("n1")).await;
    wait::until("a conflict", async || (!faults.answered().is_empty()).then_some(())).await;
    patch(&cluster, "n1", json!({ "metadata": { "labels": { "added": "meanwhile" } } })).await;

    let node = initialised(&cluster, "n1").await;
    assert_eq!(node.labels().get("added").map(String::as_str), Some("meanwhile"));
    assert_eq!(node.labels().get("topology.kubernetes.io/zone").map(String::as_str), Some("z1"));
    assert_eq!(cloud.calls(), ["get n1"], "the cloud is asked once");
    for pause in pauses(&faults.answered()) {
        assert!(pause >= Duration::from_millis(50), "{pause:?}");
    }
}

#[tokio::test]
async fn conflicts_without_end_are_given_up_and_tried_again_later() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine(1)]);
    let faults = Faults::new();
    faults.set(Fault::status(Method::PATCH, NODE, 409, "Conflict", "changed meanwhile").times(21));
    let _controller = Controller::start_as(cluster.faulty(&faults), &cloud, OPTIONS);
    create(&cluster, &kubelet::node("n1")).await;
    initialised(&cluster, "n1").await;
    assert_eq!(cloud.gets("n1"), 2, "after twenty tries the node goes back into the queue");
}

#[tokio::test]
async fn case_028_a_refusal_backs_off_without_conflict_retries() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine(1)]);
    let faults = Faults::new();
    faults.set(Fault::status(Method::PATCH, NODE, 403, "Forbidden", "injected forbidden").times(4));
    let _controller = Controller::start_as(cluster.faulty(&faults), &cloud, OPTIONS);
    create(&cluster, &kubelet::node("n1")).await;
    synced(&cluster, "n1").await;
    for (nth, pause) in pauses(&faults.answered()).into_iter().enumerate() {
        assert!(pause >= Duration::from_millis(5 << nth), "{nth}: {pause:?}");
    }
    assert_eq!(cloud.gets("n1"), 5);
    assert_eq!(written(&cluster, "n1").await, ["patch nodes 200", "patch nodes/status 200"]);
}

#[tokio::test]
async fn case_029_failed_addresses_come_with_the_next_pass() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine(1)]);
    let faults = Faults::new();
    faults.set(Fault::status(Method::PATCH, STATUS, 500, "InternalError", "injected failure").times(1));
    let client = cluster.faulty(&faults);
    let _controller = Controller::start_as(client, &cloud, BUSY_LOOP);
    create(&cluster, &kubelet::node("n1")).await;
    synced(&cluster, "n1").await;
    addressed(&cluster, "n1", &[("InternalIP", "10.1.0.1"), ("Hostname", "n1")]).await;
    assert_eq!(faults.answered().len(), 1);
}

#[tokio::test]
async fn case_037_heartbeats_do_not_cut_a_pause_short() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.answers("n1", Answer::Error(Error::Denied("HTTP 403: no rights on machine 1".to_owned())));
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    create(&cluster, &kubelet::node("n1")).await;
    wait::until("the first call", async || (cloud.gets("n1") > 0).then_some(())).await;
    // Whatever came with the first event is over.
    settled(&cluster, &cloud).await;
    let before = cloud.gets("n1");
    for nth in 0..10 {
        kubelet::post_ready(&cluster.admin, "n1", nth % 2 == 0).await.unwrap();
    }
    cloud.has([machine(2)]);
    create(&cluster, &kubelet::node("n2")).await;
    synced(&cluster, "n2").await;
    assert_eq!(cloud.gets("n1"), before);

    patch(&cluster, "n1", json!({ "metadata": { "annotations": { NODE_IP: "10.1.0.1" } } })).await;
    wait::until("a call after a change that matters", async || (cloud.gets("n1") > before).then_some(())).await;
    assert!(kubelet::is_uninitialized(&nodes(&cluster).get("n1").await.unwrap()));
}

#[tokio::test]
async fn the_clouds_pause_is_kept_whatever_happens_to_the_node() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let pause = Error::RetryAfter { after: Duration::from_secs(6), reason: "HTTP 429".to_owned() };
    cloud.answers("n1", Answer::Error(pause));
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    create(&cluster, &kubelet::node("n1")).await;
    wait::until("the first call", async || (cloud.gets("n1") == 1).then_some(())).await;
    let began = Instant::now();
    cloud.has([machine(1)]);
    kubelet::post_ready(&cluster.admin, "n1", true).await.unwrap();
    patch(&cluster, "n1", json!({ "metadata": { "annotations": { NODE_IP: "10.1.0.1" } } })).await;
    initialised(&cluster, "n1").await;
    // The clock here starts a little after the pause does.
    assert!(began.elapsed() > Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!(cloud.gets("n1"), 2);
}

#[tokio::test]
async fn case_008_and_038_a_missing_machine_backs_off() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.answers("n1", Answer::None);
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    create(&cluster, &kubelet::node("n1")).await;
    wait::until("five calls", async || (cloud.calls().len() >= 5).then_some(())).await;
    assert_eq!(cloud.calls()[..5], ["get n1", "list", "get n1", "get n1", "get n1"]);
    assert!(kubelet::is_uninitialized(&nodes(&cluster).get("n1").await.unwrap()));
    assert_eq!(written(&cluster, "n1").await, [""; 0]);
    assert_eq!(events(&cluster, "n1").await, []);

    cloud.has([machine(1)]);
    initialised(&cluster, "n1").await;
}

#[tokio::test]
async fn an_error_for_a_person_is_shown_on_the_node() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.answers("n1", Answer::Error(Error::Denied("HTTP 401: the token is not valid".to_owned())));
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    create(&cluster, &kubelet::node("n1")).await;
    let shown = wait::until("an event", async || events(&cluster, "n1").await.pop()).await;
    let text = |it: fn(&Event) -> &Option<String>| it(&shown).as_deref().unwrap_or_default();
    assert_eq!(text(|it| &it.type_), "Warning");
    assert_eq!(text(|it| &it.reason), "InstanceMetadataDenied");
    let message = "failed to get instance metadata for node n1: HTTP 401: the token is not valid";
    assert_eq!(text(|it| &it.message), message);
}

/// The reason and the message of the first event about a node.
async fn shown(cluster: &Cluster, name: &str) -> (String, String) {
    let event = wait::until("an event", async || events(cluster, name).await.pop()).await;
    (event.reason.unwrap_or_default(), event.message.unwrap_or_default())
}

#[tokio::test]
async fn an_error_that_time_does_not_heal_is_shown_on_the_node() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine(2)]);
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    create(&cluster, &kubelet::node("n1")).await;
    let mut elsewhere = kubelet::node("n2");
    elsewhere.annotations_mut().insert(NODE_IP.to_owned(), "198.51.100.99".to_owned());
    create(&cluster, &elsewhere).await;

    let (reason, message) = shown(&cluster, "n1").await;
    assert_eq!(reason, "InstanceNotFound");
    let expected = "failed to get instance metadata for node n1: instance not found; it was looked for by the name \"n1\", \
                    which the machine must have in the cloud too";
    assert_eq!(message, expected);
    let (reason, message) = shown(&cluster, "n2").await;
    assert_eq!(reason, "ProvidedNodeIPInvalid");
    assert!(message.contains("that matches ip: 198.51.100.99; correct the --node-ip of its kubelet"), "{message}");
    assert!(message.contains("name the private network in the provider's settings"), "{message}");
}

#[tokio::test]
async fn a_refused_node_is_tried_again_with_another_credential() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.answers("n1", Answer::Error(Error::Denied("HTTP 401: the token is not valid".to_owned())));
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    create(&cluster, &kubelet::node("n1")).await;
    wait::until("an event", async || events(&cluster, "n1").await.pop()).await;
    cloud.has([machine(1)]);
    cloud.gets_another_credential();
    synced(&cluster, "n1").await;
}

#[tokio::test]
async fn a_provider_id_of_another_cloud_or_node_is_refused() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    settled(&cluster, &cloud).await;

    let foreign = cloud_provider::Instance { provider_id: Some("aws:///z/i-1".to_owned()), ..machine(1) };
    cloud.has([foreign, machine(3)]);
    cloud.answers("n3", Answer::Machine(machine(3)));
    // Asked for the machine named n2, the provider answers with another one, which is node n999's.
    cloud.answers("n2", Answer::Machine(machine(999)));
    for (name, provider_id) in [("n1", None), ("n2", None), ("n3", Some("fake://33"))] {
        let provider_id = provider_id.map(str::to_owned);
        create(&cluster, &waiting(name, |it| it.spec.get_or_insert_default().provider_id = provider_id)).await;
    }
    for (name, part) in [
        ("n1", "aws:///z/i-1"),
        ("n2", r#"machine "n999", although it was asked for the one of node "n2""#),
        ("n3", "fake://33"),
    ] {
        let shown = wait::until("an event", async || events(&cluster, name).await.pop()).await;
        assert_eq!(shown.reason.as_deref(), Some("InstanceMetadataInvalid"));
        assert!(shown.message.as_deref().is_some_and(|it| it.contains(part)), "{shown:?}");
        assert!(kubelet::is_uninitialized(&nodes(&cluster).get(name).await.unwrap()));
        assert_eq!(written(&cluster, name).await, [""; 0]);
    }
}

#[tokio::test]
async fn two_nodes_that_come_at_once_do_not_share_a_machine() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine(1)]);
    // It has both names among its addresses, and the cloud's own name for it is n1.
    let mut both = machine(1);
    both.addresses.push(cloud_provider::Address { kind: AddressKind::Hostname, value: "n2".to_owned() });
    cloud.answers("n2", Answer::Machine(both));
    cloud.hold(true);
    let _controller = Controller::start(&cluster, &cloud, Options { syncs: 2, ..OPTIONS });
    for name in ["n1", "n2"] {
        create(&cluster, &kubelet::node(name)).await;
    }
    wait::until("both are asked about", async || (cloud.calls().len() == 2).then_some(())).await;
    cloud.hold(false);
    let refused = wait::until("one is refused", async || {
        let mut all = events(&cluster, "n1").await;
        all.extend(events(&cluster, "n2").await);
        all.into_iter().find(|it| it.reason.as_deref() == Some("InstanceMetadataInvalid"))
    })
    .await;
    let (mut first, mut second) = ("n1", "n2");
    if refused.involved_object.name.as_deref() == Some("n1") {
        (first, second) = (second, first);
    }
    initialised(&cluster, first).await;
    assert!(kubelet::is_uninitialized(&nodes(&cluster).get(second).await.unwrap()));
    assert_eq!(written(&cluster, second).await, [""; 0]);
}

#[tokio::test]
async fn a_node_of_another_cloud_is_never_asked_about() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let _controller = Controller::start(&cluster, &cloud, BUSY_LOOP);
    let foreign = Some("aws:///z/i-1".to_owned());
    create(&cluster, &waiting("n1", |it| it.spec.get_or_insert_default().provider_id = foreign.clone())).await;
    let standing = waiting("n2", |node| {
        let spec = node.spec.get_or_insert_default();
        (spec.provider_id, spec.taints) = (foreign, None);
    });
    create(&cluster, &standing).await;
    settled(&cluster, &cloud).await;
    let passes = cloud.gets("n999");
    wait::until("three passes", async || (cloud.gets("n999") >= passes + 3).then_some(())).await;
    assert_eq!((cloud.gets("n1"), cloud.gets("n2")), (0, 0));
    assert!(kubelet::is_uninitialized(&nodes(&cluster).get("n1").await.unwrap()));
}

#[tokio::test]
async fn a_panic_about_one_node_stops_no_other() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.answers("n1", Answer::Panic);
    let _controller = Controller::start(&cluster, &cloud, BUSY_LOOP);
    create(&cluster, &kubelet::node("n1")).await;
    wait::until("it is tried again", async || (cloud.gets("n1") >= 3).then_some(())).await;
    settled(&cluster, &cloud).await;
    cloud.has([machine(1)]);
    initialised(&cluster, "n1").await;
    cloud.answers("n1", Answer::Panic);
    let calls = cloud.gets("n1");
    wait::until("the address loop goes on", async || (cloud.gets("n1") >= calls + 2).then_some(())).await;
}

#[tokio::test]
async fn a_node_remade_during_a_write_is_asked_about_again() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine(1)]);
    let faults = Faults::new();
    faults.set(Fault::status(Method::PATCH, NODE, 409, "Conflict", "changed meanwhile"));
    let _controller = Controller::start_as(cluster.faulty(&faults), &cloud, OPTIONS);
    create(&cluster, &kubelet::node("n1")).await;
    wait::until("a conflict", async || (!faults.answered().is_empty()).then_some(())).await;
    nodes(&cluster).delete("n1", &DeleteParams::default()).await.unwrap();
    create(&cluster, &kubelet::node("n1")).await;
    wait::until("a second call", async || (cloud.gets("n1") >= 2).then_some(())).await;
    faults.clear();
    initialised(&cluster, "n1").await;
}

#[tokio::test]
async fn a_call_in_flight_is_finished_when_the_process_ends() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine(1), machine(2)]);
    cloud.hold(true);
    let controller = Controller::start(&cluster, &cloud, OPTIONS);
    create(&cluster, &kubelet::node("n1")).await;
    wait::until("a call", async || (cloud.gets("n1") == 1).then_some(())).await;
    create(&cluster, &kubelet::node("n2")).await;
    let mut stopping = controller.stop();
    assert!(!stopping.has_ended());
    cloud.hold(false);
    stopping.ended().await;
    initialised(&cluster, "n1").await;
    assert_eq!(cloud.gets("n2"), 0, "nothing new is begun");
}

#[tokio::test]
async fn an_api_server_that_does_not_stream_lists_is_listed() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine(1)]);
    let faults = Faults::new();
    faults.set(Fault::status(Method::GET, "sendInitialEvents", 422, "Invalid", "sendInitialEvents is forbidden"));
    let _controller = Controller::start_as(cluster.faulty(&faults), &cloud, OPTIONS);
    create(&cluster, &kubelet::node("n1")).await;
    initialised(&cluster, "n1").await;
    assert_eq!(faults.answered().len(), 1);
}

#[tokio::test]
async fn the_watch_survives_an_outage_of_the_api_server() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    settled(&cluster, &cloud).await;
    cluster.control_plane.kill_api_server().await.unwrap();
    cluster.control_plane.start_api_server().await.unwrap();
    cloud.has([machine(1)]);
    create(&cluster, &kubelet::node("n1")).await;
    wait::until_after(WATCH_BACK_OFF, "n1 is initialised", async || {
        let node = nodes(&cluster).get_opt("n1").await.ok()??;
        (!kubelet::is_uninitialized(&node)).then_some(())
    })
    .await;
}
