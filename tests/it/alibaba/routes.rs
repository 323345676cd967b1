//! Routes, through wasm, gate and signature: entries of the VPC's route table.

use cloud_provider::{Error, Result, Route, RouteChange, RouteOutcome, RouteOwnership, RouteState, RouteTarget};
use tests::clouds::alibaba::{Behaviour, Fault, Options, ROUTE_TABLE, Taking, VPC, machine_id};
use tests::vendor::{AlibabaCloud, Vendor as _};

use crate::setup::Rig;

fn destination(number: u8) -> String {
    format!("10.244.{number}.0/24")
}

/// The change of a pod network's route from one machine to another.
fn change(number: u8, before: Option<u8>, after: Option<u8>) -> RouteChange {
    let before = before.map(|machine| Route {
        destination: destination(number),
        next_hop: Some(machine_id(machine.into())),
        ownership: RouteOwnership::Ours,
        state: RouteState::Active,
        id: destination(number),
        extra: Vec::new(),
    });
    let after =
        after.map(|machine| RouteTarget { next_hop: machine_id(machine.into()), node: AlibabaCloud::worker(machine) });
    RouteChange { destination: destination(number), before, after, pending: None }
}

fn waits(outcome: &Result<RouteOutcome>, part: &str) -> bool {
    matches!(outcome, Ok(RouteOutcome::Pending { reason, .. }) if reason.contains(part))
}

impl Rig {
    async fn apply(&self, changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
        self.abilities.routes.as_ref().unwrap().apply(changes).await.answer
    }

    /// The outcome of one change.
    async fn one(&self, change: RouteChange) -> Result<RouteOutcome> {
        self.apply(&[change]).await.remove(0)
    }

    async fn listed(&self) -> Result<Vec<Route>> {
        let routes = self.abilities.routes.as_ref().unwrap();
        routes.list(None, 500).await.answer.map(|it| it.routes)
    }

    /// The destination and the next hop of each entry of the table.
    fn entries(&self) -> Vec<(String, String)> {
        let text = |it: &serde_json::Value| it.as_str().unwrap().to_owned();
        self.cloud.with(|world| {
            let all = world.routes.all().map(|(_, it)| it);
            all.map(|it| (text(&it["DestinationCidrBlock"]), text(&it["NextHops"]["NextHop"][0]["NextHopId"])))
                .collect()
        })
    }

    fn puts(&self, number: u8, machine: u8, description: &str) {
        let (to, hop) = (destination(number), machine_id(machine.into()));
        self.cloud.with(|world| _ = world.put_route(ROUTE_TABLE, &to, ("Instance", &hop), description, "Available"));
    }
}

fn done(writes: &[String], action: &str) -> usize {
    writes.iter().filter(|it| **it == format!("{action} → 200")).count()
}

/// Cases: alibaba 13, alibaba 34, alibaba 35
#[tokio::test]
async fn alibaba_034_routes_of_120_nodes_come_by_fifty() {
    let rig = Rig::instant().await;
    rig.cloud.with(|world| (4..=120).for_each(|it| world.add_machine(it, &format!("web-{it}"))));
    let all: Vec<RouteChange> = (1..=120).map(|it| change(it, None, Some(it))).collect();
    let begun = rig.cloud.requests().len();
    // The host's passes: each change comes back with the reason for which it waits.
    let (mut waiting, mut passes) = (all.clone(), 0);
    while !waiting.is_empty() {
        passes += 1;
        assert!(passes <= 4, "{waiting:?}");
        let outcomes = rig.apply(&waiting).await;
        let each = waiting.into_iter().zip(outcomes);
        waiting = each
            .filter_map(|(change, outcome)| match outcome.unwrap() {
                RouteOutcome::Done => None,
                RouteOutcome::Pending { reason, .. } => Some(RouteChange { pending: Some(reason), ..change }),
            })
            .collect();
    }
    let writes = rig.writes_since(begun);
    assert_eq!(done(&writes, "vpc/CreateRouteEntries"), 3);
    assert_eq!(done(&writes, "ecs/ModifyNetworkInterfaceAttribute"), 120, "one an interface that checks");
    assert_eq!((writes.len(), rig.entries().len()), (123, 120));
    assert_eq!(rig.asked_since(begun).len() - writes.len(), 3, "the table behind, and all interfaces at once");
    let listed = rig.listed().await.unwrap();
    assert!(listed.iter().all(|it| (it.ownership, &it.state) == (RouteOwnership::Ours, &RouteState::Active)));
    let begun = rig.cloud.requests().len();
    assert_eq!(rig.apply(&all[..50]).await, vec![Ok(RouteOutcome::Done); 50]);
    assert_eq!(rig.writes_since(begun), [""; 0], "a route that stands is not written");
    rig.cloud.assert_valid();
}

