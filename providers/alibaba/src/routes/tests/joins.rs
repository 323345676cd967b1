//! Many machines that join at once: how often their table is read.

use super::turns::{again, counts, creations, passed, settled};
use super::*;
use crate::routes::pass::{TableLook, look};
use crate::routes::turn;

const READS: [&str; 4] =
    ["DescribeRouteTableList", "DescribeRouteEntryList", "DescribeNetworkInterfaces", "DescribeInstances"];

/// A VPC with so many machines, whose table is empty.
fn network(machines: usize) -> Network {
    let network = Network::new(Vec::new());
    network.0.borrow_mut().machines = machines;
    network
}

/// The pauses of changes that wait, in milliseconds, each once.
fn pauses(outcomes: &[Result<RouteOutcome>]) -> Vec<u32> {
    let pause = |outcome: &Result<RouteOutcome>| match outcome {
        Ok(RouteOutcome::Pending(pause)) => pause.milliseconds,
        other => panic!("{other:?}"),
    };
    let mut all: Vec<_> = outcomes.iter().map(pause).collect();
    all.dedup();
    all
}

#[test]
fn alibaba_034_routes_of_1000_nodes_take_six_reads() {
    let network = network(1_000);
    network.0.borrow_mut().checking = (0..1_000).collect();
    assert_eq!(settled(&network, creations(1_000), 21), []);
    let sent = network.sent();
    assert_eq!(counts(&sent, ["CreateRouteEntries", "ModifyNetworkInterfaceAttribute"]), [20, 1_000]);
    // A page of the table at the half, and two at the end.
    assert_eq!((counts(&sent, READS), sent.len()), ([1, 3, 2, 0], 1_020 + 6));
    assert_eq!(network.0.borrow().entries.len(), 1_000);
}

#[test]
fn no_route_leads_to_an_interface_that_may_not_be_seen() {
    // One by one, and all of the VPC.
    for count in [1, 150] {
        let network = network(250);
        {
            let mut state = network.0.borrow_mut();
            (state.checking, state.is_blind) = ((0..250).collect(), true);
        }
        for outcome in network.apply(&creations(count)) {
            let why = "needs ecs:DescribeNetworkInterfaces";
            assert!(matches!(&outcome, Err(Error::Unavailable(it)) if it.contains(why)), "{count}: {outcome:?}");
        }
        assert_eq!(counts(&network.sent(), ["CreateRouteEntries", "ModifyNetworkInterfaceAttribute"]), [0, 0]);
        network.0.borrow_mut().is_blind = false;
        assert!(is_new(&network.apply(&creations(count))[0]), "{count}");
        assert_eq!(counts(&network.sent(), ["CreateRouteEntries"]), [1]);
    }
}

#[test]
fn alibaba_034_sent_entries_are_read_while_others_wait() {
    let network = network(600);
    let (mut waiting, mut passes) = (creations(600), 0);
    while waiting.len() == 600 {
        (waiting, _) = passed(&network, waiting);
        passes += 1;
    }
    assert_eq!((passes, waiting.len()), (11, 100), "a page of entries was sent");
    assert_eq!(settled(&network, waiting, 2), []);
    let sent = network.sent();
    assert_eq!((counts(&sent, ["CreateRouteEntries"]), counts(&sent, READS)), ([12], [1, 3, 2, 0]));
}

#[test]
fn entries_that_are_pending_still_are_not_made_again() {
    let network = network(600);
    network.0.borrow_mut().is_slow = true;
    assert_eq!(settled(&network, creations(600), 14), []);
    let sent = network.sent();
    // Those that were sent last are looked at with the next ones, and once more at the end.
    assert_eq!((counts(&sent, ["CreateRouteEntries"]), counts(&sent, READS)), ([12], [1, 5, 2, 0]));
    assert_eq!(network.0.borrow().entries.len(), 600);
}

#[test]
fn alibaba_036_many_new_entries_are_not_taken_for_others() {
    let all = creations(120);
    let network = Network::new(vec![entry("10.244.0.0/24", "i-0", ""), entry(POD, "i-rival", "")]);
    let outcomes = network.apply(&all);
    let sent = network.sent();
    assert_eq!(counts(&sent, ["CreateRouteEntries"]), [1]);
    assert_eq!(counts(&sent, READS), [1, 1, 1, 0], "the table is read for what is in the way");
    assert_eq!(outcomes[0], Ok(RouteOutcome::Done));
    assert!(matches!(&outcomes[1], Err(Error::Invalid(why)) if why.contains("i-rival by now")), "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|it| is_new(it)).count(), 48);
    assert_eq!(network.list().unwrap()[1].next_hop.as_deref(), Some("i-rival"));
}

#[test]
fn changes_come_back_soon_while_interfaces_check() {
    let network = network(120);
    network.0.borrow_mut().checking = (0..100).collect();
    let (mut waiting, mut rests) = (creations(120), Vec::new());
    for _ in 0..3 {
        let outcomes = network.apply(&waiting);
        rests.push(pauses(&outcomes));
        let reason = |outcome: Result<RouteOutcome>| match outcome {
            Ok(RouteOutcome::Pending(pause)) => pause.reason,
            other => panic!("{other:?}"),
        };
        waiting = waiting.into_iter().zip(outcomes).map(|(change, it)| again(change, &reason(it))).collect();
    }
    assert_eq!(rests, [[1_000], [2_000], [2_000]], "the table has the time that they take");
}

#[test]
fn a_table_is_read_for_what_was_done_and_not_before() {
    let known = |outcome: RouteOutcome| match outcome {
        RouteOutcome::Pending(pause) => again(creations(1).remove(0), &pause.reason),
        other => panic!("{other:?}"),
    };
    let of = |sent: usize, waiting: usize, refused: usize, unknown: usize| {
        let mut changes = vec![known(turn::sent("vtb-1")); sent];
        changes.extend(vec![known(turn::later("vtb-1", Some("eni-1"), 0)); waiting]);
        changes.extend(vec![known(turn::later("vtb-1", None, 1)); refused]);
        changes.extend(creations(unknown));
        look(&changes, "vtb-1")
    };
    for (look, expected) in [
        (of(0, 1, 0, 0), TableLook::Spared),
        (of(499, 1, 0, 0), TableLook::Spared),
        (of(500, 1, 0, 0), TableLook::First),
        (of(1, 0, 0, 0), TableLook::First),
        (of(1, 50, 1, 0), TableLook::First),
        (of(0, 0, 0, 100), TableLook::First),
        (of(0, 0, 0, 101), TableLook::Unknowing),
        (of(50, 49, 0, 101), TableLook::Unknowing),
        (of(50, 50, 0, 101), TableLook::Spared),
        (of(50, 0, 0, 101), TableLook::First),
    ] {
        assert_eq!(look, expected);
    }
    let moved = change(POD, Some("i-old"), Some("i-1"));
    assert_eq!(look(&[creations(200), vec![moved]].concat(), "vtb-1"), TableLook::First, "something stands there");
}
