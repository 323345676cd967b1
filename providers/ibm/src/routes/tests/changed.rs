//! Tables that are not as they were planned for: entries missing, of others, and of two makers at a time.

use super::*;

#[test]
fn a_route_without_all_entries_is_partial_and_made_whole() {
    let table = Table::new(route(POD, &ZONES[..2], "10.240.0.1"));
    let listed = table.list().unwrap().remove(0);
    assert_eq!((listed.state, listed.next_hop.as_deref()), (RouteState::Partial, Some("10.240.0.1")));
    assert_eq!(table.one(change(POD, Some("10.240.0.1"), Some(1))), Ok(RouteOutcome::Done));
    assert_eq!(table.writes(), ["PATCH nic-1", "POST routes"]);
    assert_eq!(table.list().unwrap()[0].state, RouteState::Active);
}

#[test]
fn a_move_that_was_broken_off_goes_on() {
    let half = [route(POD, &ZONES[..1], "10.240.0.2"), route(POD, &ZONES[1..], "10.240.0.1")].concat();
    let table = Table::new(half);
    let listed = table.list().unwrap().remove(0);
    assert_eq!((listed.state, listed.next_hop.as_deref()), (RouteState::Partial, Some("10.240.0.1,10.240.0.2")));
    for before in ["10.240.0.1", "10.240.0.1,10.240.0.2"] {
        let (cut, moved) = (Table::new(table.0.borrow().entries.clone()), change(POD, Some(before), Some(2)));
        assert_eq!(cut.one(moved), Ok(RouteOutcome::Done), "{before}");
        assert_eq!(cut.entries(POD), ZONES.map(|zone| (zone.to_owned(), hop(2))));
    }
    let rival = table.one(change(POD, Some("10.240.0.9"), Some(2)));
    assert!(matches!(&rival, Err(Error::Invalid(why)) if why.contains("leads to 10.240.0.1 by now")), "{rival:?}");
}

#[test]
fn a_zone_with_two_entries_keeps_one() {
    let second = entry(
        &format!("{}-2", route(POD, &ZONES, "10.240.0.1")[0]["name"].as_str().unwrap()),
        POD,
        "us-south-1",
        "10.240.0.9",
    );
    let table = Table::new([route(POD, &ZONES, "10.240.0.1"), vec![second]].concat());
    let listed = table.list().unwrap().remove(0);
    assert_eq!((listed.state, listed.ownership), (RouteState::Partial, RouteOwnership::Ours));
    assert_eq!(table.until_done(&change(POD, listed.next_hop.as_deref(), Some(1))), Ok(2));
    let writes = table.writes();
    assert!(writes.len() == 1 && writes[0].starts_with("DELETE ") && writes[0].ends_with("-2"), "{writes:?}");
}

#[test]
fn an_entry_by_hand_stays_beside_ours() {
    let second = entry("by-hand", POD, "us-south-1", "10.240.0.9");
    let table = Table::new([route(POD, &ZONES, "10.240.0.1"), vec![second]].concat());
    let owners: Vec<_> = table.list().unwrap().into_iter().map(|it| it.ownership).collect();
    assert_eq!(owners, [RouteOwnership::Foreign, RouteOwnership::Ours]);
    let refused = table.one(change(POD, Some("10.240.0.1"), Some(2)));
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("by-hand")), "{refused:?}");
    assert_eq!(table.writes(), [""; 0]);
}

#[test]
fn an_entry_that_the_cloud_calls_failed_is_no_success() {
    for lifecycle in ["failed", "suspended"] {
        let table = Table::new(Vec::new());
        table.0.borrow_mut().lifecycle = Some(lifecycle);
        let said = table.one(change(POD, None, Some(1)));
        assert!(matches!(&said, Err(Error::Unavailable(why)) if why.contains(lifecycle)), "{said:?}");
    }
}

#[test]
fn a_deletion_takes_the_entries_of_all_zones() {
    let table = Table::new([route(POD, &ZONES, "10.240.0.1"), route("10.244.2.0/24", &ZONES, "10.240.0.2")].concat());
    for calls in [2, 1] {
        assert_eq!(table.until_done(&change(POD, Some("10.240.0.1"), None)), Ok(calls), "also repeated");
    }
    assert_eq!((table.writes().len(), table.list().unwrap().len()), (3, 1));
    let refused = table.one(change("10.244.2.0/24", Some("10.240.0.1"), None));
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("leads to 10.240.0.2")), "{refused:?}");
}

#[test]
fn a_deletion_is_done_once_the_table_does_not_show_the_entries() {
    let table = Table::new(route(POD, &ZONES, "10.240.0.1"));
    table.0.borrow_mut().deletes_slowly = true;
    let gone = || change(POD, Some("10.240.0.1"), None);
    for _ in 0..3 {
        let said = table.one(gone());
        assert!(matches!(&said, Ok(RouteOutcome::Pending(it)) if it.reason.contains("entry k8s-")), "{said:?}");
    }
    assert_eq!((table.writes().len(), table.list().unwrap()[0].state.clone()), (3, RouteState::Changing));
    table.0.borrow_mut().entries.clear();
    assert_eq!(table.one(gone()), Ok(RouteOutcome::Done));
    assert_eq!(table.writes(), [""; 0]);
}

