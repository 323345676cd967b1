//! Many new routes, whose entries wait for their turn at the table.

use super::*;

/// Routes to so many machines.
pub(super) fn creations(count: usize) -> Vec<RouteChange> {
    (0..count).map(|it| change(&format!("10.244.{it}.0/24"), None, Some(&format!("i-{it}")))).collect()
}

/// The same change, as the host sends it again.
pub(super) fn again(change: RouteChange, reason: &str) -> RouteChange {
    RouteChange { extra: vec![("pending".to_owned(), reason.to_owned())], ..change }
}

/// Plays a pass of the host. Answers the changes that wait, and those that have failed.
pub(super) fn passed(network: &Network, changes: Vec<RouteChange>) -> (Vec<RouteChange>, Vec<(String, Error)>) {
    let outcomes = network.apply(&changes);
    let (mut waiting, mut failed) = (Vec::new(), Vec::new());
    for (change, outcome) in changes.into_iter().zip(outcomes) {
        match outcome {
            Ok(RouteOutcome::Done) => {}
            Ok(RouteOutcome::Pending(pause)) => waiting.push(again(change, &pause.reason)),
            Err(error) => failed.push((change.destination, error)),
        }
    }
    (waiting, failed)
}

/// Plays passes until none waits, and no longer than so many. Answers those that have failed.
pub(super) fn settled(network: &Network, mut changes: Vec<RouteChange>, most: usize) -> Vec<(String, Error)> {
    let mut all_failed = Vec::new();
    for _ in 0..most {
        let (waiting, failed) = passed(network, changes);
        changes = waiting;
        all_failed.extend(failed);
        if changes.is_empty() {
            return all_failed;
        }
    }
    panic!("{} wait: {:?}", changes.len(), changes[0]);
}

/// How often each of these was sent.
pub(super) fn counts<const N: usize>(sent: &[String], actions: [&str; N]) -> [usize; N] {
    actions.map(|action| sent.iter().filter(|it| *it == action).count())
}

#[test]
fn alibaba_034_routes_of_120_nodes_are_three_requests() {
    let network = Network::new(Vec::new());
    network.0.borrow_mut().checking = vec![7, 60];
    assert_eq!(settled(&network, creations(120), 4), []);
    let sent = network.sent();
    assert_eq!(counts(&sent, ["CreateRouteEntries", "ModifyNetworkInterfaceAttribute"]), [3, 2]);
    // The table at the last pass alone, and all interfaces at once.
    let reads = counts(&sent, ["DescribeRouteTableList", "DescribeRouteEntryList", "DescribeNetworkInterfaces"]);
    assert_eq!((reads, sent.len()), ([1, 1, 1], 3 + 2 + 3));
    let listed = network.list().unwrap();
    assert!(listed.len() == 120 && listed.iter().all(|it| it.ownership == RouteOwnership::Ours));
    assert_eq!(listed[7].next_hop.as_deref(), Some("i-7"));
    assert!(network.apply(&creations(50)).iter().all(|it| *it == Ok(RouteOutcome::Done)), "once they are listed");
}

#[test]
fn a_waiting_entry_that_exists_by_now_is_compared() {
    for (rival, is_done) in [("i-0", true), ("i-rival", false)] {
        let network = Network::new(Vec::new());
        let waits = passed(&network, creations(60)).0.split_off(50);
        let hop = if is_done { waits[0].after.as_ref().unwrap().next_hop.clone() } else { rival.to_owned() };
        network.0.borrow_mut().rival = Some(entry(&waits[0].destination, &hop, ""));
        network.sent();
        let outcomes = network.apply(&waits);
        assert_eq!(
            network.sent(),
            ["CreateRouteEntries", "DescribeRouteEntryList"],
            "the table is read for what is in the way"
        );
        assert_eq!(outcomes[0] == Ok(RouteOutcome::Done), is_done, "{outcomes:?}");
        assert_eq!(matches!(&outcomes[0], Err(Error::Invalid(why)) if why.contains("i-rival")), !is_done);
        assert!(outcomes[1..].iter().all(is_new), "{outcomes:?}");
    }
}

