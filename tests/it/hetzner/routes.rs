//! Routes: cases 43 to 50.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{
    Error, PodNetwork, Result, Route, RouteChange, RouteOutcome, RouteOwnership, RouteState, RouteTarget, Routes,
};
use tests::clouds::hetzner::{Fault, Network, Route as Live, Taking};

use crate::setup::{self, NETWORK, Rig, node, warning, worker};

const IN_NETWORK: [(&str, &str); 1] = [("network", "4711")];
const DESTINATION: &str = "10.244.1.0/24";

async fn rig(routes: &[(&str, &str)]) -> (Rig, Arc<dyn Routes>) {
    with_routes(setup::rig(&IN_NETWORK).await, routes)
}

/// Reads are answered by what was read before.
async fn remembering_rig(routes: &[(&str, &str)]) -> (Rig, Arc<dyn Routes>) {
    with_routes(setup::with_long_memory(&IN_NETWORK).await, routes)
}

fn with_routes(rig: Rig, routes: &[(&str, &str)]) -> (Rig, Arc<dyn Routes>) {
    let network = routes.iter().fold(Network::new(NETWORK, "net"), |it, (to, via)| it.route(to, via));
    rig.cloud.networks().insert(network);
    // One call comes right after the other.
    rig.cloud.behave(|it| it.actions = Taking::Time(Duration::ZERO));
    let routes = rig.abilities.routes.clone().unwrap();
    (rig, routes)
}

fn route(destination: &str, hop: &str) -> Route {
    Route {
        destination: destination.to_owned(),
        next_hop: Some(hop.to_owned()),
        ownership: RouteOwnership::Unmarked,
        state: RouteState::Active,
        id: destination.to_owned(),
        extra: Vec::new(),
    }
}

fn change(destination: &str, before: Option<&str>, after: Option<&str>) -> RouteChange {
    RouteChange {
        destination: destination.to_owned(),
        before: before.map(|it| route(destination, it)),
        after: after.map(|it| RouteTarget { next_hop: it.to_owned(), node: worker(1) }),
        pending: None,
    }
}

async fn apply(routes: &Arc<dyn Routes>, changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
    let reply = routes.apply(changes).await;
    assert_eq!(reply.events, []);
    reply.answer
}

/// Applies changes until none is pending, as the controller does. Returns each call's answers.
async fn apply_all(routes: &Arc<dyn Routes>, changes: &[RouteChange]) -> Vec<Vec<Result<RouteOutcome>>> {
    let (mut changes, mut calls) = (changes.to_vec(), Vec::new());
    while calls.len() < 20 {
        let answers = apply(routes, &changes).await;
        for (change, answer) in changes.iter_mut().zip(&answers) {
            change.pending =
                if let Ok(RouteOutcome::Pending { reason, .. }) = answer { Some(reason.clone()) } else { None };
        }
        calls.push(answers);
        if !calls.iter().last().is_some_and(|it| it.iter().any(is_pending)) {
            return calls;
        }
    }
    panic!("it does not end: {calls:?}");
}

fn is_pending(outcome: &Result<RouteOutcome>) -> bool {
    matches!(outcome, Ok(RouteOutcome::Pending { .. }))
}

#[tokio::test]
async fn hcloud_43_a_gateway_that_no_server_has_is_a_blackhole() {
    let (_rig, routes) = rig(&[(DESTINATION, "10.0.0.2"), ("10.244.2.0/24", "10.0.0.99")]).await;
    let page = routes.list(None, 100).await.answer.unwrap();
    let states: Vec<_> = page.routes.iter().map(|it| (it.destination.as_str(), it.state.clone())).collect();
    assert_eq!(states, [(DESTINATION, RouteState::Active), ("10.244.2.0/24", RouteState::Blackhole)]);
}

