//! The example's whole mapping, natively: what it asks of the cloud, and what it makes of the answers.

#[path = "../examples/acme.rs"]
#[expect(unreachable_pub, reason = "the example is a crate of its own")]
mod acme;

use std::time::Duration;

use acme::Acme;
use aerostat_sdk::testing::{Host, Method, answer};
use aerostat_sdk::{
    Address, Deletion, Error, Ingress, Instance, Instances, LoadBalancer, LoadBalancerStatus, LoadBalancers, Node,
    Page, Port, Progress, Protocol, Provider, State,
};

const MACHINE: &str = r#"{ "id": "worker-1", "running": true, "size": "small", "zone": "north-1", "ip": "10.0.0.7" }"#;

fn worker() -> Instance {
    Instance::new("worker-1", "acme://worker-1")
        .machine_type("small")
        .zone("north-1")
        .addresses([Address::hostname("worker-1"), Address::internal_ip("10.0.0.7")])
}

fn cloud(status: u16, body: &str) -> Host {
    let body = body.to_owned();
    Host::new().answers(move |_| answer(status, body.clone()))
}

#[test]
fn it_describes_what_it_needs() {
    let description = Host::new().run(Acme::describe).unwrap();
    assert_eq!(description.name, "acme");
    assert_eq!(description.provider_id_prefixes, ["acme://"]);
    assert_eq!(description.endpoints[0].allow[0].paths, ["/machines", "/machines/*"]);
    assert_eq!(description.endpoints[0].allow[1].paths, ["/balancers/*"]);
    assert_eq!((description.get_batch_size, description.list_page_size), (1, 100));
    assert_eq!(Host::new().run(Acme::identity), Ok(None));
}

#[test]
fn a_node_without_provider_id_is_found_by_name() {
    let host = cloud(200, MACHINE);
    assert_eq!(host.run(|| Acme::get(&Node::named("worker-1"))), Ok(Some(worker())));
    assert_eq!(host.requests(), ["GET api /machines/worker-1"]);
}

#[test]
fn a_node_with_provider_id_is_found_by_it() {
    let host = cloud(200, &MACHINE.replace("true", "false"));
    let node = Node::named("renamed").with_provider_id("acme://worker-1");
    assert_eq!(host.run(|| Acme::get(&node)), Ok(Some(worker().state(State::Stopped))));
    assert_eq!(host.requests(), ["GET api /machines/worker-1"]);
}

#[test]
fn several_nodes_are_asked_about_one_by_one() {
    let host = Host::new().answers(|request| match &*request.path[1] {
        "worker-1" => answer(200, MACHINE),
        "worker-2" => answer(404, ""),
        _ => answer(500, "out of order"),
    });
    let nodes = ["worker-1", "worker-2", "worker-3"].map(Node::named);
    let error = Error::unavailable("GET /machines/worker-3 at endpoint api: 500 out of order");
    assert_eq!(host.run(|| Acme::get_many(&nodes)), [Ok(Some(worker())), Ok(None), Err(error)]);
}

#[test]
fn another_clouds_node_is_not_asked_about() {
    let node = Node::named("worker-1").with_provider_id("aws:///eu/i-1");
    let error = Error::invalid("provider id \"aws:///eu/i-1\" does not begin with acme://");
    assert_eq!(Host::new().run(|| Acme::get(&node)), Err(error));
}