#[test]
fn no_route_leads_to_an_interface_that_still_checks() {
    let network = Network::new(Vec::new());
    network.0.borrow_mut().checking = (0..200).collect();
    network.0.borrow_mut().refusals = vec![("ModifyNetworkInterfaceAttribute", "", "InvalidOperation.Conflict"); 60];
    let mut all = creations(200);
    // Both networks of one machine.
    all[1].after.as_mut().unwrap().next_hop = "i-0".to_owned();
    let outcomes = network.apply(&all);
    assert!(
        outcomes[..50]
            .iter()
            .all(|it| matches!(it, Ok(RouteOutcome::Pending(it)) if it.reason.contains("carries out")))
    );
    assert!(!outcomes.iter().any(is_new), "{outcomes:?}");
    let sent = network.sent();
    assert_eq!((sent.len(), network.list().unwrap().len()), (2 + 50, 0), "a call has a hundred requests: {sent:?}");
}

#[test]
fn a_busy_table_holds_up_no_entry_that_it_has_taken() {
    let network = Network::new(Vec::new());
    let (waiting, _) = passed(&network, creations(120));
    network.0.borrow_mut().refusals = vec![("CreateRouteEntries", "", "TaskConflict"); 4];
    let (waiting, _) = passed(&network, waiting);
    assert_eq!(counts(&network.sent(), ["DescribeRouteEntryList", "DescribeNetworkInterfaces"]), [0, 1]);
    let (waiting, _) = passed(&network, waiting);
    assert_eq!(waiting.len(), 70, "those that were taken are done while others are refused");
    // It takes entries again after two more passes: fewer at first, and what is known of them is not read again.
    assert_eq!(settled(&network, waiting, 6), []);
    let sent = network.sent();
    assert_eq!(counts(&sent, ["CreateRouteEntries", "DescribeNetworkInterfaces"]), [3 + 3, 0], "{sent:?}");
    assert_eq!(network.list().unwrap().len(), 120);
}

/// Whether the only one that has failed is that to the network 3, since its instance carries out a change.
fn is_stuck(failed: &[(String, Error)]) -> bool {
    matches!(failed, [(destination, Error::Unavailable(why))]
        if destination == "10.244.3.0/24" && why.contains("IncorrectStatus"))
}

#[test]
fn an_entry_that_is_always_in_the_way_holds_up_no_other() {
    let network = Network::new(Vec::new());
    network.0.borrow_mut().stuck = Some("10.244.3.0/24");
    let failed = settled(&network, creations(120), 40);
    assert!(is_stuck(&failed), "{failed:?}");
    assert_eq!(network.list().unwrap().len(), 119);
    // Those that it was among at first wait for others.
    let network = Network::new(Vec::new());
    network.0.borrow_mut().stuck = Some("10.244.3.0/24");
    let (waiting, _) = passed(&network, creations(100));
    passed(&network, waiting);
    assert_eq!(network.list().unwrap().len(), 50, "others come first");
}

#[test]
fn alibaba_037_an_entry_that_cannot_go_holds_up_no_other() {
    let all = creations(120);
    let network = Network::new(all.iter().map(|it| entry(&it.destination, "i-1", &mark())).collect());
    network.0.borrow_mut().stuck = Some("10.244.3.0/24");
    let gone: Vec<_> = all.iter().map(|it| change(&it.destination, Some("i-1"), None)).collect();
    let (waiting, _) = passed(&network, gone);
    let (waiting, _) = passed(&network, waiting);
    assert_eq!(network.0.borrow().entries.len(), 70, "others come first");
    let failed = settled(&network, waiting, 40);
    assert!(is_stuck(&failed), "{failed:?}");
    assert_eq!(network.0.borrow().entries.len(), 1);
    let sent = network.sent();
    assert_eq!(counts(&sent, ["DescribeRouteTableList"]), [1], "{sent:?}");
}

#[test]
fn a_deletion_leaves_what_is_known_of_new_entries() {
    let network = Network::new(vec![entry("10.245.1.0/24", "i-1", &mark())]);
    let (mut waiting, _) = passed(&network, creations(60));
    waiting.push(change("10.245.1.0/24", Some("i-1"), None));
    let (waiting, _) = passed(&network, waiting);
    assert_eq!(counts(&network.sent(), ["CreateRouteEntries", "DeleteRouteEntries"]), [1, 1]);
    assert_eq!(settled(&network, waiting, 4), []);
    let sent = network.sent();
    assert_eq!(counts(&sent, ["CreateRouteEntries", "DescribeInstances"]), [1, 0], "{sent:?}");
    assert_eq!(network.list().unwrap().len(), 60);
}

