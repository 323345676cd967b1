//! Answers that are refusals, come late, or never come.

use std::sync::Arc;

use controllers::node_ipam::Options;
use http::Method;
use serde_json::json;
use tests::control_plane::cluster;
use tests::faults::{Fault, Faults, Reply};
use tests::rig::nodes::{node_when, patch};
use tests::rig::written;
use tests::wait;
use tokio::sync::watch;

use crate::setup::{
    all_given, assert_distinct, delete, event, given, join, networks, options, small, start, start_as, takes,
};

const FIRST: &str = "127.123.234.0/30";

fn write_of(name: &str) -> String {
    format!("^/api/v1/nodes/{name}$")
}

/// A fault of the next write of a node.
fn once(name: &str, reply: Reply) -> Fault {
    Fault::new(Method::PATCH, &write_of(name), reply).times(1)
}

/// Waits until a request was dealt with by these faults.
async fn faulted(faults: &Faults, count: usize) {
    wait::until("a request that the faults know", async || (faults.answered().len() >= count).then_some(())).await;
}

#[tokio::test]
async fn case_212_networks_of_another_hand_free_what_was_set_aside() {
    let cluster = cluster().await;
    let (faults, (free, held)) = (Faults::new(), watch::channel(false));
    faults.set(once("n1", Reply::Held(held)));
    let controller = start_as(cluster.faulty(&faults), small()).await;
    join(&cluster, "n1").await;
    faulted(&faults, 1).await;
    let other = "127.123.234.40/30";
    patch(&cluster, "n1", json!({ "spec": { "podCIDR": other, "podCIDRs": [other] } })).await;
    free.send(true).unwrap();
    takes(&controller, 1).await;
    join(&cluster, "n2").await;
    assert_eq!(given(&cluster, "n2").await, ["127.123.234.4/30"]);
    assert_eq!(given(&cluster, "n1").await, [other]);
    assert_eq!(written(&cluster, "n1").await, ["patch nodes 422"], "it is not tried again");
}

#[tokio::test]
async fn case_213_three_refusals_are_an_event_and_free_the_block() {
    let cluster = cluster().await;
    let faults = Faults::new();
    let refusal = Fault::status(Method::PATCH, &write_of("n1"), 403, "Forbidden", "injected refusal");
    faults.set(refusal.clone().times(3));
    faults.set(once("n1", Reply::Held(watch::channel(true).1)));
    let controller = start_as(cluster.faulty(&faults), small()).await;
    join(&cluster, "n1").await;
    let said = event(&cluster, "n1", "CIDRAssignmentFailed").await;
    assert_eq!(said.message.as_deref(), Some("Node n1 status is now: CIDRAssignmentFailed"));
    assert_eq!(said.source.unwrap().component.as_deref(), Some("cidrAllocator"));
    // The first block was given back; the search goes on behind it.
    assert_eq!(given(&cluster, "n1").await, ["127.123.234.4/30"]);
    takes(&controller, 1).await;
    assert_eq!(faults.answered().len(), 4, "three refusals, and after the back-off a write that arrives");
}

#[tokio::test]
async fn case_220_a_write_whose_answer_is_lost_keeps_its_block() {
    let cluster = cluster().await;
    let faults = Faults::new();
    faults.set(once("n1", Reply::LostAnswer));
    let controller = start_as(cluster.faulty(&faults), small()).await;
    join(&cluster, "n1").await;
    assert_eq!(given(&cluster, "n1").await, [FIRST]);
    join(&cluster, "n2").await;
    assert_eq!(given(&cluster, "n2").await, ["127.123.234.4/30"]);
    takes(&controller, 2).await;
    assert_eq!(written(&cluster, "n1").await, ["patch nodes 200"], "the node was read, and has it");
}

#[tokio::test]
async fn case_220_a_write_that_never_arrived_is_repeated_as_it_was() {
    let cluster = cluster().await;
    for reply in [Reply::Broken, status(500), status(504), status(503)] {
        let faults = Faults::new();
        faults.set(once("n1", reply));
        let controller = start_as(cluster.faulty(&faults), small()).await;
        join(&cluster, "n1").await;
        assert_eq!(given(&cluster, "n1").await, [FIRST]);
        takes(&controller, 1).await;
        delete(&cluster, "n1").await;
        takes(&controller, 0).await;
    }
}

fn status(code: u16) -> Reply {
    Reply::Status { code, reason: "InternalError".to_owned(), message: "injected failure".to_owned() }
}