#[test]
fn an_address_that_is_not_the_instances_own_gets_no_route() {
    let table = Table::new(Vec::new());
    let mut stolen = change(POD, None, Some(1));
    if let Some(target) = &mut stolen.after {
        target.next_hop = hop(7);
    }
    let outcomes = table.apply(&[stolen, change("10.244.2.0/24", None, Some(1))]);
    assert!(
        matches!(&outcomes[0], Err(Error::Invalid(why)) if why.contains("10.240.0.7 is not the address of instance")),
        "{outcomes:?}"
    );
    assert_eq!(outcomes[1], Ok(RouteOutcome::Done), "its own address stays good");
    assert_eq!((table.entries(POD).len(), table.entries("10.244.2.0/24").len()), (0, 3));
}

#[test]
fn a_name_that_another_entry_has_is_not_made_again_and_again() {
    let mut other = route(POD, &ZONES[..1], "10.240.0.1").remove(0);
    other["destination"] = json!("10.244.9.0/24");
    let table = Table::new(vec![other]);
    let refused = table.one(change(POD, None, Some(1)));
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("the entry to 10.244.9.0/24")), "{refused:?}");
    assert!(table.writes().iter().all(|it| !it.starts_with("POST")));
}

#[test]
fn routes_of_others_are_shown_as_theirs() {
    let with = |number: u8, name: &str, key: &str, value: Value| {
        let mut made = entry(name, &format!("10.244.{number}.0/24"), "us-south-1", "10.240.0.1");
        made[key] = value;
        made
    };
    let table = Table::new(vec![
        with(1, "a", "action", json!("delegate")),
        with(2, "b", "origin", json!("service")),
        with(3, "c", "next_hop", json!({ "id": "vpn-1", "name": "v" })),
        with(4, "k8s-0123456789abcdef-10-244-4-0-24-us-south-1", "priority", json!(2)),
        with(5, "k8s-by-hand", "priority", json!(2)),
    ]);
    let mut listed: Vec<_> = table.list().unwrap().into_iter().map(|it| (it.destination, it.ownership)).collect();
    listed.sort_by(|one, other| one.0.cmp(&other.0));
    let owners: Vec<RouteOwnership> = listed.iter().map(|it| it.1).collect();
    assert_eq!(owners, [RouteOwnership::Foreign; 5], "no entry is made here without the mark");
    for number in 1..=5 {
        let destination = format!("10.244.{number}.0/24");
        let refused = table.one(change(&destination, Some("10.240.0.1"), None));
        assert!(matches!(refused, Err(Error::Invalid(_))), "{destination}");
    }
    assert_eq!(table.writes(), [""; 0]);
}

#[test]
fn an_entry_that_the_cloud_makes_is_waited_for() {
    let table = Table::new(Vec::new());
    table.0.borrow_mut().lifecycle = Some("pending");
    let made = || change(POD, None, Some(1));
    assert!(matches!(table.one(made()), Ok(RouteOutcome::Pending(_))));
    assert_eq!(table.list().unwrap()[0].state, RouteState::Changing);
    table.writes();
    assert!(matches!(table.one(made()), Ok(RouteOutcome::Pending(_))));
    assert_eq!(table.writes(), [""; 0]);
    table.0.borrow_mut().entries.iter_mut().for_each(|it| it["lifecycle_state"] = json!("stable"));
    assert_eq!(table.one(made()), Ok(RouteOutcome::Done));
}

#[test]
fn an_entry_that_has_failed_is_made_again() {
    let mut entries = route(POD, &ZONES, "10.240.0.1");
    entries[1]["lifecycle_state"] = json!("failed");
    let table = Table::new(entries);
    assert!(matches!(&table.list().unwrap()[0].state, RouteState::Failed(why) if why.contains("us-south-2 is failed")));
    assert_eq!(table.until_done(&change(POD, Some("10.240.0.1"), Some(1))), Ok(2));
    assert_eq!(table.writes()[1..], [format!("DELETE r006-{MARK}10-244-1-0-24-us-south-2"), "POST routes".to_owned()]);
    assert_eq!(table.list().unwrap()[0].state, RouteState::Active);
}

#[test]
fn an_entry_that_came_meanwhile_is_done_only_with_the_same_hop() {
    for (to, is_done) in [("10.240.0.1", true), ("10.240.0.9", false)] {
        let table = Table::new(Vec::new());
        table.0.borrow_mut().rival = Some(route(POD, &ZONES[..1], to).remove(0));
        let outcomes = table.apply(&[change(POD, None, Some(1)), change("10.244.2.0/24", None, Some(2))]);
        assert!(matches!(&outcomes[0], Ok(RouteOutcome::Pending(_))), "{to}: {outcomes:?}");
        assert_eq!(outcomes[1], Ok(RouteOutcome::Done), "the other one is made");
        assert_eq!(table.reads(), 1, "the next call reads the table");
        assert_eq!(table.one(change(POD, None, Some(1))) == Ok(RouteOutcome::Done), is_done, "{to}");
    }
}

