//! Routes, natively: what is asked of a network, and what becomes of it.

mod network;

use aerostat_sdk::testing::Host;
use aerostat_sdk::{
    Error, Node, PodNetwork, Result, Route, RouteChange, RouteOutcome, RouteOwnership, RouteTarget, Routes,
};
use serde_json::json;

use self::network::Network;
use crate::Gcp;

const ONE: &str = "10.244.1.0/24";
const HOP: &str = "projects/p1/zones/europe-west1-b/instances/node-1";
const OLD: &str = "projects/p1/zones/europe-west1-c/instances/node-0";

fn node(name: &str, zone: &str) -> Node {
    let mut node = Node::named(name).with_provider_id(format!("gce://p1/{zone}/{name}"));
    node.uid = Some(format!("uid-of-{name}"));
    node
}

fn target() -> RouteTarget {
    RouteTarget { next_hop: HOP.to_owned(), node: node("node-1", "europe-west1-b") }
}

fn addition() -> RouteChange {
    RouteChange { destination: ONE.to_owned(), before: None, after: Some(target()), extra: Vec::new() }
}

fn removal(name: &str, hop: &str) -> RouteChange {
    RouteChange { before: Some(Route::new(ONE, hop).id(name)), after: None, ..addition() }
}

fn apply(host: &Host, change: &RouteChange) -> Result<RouteOutcome> {
    host.run(|| Gcp::apply(std::slice::from_ref(change))).pop().unwrap()
}

/// The same change, after this answer.
fn after(change: &RouteChange, outcome: &RouteOutcome) -> RouteChange {
    let RouteOutcome::Pending(pause) = outcome else { panic!("{outcome:?}") };
    RouteChange { extra: vec![("pending".to_owned(), pause.reason.clone())], ..change.clone() }
}

/// Lines without their queries.
fn asked(host: &Host) -> Vec<String> {
    host.requests().iter().map(|it| it.split('?').next().unwrap().replace("network /global", "")).collect()
}

#[test]
fn gcp_047_routes_are_made_as_the_vendors() {
    let network = Network::default().shared();
    let host = network.host();
    let first = apply(&host, &addition()).unwrap();
    assert_eq!(asked(&host), ["GET /routes", "POST /routes"]);
    // As golden/gcp/manager/routes-create.json has it, with references from the project on.
    let body: serde_json::Value = serde_json::from_str(&host.bodies()[0]).unwrap();
    let vendors = json!({
        "description": "k8s-node-route", "destRange": ONE, "name": "kubernetes-uid-of-node-1",
        "network": "projects/p2/global/networks/default", "nextHopInstance": HOP, "priority": 1000,
    });
    assert_eq!(body, vendors);
    let second = apply(&host, &after(&addition(), &first)).unwrap();
    assert_eq!(second, first, "the operation goes on");
    network.finish();
    assert_eq!(apply(&host, &after(&addition(), &second)), Ok(RouteOutcome::Done));
    assert_eq!(network.writes(), 1);
    // Again, with nothing to do.
    assert_eq!(apply(&host, &addition()), Ok(RouteOutcome::Done));
    assert_eq!(network.writes(), 1);
}

#[test]
fn old_routes_go_while_new_ones_come() {
    let network = Network::default().with("kubernetes-uid-of-node-0", ONE, OLD).shared();
    let host = network.host();
    let before = Some(Route::new(ONE, OLD).id("kubernetes-uid-of-node-0"));
    let change = RouteChange { before, ..addition() };
    let first = apply(&host, &change).unwrap();
    assert_eq!(asked(&host), ["GET /routes", "DELETE /routes/kubernetes-uid-of-node-0", "POST /routes"]);
    network.finish();
    assert_eq!(apply(&host, &after(&change, &first)), Ok(RouteOutcome::Done));
    assert_eq!(network.names(), ["kubernetes-uid-of-node-1"]);
}

#[test]
fn routes_whose_name_is_needed_go_first() {
    let network = Network::default().with("kubernetes-uid-of-node-1", ONE, OLD).shared();
    let host = network.host();
    let change = RouteChange { before: Some(Route::new(ONE, OLD)), ..addition() };
    let mut outcome = apply(&host, &change).unwrap();
    assert_eq!(network.writes(), 1);
    network.finish();
    outcome = apply(&host, &after(&change, &outcome)).unwrap();
    network.finish();
    assert_eq!(apply(&host, &after(&change, &outcome)), Ok(RouteOutcome::Done));
    assert_eq!((network.names(), network.writes()), (vec!["kubernetes-uid-of-node-1".to_owned()], 2));
}

#[test]
fn failed_operations_are_told() {
    let network = Network::default().shared();
    let host = network.host();
    let first = apply(&host, &addition()).unwrap();
    network.fail("QUOTA_EXCEEDED", "Quota 'ROUTES' exceeded. Limit: 250.0 globally.");
    let error = apply(&host, &after(&addition(), &first)).unwrap_err();
    assert!(error.is_quota() && error.why().contains("Quota 'ROUTES' exceeded"), "{error:?}");
}

