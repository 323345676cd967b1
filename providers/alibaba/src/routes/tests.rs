//! Routes before a table in memory, natively.

mod cloud;
mod joins;
mod turns;

use aerostat_sdk::{
    Error, Node, PodNetwork, Result, Route, RouteChange, RouteOutcome, RouteOwnership, RouteState, RouteTarget, Routes,
};
use serde_json::json;

use self::cloud::{MACHINES, Network, entry, mark};
use crate::{Alibaba, machine};

const POD: &str = "10.244.1.0/24";

fn change(destination: &str, before: Option<&str>, after: Option<&str>) -> RouteChange {
    let target = |it: &str| RouteTarget { next_hop: it.to_owned(), node: Node::named("n") };
    let before = before.map(|it| Route::new(destination, it));
    RouteChange { destination: destination.to_owned(), before, after: after.map(target), extra: Vec::new() }
}

/// Whether a route was made, and its entry is not known to be Available yet.
fn is_new(outcome: &Result<RouteOutcome>) -> bool {
    matches!(outcome, Ok(RouteOutcome::Pending(pause)) if pause.reason.contains("the new entry"))
}

/// Whether a change waits since it was refused with others.
fn is_left(outcome: &Result<RouteOutcome>) -> bool {
    matches!(outcome, Ok(RouteOutcome::Pending(pause)) if pause.reason.contains("fewer are sent together"))
}

/// Whether a route's deletion has begun, and its entry is not known to be gone yet.
fn goes(outcome: &Result<RouteOutcome>) -> bool {
    matches!(outcome, Ok(RouteOutcome::Pending(pause)) if pause.reason.contains("lets entry"))
}

#[test]
fn alibaba_013_a_machine_forwards_before_a_route_leads_there() {
    let network = Network::new(Vec::new());
    network.0.borrow_mut().checking = vec![1];
    let refusal = ("ModifyNetworkInterfaceAttribute", "", "InvalidOperation.Conflict");
    network.0.borrow_mut().refusals = vec![refusal];
    let both = [change(POD, None, Some("i-1")), change("10.244.2.0/24", None, Some("i-2"))];
    let outcomes = network.apply(&both);
    assert!(matches!(&outcomes[0], Ok(RouteOutcome::Pending(pause)) if pause.reason.contains("eni-1")), "{outcomes:?}");
    assert!(is_new(&outcomes[1]), "another's interface holds up no other route: {outcomes:?}");
    assert_eq!(network.list().unwrap().len(), 1);
    assert!(is_new(&network.one(change(POD, None, Some("i-1")))));
    let expected =
        ["DescribeInstances", "DescribeNetworkInterfaces", "ModifyNetworkInterfaceAttribute", "CreateRouteEntries"];
    let sent = network.sent();
    assert_eq!(sent[sent.len() - 4..], expected);
    network.0.borrow_mut().refusals = vec![("ModifyNetworkInterfaceAttribute", "", "Forbidden.RAM")];
    network.0.borrow_mut().checking = vec![3];
    let refused = network.one(change("10.244.3.0/24", None, Some("i-3")));
    assert!(matches!(refused, Err(Error::Denied(why)) if why.contains("ecs:ModifyNetworkInterfaceAttribute")));
}

#[test]
fn alibaba_035_a_route_that_stands_is_not_written() {
    for description in [mark(), String::new(), "by hand".to_owned()] {
        let network = Network::new(vec![entry(POD, "i-1", &description)]);
        assert_eq!(network.one(change(POD, None, Some("i-1"))), Ok(RouteOutcome::Done), "{description}");
        assert_eq!(network.sent(), ["DescribeRouteTableList", "DescribeRouteEntryList"]);
    }
}

#[test]
fn alibaba_035_a_route_that_leads_elsewhere_goes_first() {
    let network = Network::new(vec![entry(POD, "i-old", "")]);
    let moved = || change(POD, Some("i-old"), Some("i-1"));
    assert!(matches!(network.one(moved()), Ok(RouteOutcome::Pending(pause)) if pause.reason.contains("go first")));
    assert!(is_new(&network.one(moved())));
    assert_eq!(network.one(moved()), Ok(RouteOutcome::Done));
    assert_eq!(network.list().unwrap()[0].next_hop.as_deref(), Some("i-1"));
    for (live, before) in [("i-rival", Some("i-old")), ("i-rival", None)] {
        let network = Network::new(vec![entry(POD, live, "")]);
        let refused = network.one(change(POD, before, Some("i-1"))).unwrap_err();
        assert!(refused.why().contains("leads to Instance i-rival by now"), "{refused:?}");
        assert_eq!(network.list().unwrap()[0].next_hop.as_deref(), Some("i-rival"));
    }
}