#[test]
fn a_full_table_is_asked_once_in_a_call() {
    let table = Table::new(route(POD, &ZONES, "10.240.0.1"));
    table.0.borrow_mut().refusals = vec![(400, "over_quota")];
    let both = [
        change("10.244.2.0/24", None, Some(2)),
        change("10.244.3.0/24", None, Some(3)),
        change(POD, Some("10.240.0.1"), None),
    ];
    let outcomes = table.apply(&both);
    let wait = outcomes[2].clone();
    for refused in &outcomes[..2] {
        assert!(matches!(refused, Err(Error::Invalid(why)) if why.contains("takes no more entries")), "{refused:?}");
    }
    assert!(matches!(wait, Ok(RouteOutcome::Pending(_))), "{wait:?}");
    assert_eq!(table.entries(POD).len(), 0, "a deletion needs no room");
    assert_eq!(table.writes().iter().filter(|it| it.starts_with("POST")).count(), 1);
}

#[test]
fn a_busy_table_is_asked_later() {
    for code in ["conflict", "routing_table_update_conflict"] {
        let table = Table::new(Vec::new());
        table.0.borrow_mut().refusals = vec![(409, code)];
        let made = [change(POD, None, Some(1)), change("10.244.2.0/24", None, Some(2))];
        let outcomes = table.apply(&made);
        assert!(outcomes.iter().all(|it| matches!(it, Ok(RouteOutcome::Pending(_)))), "{code}: {outcomes:?}");
        assert_eq!(table.writes().iter().filter(|it| it.starts_with("POST")).count(), 1, "asked once in a call");
        assert_eq!(table.apply(&made), [Ok(RouteOutcome::Done), Ok(RouteOutcome::Done)]);
        assert_eq!(table.entries(POD).len(), 3);
    }
}

#[test]
fn ibm_032_a_machine_that_is_changing_is_asked_later() {
    // An interface of its own, and one that is an object.
    for (number, interface) in [(1, "nic-1"), (2, "vni-2")] {
        let table = Table::new(Vec::new());
        table.0.borrow_mut().changing_machines = 1;
        let made = [
            change(POD, None, Some(number)),
            change("10.244.2.0/24", None, Some(number)),
            change("10.244.3.0/24", None, Some(3)),
        ];
        let outcomes = table.apply(&made);
        for waits in &outcomes[..2] {
            let part = format!("{interface} at endpoint vpc: 409");
            assert!(matches!(waits, Ok(RouteOutcome::Pending(it)) if it.reason.contains(&part)), "{waits:?}");
        }
        assert_eq!(outcomes[2], Ok(RouteOutcome::Done), "another machine is not held up");
        let asked = [&format!("PATCH {interface}"), "PATCH nic-3", "POST routes", "POST routes", "POST routes"];
        assert_eq!(table.writes(), asked, "asked once in a call, and no route leads there before");
        assert_eq!(table.apply(&made), vec![Ok(RouteOutcome::Done); 3]);
        assert_eq!((table.entries(POD).len(), table.0.borrow().forwarding.last().unwrap()), (3, &interface.to_owned()));
    }
}

#[test]
fn routes_are_in_the_table_of_the_setting() {
    let table = Table::new(Vec::new());
    let host = table.host().setting("routingTable", "rt-1");
    assert_eq!(host.run(|| <Ibm as aerostat_sdk::Routes>::list(None, 500)).unwrap().routes, []);
    let asked = host.requests();
    assert!(asked[0].contains("/vpcs/r006-1/routing_tables/rt-1/routes?"), "{asked:?}");
    let classic = Host::new().setting("accountID", "acc").setting("clusterID", "c1").setting("region", "us-south");
    let classic = classic.setting("clusterDefaultProvider", "classic").cluster(Cluster::of("prod", UID));
    let refused = classic.run(|| <Ibm as aerostat_sdk::Routes>::list(None, 500)).unwrap_err();
    assert!(matches!(&refused, Error::Invalid(why) if why.contains("--configure-cloud-routes")), "{refused:?}");
}

#[test]
fn pages_cut_between_routes_and_not_within_one() {
    let entries: Vec<Value> =
        (1..=50).flat_map(|it| route(&format!("10.244.{it}.0/24"), &ZONES, "10.240.0.1")).collect();
    let host = Table::new(entries).host();
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let page = host.run(|| <Ibm as aerostat_sdk::Routes>::list(cursor.as_deref(), 7)).unwrap();
        assert!(page.routes.len() <= 7 && page.routes.iter().all(|it| it.state == RouteState::Active));
        seen.extend(page.routes.into_iter().map(|it| it.destination));
        match page.next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 50);
}