#[test]
fn knowledge_of_another_table_counts_for_none() {
    let network = Network::new(Vec::new());
    network.0.borrow_mut().checking = vec![1];
    let host = network.host().setting("routeTable", "vtb-1");
    let change = again(change(POD, None, Some("i-1")), "vtb-2 takes its entry after others");
    let outcomes = host.run(|| Alibaba::apply(&[change]));
    assert!(is_new(&outcomes[0]), "{outcomes:?}");
    let sent = network.sent();
    assert_eq!(counts(&sent, ["DescribeRouteEntryList", "ModifyNetworkInterfaceAttribute"]), [1, 1], "{sent:?}");
}

#[test]
fn an_entry_that_was_sent_and_is_not_there_is_looked_at_again() {
    let network = Network::new(Vec::new());
    network.0.borrow_mut().checking = vec![1];
    let change = again(change(POD, None, Some("i-1")), "vtb-1 takes the new entry over");
    assert!(is_new(&network.one(change)));
    assert_eq!(counts(&network.sent(), ["ModifyNetworkInterfaceAttribute", "CreateRouteEntries"]), [1, 1]);
}

#[test]
fn an_instance_that_the_vpcs_list_lacks_is_asked_for_by_its_id() {
    let network = Network::new(Vec::new());
    let elsewhere = format!("i-{}", MACHINES + 1);
    network.0.borrow_mut().checking = vec![MACHINES + 1];
    let mut all = creations(120);
    all[0].after.as_mut().unwrap().next_hop.clone_from(&elsewhere);
    assert_eq!(settled(&network, all, 4), []);
    let sent = network.sent();
    assert_eq!(counts(&sent, ["DescribeInstances", "ModifyNetworkInterfaceAttribute"]), [1, 1], "{sent:?}");
    assert_eq!(network.list().unwrap()[0].next_hop, Some(elsewhere));
}

#[test]
fn a_table_that_is_known_is_not_asked_for_again() {
    let network = Network::new(vec![entry(POD, "i-1", &mark()), entry("10.244.2.0/24", "i-old", &mark())]);
    let both = vec![change(POD, Some("i-1"), None), change("10.244.2.0/24", Some("i-old"), Some("i-2"))];
    assert_eq!(settled(&network, both, 4), []);
    let sent = network.sent();
    assert_eq!(counts(&sent, ["DescribeRouteTableList", "DescribeRouteEntryList"]), [1, 3], "{sent:?}");
}

#[test]
fn a_large_table_leaves_requests_for_its_entries() {
    let large = (0..9_000).map(|it| entry(&format!("10.{}.{}.0/24", it / 256, it % 256), "i-1", &mark()));
    let network = Network::new(large.collect());
    network.0.borrow_mut().checking = (0..60).collect();
    network.apply(&creations(60));
    let sent = network.sent();
    let pages = 9_000 / 500;
    let [lists, forwards] = counts(&sent, ["DescribeRouteEntryList", "ModifyNetworkInterfaceAttribute"]);
    assert_eq!(lists, pages);
    // Sixteen requests with entries, and the table once more if one is in the way.
    assert!(forwards > 30 && sent.len() - 1 + 16 + pages <= 100, "{forwards} of {}", sent.len());
}

#[test]
fn unnamed_refusals_are_found_by_halves() {
    let network = Network::new(vec![entry(POD, "i-1", &mark()), entry("10.244.2.0/24", "i-2", &mark())]);
    network.0.borrow_mut().named_by = "RequestId";
    network.0.borrow_mut().refusals = vec![("DeleteRouteEntries", "10.244.", "Forbidden.Entry")];
    let outcomes = network.apply(&[change(POD, Some("i-1"), None), change("10.244.2.0/24", Some("i-2"), None)]);
    let is_told = |it: &Result<RouteOutcome>| matches!(it, Err(Error::Invalid(why)) if why.contains("Forbidden.Entry"));
    assert!(outcomes.iter().all(is_told), "each is sent by itself: {outcomes:?}");
}