#[test]
fn alibaba_036_a_duplicate_is_done_only_with_the_same_next_hop() {
    for (rival, is_done) in [("i-1", true), ("i-rival", false)] {
        let network = Network::new(Vec::new());
        network.0.borrow_mut().rival = Some(entry(POD, rival, ""));
        let both = [change(POD, None, Some("i-1")), change("10.244.2.0/24", None, Some("i-1"))];
        let outcomes = network.apply(&both);
        assert_eq!(outcomes[0] == Ok(RouteOutcome::Done), is_done, "{rival}: {outcomes:?}");
        assert!(is_new(&outcomes[1]), "the other network of the same machine: {outcomes:?}");
    }
    let network = Network::new(Vec::new());
    network.0.borrow_mut().refusals = vec![("CreateRouteEntries", "10.244.1.", "QuotaExceeded.RouteEntry")];
    let both = [change(POD, None, Some("i-1")), change("10.244.2.0/24", None, Some("i-2"))];
    let outcomes = network.apply(&both);
    assert!(
        matches!(&outcomes[0], Err(Error::Invalid(why)) if why.contains("QuotaExceeded.RouteEntry")),
        "{outcomes:?}"
    );
    assert!(is_new(&outcomes[1]), "{outcomes:?}");
}

#[test]
fn alibaba_036_a_refused_request_is_sent_in_halves() {
    let network = Network::new(vec![entry("10.244.9.0/24", "i-9", &mark())]);
    let refusals = [("CreateRouteEntries", "", "InvalidParameter"), ("CreateRouteEntries", "", "InvalidParameter")];
    network.0.borrow_mut().refusals = refusals.to_vec();
    let new: Vec<_> = (1..=4).map(|it| change(&format!("10.244.{it}.0/24"), None, Some(&format!("i-{it}")))).collect();
    let outcomes = network.apply(&new);
    // Four are refused, and the first two of them; then one is taken, and the table takes no other request at once.
    assert!(is_new(&outcomes[0]) && outcomes[1..].iter().all(is_left), "{outcomes:?}");
    assert_eq!(network.sent().iter().filter(|it| *it == "CreateRouteEntries").count(), 3);
    assert!(network.apply(&new[1..]).iter().all(is_new));
    network.0.borrow_mut().refusals = vec![("DeleteRouteEntries", "", "InvalidParameter")];
    let one = network.one(change("10.244.9.0/24", Some("i-9"), None));
    assert!(matches!(&one, Err(Error::Invalid(why)) if why.contains("InvalidParameter")), "{one:?}");
}

#[test]
fn alibaba_036_fifty_refused_entries_are_found_call_by_call() {
    let network = Network::new(Vec::new());
    network.0.borrow_mut().refusals = vec![("CreateRouteEntries", "", "InvalidParameter"); 16];
    let new: Vec<_> = (0..50).map(|it| change(&format!("10.244.{it}.0/24"), None, Some(&format!("i-{it}")))).collect();
    let outcomes = network.apply(&new);
    let count = |is: &dyn Fn(&Result<RouteOutcome>) -> bool| outcomes.iter().filter(|it| is(it)).count();
    let told = count(&|it| matches!(it, Err(Error::Invalid(why)) if why.contains("InvalidParameter")));
    assert_eq!((told, count(&is_left)), (6, 44), "{outcomes:?}");
    assert_eq!(network.sent().iter().filter(|it| *it == "CreateRouteEntries").count(), 16);
    assert!(network.apply(&new[6..]).iter().all(is_new), "those that were left go without the refused ones");
}

#[test]
fn alibaba_037_the_entry_of_a_node_that_went_is_removed() {
    let network = Network::new(vec![entry(POD, "i-1", &mark()), entry("10.244.2.0/24", "i-2", &mark())]);
    assert!(goes(&network.one(change(POD, Some("i-1"), None))));
    assert_eq!(network.one(change(POD, Some("i-1"), None)), Ok(RouteOutcome::Done), "the list shows that it is gone");
    assert_eq!(network.list().unwrap().len(), 1);
    network.0.borrow_mut().refusals = vec![("DeleteRouteEntries", "10.244.2.", "InvalidRouteEntry.NotFound")];
    assert_eq!(network.one(change("10.244.2.0/24", Some("i-2"), None)), Ok(RouteOutcome::Done), "another was faster");
}