#[test]
fn a_list_goes_on_until_the_cloud_says_that_it_ends() {
    let host = cloud(200, &format!(r#"{{ "machines": [{MACHINE}], "next": "worker-1" }}"#));
    assert_eq!(host.run(|| Acme::list(None, 1)), Ok(Page::new(vec![worker()], Some("worker-1".to_owned()))));
    let last = cloud(200, r#"{ "machines": [] }"#);
    assert_eq!(last.run(|| Acme::list(Some("worker-1"), 1)), Ok(Page::new(Vec::new(), None)));
    assert_eq!(host.requests(), ["GET api /machines?after=0&limit=1"]);
    assert_eq!(last.requests(), ["GET api /machines?after=worker-1&limit=1"]);
}

#[test]
fn a_refusal_is_an_error_and_never_none() {
    let error = Error::denied("GET /machines/worker-1 at endpoint api: 403 machines:read is missing");
    let host = cloud(403, r#"{ "message": "machines:read is missing" }"#);
    assert_eq!(host.run(|| Acme::get(&Node::named("worker-1"))), Err(error));
}

const SPEC: &str = r#"{"ports":{"80":30080},"machines":["worker-1"]}"#;

/// A Service that wants port 80, and one node.
fn web() -> LoadBalancer {
    LoadBalancer::of("default", "web", "0e2f6f1c")
        .with_port(Port::new(Protocol::Tcp, 80, 30_080))
        .with_node(Node::named("worker-1"))
}

/// A cloud that has this balancer, and answers a change with that one.
fn balancers(found: Option<String>, made: String) -> Host {
    Host::new().answers(move |request| match (request.method, &found) {
        (Method::Get, Some(found)) => answer(200, found.clone()),
        (Method::Get, None) => answer(404, ""),
        (Method::Put, _) => answer(200, made.clone()),
        _ => answer(204, ""),
    })
}

fn balancer(ip: &str) -> String {
    format!(r#"{{ "spec": {SPEC}, "ip": {ip} }}"#)
}

#[test]
fn a_balancer_is_made_and_waited_for() {
    let host = balancers(None, balancer("null"));
    let progress = Progress::pending(
        LoadBalancerStatus::new([]).memo("a0e2f6f1c"),
        Duration::from_secs(5),
        "the cloud builds the balancer",
    );
    assert_eq!(host.run(|| Acme::ensure(&web())), Ok(progress));
    assert_eq!(host.requests(), ["GET api /balancers/a0e2f6f1c", "PUT api /balancers/a0e2f6f1c"]);
    assert_eq!(host.bodies(), [SPEC]);
}

#[test]
fn a_balancer_that_is_as_desired_is_only_read() {
    let host = balancers(Some(balancer("\"192.0.2.7\"")), String::new());
    let ready = Progress::Ready(LoadBalancerStatus::new([Ingress::ip("192.0.2.7")]).memo("a0e2f6f1c"));
    assert_eq!(host.run(|| Acme::ensure(&web())), Ok(ready));
    assert_eq!(host.requests(), ["GET api /balancers/a0e2f6f1c"]);
}

#[test]
fn a_balancer_that_differs_is_written_whole() {
    let found = balancer("\"192.0.2.7\"").replace("worker-1", "worker-0");
    let host = balancers(Some(found), balancer("\"192.0.2.7\""));
    let ready = Progress::Ready(LoadBalancerStatus::new([Ingress::ip("192.0.2.7")]).memo("a0e2f6f1c"));
    assert_eq!(host.run(|| Acme::ensure(&web())), Ok(ready));
    assert_eq!(host.bodies(), [SPEC]);
}

#[test]
fn an_impossible_spec_is_refused_before_any_request() {
    let udp = web().with_port(Port::new(Protocol::Udp, 53, 30_053));
    assert_eq!(Host::new().run(|| Acme::ensure(&udp)), Err(Error::invalid("port 53: UDP is not TCP")));
    let mut nowhere = web();
    nowhere.ports[0].node_port = None;
    assert_eq!(Host::new().run(|| Acme::ensure(&nowhere)), Err(Error::invalid("port 80 has no node port")));
}

#[test]
fn a_balancer_that_is_gone_already_is_gone() {
    for status in [204, 404] {
        let host = cloud(status, "");
        assert_eq!(host.run(|| Acme::delete(&web())), Ok(Deletion::Done));
        assert_eq!(host.requests(), ["DELETE api /balancers/a0e2f6f1c"]);
    }
}
