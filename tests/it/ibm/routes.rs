//! Routes, through wasm, gate and token: an entry of the VPC's routing table in each zone.

use cloud_provider::{
    Error, PodNetwork, Result, Route, RouteChange, RouteOutcome, RouteOwnership, RouteState, RouteTarget,
};
use serde_json::json;
use tests::clouds::ibm::{Behaviour, Options, Taking, VPC, VpcKind, machine_address};
use tests::vendor::{IbmCloud, Vendor as _};

use crate::setup::{Rig, worker};

fn destination(number: u8) -> String {
    format!("10.244.{number}.0/24")
}

/// The change of a pod network's route from one machine to another.
fn change(number: u8, before: Option<u8>, after: Option<u8>) -> RouteChange {
    let hop = |machine: u8| machine_address(machine.into());
    let before = before.map(|machine| Route {
        destination: destination(number),
        next_hop: Some(hop(machine)),
        ownership: RouteOwnership::Ours,
        state: RouteState::Active,
        id: destination(number),
        extra: Vec::new(),
    });
    let after = after.map(|machine| RouteTarget { next_hop: hop(machine), node: worker(machine) });
    RouteChange { destination: destination(number), before, after, pending: None }
}

impl Rig {
    async fn apply(&self, changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
        self.abilities.routes.as_ref().unwrap().apply(changes).await.answer
    }

    async fn routes(&self) -> Vec<Route> {
        let routes = self.abilities.routes.as_ref().unwrap();
        let mut all = routes.list(None, 500).await.answer.unwrap().routes;
        all.sort_by(|one, other| one.destination.cmp(&other.destination));
        all
    }
}

/// Cases: ibm 42
#[tokio::test]
async fn ibm_042_ten_nodes_in_three_zones_have_thirty_entries() {
    let rig = Rig::instant().await;
    rig.cloud.with(|world| (4..=10).for_each(|it| _ = world.add_machine(it, &format!("web-{it}"))));
    let routes = rig.abilities.routes.clone().unwrap();
    assert_eq!(routes.description().entries_per_route, 3);
    let network = PodNetwork { destination: destination(1), node: worker(1) };
    assert_eq!(routes.next_hops(&[network]).await.answer, [Ok(machine_address(1))]);

    let changes: Vec<RouteChange> = (1..=10).map(|it| change(it, None, Some(it))).collect();
    assert_eq!(rig.apply(&changes).await, vec![Ok(RouteOutcome::Done); 10]);
    let entries = rig.cloud.account().all(VpcKind::Route);
    assert_eq!(entries.len(), 30);
    assert!(entries.iter().all(|it| it["name"].as_str().unwrap().starts_with("k8s-")), "{entries:#?}");
    let lets_through = rig.cloud.account().all(VpcKind::Instance);
    assert!(lets_through.iter().all(|it| it["allow_ip_spoofing"] == json!(true)), "{lets_through:#?}");
    let listed = rig.routes().await;
    assert_eq!(listed.len(), 10);
    assert!(listed.iter().all(|it| (it.ownership, &it.state) == (RouteOwnership::Ours, &RouteState::Active)));

    // The network of a node's pods goes to another one: its entries are led elsewhere where they are.
    let begun = rig.cloud.requests().len();
    assert_eq!(rig.apply(&[change(1, Some(1), Some(2))]).await, [Ok(RouteOutcome::Done)]);
    let writes = rig.writes_since(begun);
    let led = writes.iter().filter(|it| it.starts_with("PATCH /vpcs/")).count();
    assert_eq!((led, writes.len()), (3, 4), "{writes:#?}");
    let begun = rig.cloud.requests().len();
    assert_eq!(rig.apply(&[change(1, Some(1), Some(2))]).await, [Ok(RouteOutcome::Done)]);
    assert_eq!(rig.writes_since(begun), [""; 0]);
    assert!(matches!(rig.apply(&[change(1, Some(2), None)]).await[..], [Ok(RouteOutcome::Pending { .. })]));
    assert_eq!(rig.apply(&[change(1, Some(2), None)]).await, [Ok(RouteOutcome::Done)]);
    assert_eq!(rig.cloud.account().all(VpcKind::Route).len(), 27);
    rig.cloud.assert_valid();
}