/// Cases: alibaba 13
#[tokio::test]
async fn alibaba_013_an_interface_at_work_holds_up_no_other_route() {
    let rig = Rig::instant().await;
    let path = "/ecs/ModifyNetworkInterfaceAttribute";
    rig.cloud.inject(AlibabaCloud::busy("POST", path).times(1));
    let both = [change(1, None, Some(1)), change(2, None, Some(2))];
    let outcomes = rig.apply(&both).await;
    let held = outcomes.iter().filter(|it| waits(it, "carries out a change")).count();
    let made = outcomes.iter().filter(|it| waits(it, "the new entry")).count();
    assert_eq!((held, made, rig.entries().len()), (1, 1, 1), "{outcomes:?}");
    rig.apply(&both).await;
    assert_eq!(rig.apply(&both).await, [Ok(RouteOutcome::Done), Ok(RouteOutcome::Done)]);
    rig.cloud.ram().deny("ecs:ModifyNetworkInterfaceAttribute");
    let refused = rig.one(change(3, None, Some(3))).await;
    assert!(matches!(&refused, Err(Error::Denied(why)) if why.contains("ecs:ModifyNetworkInterfaceAttribute")));
    assert_eq!(rig.entries().len(), 2, "packets do not go where they would be dropped");
}

/// Cases: alibaba 35
#[tokio::test]
async fn alibaba_035_a_route_that_leads_elsewhere_goes_first() {
    let rig = Rig::start(Options::with(Behaviour::taking(Taking::Reads(1)))).await;
    rig.puts(1, 2, "");
    let moved = || change(1, Some(2), Some(1));
    assert!(waits(&rig.one(moved()).await, "go first"));
    assert_eq!(rig.entries(), [(destination(1), machine_id(2))], "the answer comes before its end");
    let mut steps = 0;
    while rig.one(moved()).await != Ok(RouteOutcome::Done) {
        steps += 1;
        assert!(steps < 6, "{:?}", rig.entries());
    }
    assert_eq!(rig.entries(), [(destination(1), machine_id(1))]);
    // Another writer led the route elsewhere meanwhile, to a machine that is alive.
    rig.puts(2, 3, "");
    let begun = rig.cloud.requests().len();
    for before in [Some(2), None] {
        let refused = rig.one(change(2, before, Some(1))).await;
        assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains(&machine_id(3))), "{refused:?}");
    }
    assert_eq!(rig.writes_since(begun), [""; 0]);
    rig.cloud.assert_valid();
}

