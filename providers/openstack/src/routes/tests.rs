//! Routes, natively: what is asked of a router, and what becomes of it.

mod neutron;
mod refused;
mod stale;

use aerostat_sdk::testing::Host;
use aerostat_sdk::{
    Address, Cluster, Error, Node, PodNetwork, Result, Route, RouteChange, RouteOutcome, RouteOwnership, RouteState,
    RouteTarget, Routes,
};

use self::neutron::{Neutron, SharedNeutron};
use crate::OpenStack;

const ONE: &str = "10.244.1.0/24";
const TWO: &str = "10.244.2.0/24";
const SIX: &str = "fd00:244:1::/64";

/// The reads before each write: the router, its own ports, and the ports with the next hops.
const READS: [&str; 3] = [
    "GET network /routers/r-1?fields=id&fields=routes&fields=revision_number",
    "GET network /ports?fields=id&fields=network_id&fields=fixed_ips&device_id=r-1&limit=1000",
    "GET network /ports?fields=id&fields=network_id&fields=fixed_ips&fields=allowed_address_pairs\
     &fields=port_security_enabled&fields=revision_number&network_id=n",
];

/// A node at this address.
fn node(name: &str, addresses: &[&str]) -> Node {
    let mut node = Node::named(name);
    node.addresses = addresses.iter().map(|it| Address::internal_ip(*it)).collect();
    node
}

fn host(neutron: &SharedNeutron) -> Host {
    let cluster = Cluster { pod_cidrs: vec!["10.244.0.0/16".into(), "fd00:244::/48".into()], ..Cluster::of("k", "c") };
    let neutron = neutron.clone();
    Host::new()
        .setting("region", "RegionOne")
        .setting("routerID", "r-1")
        .cluster(cluster)
        .answers(move |request| neutron.borrow_mut().answer(request))
}

fn change(destination: &str, before: Option<&str>, after: Option<&str>) -> RouteChange {
    RouteChange {
        destination: destination.to_owned(),
        before: before.map(|it| Route::new(destination, it)),
        after: after.map(|it| RouteTarget { next_hop: it.to_owned(), node: node("node-1", &[it]) }),
        extra: Vec::new(),
    }
}

fn apply(neutron: &SharedNeutron, changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
    host(neutron).run(|| OpenStack::apply(changes))
}

/// The writes that were sent for these changes.
fn writes(neutron: &SharedNeutron, changes: &[RouteChange]) -> (Vec<Result<RouteOutcome>>, Vec<String>) {
    let host = host(neutron);
    let answers = host.run(|| OpenStack::apply(changes));
    let written =
        host.requests().into_iter().filter(|it| !it.starts_with("GET")).map(|it| it.replace("PUT network ", ""));
    (answers, written.collect())
}

fn is_pending(outcome: &Result<RouteOutcome>) -> bool {
    matches!(outcome, Ok(RouteOutcome::Pending(_)))
}

fn is_invalid(outcome: &Result<RouteOutcome>, part: &str) -> bool {
    matches!(outcome, Err(Error::Invalid(why)) if why.contains(part))
}

#[test]
fn openstack_060_a_next_hop_is_the_nodes_address_of_the_family() {
    let hop = |destination: &str, addresses: &[&str]| {
        let network = PodNetwork { destination: destination.to_owned(), node: node("node-1", addresses) };
        Host::new().run(|| OpenStack::next_hop(&network))
    };
    assert_eq!(hop(ONE, &["fd00:6::11", "10.6.0.11", "10.8.0.2"]), Ok("10.6.0.11".to_owned()));
    assert_eq!(hop(SIX, &["10.6.0.11", "fd00:6::11"]), Ok("fd00:6::11".to_owned()));
    assert!(
        matches!(hop(SIX, &["10.6.0.11"]), Err(Error::Invalid(why)) if why.contains("no InternalIP of the family"))
    );
}

#[test]
fn routes_need_the_setting_of_their_router() {
    let refused = Host::new().setting("region", "RegionOne").run(|| OpenStack::list(None, 100)).unwrap_err();
    assert_eq!(refused, Error::invalid("routes need setting routerID: the router that they are written into"));
    let neutron = Neutron::new(&[]).shared();
    neutron.borrow_mut().router = None;
    assert!(
        matches!(host(&neutron).run(|| OpenStack::list(None, 100)), Err(Error::Invalid(why)) if why.contains("no router r-1"))
    );
}