#[test]
fn an_entry_that_is_gone_says_nothing_of_others() {
    let all = [POD, "10.244.2.0/24", "10.244.3.0/24"];
    let network = Network::new(all.map(|it| entry(it, "i-1", &mark())).to_vec());
    network.0.borrow_mut().gone = Some(all[1]);
    let gone = all.map(|it| change(it, Some("i-1"), None));
    let outcomes = network.apply(&gone);
    assert!(goes(&outcomes[0]) && outcomes[1..].iter().all(is_left), "{outcomes:?}");
    let outcomes = network.apply(&gone[1..]);
    assert!(outcomes[0] == Ok(RouteOutcome::Done) && goes(&outcomes[1]), "{outcomes:?}");
    assert_eq!(network.sent().iter().filter(|it| *it == "DeleteRouteEntries").count(), 2 + 3);
    assert_eq!(network.list().unwrap().len(), 1, "the list of the table is late");
}

#[test]
fn changes_that_were_not_sent_are_no_refused_ones() {
    let live: Vec<_> = (0..50).map(|it| entry(&format!("10.244.{it}.0/24"), "i-1", &mark())).collect();
    let network = Network::new(live);
    network.0.borrow_mut().refusals = vec![("DeleteRouteEntries", "", "InvalidParameter"); 16];
    let gone = (0..50).map(|it| change(&format!("10.244.{it}.0/24"), Some("i-1"), None));
    let outcomes = network.apply(&gone.chain([change("10.245.1.0/24", None, Some("i-1"))]).collect::<Vec<_>>());
    let waits =
        |at: usize, why: &str| matches!(&outcomes[at], Ok(RouteOutcome::Pending(it)) if it.reason.contains(why));
    assert!(waits(49, "one of several entries is refused") && waits(50, "others come first"), "{outcomes:?}");
}

#[test]
fn a_refused_deletion_is_never_done() {
    for named_by in ["RouteEntryId", "DstCidrBlock", "RequestId"] {
        let network = Network::new(vec![entry(POD, "i-1", &mark()), entry("10.244.2.0/24", "i-2", &mark())]);
        network.0.borrow_mut().named_by = named_by;
        network.0.borrow_mut().refusals = vec![("DeleteRouteEntries", "10.244.1.", "VPC_ROUTE_ENTRY_STATUS_ERROR")];
        let both = [change(POD, Some("i-1"), None), change("10.244.2.0/24", Some("i-2"), None)];
        let outcomes = network.apply(&both);
        assert!(matches!(&outcomes[0], Ok(RouteOutcome::Pending(_))) && !goes(&outcomes[0]), "{outcomes:?}");
        // Where nobody says which one was refused, the table says it, once it is read again.
        let is_unclear = matches!(&outcomes[1], Ok(RouteOutcome::Pending(it)) if it.reason.contains("did not say"));
        assert_eq!(
            (is_unclear, goes(&outcomes[1])),
            (named_by == "RequestId", named_by != "RequestId"),
            "{outcomes:?}"
        );
        assert_eq!(network.sent().iter().filter(|it| *it == "DeleteRouteEntries").count(), 1);
        network.0.borrow_mut().refusals = vec![("DeleteRouteEntries", "10.244.1.", "Forbidden.Entry")];
        let outcomes = network.apply(&both);
        let is_told = matches!(&outcomes[0], Err(Error::Invalid(why)) if why.contains("Forbidden.Entry"));
        // It is sent alone by now: nobody has to name it.
        assert_eq!((is_told, &outcomes[1]), (true, &Ok(RouteOutcome::Done)), "{named_by}: {outcomes:?}");
        assert_eq!(network.list().unwrap().len(), 1);
    }
}

#[test]
fn alibaba_038_two_tables_are_an_error_that_names_both() {
    let network = Network::new(Vec::new());
    network.0.borrow_mut().tables = vec!["vtb-2", "vtb-1"];
    let refused = network.list().unwrap_err();
    assert!(refused.why().contains("several route tables: vtb-1, vtb-2. Set routeTable"), "{refused:?}");
    let host = network.host().setting("routeTable", "vtb-1");
    assert!(host.run(|| Alibaba::list(None, 500)).is_ok());
    network.0.borrow_mut().tables = Vec::new();
    assert!(network.list().unwrap_err().why().contains("vpc-1 has no route table"));
}

