//! Counts of the changes that Services ask for: a provider cannot add to them.

use std::sync::atomic::Ordering;

use cloud_provider::Demand;

use super::*;

const WINDOW: Duration = Duration::from_secs(600);

/// States that count, as the controller makes it for the provider of these tests.
fn counting() -> Story {
    let provider = cluster().description;
    let states = ServiceStates::new(Counted { provider, ..Counted::default() });
    Story { states, ..story() }
}

impl Story {
    fn demand(&self) -> Demand {
        self.states.counted.requested.within(WINDOW, self.now)
    }

    /// Kubernetes has other nodes that take traffic, and the cloud confirms them.
    fn has_nodes(&mut self, names: &[&str]) {
        self.states.counted.node_changes.fetch_add(1, Ordering::Relaxed);
        self.backends = backends(names);
    }

    /// The Service is worked on, and its load balancer is there.
    fn serve(&mut self, service: &Service) {
        assert!(matches!(self.next_step(service), Continue(_)), "{:?}", self.demand());
        self.answered(service, AnswerMeaning::Ready);
    }
}

fn with_id(id: &str) -> Service {
    service(json!({ "metadata": { "annotations": { ID: id } } }))
}

fn at(address: &str) -> Arc<[BackendNode]> {
    let node = node("n1", json!({ "status": { "addresses": [{ "type": "InternalIP", "address": address }] } }));
    Backends::of(vec![machine(&node)], &[], &Backends::default()).compared_fields
}

#[test]
fn adv_104_calls_by_the_provider_are_not_counted() {
    let mut story = counting();
    story.backends = at("10.1.0.1");
    let _ = story.next_step(&with_id(""));
    // It is never done, says another id each time, and lists another address of the machine each time.
    for round in 2..50 {
        // As often as the spec of one Service may change.
        story.now += 10 * SECOND;
        let until = story.now;
        story.answered(&service(json!({})), AnswerMeaning::Pending(until));
        story.of(&service(json!({}))).work.memo = Some(format!("memo-{round}"));
        story.backends = at(&format!("10.1.0.{round}"));
        assert!(matches!(story.next_step(&with_id(&round.to_string())), Continue(_)));
    }
    story.now += 10 * SECOND;
    assert_eq!(story.demand(), Demand { waiting: 1, new: 1, changes: 0, is_approved: false });
    // Nor does it count that it fails, or that it takes an address away that was there.
    story.serve(&with_id("served"));
    story.of(&service(json!({}))).adopt_memo("another");
    story.of(&service(json!({}))).work.current.clear();
    let _ = story.next_step(&with_id("served"));
    assert_eq!(story.demand(), Demand { waiting: 0, new: 1, changes: 0, is_approved: false });
}

#[test]
fn adv_104_changes_by_services_and_nodes_are_counted() {
    let mut story = counting();
    let _ = story.next_step(&sized("1"));
    assert_eq!(story.demand(), Demand { waiting: 1, new: 1, ..Demand::default() });
    story.answered(&sized("1"), AnswerMeaning::Ready);
    assert_eq!(story.demand(), Demand { new: 1, ..Demand::default() });
    story.serve(&sized("2"));
    assert_eq!(story.demand().changes, 1);
    story.has_nodes(&["n1"]);
    story.serve(&sized("2"));
    assert_eq!(story.demand().changes, 2, "a node has left");
    let (now, desired) = (story.now, compared(&sized("2")));
    assert!(story.of(&sized("2")).begin_deletion(&desired, now));
    assert!(!story.of(&sized("2")).begin_deletion(&desired, now));
    assert_eq!(story.demand(), Demand { new: 1, changes: 3, ..Demand::default() });
    story.now += WINDOW;
    assert_eq!(story.demand(), Demand::default());
}

#[test]
fn adv_104_a_standing_load_balancer_is_not_waited_for() {
    let (mut story, service) = (counting(), service(with_load_balancer()));
    let _ = story.next_step(&service);
    assert_eq!(story.demand(), Demand { new: 1, ..Demand::default() });
}

#[test]
fn adv_104_a_service_that_is_forgotten_does_not_wait() {
    let (mut story, service) = (counting(), service(json!({})));
    let _ = story.next_step(&service);
    story.states.forget("default/s1", story.now);
    assert_eq!(story.demand(), Demand { new: 1, ..Demand::default() });
}

#[test]
fn adv_104_twenty_node_changes_are_all_counted() {
    let mut story = counting();
    let service = service(json!({}));
    story.serve(&service);
    for change in 0..20 {
        story.now += 9 * SECOND;
        story.has_nodes(if change % 2 == 0 { &["n1"] } else { &["n1", "n2"] });
        story.serve(&service);
    }
    assert_eq!(story.demand().changes, 20);
}

#[test]
fn adv_104_each_node_that_comes_is_counted_but_no_instance() {
    let (mut story, service) = (counting(), service(json!({})));
    story.serve(&service);
    story.states.counted.node_changes.fetch_add(3, Ordering::Relaxed);
    story.backends = backends(&["n1", "n2", "n3", "n4", "n5"]);
    story.serve(&service);
    assert_eq!(story.demand().changes, 3, "three nodes came at once");
    story.now += 10 * SECOND;
    story.has_nodes(&["n1", "n2", "n3", "n4", "n5", "m6", "m7", "m8"]);
    story.serve(&service);
    assert_eq!(story.demand().changes, 4, "Kubernetes has changed one node, and the cloud said that three have come");
}

#[test]
fn adv_104_instances_that_come_and_go_are_not_counted() {
    let mut story = counting();
    let service = service(json!({}));
    story.serve(&service);
    for change in 0..20 {
        story.now += 9 * SECOND;
        // Kubernetes has the same nodes all the while: the provider lists one of the instances, and does not.
        story.backends = if change % 2 == 0 { backends(&["n1"]) } else { backends(&["n1", "n2"]) };
        story.serve(&service);
    }
    assert_eq!(story.demand().changes, 0);
}

#[test]
fn adv_104_a_node_that_flaps_is_counted_now_and_then() {
    let mut story = counting();
    let service = service(json!({}));
    story.serve(&service);
    for change in 0..600 {
        story.now += SECOND;
        story.has_nodes(if change % 2 == 0 { &["n1"] } else { &["n1", "n2"] });
        if matches!(story.next_step(&service), Continue(_)) {
            story.answered(&service, AnswerMeaning::Ready);
        }
    }
    let changes = story.demand().changes;
    assert!((60..=70).contains(&changes), "{changes} changes in ten minutes");
}
