//! Changes that Neutron refuses, wholly or in part.

use super::*;

#[test]
fn a_bad_route_is_found_before_it_refuses_the_others() {
    let neutron = Neutron::new(&[]).shared();
    neutron.borrow_mut().add_port("10.6.9.5", "another");
    let hops = ["10.6.0.14", "10.6.0.99", "10.6.0.1", "10.6.9.5", "10.6.0.14"];
    let changes: Vec<_> =
        (0..).zip(hops).map(|(it, hop): (u8, _)| change(&format!("10.244.{it}.0/24"), None, Some(hop))).collect();
    let (answers, written) = writes(&neutron, &changes);
    assert!(answers[0] == Ok(RouteOutcome::Done) && answers[4] == Ok(RouteOutcome::Done), "{answers:?}");
    assert!(is_invalid(&answers[1], "no port in its networks has this address"), "{answers:?}");
    assert!(is_invalid(&answers[2], "it is the router's own"), "{answers:?}");
    assert!(is_invalid(&answers[3], "not connected with its subnet"), "{answers:?}");
    assert_eq!((written, neutron.borrow().routes().len()), (vec!["/routers/r-1/add_extraroutes".to_owned()], 2));
}

#[test]
fn a_batch_that_is_refused_is_sent_one_by_one() {
    let neutron = Neutron::new(&[]).shared();
    let destinations = [ONE, "10.244.66.0/24", TWO];
    let (answers, written) = writes(&neutron, &destinations.map(|it| change(it, None, Some("10.6.0.14"))));
    assert_eq!((&answers[0], &answers[2]), (&Ok(RouteOutcome::Done), &Ok(RouteOutcome::Done)));
    assert!(is_invalid(&answers[1], "the nexthop is not connected"), "{answers:?}");
    assert_eq!((written.len(), neutron.borrow().routes().len()), (4, 2));
}

#[test]
fn openstack_061_a_full_router_takes_what_it_can() {
    let neutron = Neutron::new(&[]).shared();
    neutron.borrow_mut().max_routes = 2;
    let changes: Vec<_> = (0..20).map(|it| change(&format!("10.244.{it}.0/24"), None, Some("10.6.0.14"))).collect();
    let (answers, written) = writes(&neutron, &changes);
    assert_eq!(answers[..2], [const { Ok(RouteOutcome::Done) }; 2]);
    // To the host, a table that is full is `invalid` for each: it says so once.
    assert!(answers[2..].iter().all(|it| is_invalid(it, "router r-1 takes no more routes")), "{answers:?}");
    assert_eq!(written.len(), 4, "together, and three alone");
}

#[test]
fn openstack_057_without_the_extension_the_list_is_written() {
    let neutron = Neutron::new(&[("192.168.77.0/24", "10.6.0.98"), (TWO, "10.6.0.12")]).shared();
    neutron.borrow_mut().takes_parts = false;
    let changes = [change(ONE, None, Some("10.6.0.14")), change(TWO, Some("10.6.0.12"), Some("10.6.0.14"))];
    let (answers, written) = writes(&neutron, &changes);
    assert_eq!(answers, [const { Ok(RouteOutcome::Done) }; 2]);
    assert_eq!(written, ["/routers/r-1/remove_extraroutes", "/routers/r-1", "/routers/r-1"]);
    let route = |to: &str, via: &str| (to.to_owned(), via.to_owned());
    let expected = [route("192.168.77.0/24", "10.6.0.98"), route(ONE, "10.6.0.14"), route(TWO, "10.6.0.14")];
    assert_eq!(neutron.borrow().routes(), expected);
}

#[test]
fn a_list_that_has_changed_is_read_again() {
    let neutron = Neutron::new(&[]).shared();
    neutron.borrow_mut().takes_parts = false;
    neutron.borrow_mut().is_changing = true;
    let answers = apply(&neutron, &[change(ONE, None, Some("10.6.0.14"))]);
    assert!(is_pending(&answers[0]) && neutron.borrow().routes().is_empty(), "{answers:?}");
    neutron.borrow_mut().is_changing = false;
    assert_eq!(apply(&neutron, &[change(ONE, None, Some("10.6.0.14"))]), [Ok(RouteOutcome::Done)]);
}

#[test]
fn openstack_059_a_route_without_its_pair_is_taken_back() {
    let neutron = Neutron::new(&[]).shared();
    neutron.borrow_mut().refuses = Some(("p-11", 403));
    let changes = [change(ONE, None, Some("10.6.0.11")), change(TWO, None, Some("10.6.0.12"))];
    let (answers, written) = writes(&neutron, &changes);
    assert!(matches!(&answers[0], Err(Error::Denied(_))) && answers[1] == Ok(RouteOutcome::Done), "{answers:?}");
    let expected = ["/routers/r-1/add_extraroutes", "/ports/p-11", "/ports/p-12", "/routers/r-1/remove_extraroutes"];
    assert_eq!(written, expected);
    assert_eq!(neutron.borrow().routes(), [(TWO.to_owned(), "10.6.0.12".to_owned())]);
}

#[test]
fn a_pair_that_cannot_go_keeps_its_route() {
    let neutron = Neutron::new(&[(ONE, "10.6.0.11")]).shared();
    neutron.borrow_mut().let_through("10.6.0.11", &[ONE]);
    neutron.borrow_mut().refuses = Some(("p-11", 500));
    let (answers, written) = writes(&neutron, &[change(ONE, Some("10.6.0.11"), None)]);
    assert!(matches!(&answers[0], Err(Error::Unavailable(_))) && written == ["/ports/p-11"], "{answers:?}");
    assert_eq!(neutron.borrow().routes().len(), 1, "it shows that there is something left to do");
}

#[test]
fn a_port_that_has_changed_is_read_again() {
    let neutron = Neutron::new(&[]).shared();
    neutron.borrow_mut().is_changing = true;
    let answers = apply(&neutron, &[change(ONE, None, Some("10.6.0.11"))]);
    assert!(is_pending(&answers[0]), "{answers:?}");
    neutron.borrow_mut().is_changing = false;
    assert_eq!(apply(&neutron, &[change(ONE, None, Some("10.6.0.11"))]), [Ok(RouteOutcome::Done)]);
    assert_eq!(neutron.borrow().pairs("10.6.0.11"), [ONE]);
}

#[test]
fn a_move_that_is_taken_back_keeps_to_its_budget() {
    let neutron = Neutron::new(&[(ONE, "10.6.0.12")]).shared();
    neutron.borrow_mut().let_through("10.6.0.12", &[ONE]);
    neutron.borrow_mut().takes_parts = false;
    neutron.borrow_mut().refuses = Some(("p-11", 403));
    let (answers, written) = writes(&neutron, &[change(ONE, Some("10.6.0.12"), Some("10.6.0.11"))]);
    assert!(matches!(&answers[0], Err(Error::Denied(_))), "{answers:?}");
    let list = "/routers/r-1";
    let expected = ["/ports/p-12", "/routers/r-1/remove_extraroutes", list, list, "/ports/p-11", list];
    assert_eq!(written, expected);
    let budget = Host::new().run(<OpenStack as Routes>::describe).unwrap().entries_per_route;
    assert_eq!(u32::try_from(written.len()), Ok(budget), "each counts as a detachment");
}
