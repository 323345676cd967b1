//! Many new routes, whose entries wait for their turn at the table.

use super::*;

/// Routes to so many machines.
fn creations(count: usize) -> Vec<RouteChange> {
    (0..count).map(|it| change(&format!("10.244.{it}.0/24"), None, Some(&format!("i-{it}")))).collect()
}

/// Plays passes of the host until all is done, and no longer than so many.
fn settled(network: &Network, mut changes: Vec<RouteChange>, most: usize) {
    for _ in 0..most {
        let outcomes = network.apply(&changes);
        let mut waiting = Vec::new();
        for (mut change, outcome) in changes.into_iter().zip(outcomes) {
            match outcome {
                Ok(RouteOutcome::Done) => continue,
                Ok(RouteOutcome::Pending(pause)) => change.extra = vec![("pending".to_owned(), pause.reason)],
                Err(error) => panic!("{error:?}"),
            }
            waiting.push(change);
        }
        changes = waiting;
        if changes.is_empty() {
            return;
        }
    }
    panic!("{} wait", changes.len());
}

#[test]
fn alibaba_034_routes_of_120_nodes_are_three_requests() {
    let network = Network::new(Vec::new());
    network.0.borrow_mut().checking = vec![7, 60];
    settled(&network, creations(120), 4);
    let sent = network.sent();
    let count = |action: &str| sent.iter().filter(|it| *it == action).count();
    assert_eq!((count("CreateRouteEntries"), count("ModifyNetworkInterfaceAttribute")), (3, 2));
    // The table at the first pass and at the last one, and all interfaces at once.
    let reads = ["DescribeRouteTableList", "DescribeRouteEntryList", "DescribeNetworkInterfaces"].map(count);
    assert_eq!((reads, sent.len()), ([1, 2, 1], 3 + 2 + 4));
    let listed = network.list().unwrap();
    assert!(listed.len() == 120 && listed.iter().all(|it| it.ownership == RouteOwnership::Ours));
    assert_eq!(listed[7].next_hop.as_deref(), Some("i-7"));
    assert!(network.apply(&creations(50)).iter().all(|it| *it == Ok(RouteOutcome::Done)), "once they are listed");
}

#[test]
fn alibaba_034_entries_that_were_sent_are_looked_at_while_others_wait() {
    let network = Network::new(Vec::new());
    settled(&network, creations(250), 6);
    let sent = network.sent();
    let count = |action: &str| sent.iter().filter(|it| *it == action).count();
    assert_eq!((count("CreateRouteEntries"), count("DescribeRouteEntryList"), sent.len()), (5, 3, 5 + 3 + 2));
}

#[test]
fn an_entry_that_somebody_makes_meanwhile_is_no_ones_turn() {
    for (rival, is_done) in [("i-0", true), ("i-rival", false)] {
        let network = Network::new(Vec::new());
        let outcomes = network.apply(&creations(60));
        let waits: Vec<RouteChange> = creations(60)
            .into_iter()
            .zip(outcomes)
            .skip(50)
            .map(|(change, outcome)| {
                let Ok(RouteOutcome::Pending(pause)) = outcome else { panic!("{outcome:?}") };
                RouteChange { extra: vec![("pending".to_owned(), pause.reason)], ..change }
            })
            .collect();
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
    assert_eq!((sent.len(), network.list().unwrap().len()), (3 + 50, 0), "a call has a hundred requests: {sent:?}");
}

#[test]
fn refused_entries_that_an_answer_does_not_name_are_found() {
    let network = Network::new(vec![entry(POD, "i-1", &mark()), entry("10.244.2.0/24", "i-2", &mark())]);
    network.0.borrow_mut().named_by = "RequestId";
    network.0.borrow_mut().refusals = vec![("DeleteRouteEntries", "10.244.", "Forbidden.Entry")];
    let outcomes = network.apply(&[change(POD, Some("i-1"), None), change("10.244.2.0/24", Some("i-2"), None)]);
    let is_told = |it: &Result<RouteOutcome>| matches!(it, Err(Error::Invalid(why)) if why.contains("Forbidden.Entry"));
    assert!(outcomes.iter().all(is_told), "each is sent by itself: {outcomes:?}");
}