/// Cases: ibm 42
#[tokio::test]
async fn ibm_042_a_route_is_gone_once_the_table_does_not_show_it() {
    let slow = Behaviour { route_deletion: Taking::Forever, ..Behaviour::instant() };
    let rig = Rig::start(Options::with(slow)).await;
    assert_eq!(rig.apply(&[change(1, None, Some(1))]).await, [Ok(RouteOutcome::Done)]);
    let begun = rig.cloud.requests().len();
    for _ in 0..3 {
        assert!(matches!(rig.apply(&[change(1, Some(1), None)]).await[..], [Ok(RouteOutcome::Pending { .. })]));
    }
    assert_eq!(rig.writes_since(begun).len(), 3, "each entry is deleted once");
    assert_eq!(rig.routes().await[0].state, RouteState::Changing);
    for entry in rig.cloud.account().all(VpcKind::Route) {
        rig.cloud.with(|world| world.remove(entry["id"].as_str().unwrap()));
    }
    assert_eq!(rig.apply(&[change(1, Some(1), None)]).await, [Ok(RouteOutcome::Done)]);
    rig.cloud.assert_valid();
}

/// Cases: ibm 32
#[tokio::test]
async fn a_busy_table_is_asked_once_in_a_call() {
    let rig = Rig::instant().await;
    let table = "/v1/vpcs/*/routing_tables/*/routes";
    rig.cloud.inject(IbmCloud::busy("POST", table).times(1));
    let changes: Vec<RouteChange> = (1..=3).map(|it| change(it, None, Some(it))).collect();
    let answers = rig.apply(&changes).await;
    assert!(answers.iter().all(|it| matches!(it, Ok(RouteOutcome::Pending { .. }))), "{answers:?}");
    assert_eq!((rig.cloud.requests_to("POST", table).len(), rig.cloud.requests_to("GET", table).len()), (1, 1));
    assert_eq!(rig.apply(&changes).await, vec![Ok(RouteOutcome::Done); 3]);
}

/// Cases: ibm 32
#[tokio::test]
async fn a_machine_that_is_changing_gets_its_route_later() {
    let rig = Rig::instant().await;
    rig.cloud.inject(IbmCloud::busy("PATCH", "/v1/instances/*/network_interfaces/*").times(1));
    let changes = [change(1, None, Some(1)), change(2, None, Some(2))];
    let answers = rig.apply(&changes).await;
    assert!(matches!(answers[..], [Ok(RouteOutcome::Pending { .. }), Ok(RouteOutcome::Done)]), "{answers:?}");
    assert_eq!(
        rig.cloud.account().all(VpcKind::Route).len(),
        3,
        "no route leads to a machine that lets nothing through"
    );
    assert_eq!(rig.apply(&changes).await, vec![Ok(RouteOutcome::Done); 2]);
    assert_eq!(rig.cloud.account().all(VpcKind::Route).len(), 6);
    rig.cloud.assert_valid();
}

#[tokio::test]
async fn an_address_of_another_machine_gets_no_route() {
    let rig = Rig::instant().await;
    let mut stolen = change(1, None, Some(1));
    if let Some(target) = &mut stolen.after {
        target.next_hop = machine_address(2);
    }
    let answers = rig.apply(&[stolen]).await;
    assert!(
        matches!(&answers[..], [Err(Error::Invalid(why))] if why.contains("is not the address of instance")),
        "{answers:?}"
    );
    assert!(rig.cloud.account().all(VpcKind::Route).is_empty());
}

/// Cases: ibm 42
#[tokio::test]
async fn ibm_042_a_route_that_drops_packets_is_not_touched() {
    let rig = Rig::instant().await;
    rig.cloud.with(|world| world.add_route(VPC, "somebodys", &destination(1), "drop"));
    let before = rig.cloud.account().all(VpcKind::Route);
    let listed = rig.routes().await;
    assert_eq!((listed.len(), listed[0].ownership), (1, RouteOwnership::Foreign));
    let answers = rig.apply(&[change(1, None, Some(1)), change(2, None, Some(2))]).await;
    assert!(matches!(&answers[0], Err(Error::Invalid(_))), "{answers:?}");
    assert_eq!(answers[1], Ok(RouteOutcome::Done));
    let after = rig.cloud.account().all(VpcKind::Route);
    assert_eq!((&after[..1], after.len()), (&before[..], 4));
    rig.cloud.assert_valid();
}

#[tokio::test]
async fn a_route_that_a_full_table_cut_is_partial_and_made_whole() {
    let rig = Rig::instant().await;
    rig.cloud.behave(|it| _ = it.quotas.insert(VpcKind::Route, 2));
    let answers = rig.apply(&[change(1, None, Some(1))]).await;
    assert!(matches!(&answers[0], Err(Error::Invalid(why)) if why.contains("takes no more entries")), "{answers:?}");
    assert_eq!(rig.routes().await[0].state, RouteState::Partial);
    rig.cloud.behave(|it| _ = it.quotas.remove(&VpcKind::Route));
    assert_eq!(rig.apply(&[change(1, Some(1), Some(1))]).await, [Ok(RouteOutcome::Done)]);
    assert_eq!(rig.routes().await[0].state, RouteState::Active);
    assert_eq!(rig.cloud.account().all(VpcKind::Route).len(), 3);
    rig.cloud.assert_valid();
}
