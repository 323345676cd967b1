//! Routes before a resource manager in memory.

use aerostat_sdk::testing::Host;
use aerostat_sdk::{
    Address, Error, Node, PodNetwork, Result, Route, RouteChange, RouteOutcome, RouteOwnership, RouteTarget, Routes,
};
use serde_json::{Value, json};

use crate::Azure;
use crate::tests::{FakeArm, host, rg};

const TABLE: &str = "Microsoft.Network/routeTables/rt1";

fn node(name: &str, ip: &str) -> Node {
    Node { addresses: vec![Address::internal_ip(ip)], ..Node::named(name) }
}

fn to(destination: &str, name: &str, ip: &str) -> RouteChange {
    let after = RouteTarget { next_hop: ip.to_owned(), node: node(name, ip) };
    RouteChange { destination: destination.to_owned(), before: None, after: Some(after), extra: Vec::new() }
}

fn gone(route: &Route) -> RouteChange {
    RouteChange { destination: route.destination.clone(), before: Some(route.clone()), after: None, extra: Vec::new() }
}

fn entry(name: &str, destination: &str, hop: &str) -> Value {
    let kind = if hop.is_empty() { "VnetLocal" } else { "VirtualAppliance" };
    json!({ "name": name, "properties": { "addressPrefix": destination, "nextHopType": kind, "nextHopIpAddress": hop } })
}

/// A cloud whose table has these routes.
fn cloud(routes: &[Value]) -> FakeArm {
    let mut cloud = FakeArm::default();
    cloud.put(&rg(TABLE), json!({ "location": "westeurope", "tags": { "a": "b" }, "properties": { "disableBgpRoutePropagation": true, "routes": routes } }));
    cloud
}

fn apply(host: &Host, changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
    host.run(|| Azure::apply(changes))
}