#[test]
fn openstack_058_a_list_says_which_routes_lead_somewhere() {
    let routes = [
        (ONE, "10.6.0.11"),
        (TWO, "10.6.0.12"),
        ("10.244.9.7/24", "10.6.0.99"),
        ("192.168.77.0/24", "10.6.0.98"),
        ("10.99.0.0/24", "10.6.0.14"),
    ];
    let neutron = Neutron::new(&routes).shared();
    neutron.borrow_mut().let_through("10.6.0.11", &[ONE]);
    let host = host(&neutron);
    let page = host.run(|| OpenStack::list(None, 100)).unwrap();
    let expected = [
        Route::new(ONE, "10.6.0.11"),
        Route::new(TWO, "10.6.0.12").state(RouteState::Partial),
        Route::new("10.244.9.7/24", "10.6.0.99").state(RouteState::Blackhole),
        Route::new("192.168.77.0/24", "10.6.0.98").state(RouteState::Blackhole).ownership(RouteOwnership::Foreign),
        // Its port has no port security.
        Route::new("10.99.0.0/24", "10.6.0.14"),
    ];
    assert_eq!((page.routes, page.next), (expected.to_vec(), None));
    let sent = host.requests();
    assert_eq!((sent.len(), &sent[..2]), (3, &READS.map(str::to_owned)[..2]));
    assert_eq!(sent[2], format!("{}&limit=1000", READS[2]), "all ports, for rights that no route explains");
    let first = host.run(|| OpenStack::list(None, 2)).unwrap();
    assert_eq!((first.routes.len(), first.next.as_deref()), (2, Some("routes:2:2")));
    assert!(host.requests()[5].contains("&fixed_ips=ip_address=10.6.0.12&"), "{:?}", host.requests());
}

#[test]
fn openstack_056_twenty_routes_are_one_request() {
    let neutron = Neutron::new(&[("192.168.77.0/24", "10.6.0.98")]).shared();
    // node-14's port has no port security; the pairs of all others are their own.
    let changes: Vec<_> = (0..20).map(|it| change(&format!("10.244.{it}.0/24"), None, Some("10.6.0.14"))).collect();
    let (answers, written) = writes(&neutron, &changes);
    assert!(answers.iter().all(|it| *it == Ok(RouteOutcome::Done)), "{answers:?}");
    assert_eq!(written, ["/routers/r-1/add_extraroutes"]);
    assert_eq!(neutron.borrow().routes().len(), 21);
    // As desired: nothing is written.
    let (answers, written) = writes(&neutron, &changes);
    assert!(answers.iter().all(|it| *it == Ok(RouteOutcome::Done)) && written.is_empty());
}

#[test]
fn openstack_059_ports_let_through_what_is_led_to_them() {
    let neutron = Neutron::new(&[]).shared();
    neutron.borrow_mut().let_through("10.6.0.11", &["172.16.0.0/12"]);
    let changes = [
        change(ONE, None, Some("10.6.0.11")),
        change(SIX, None, Some("fd00:6::11")),
        change(TWO, None, Some("10.6.0.12")),
    ];
    let (answers, written) = writes(&neutron, &changes);
    assert_eq!(answers, [const { Ok(RouteOutcome::Done) }; 3]);
    assert_eq!(written, ["/routers/r-1/add_extraroutes", "/ports/p-11", "/ports/p-12"]);
    assert_eq!(neutron.borrow().pairs("10.6.0.11"), ["172.16.0.0/12", ONE, SIX]);
    assert_eq!(neutron.borrow().pairs("10.6.0.12"), [TWO]);
}

#[test]
fn a_port_that_lets_through_more_is_left_alone() {
    let neutron = Neutron::new(&[]).shared();
    neutron.borrow_mut().let_through("10.6.0.11", &["10.244.0.0/16"]);
    let (answers, written) = writes(&neutron, &[change(ONE, None, Some("10.6.0.11"))]);
    assert_eq!((answers, written), (vec![Ok(RouteOutcome::Done)], vec!["/routers/r-1/add_extraroutes".to_owned()]));
}

