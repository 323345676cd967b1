//! The writes of the vendor's own manager, and ours for the same.

use super::*;
use crate::tests::recorded::{Written, ours, recorded as written, recorded_service};

fn recorded(file: &str) -> Written {
    sorted(written(file, &["nlb", "ecs"]))
}

/// Groups of several ports are written side by side there.
fn sorted(mut written: Written) -> Written {
    written.sort_by_key(|(action, pairs)| (action.clone(), format!("{pairs:?}")));
    written
}

#[test]
fn network_writes_are_those_of_the_vendors_manager() {
    let played = Played::new(FakeNlb::default());
    let mut n1 = with_class(recorded_service("n1", Port::new(Protocol::Tcp, 80, 30_090)));
    let step = |service: &mut LoadBalancer| ours(&played.settle(service));
    assert_eq!(step(&mut n1), written("27-nlb-create", &["nlb"]));
    n1.ports.push(Port::new(Protocol::Tcp, 443, 30_091));
    assert_eq!(step(&mut n1), written("28-nlb-port-added", &["nlb"]));
    n1.source_ranges = vec!["10.0.0.0/8".to_owned(), "192.0.2.0/24".to_owned()];
    assert_eq!(step(&mut n1), written("29-nlb-source-ranges", &["nlb", "ecs"]));
    n1.source_ranges.clear();
    assert_eq!(step(&mut n1), written("31-nlb-source-ranges-removed", &["nlb", "ecs"]));
    let second = n1.nodes.remove(1);
    assert_eq!(sorted(step(&mut n1)), recorded("33-nlb-node-not-ready"));
    n1.nodes.push(second);
    assert_eq!(sorted(step(&mut n1)), recorded("34-nlb-node-ready"));
    n1.ports.pop();
    assert_eq!(writes(&played.settle(&mut n1)), ["DeleteListener", "DeleteServerGroup"]);
    let before = played.host.sent().len();
    assert_eq!(delete(&played, &mut n1), Deletion::Done);
    assert_eq!(ours(&played.host.sent()[before..]), written("37-nlb-delete", &["nlb"]));
}

#[test]
fn network_load_balancers_of_the_vendors_manager_are_taken_over() {
    let played = Played::new(FakeNlb::default());
    let mut n1 = with_class(recorded_service("n1", Port::new(Protocol::Tcp, 80, 30_090)));
    played.settle(&mut n1);
    for objects in [0, 1] {
        let mut simulated = played.cloud.borrow_mut();
        let cloud = simulated.cloud();
        let objects = if objects == 0 { &mut cloud.balancers } else { &mut cloud.groups };
        let id = objects.all().next().unwrap().0.to_owned();
        objects.get_mut(&id).unwrap().body["Tags"].as_array_mut().unwrap().truncate(2);
    }
    n1.memo = None;
    n1.extra.clear();
    assert_eq!(ours(&played.settle(&mut n1)), Written::new());
    assert_eq!(n1.memo.as_deref(), Some("nlb-1"));
}