#[tokio::test]
async fn case_220_in_doubt_a_block_is_given_to_nobody_else() {
    let cluster = cluster().await;
    let faults = Faults::new();
    faults.set(once("n1", Reply::LostAnswer));
    // Nor can it be read what became of it.
    faults.set(Fault::status(Method::GET, &write_of("n1"), 500, "InternalError", "injected failure"));
    let controller = start_as(cluster.faulty(&faults), options(&[("127.123.234.0/29", 30)])).await;
    join(&cluster, "n1").await;
    assert_eq!(given(&cluster, "n1").await, [FIRST]);
    for name in ["n2", "n3"] {
        join(&cluster, name).await;
    }
    assert_eq!(given(&cluster, "n2").await, ["127.123.234.4/30"]);
    event(&cluster, "n3", "CIDRNotAvailable").await;
    assert!(networks(&node_when(&cluster, "n3", |_| true).await).is_empty());
    takes(&controller, 2).await;
}

#[tokio::test]
async fn case_221_a_node_that_goes_before_its_write_returns_its_block() {
    let cluster = cluster().await;
    let (faults, (free, held)) = (Faults::new(), watch::channel(false));
    faults.set(once("n1", Reply::Held(held)));
    let controller = start_as(cluster.faulty(&faults), small()).await;
    join(&cluster, "n1").await;
    faulted(&faults, 1).await;
    takes(&controller, 1).await;
    delete(&cluster, "n1").await;
    takes(&controller, 0).await;
    // Another node has its name when the write arrives.
    join(&cluster, "n1").await;
    free.send(true).unwrap();
    assert_eq!(given(&cluster, "n1").await, ["127.123.234.4/30"], "not the write that was meant for another one");
    takes(&controller, 1).await;
    let written = written(&cluster, "n1").await;
    assert_eq!(written.iter().filter(|it| *it == "patch nodes 200").count(), 1, "{written:?}");
}

/// A process before this one has sent a write that arrives late: it must not give `late` what another node has by now.
#[tokio::test]
async fn a_late_write_of_an_earlier_process_is_refused() {
    let cluster = cluster().await;
    let (before, (free_before, held_before)) = (Faults::new(), watch::channel(false));
    for name in ["first", "late"] {
        before.set(once(name, Reply::Held(held_before.clone())));
    }
    let (leads, asked) = watch::channel(true);
    let options = Options { may_write: Arc::new(move || *asked.borrow()), ..small() };
    let earlier = start_as(cluster.faulty(&before), options).await;
    join(&cluster, "first").await;
    faulted(&before, 1).await;
    join(&cluster, "late").await;
    faulted(&before, 2).await;
    takes(&earlier, 2).await;
    leads.send(false).unwrap();
    delete(&cluster, "first").await;

    // The process after it marks the node, and its own write waits too.
    let (after, (free_after, held_after)) = (Faults::new(), watch::channel(false));
    after.set(once("late", Reply::Held(watch::channel(true).1)));
    after.set(once("late", Reply::Held(held_after)));
    let later = start_as(cluster.faulty(&after), small()).await;
    faulted(&after, 2).await;
    join(&cluster, "other").await;
    assert_eq!(given(&cluster, "other").await, ["127.123.234.4/30"], "what the earlier process has set aside for late");
    free_before.send(true).unwrap();
    wait::until("the late write is refused", async || {
        written(&cluster, "late").await.contains(&"patch nodes 422".to_owned()).then_some(())
    })
    .await;
    drop(earlier);
    free_after.send(true).unwrap();
    let all = all_given(&cluster, 2).await;
    assert_distinct(&all);
    takes(&later, 2).await;
    let late = node_when(&cluster, "late", |it| !networks(it).is_empty()).await;
    let annotations = late.metadata.annotations.unwrap_or_default();
    assert!(annotations.is_empty(), "the mark went with the write: {annotations:?}");
}

#[tokio::test]
async fn without_the_lease_nothing_is_written() {
    let cluster = cluster().await;
    let (leads, asked) = watch::channel(true);
    let options = Options { may_write: Arc::new(move || *asked.borrow()), ..small() };
    let controller = start(&cluster, options).await;
    join(&cluster, "n1").await;
    given(&cluster, "n1").await;
    leads.send(false).unwrap();
    join(&cluster, "n2").await;
    controller.knows("n2").await;
    let depth = "workqueue_retries_total";
    wait::until("n2 was tried", async || (controller.counter(depth) >= 1.0).then_some(())).await;
    assert!(written(&cluster, "n2").await.is_empty());
    takes(&controller, 1).await;
}