fn names(cloud: &FakeArm) -> Vec<String> {
    let routes = cloud.get(TABLE).unwrap()["properties"]["routes"].as_array().unwrap();
    routes.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

fn writes(host: &Host) -> usize {
    host.requests().iter().filter(|it| it.starts_with("PUT")).count()
}

#[test]
fn routes_that_are_refused_hold_up_no_others() {
    let (host, cloud) = host(cloud(&[]));
    // All three, and then the first alone.
    cloud.borrow_mut().refusals = vec![("PUT /".to_owned(), 400, "InvalidRequestFormat", 2)];
    let changes =
        [1, 2, 3].map(|it| to(&format!("10.244.{it}.0/24"), &format!("node-{it}"), &format!("10.240.0.{it}")));
    let answers = apply(&host, &changes);
    let done = RouteOutcome::Done;
    assert!(
        matches!(&answers[..], [Err(Error::Invalid(_)), Ok(two), Ok(three)] if *two == done && *three == done),
        "{answers:?}"
    );
    assert_eq!((names(&cloud.borrow()).len(), writes(&host)), (2, 3));
}

#[test]
fn fifty_refused_routes_are_found_call_by_call() {
    let (host, cloud) = host(cloud(&[]));
    cloud.borrow_mut().refusals = vec![("PUT /".to_owned(), 400, "InvalidRequestFormat", 1_000)];
    let changes: Vec<_> =
        (0..50).map(|it| to(&format!("10.244.{it}.0/24"), &format!("node-{it}"), &format!("10.240.0.{it}"))).collect();
    let answers = apply(&host, &changes);
    let is_refused = |it: &Result<RouteOutcome>| matches!(it, Err(Error::Invalid(_)));
    let waits = |it: &Result<RouteOutcome>| matches!(it, Ok(RouteOutcome::Pending(_)));
    let count = |is: &dyn Fn(&Result<RouteOutcome>) -> bool| answers.iter().filter(|it| is(it)).count();
    assert_eq!((writes(&host), count(&is_refused), count(&waits)), (16, 6, 44));
    // Those that are not known to be at fault are sent again by themselves.
    cloud.borrow_mut().refusals.clear();
    assert_eq!(apply(&host, &changes[6..]), vec![Ok(RouteOutcome::Done); 44]);
}

#[test]
fn azure_057_and_062_a_hundred_routes_are_one_write() {
    let (host, cloud) = host(cloud(&[]));
    let changes: Vec<_> =
        (0..100).map(|it| to(&format!("10.244.{it}.0/24"), &format!("node-{it}"), &format!("10.240.0.{it}"))).collect();
    assert_eq!(apply(&host, &changes), vec![Ok(RouteOutcome::Done); 100]);
    assert_eq!(writes(&host), 1);
    let cloud = cloud.borrow();
    let shown = cloud.get(TABLE).unwrap();
    assert_eq!(shown["properties"]["disableBgpRoutePropagation"], true);
    let first = &shown["properties"]["routes"][1];
    // As recorded: golden/azure/vm/routes-create.json.
    assert_eq!(first["name"], "node-1____102441024");
    let mut properties = first["properties"].clone();
    properties.as_object_mut().unwrap().remove("provisioningState");
    let expected = json!({ "addressPrefix": "10.244.1.0/24", "nextHopIpAddress": "10.240.0.1", "nextHopType": "VirtualAppliance" });
    assert_eq!(properties, expected);
}

#[test]
fn azure_058_a_missing_table_is_made() {
    let (host, cloud) = host(FakeArm::default());
    assert_eq!(host.run(|| Azure::list(None, 400)).unwrap().routes, []);
    assert_eq!(apply(&host, &[to("10.244.1.0/24", "node-1", "10.240.0.4")]), [Ok(RouteOutcome::Done)]);
    assert_eq!(names(&cloud.borrow()), ["node-1____102441024"]);
    assert_eq!(host.sent().last().unwrap().headers.iter().find(|(name, _)| name == "if-none-match").unwrap().1, "*");
}

#[test]
fn azure_059_deletions_name_one_route() {
    let routes = [
        entry("pool-1____102441024", "10.244.1.0/24", "10.240.0.4"),
        entry("pool-10____102442024", "10.244.2.0/24", "10.240.0.5"),
    ];
    let (host, cloud) = host(cloud(&routes));
    let listed = host.run(|| Azure::list(None, 400)).unwrap().routes;
    assert_eq!(apply(&host, &[gone(&listed[0])]), [Ok(RouteOutcome::Done)]);
    assert_eq!(names(&cloud.borrow()), ["pool-10____102442024"]);
    // Once more is no write.
    assert_eq!((apply(&host, &[gone(&listed[0])]), writes(&host)), (vec![Ok(RouteOutcome::Done)], 1));
}

#[test]
fn azure_060_another_hop_is_the_same_write() {
    let (host, cloud) = host(cloud(&[entry("node-1____102441024", "10.244.1.0/24", "10.240.0.4")]));
    let before = host.run(|| Azure::list(None, 400)).unwrap().routes.remove(0);
    let change = RouteChange { before: Some(before), ..to("10.244.1.0/24", "node-1", "10.240.0.9") };
    assert_eq!(apply(&host, &[change]), [Ok(RouteOutcome::Done)]);
    assert_eq!((names(&cloud.borrow()), writes(&host)), (vec!["node-1____102441024".to_owned()], 1));
    assert_eq!(
        cloud.borrow().get(TABLE).unwrap()["properties"]["routes"][0]["properties"]["nextHopIpAddress"],
        "10.240.0.9"
    );
}

#[test]
fn azure_061_and_062_routes_of_others_stay() {
    let routes = [entry("local", "10.244.0.0/16", ""), entry("node-1", "10.244.1.0/24", "10.240.0.4")];
    let (host, cloud) = host(cloud(&routes));
    let listed = host.run(|| Azure::list(None, 400)).unwrap().routes;
    assert_eq!((listed[0].ownership, listed[0].next_hop.clone()), (RouteOwnership::Foreign, None));
    // The plain name of an older release is taken over, not doubled.
    assert_eq!(apply(&host, &[to("10.244.1.0/24", "node-1", "10.240.0.4")]), [Ok(RouteOutcome::Done)]);
    assert_eq!(writes(&host), 0);
    let refused =
        apply(&host, &[to("10.244.0.0/16", "node-2", "10.240.0.5"), to("10.244.2.0/24", "node-2", "10.240.0.5")]);
    assert!(
        matches!(&refused[..], [Err(Error::Invalid(why)), Ok(RouteOutcome::Done)] if why.contains("local")),
        "{refused:?}"
    );
    assert_eq!(names(&cloud.borrow()), ["local", "node-1", "node-2____102442024"]);
}

#[test]
fn tables_that_change_are_read_again() {
    let mut changed = cloud(&[]);
    let add: fn(&mut Value) =
        |it| it["properties"]["routes"].as_array_mut().unwrap().push(entry("other", "10.9.0.0/16", "10.0.0.1"));
    changed.meanwhile = vec![("routetables".to_owned(), add); 2];
    let (host, cloud) = host(changed);
    assert_eq!(apply(&host, &[to("10.244.1.0/24", "node-1", "10.240.0.4")]), [Ok(RouteOutcome::Done)]);
    assert_eq!(names(&cloud.borrow()), ["other", "other", "node-1____102441024"]);
    cloud.borrow_mut().takes = 30;
    let waits = apply(&host, &[to("10.244.2.0/24", "node-2", "10.240.0.5")]);
    assert!(matches!(&waits[..], [Ok(RouteOutcome::Pending(_))]));
    let busy = apply(&host, &[to("10.244.2.0/24", "node-2", "10.240.0.5")]);
    assert!(matches!(&busy[..], [Ok(RouteOutcome::Pending(_))]));
    assert_eq!(writes(&host), 4);
}

#[test]
fn hops_are_addresses_of_nodes() {
    let hop = |destination: &str| {
        let network = PodNetwork { destination: destination.to_owned(), node: node("node-1", "10.240.0.4") };
        Host::new().run(|| Azure::next_hop(&network))
    };
    assert_eq!(hop("10.244.1.0/24").as_deref(), Ok("10.240.0.4"));
    assert!(matches!(hop("fd00::/64"), Err(Error::Invalid(why)) if why.contains("node-1")));
}