/// Cases: alibaba 36
#[tokio::test]
async fn alibaba_036_a_refused_entry_stands_alone() {
    let rig = Rig::instant().await;
    let refusal = ("10.244.1.".to_owned(), "QuotaExceeded.RouteEntry".to_owned());
    rig.cloud.behave(|it| it.refused_routes.extend([refusal]));
    let outcomes = rig.apply(&[change(1, None, Some(1)), change(2, None, Some(1))]).await;
    let is_told = matches!(&outcomes[0], Err(Error::Invalid(why)) if why.contains("QuotaExceeded.RouteEntry"));
    assert!(is_told && waits(&outcomes[1], "the new entry"), "of the same machine: {outcomes:?}");
    rig.cloud.behave(|it| it.refused_routes.clear());
    // Another one is in the list only later: the creation meets it.
    rig.puts(1, 1, "");
    rig.puts(3, 3, "");
    let list = "/vpc/DescribeRouteEntryList";
    for (number, is_same) in [(1, true), (3, false)] {
        rig.cloud.inject(Fault::empty_list("POST", list).times(1));
        let outcome = rig.one(change(number, None, Some(1))).await;
        assert_eq!(outcome == Ok(RouteOutcome::Done), is_same, "{outcome:?}");
        assert_eq!(matches!(outcome, Err(Error::Invalid(_))), !is_same);
    }
    rig.cloud.assert_valid();
}

/// Cases: alibaba 36
#[tokio::test]
async fn alibaba_036_fifty_refused_entries_cost_sixteen_requests() {
    let rig = Rig::instant().await;
    rig.cloud.with(|world| (4..=50).for_each(|it| world.add_machine(it, &format!("web-{it}"))));
    rig.cloud.inject(Fault::status("POST", "/vpc/CreateRouteEntries", 400));
    let all: Vec<RouteChange> = (1..=50).map(|it| change(it, None, Some(it))).collect();
    let begun = rig.cloud.requests().len();
    let outcomes = rig.apply(&all).await;
    let told = outcomes.iter().filter(|it| matches!(it, Err(Error::Invalid(_)))).count();
    let left = outcomes.iter().filter(|it| waits(it, "fewer are sent together")).count();
    assert_eq!((told, left), (6, 44), "{outcomes:?}");
    let sent = rig.asked_since(begun).iter().filter(|it| it.contains("CreateRouteEntries")).count();
    assert_eq!(sent, 16);
}

/// Cases: alibaba 37
#[tokio::test]
async fn alibaba_037_a_route_is_gone_once_the_table_shows_it() {
    let rig = Rig::start(Options::with(Behaviour::taking(Taking::Reads(1)))).await;
    rig.puts(1, 1, "");
    rig.puts(2, 2, "");
    assert!(waits(&rig.one(change(1, Some(1), None)).await, "lets entry"));
    assert_eq!(rig.entries().len(), 2);
    // The table takes one change at a time.
    let other = rig.one(change(2, Some(2), None)).await;
    assert!(matches!(other, Ok(RouteOutcome::Pending { .. })), "{other:?}");
    let mut steps = 0;
    while rig.apply(&[change(1, Some(1), None), change(2, Some(2), None)]).await
        != [Ok(RouteOutcome::Done), Ok(RouteOutcome::Done)]
    {
        steps += 1;
        assert!(steps < 6, "{:?}", rig.entries());
    }
    assert_eq!(rig.entries(), []);
    rig.cloud.assert_valid();
}

/// Cases: alibaba 38
#[tokio::test]
async fn alibaba_038_two_route_tables_are_named() {
    let rig = Rig::instant().await;
    rig.cloud.with(|world| world.put_route_table(VPC, "vtb-2", "Custom"));
    let refused = rig.listed().await.unwrap_err().to_string();
    assert!(refused.contains("several route tables: vtb-1, vtb-2. Set routeTable"), "{refused}");
    let refused = rig.one(change(1, None, Some(1))).await.unwrap_err().to_string();
    assert!(refused.contains("vtb-1, vtb-2"), "{refused}");
    assert_eq!(rig.entries(), []);
    let rig = Rig::set(Options::instant(), &[("routeTable", ROUTE_TABLE)]).await;
    rig.cloud.with(|world| world.put_route_table(VPC, "vtb-2", "Custom"));
    assert!(waits(&rig.one(change(1, None, Some(1))).await, "the new entry"));
    rig.cloud.assert_valid();
}