#[test]
fn failed_operations_of_several_changes_are_listed() {
    let network = Network::default().shared();
    let host = network.host();
    let change = |number: usize| {
        let name = format!("node-{number}");
        let next_hop = format!("projects/p1/zones/europe-west1-b/instances/{name}");
        let target = RouteTarget { next_hop, node: node(&name, "europe-west1-b") };
        RouteChange { destination: format!("10.244.{number}.0/24"), after: Some(target), ..addition() }
    };
    let changes: Vec<RouteChange> = (1..=3).map(change).collect();
    let begun = host.run(|| Gcp::apply(&changes));
    let waiting: Vec<_> = changes.iter().zip(&begun).map(|(change, it)| after(change, it.as_ref().unwrap())).collect();
    network.fail("QUOTA_EXCEEDED", "Quota 'ROUTES' exceeded. Limit: 250.0 globally.");
    let asked_before = host.requests().len();
    let answers = host.run(|| Gcp::apply(&waiting));
    assert!(answers.iter().all(|it| it.as_ref().is_err_and(Error::is_quota)), "{answers:?}");
    assert_eq!(asked(&host)[asked_before..], ["GET /routes", "GET /operations"], "one list tells of all");

    network.hide_operations();
    let answers = host.run(|| Gcp::apply(&waiting));
    assert!(answers.iter().all(|it| it.as_ref().is_err_and(Error::is_quota)), "each is read: {answers:?}");
}

#[test]
fn lost_operations_are_followed_by_reading() {
    let network = Network::default().shared();
    let host = network.host();
    let first = apply(&host, &addition()).unwrap();
    network.forget();
    // The route is not there, and nobody knows of the operation: it is made again.
    let second = apply(&host, &after(&addition(), &first)).unwrap();
    assert!(matches!(second, RouteOutcome::Pending(_)) && network.writes() == 2);
    network.finish();
    assert_eq!(apply(&host, &after(&addition(), &second)), Ok(RouteOutcome::Done));
}

#[test]
fn gcp_048_names_that_are_taken_are_read() {
    let hidden = |hop: &str, destination: &str| {
        let network = Network::default().with("kubernetes-uid-of-node-1", destination, hop).unlisted().shared();
        let outcome = apply(&network.host(), &addition());
        (outcome, network.writes())
    };
    assert_eq!(hidden(HOP, ONE), (Ok(RouteOutcome::Done), 1));
    let (other, _) = hidden(HOP, "10.244.9.0/24");
    assert!(matches!(&other, Err(Error::Invalid(why)) if why.contains("10.244.9.0/24")), "{other:?}");
}

#[test]
fn routes_of_others_are_not_touched() {
    let foreign = Network::default().with("by-hand", ONE, HOP).shared();
    let refused = apply(&foreign.host(), &addition());
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("by-hand")), "{refused:?}");
    let refused = apply(&foreign.host(), &removal("by-hand", HOP));
    assert!(matches!(refused, Err(Error::Invalid(_))));
    assert_eq!(foreign.writes(), 0);
    let page = foreign.host().run(|| Gcp::list(None, 500)).unwrap();
    assert_eq!(page.routes[0].ownership, RouteOwnership::Foreign);
}

#[test]
fn gcp_049_routes_of_cluster_and_network_are_listed() {
    let network = Network::default()
        .with("kubernetes-a", ONE, HOP)
        .with("other-b", "10.244.2.0/24", HOP)
        .of_network("shared", "kubernetes-c", "10.244.3.0/24", HOP)
        .shared();
    let host = network.host();
    let page = host.run(|| Gcp::list(None, 1)).unwrap();
    assert_eq!((page.routes.len(), page.next.as_deref()), (1, Some("1")));
    let page = host.run(|| Gcp::list(None, 500)).unwrap();
    let shown: Vec<_> = page.routes.iter().map(|it| (&*it.id, it.ownership, it.next_hop.as_deref())).collect();
    let expected =
        [("kubernetes-a", RouteOwnership::Unmarked, Some(HOP)), ("other-b", RouteOwnership::Foreign, Some(HOP))];
    assert_eq!((shown, page.next, page.incomplete), (expected.to_vec(), None, None));
}

#[test]
fn gcp_050_deletions_of_what_is_gone_are_done() {
    let network = Network::default().shared();
    assert_eq!(apply(&network.host(), &removal("kubernetes-x", HOP)), Ok(RouteOutcome::Done));
    assert_eq!(network.writes(), 0);
    let network = Network::default().with("kubernetes-x", ONE, HOP).shared();
    let host = network.host();
    let outcome = apply(&host, &removal("kubernetes-x", HOP)).unwrap();
    network.finish();
    assert_eq!(apply(&host, &after(&removal("kubernetes-x", HOP), &outcome)), Ok(RouteOutcome::Done));
    assert!(network.names().is_empty());
}

#[test]
fn gcp_051_too_many_requests_stop_the_rest_of_a_call() {
    let network = Network::default().refusing(403, "rateLimitExceeded").shared();
    let changes: Vec<RouteChange> =
        (0..20).map(|it| RouteChange { destination: format!("10.244.{it}.0/24"), ..addition() }).collect();
    let answers = network.host().run(|| Gcp::apply(&changes));
    assert!(answers.iter().all(|it| matches!(it, Err(Error::RetryAfter(_)))), "{answers:?}");
    assert_eq!(network.writes(), 1);
}

#[test]
fn gcp_052_next_hops_are_instances_and_cost_nothing() {
    let ask = |node: Node| {
        let host = crate::tests::settings();
        (host.run(|| Gcp::next_hop(&PodNetwork { destination: ONE.to_owned(), node })), host.events().len())
    };
    assert_eq!(ask(node("node-1", "europe-west1-b")), (Ok(HOP.to_owned()), 0));
    let mut closed = node("node-1", "europe-west1-b");
    closed.extra.push(("noIpForward".to_owned(), "true".to_owned()));
    assert_eq!(ask(closed), (Ok(HOP.to_owned()), 1));
    assert!(matches!(ask(Node::named("node-1")).0, Err(Error::Invalid(_))));
    assert!(matches!(ask(Node::named("n").with_provider_id("gce://p2/z/n")).0, Err(Error::Invalid(_))));
}