#[tokio::test]
async fn hcloud_45_another_gateway_is_deleted_and_added() {
    let (rig, routes) = rig(&[(DESTINATION, "10.0.0.3")]).await;
    let moved = change(DESTINATION, Some("10.0.0.3"), Some("10.0.0.2"));
    let calls = apply_all(&routes, std::slice::from_ref(&moved)).await;
    assert_eq!(calls.last().unwrap(), &[Ok(RouteOutcome::Done)]);
    assert_eq!(rig.cloud.networks().routes(NETWORK), [Live::new(DESTINATION, "10.0.0.2")]);
    let writes = rig.writes();
    assert!(writes[0].ends_with("/delete_route → 201") && writes[1].ends_with("/add_route → 201"), "{writes:?}");
    let refused = apply(&routes, &[change(DESTINATION, Some("10.0.0.9"), Some("10.0.0.3"))]).await;
    assert!(matches!(refused[0], Err(Error::Invalid(_))), "it is not the one before: {refused:?}");
}

#[tokio::test]
async fn hcloud_46_ipv6_asks_nobody() {
    let (rig, routes) = rig(&[]).await;
    let refused = apply(&routes, &[change("fd00:1::/64", None, Some("10.0.0.2"))]).await;
    assert!(matches!(refused[0], Err(Error::Invalid(_))), "{refused:?}");
    let network = PodNetwork { destination: "fd00:1::/64".to_owned(), node: worker(1) };
    assert!(matches!(routes.next_hops(&[network]).await.answer[0], Err(Error::Invalid(_))));
    assert_eq!(rig.requests(), [""; 0]);
}

#[tokio::test]
async fn hcloud_47_a_server_outside_the_network_has_no_route() {
    let (rig, routes) = rig(&[]).await;
    rig.cloud.servers().insert(tests::clouds::hetzner::Server::new(9, "outside"));
    let of = |node| PodNetwork { destination: DESTINATION.to_owned(), node };
    let networks = [of(worker(1)), of(node("web-2", "hcloud://2")), of(node("outside", "hcloud://9"))];
    let hops = routes.next_hops(&networks).await.answer;
    assert_eq!(hops[..2], [Ok("10.0.0.2".to_owned()), Ok("10.0.0.3".to_owned())]);
    assert!(matches!(&hops[2], Err(Error::Invalid(why)) if why.contains("not attached")), "{hops:?}");
}

#[tokio::test]
async fn hcloud_48_a_busy_network_is_waited_for() {
    for status in [409, 423] {
        let (rig, routes) = rig(&[]).await;
        rig.cloud.inject(Fault::status("POST", "/v1/networks/*/actions/add_route", status).times(1));
        let added = [change(DESTINATION, None, Some("10.0.0.2"))];
        assert!(is_pending(&apply(&routes, &added).await[0]), "{status}");
        assert!(rig.cloud.networks().routes(NETWORK).is_empty());
        assert_eq!(apply_all(&routes, &added).await.last().unwrap(), &[Ok(RouteOutcome::Done)]);
    }
}

#[tokio::test]
async fn hcloud_49_a_destination_outside_the_cluster_is_said_and_made() {
    let (rig, routes) = rig(&[]).await;
    let reply = routes.apply(&[change("10.99.1.0/24", None, Some("10.0.0.2"))]).await;
    assert!(is_pending(&reply.answer[0]), "it is sent");
    assert_eq!(warning(&reply.events).0, "ClusterCIDRMisconfigured");
    assert_eq!(rig.cloud.networks().routes(NETWORK).len(), 1);
}

#[tokio::test]
async fn hcloud_50_one_change_is_made_and_the_others_wait() {
    let (rig, routes) = rig(&[]).await;
    rig.cloud.behave(|it| it.actions = Taking::Reads(3));
    let two = [change(DESTINATION, None, Some("10.0.0.2")), change("10.244.2.0/24", None, Some("10.0.0.3"))];
    let calls = apply_all(&routes, &two).await;
    assert_eq!(rig.cloud.networks().routes(NETWORK).len(), 2);
    // A call reads the network and the action: three reads of each action say that it runs.
    let done = |it: &Vec<Result<RouteOutcome>>| it.iter().filter(|it| **it == Ok(RouteOutcome::Done)).count();
    assert_eq!(calls.iter().map(done).collect::<Vec<_>>(), [0, 0, 1, 1, 2]);
    let writes = rig.writes();
    assert!(writes.iter().all(|it| it.ends_with("/add_route → 201")), "none is sent too early: {writes:?}");
    assert_eq!(writes.len(), 2);
    let polls = rig.requests().iter().filter(|it| it.starts_with("GET /v1/actions?id=")).count();
    assert_eq!(polls, 4, "what the network does not show yet is asked about: {:?}", rig.requests());
}

