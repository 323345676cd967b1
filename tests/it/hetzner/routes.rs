//! Routes: cases 43 to 50.

use std::sync::Arc;

use cloud_provider::{
    Error, PodNetwork, Result, Route, RouteChange, RouteOutcome, RouteOwnership, RouteState, RouteTarget, Routes,
};
use tests::clouds::hetzner::{Fault, Network, Route as Live, Taking};

use crate::services::worker;
use crate::setup::{NETWORK, Rig, node, warning};

const IN_NETWORK: [(&str, &str); 1] = [("network", "4711")];
const DESTINATION: &str = "10.244.1.0/24";

async fn rig(routes: &[(&str, &str)]) -> (Rig, Arc<dyn Routes>) {
    let rig = Rig::new(&IN_NETWORK).await;
    let network = routes.iter().fold(Network::new(NETWORK, "net"), |it, (to, via)| it.route(to, via));
    rig.cloud.networks().insert(network);
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
    }
}

async fn apply(routes: &Arc<dyn Routes>, changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
    let reply = routes.apply(changes).await;
    assert_eq!(reply.events, []);
    reply.answer
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
async fn hcloud_44_a_route_that_is_there_is_not_written() {
    let (rig, routes) = rig(&[(DESTINATION, "10.0.0.2")]).await;
    assert_eq!(apply(&routes, &[change(DESTINATION, None, Some("10.0.0.2"))]).await, [Ok(RouteOutcome::Done)]);
    assert_eq!(rig.writes(), [""; 0]);
}

#[tokio::test]
async fn hcloud_45_another_gateway_is_deleted_and_added() {
    let (rig, routes) = rig(&[(DESTINATION, "10.0.0.3")]).await;
    let moved = change(DESTINATION, Some("10.0.0.3"), Some("10.0.0.2"));
    assert_eq!(apply(&routes, std::slice::from_ref(&moved)).await, [Ok(RouteOutcome::Done)]);
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
        assert_eq!(apply(&routes, &added).await, [Ok(RouteOutcome::Done)]);
    }
}

#[tokio::test]
async fn hcloud_49_a_destination_outside_the_cluster_is_said_and_made() {
    let (rig, routes) = rig(&[]).await;
    let reply = routes.apply(&[change("10.99.1.0/24", None, Some("10.0.0.2"))]).await;
    assert_eq!(reply.answer, [Ok(RouteOutcome::Done)]);
    assert_eq!(warning(&reply.events).0, "ClusterCIDRMisconfigured");
    assert_eq!(rig.cloud.networks().routes(NETWORK).len(), 1);
}

#[tokio::test]
async fn hcloud_50_one_change_is_made_and_the_others_wait() {
    let (rig, routes) = rig(&[]).await;
    rig.cloud.behave(|it| it.actions = Taking::Reads(2));
    let two = [change(DESTINATION, None, Some("10.0.0.2")), change("10.244.2.0/24", None, Some("10.0.0.3"))];
    assert!(apply(&routes, &two).await.iter().all(is_pending));
    let polls = rig.requests().iter().filter(|it| it.starts_with("GET /v1/actions?id=")).count();
    assert_eq!((rig.writes().len(), polls), (1, 1), "the network is locked");
    for _ in 0..10 {
        if apply(&routes, &two).await.iter().all(|it| *it == Ok(RouteOutcome::Done)) {
            assert_eq!(rig.cloud.networks().routes(NETWORK).len(), 2);
            return;
        }
    }
    panic!("it does not end: {:?}", rig.requests());
}

#[tokio::test]
async fn a_full_network_says_so() {
    let (rig, routes) = rig(&[]).await;
    rig.cloud.behave(|it| it.routes = 0);
    let refused = apply(&routes, &[change(DESTINATION, None, Some("10.0.0.2"))]).await;
    assert!(matches!(&refused[0], Err(Error::Invalid(why)) if why.contains("takes no more routes")), "{refused:?}");
}