#[test]
fn routes_of_others_are_shown_as_theirs() {
    let mut gateway = entry("10.244.3.0/24", "ngw-1", "");
    gateway["NextHops"]["NextHop"][0]["NextHopType"] = json!("NatGateway");
    let mut pending = entry("10.244.4.0/24", "i-4", &mark());
    pending["Status"] = json!("Pending");
    let theirs = entry("10.244.5.0/24", "i-5", "aerostat:another");
    let network =
        Network::new(vec![entry(POD, "i-1", &mark()), entry("10.244.2.0/24", "i-2", ""), gateway, pending, theirs]);
    let shown: Vec<_> = network.list().unwrap().into_iter().map(|it| (it.ownership, it.state, it.next_hop)).collect();
    let hop = |it: &str| Some(it.to_owned());
    let expected = [
        (RouteOwnership::Ours, RouteState::Active, hop("i-1")),
        (RouteOwnership::Unmarked, RouteState::Active, hop("i-2")),
        (RouteOwnership::Foreign, RouteState::Active, None),
        (RouteOwnership::Ours, RouteState::Changing, hop("i-4")),
        (RouteOwnership::Foreign, RouteState::Active, hop("i-5")),
    ];
    assert_eq!(shown, expected);
    for (destination, hop) in [("10.244.3.0/24", "ngw-1"), ("10.244.5.0/24", "i-5")] {
        let refused = network.one(change(destination, Some(hop), None));
        assert!(matches!(refused, Err(Error::Invalid(_))), "{destination}");
    }
    assert!(matches!(network.one(change("10.244.4.0/24", Some("i-4"), None)), Ok(RouteOutcome::Pending(_))));
    assert_eq!(network.list().unwrap().len(), 5);
}

#[test]
fn one_change_of_a_table_waits_for_another() {
    for code in ["OperationConflict", "IncorrectStatus.RouteEntry", "VPC_ROUTE_ENTRY_STATUS_ERROR", "OperationFailed.X"]
    {
        let network = Network::new(Vec::new());
        network.0.borrow_mut().refusals = vec![("CreateRouteEntries", "", code)];
        let outcome = network.one(change(POD, None, Some("i-1")));
        assert!(matches!(&outcome, Ok(RouteOutcome::Pending(_))), "{code}: {outcome:?}");
        assert!(is_new(&network.one(change(POD, None, Some("i-1")))), "{code}");
    }
    let network = Network::new(Vec::new());
    network.0.borrow_mut().refusals = vec![("CreateRouteEntries", "", "Throttling.User")];
    assert!(matches!(network.one(change(POD, None, Some("i-1"))), Err(Error::RetryAfter(_))));
}

#[test]
fn next_hops_are_instances_of_ecs() {
    let host = Network::new(Vec::new()).host();
    let hop = |destination: &str, id: Option<&str>| {
        let node = id.into_iter().fold(Node::named("n"), |node, id| node.with_provider_id(id));
        host.run(|| Alibaba::next_hop(&PodNetwork { destination: destination.to_owned(), node }))
    };
    for id in ["cn-hangzhou.i-1", "alicloud://cn-hangzhou.i-1"] {
        assert_eq!(hop(POD, Some(id)).as_deref(), Ok("i-1"), "one route, whichever way the node spells its id");
    }
    for (destination, id) in [(POD, None), ("2001:db8::/64", Some("cn-hangzhou.i-1"))] {
        assert!(matches!(hop(destination, id), Err(Error::Invalid(_))), "{destination} {id:?}");
    }
}

#[test]
fn nodes_to_which_no_route_leads_hold_up_no_others() {
    let host = Network::new(Vec::new()).host();
    let network = |id: &str, label: Option<&str>| {
        let labels = label.into_iter().map(|it| (it.to_owned(), String::new())).collect();
        let node = Node { labels, ..Node::named("n").with_provider_id(id) };
        PodNetwork { destination: POD.to_owned(), node }
    };
    let [newer, older] = machine::EXCLUDED;
    let asked = [
        network("cn-hangzhou.i-1", Some(newer)),
        network("cn-hangzhou.i-1", Some(older)),
        network("ack-hybrid://x", None),
        network("e01-cn-abc", None),
        network("cn-hangzhou.i-2", Some(machine::WITHOUT_TRAFFIC)),
    ];
    let hops = host.run(|| Alibaba::next_hops(&asked));
    for hop in &hops[..4] {
        assert!(matches!(hop, Err(Error::Unavailable(why)) if why.contains("no route leads to it")), "{hop:?}");
    }
    assert_eq!(hops[4].as_deref(), Ok("i-2"), "load balancers alone leave it out");
}
