//! Rights of ports that no route leads to.

use super::*;

/// A pod network of IPv6.
const INSIDE: &str = "fd00:244:0:1::/64";

fn listed(neutron: &SharedNeutron) -> Vec<Route> {
    host(neutron).run(|| OpenStack::list(None, 100)).unwrap().routes
}

/// The change of what was listed.
fn towards(before: &Route, after: Option<&str>) -> RouteChange {
    RouteChange { before: Some(before.clone()), ..change(&before.destination, None, after) }
}

#[test]
fn pairs_of_nodes_that_left_are_listed_and_go() {
    let neutron = Neutron::new(&[(TWO, "10.6.0.12")]).shared();
    neutron.borrow_mut().let_through("10.6.0.12", &[TWO]);
    // Theirs leaves the first two. The others are of persons: not a pod network, all pods, one address.
    let pairs = [ONE, INSIDE, "172.16.0.0/12", "10.244.0.0/16", "10.244.7.7"];
    neutron.borrow_mut().let_through("10.6.0.11", &pairs);
    let all = listed(&neutron);
    let shown: Vec<_> =
        all.iter().map(|it| (it.destination.as_str(), it.next_hop.as_deref().unwrap(), &it.state)).collect();
    let expected = [
        (TWO, "10.6.0.12", &RouteState::Active),
        (ONE, "10.6.0.11", &RouteState::Partial),
        (INSIDE, "fd00:6::11", &RouteState::Partial),
    ];
    assert_eq!(shown, expected);
    assert_eq!(all[1].id, "allowed address pair 10.244.1.0/24 of port p-11");
    let (answers, written) = writes(&neutron, &[towards(&all[1], None), towards(&all[2], None)]);
    assert_eq!((answers, written), (vec![Ok(RouteOutcome::Done); 2], vec!["/ports/p-11".to_owned()]));
    assert_eq!(neutron.borrow().pairs("10.6.0.11"), pairs[2..]);
    assert_eq!(listed(&neutron).len(), 1);
}

#[test]
fn a_pair_without_its_route_gets_it_back() {
    let neutron = Neutron::new(&[]).shared();
    neutron.borrow_mut().let_through("10.6.0.11", &[ONE]);
    let (answers, written) = writes(&neutron, &[towards(&listed(&neutron)[0], Some("10.6.0.11"))]);
    assert_eq!((answers, written), (vec![Ok(RouteOutcome::Done)], vec!["/routers/r-1/add_extraroutes".to_owned()]));
    assert_eq!(neutron.borrow().pairs("10.6.0.11"), [ONE]);
}

#[test]
fn a_network_of_another_node_leaves_the_old_port() {
    let neutron = Neutron::new(&[]).shared();
    neutron.borrow_mut().let_through("10.6.0.11", &[ONE]);
    let stale = listed(&neutron).remove(0);
    let (answers, written) = writes(&neutron, &[towards(&stale, Some("10.6.0.12"))]);
    assert_eq!(answers, [Ok(RouteOutcome::Done)]);
    assert_eq!(written, ["/ports/p-11", "/routers/r-1/add_extraroutes", "/ports/p-12"]);
    // The same, where the route was moved meanwhile and the pair stayed: the host, to which the route is as desired, has it taken away.
    neutron.borrow_mut().let_through("10.6.0.11", &[ONE]);
    let all = listed(&neutron);
    assert_eq!((all.len(), &all[0].state, &all[1].state), (2, &RouteState::Active, &RouteState::Partial));
    assert_eq!((all[1].next_hop.as_deref(), &all[1].id), (Some("10.6.0.11"), &stale.id));
    let (answers, written) = writes(&neutron, &[towards(&stale, None)]);
    assert_eq!((answers, written), (vec![Ok(RouteOutcome::Done)], vec!["/ports/p-11".to_owned()]));
    assert_eq!(neutron.borrow().routes(), [(ONE.to_owned(), "10.6.0.12".to_owned())]);
    // It leads to neither: what is stale goes, and the host lists again before the route is moved.
    neutron.borrow_mut().let_through("10.6.0.11", &[ONE]);
    let (answers, written) = writes(&neutron, &[towards(&stale, Some("10.6.0.13"))]);
    assert!(is_pending(&answers[0]), "{answers:?}");
    assert_eq!(written, ["/ports/p-11"]);
    // By now the route is there: the right stays.
    let neutron = Neutron::new(&[(ONE, "10.6.0.11")]).shared();
    neutron.borrow_mut().let_through("10.6.0.11", &[ONE]);
    let (answers, written) = writes(&neutron, &[towards(&stale, None)]);
    assert_eq!((answers, written.len()), (vec![Ok(RouteOutcome::Done)], 0));
}

#[test]
fn a_route_that_leads_elsewhere_is_moved_before_pairs_go() {
    // To a port that drops its packets, and to an address that nothing has: who has the network is the host's to say first.
    for elsewhere in ["10.6.0.13", "10.6.0.99"] {
        let neutron = Neutron::new(&[(ONE, elsewhere)]).shared();
        neutron.borrow_mut().let_through("10.6.0.11", &[ONE]);
        assert_eq!(listed(&neutron).len(), 1, "{elsewhere}");
    }
    // To a port that lets everything through: beside it comes the route to the machine that has the right and is meant, and then it goes.
    let neutron = Neutron::new(&[(ONE, "10.6.0.14")]).shared();
    neutron.borrow_mut().let_through("10.6.0.11", &[ONE]);
    let all = listed(&neutron);
    let (answers, written) = writes(&neutron, &[towards(&all[1], Some("10.6.0.11"))]);
    assert_eq!((answers, written), (vec![Ok(RouteOutcome::Done)], vec!["/routers/r-1/add_extraroutes".to_owned()]));
    let (route, other) = ((ONE.to_owned(), "10.6.0.11".to_owned()), (ONE.to_owned(), "10.6.0.14".to_owned()));
    assert_eq!(neutron.borrow().routes(), [other, route.clone()]);
    let all = listed(&neutron);
    assert_eq!(all.iter().map(|it| &it.state).collect::<Vec<_>>(), [&RouteState::Active; 2]);
    let (answers, _) = writes(&neutron, &[towards(&all[0], None)]);
    assert_eq!((answers, neutron.borrow().routes()), (vec![Ok(RouteOutcome::Done)], vec![route]));
    assert_eq!(neutron.borrow().pairs("10.6.0.11"), [ONE]);
}