#[test]
fn a_route_without_its_pair_is_made_whole() {
    let neutron = Neutron::new(&[(ONE, "10.6.0.11")]).shared();
    let (answers, written) = writes(&neutron, &[change(ONE, Some("10.6.0.11"), Some("10.6.0.11"))]);
    assert_eq!((answers, written), (vec![Ok(RouteOutcome::Done)], vec!["/ports/p-11".to_owned()]));
    assert_eq!(neutron.borrow().pairs("10.6.0.11"), [ONE]);
}

#[test]
fn a_node_that_leaves_loses_its_pair_before_its_route() {
    let neutron = Neutron::new(&[(ONE, "10.6.0.11"), (TWO, "10.6.0.12")]).shared();
    neutron.borrow_mut().let_through("10.6.0.11", &["172.16.0.0/12", ONE]);
    let (answers, written) = writes(&neutron, &[change(ONE, Some("10.6.0.11"), None)]);
    assert_eq!(answers, [Ok(RouteOutcome::Done)]);
    assert_eq!(written, ["/ports/p-11", "/routers/r-1/remove_extraroutes"]);
    assert_eq!(
        (neutron.borrow().pairs("10.6.0.11"), neutron.borrow().routes()),
        (vec!["172.16.0.0/12".to_owned()], vec![(TWO.to_owned(), "10.6.0.12".to_owned())])
    );
    // Its server is gone, and its port with it.
    let neutron = Neutron::new(&[(ONE, "10.6.0.99")]).shared();
    let (answers, written) =
        writes(&neutron, &[change(ONE, Some("10.6.0.99"), None), change(TWO, Some("10.6.0.12"), None)]);
    assert_eq!(
        (answers, written),
        (vec![Ok(RouteOutcome::Done); 2], vec!["/routers/r-1/remove_extraroutes".to_owned()])
    );
}

#[test]
fn a_move_takes_away_before_it_adds() {
    let neutron = Neutron::new(&[("10.244.1.7/24", "10.6.0.12")]).shared();
    neutron.borrow_mut().let_through("10.6.0.12", &[ONE]);
    let (answers, written) = writes(&neutron, &[change(ONE, Some("10.6.0.12"), Some("10.6.0.11"))]);
    assert_eq!(answers, [Ok(RouteOutcome::Done)]);
    let order = ["/ports/p-12", "/routers/r-1/remove_extraroutes", "/routers/r-1/add_extraroutes", "/ports/p-11"];
    assert_eq!(written, order);
    assert_eq!(neutron.borrow().routes(), [(ONE.to_owned(), "10.6.0.11".to_owned())], "with its host bits it is gone");
    assert_eq!(
        (neutron.borrow().pairs("10.6.0.11"), neutron.borrow().pairs("10.6.0.12")),
        (vec![ONE.to_owned()], vec![])
    );
}

#[test]
fn the_next_hop_before_goes_and_others_stay() {
    let neutron = Neutron::new(&[(ONE, "10.6.0.11"), (ONE, "10.6.0.14")]).shared();
    neutron.borrow_mut().let_through("10.6.0.11", &[ONE]);
    assert_eq!(apply(&neutron, &[change(ONE, Some("10.6.0.14"), None)]), [Ok(RouteOutcome::Done)]);
    assert_eq!(neutron.borrow().routes(), [(ONE.to_owned(), "10.6.0.11".to_owned())]);
    assert_eq!(neutron.borrow().pairs("10.6.0.11"), [ONE]);
}

#[test]
fn a_route_that_leads_elsewhere_by_now_is_not_touched() {
    let neutron = Neutron::new(&[(ONE, "10.6.0.14")]).shared();
    for (before, after) in
        [(None, Some("10.6.0.11")), (Some("10.6.0.12"), Some("10.6.0.11")), (Some("10.6.0.12"), None)]
    {
        let (answers, written) = writes(&neutron, &[change(ONE, before, after)]);
        assert!(is_invalid(&answers[0], "leads to 10.6.0.14 by now") && written.is_empty(), "{answers:?}");
    }
}