#[tokio::test]
async fn each_route_costs_two_requests() {
    let (rig, routes) = remembering_rig(&[]).await;
    let many: Vec<_> = (0..15).map(|it| change(&format!("10.244.{it}.0/24"), None, Some("10.0.0.2"))).collect();
    let calls = apply_all(&routes, &many).await;
    assert_eq!(rig.cloud.networks().routes(NETWORK).len(), 15);
    // Each call reads the network and sends a change, but for the last, which only reads.
    assert_eq!((calls.len(), rig.requests().len()), (16, 31), "{:?}", rig.requests());
}

#[tokio::test]
async fn a_change_that_the_cloud_gives_up_is_an_error() {
    let (rig, routes) = rig(&[]).await;
    rig.cloud.behave(|it| it.failing = Some("add_route"));
    let two = [change(DESTINATION, None, Some("10.0.0.2")), change("10.244.2.0/24", None, Some("10.0.0.3"))];
    let calls = apply_all(&routes, &two).await;
    assert!(calls.iter().flatten().all(|it| *it != Ok(RouteOutcome::Done)));
    let failed = |it: &Result<RouteOutcome>| matches!(it, Err(Error::Unavailable(why)) if why.contains("has failed"));
    assert!(calls.iter().any(|it| failed(&it[0])) && calls.iter().any(|it| failed(&it[1])), "{calls:?}");
}

#[tokio::test]
async fn a_running_action_is_asked_about_again_and_again() {
    let (rig, routes) = remembering_rig(&[]).await;
    rig.cloud.behave(|it| it.actions = Taking::Forever);
    let mut added = [change(DESTINATION, None, Some("10.0.0.2"))];
    for _ in 0..4 {
        let answers = apply(&routes, &added).await;
        let [Ok(RouteOutcome::Pending { reason, .. })] = &answers[..] else { panic!("{answers:?}") };
        added[0].pending = Some(reason.clone());
    }
    let asked = |path: &str| rig.requests().iter().filter(|it| it.starts_with(path)).count();
    assert_eq!((rig.writes().len(), asked("GET /v1/networks/"), asked("GET /v1/actions?id=")), (1, 4, 3));
}

#[tokio::test]
async fn a_list_after_one_of_machines_asks_for_the_network_alone() {
    let (rig, routes) = remembering_rig(&[(DESTINATION, "10.0.0.2"), ("10.244.2.0/24", "10.0.0.99")]).await;
    let machines = rig.abilities.instances.clone().unwrap().list(None, 500).await.answer.unwrap();
    assert_eq!(machines.instances.len(), 2);
    let before = rig.requests().len();
    let page = routes.list(None, 100).await.answer.unwrap();
    assert_eq!(page.routes.iter().filter(|it| it.state == RouteState::Blackhole).count(), 1);
    assert_eq!(rig.requests()[before..], [format!("GET /v1/networks/{NETWORK} → 200")]);
}

/// Cases: bad-routes
#[tokio::test]
async fn bad_input_network_at_its_limit_of_routes() {
    let (rig, routes) = rig(&[]).await;
    rig.cloud.behave(|it| it.routes = 0);
    let refused = apply(&routes, &[change(DESTINATION, None, Some("10.0.0.2"))]).await;
    assert!(matches!(&refused[0], Err(Error::Invalid(why)) if why.contains("takes no more routes")), "{refused:?}");
}

/// Cases: bad-routes
#[tokio::test]
async fn bad_input_network_that_does_not_exist() {
    let (rig, routes) = rig(&[(DESTINATION, "10.0.0.2")]).await;
    rig.cloud.networks().remove(NETWORK);
    let denied = |error: &Error| matches!(error, Error::Denied(why) if why.contains("has no network 4711"));
    let listed = routes.list(None, 100).await.answer.unwrap_err();
    assert!(denied(&listed), "{listed}");
    let changes = [change(DESTINATION, Some("10.0.0.2"), None), change("10.244.2.0/24", None, Some("10.0.0.3"))];
    let refused = apply(&routes, &changes).await;
    assert!(refused.iter().all(|it| it.as_ref().is_err_and(denied)), "{refused:?}");
    assert_eq!(rig.writes(), [""; 0]);
}
