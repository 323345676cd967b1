//! The server of one node.

use aerostat_sdk::testing::{Outcome, Request, answer};
use aerostat_sdk::{Address, Error, Instance, Instances, Node, Provider, Result, State};
use serde_json::{Value, json};

use super::*;
use crate::OpenStack;

fn by_id() -> Node {
    Node::named("node-1").with_provider_id(format!("openstack:///{}", id(1)))
}

fn get(host: &Host, node: &Node) -> Result<Option<Instance>> {
    host.run(|| OpenStack::get(node))
}

fn expected() -> Instance {
    Instance::new("node-1", format!("openstack:///{}", id(1)))
        .machine_type("m1.tiny")
        .region("RegionOne")
        .zone("nova")
        .addresses([Address::internal_ip("10.6.0.11"), Address::internal_ip("fd00:6::11")])
}

/// The answer about the one server, changed.
fn changed(change: impl FnOnce(&mut Value)) -> Result<Option<Instance>> {
    let mut project = one();
    change(&mut project.servers[0]);
    get(&project.host(), &by_id())
}

/// The state of the one server where Nova shows this status.
fn state(status: &str) -> Result<Option<State>> {
    changed(|it| it["status"] = json!(status)).map(|it| it.map(|it| it.state))
}

/// The answer where Nova answers so.
fn refused(status: u16, body: &'static str) -> Result<Option<Instance>> {
    get(&Host::new().setting("region", "RegionOne").answers(move |_| answer(status, body)), &by_id())
}

#[test]
fn openstack_004_a_server_is_found_by_its_id() {
    let host = one().host();
    assert_eq!(get(&host, &by_id()), Ok(Some(expected())));
    let fields = "fields=id&fields=device_id&fields=status&fields=network_id&fields=fixed_ips&fields=trunk_details";
    let ports = format!("GET network /ports?{fields}&device_id={}&limit=1000", id(1));
    assert_eq!(host.requests(), [format!("GET compute /servers/{}", id(1)), ports]);
    let bare = Node::named("node-1").with_provider_id(id(1).to_uppercase());
    assert_eq!(get(&one().host(), &bare), Ok(Some(expected())));
}

#[test]
fn openstack_002_only_nova_says_that_a_server_is_gone() {
    assert_eq!(refused(404, r#"{ "itemNotFound": { "code": 404, "message": "no" } }"#), Ok(None));
    for body in ["", "<html>nginx</html>", "404 Not Found", r#"{ "message": "no route" }"#, "[]"] {
        assert!(matches!(refused(404, body), Err(Error::Unavailable(_))), "{body}");
    }
}

#[test]
fn openstack_003_failures_are_errors() {
    for (status, body) in [(500, r#"{ "computeFault": { "code": 500, "message": "x" } }"#), (503, ""), (502, "<html>")]
    {
        assert!(matches!(refused(status, body), Err(Error::Unavailable(_))), "{status}");
    }
    let ports_fail = |request: &Request| -> Outcome {
        if request.endpoint == "network" { answer(500, "") } else { one().answer(request) }
    };
    let host = Host::new().setting("region", "RegionOne").answers(ports_fail);
    assert!(matches!(get(&host, &by_id()), Err(Error::Unavailable(_))));
}

#[test]
fn openstack_005_a_server_that_is_off_is_stopped() {
    assert_eq!(state("SHUTOFF"), Ok(Some(State::Stopped)));
}

#[test]
fn openstack_006_a_shelved_server_is_stopped() {
    // One that sleeps serves as little.
    for status in ["SHELVED_OFFLOADED", "SUSPENDED"] {
        assert_eq!(state(status), Ok(Some(State::Stopped)), "{status}");
    }
}

#[test]
fn openstack_007_a_deleted_server_is_gone() {
    for status in ["DELETED", "SOFT_DELETED"] {
        assert_eq!(state(status), Ok(None), "{status}");
    }
}

#[test]
fn openstack_008_a_server_in_error_exists() {
    assert_eq!(state("ERROR"), Ok(Some(State::Running)));
}

/// The host has asked for a new token by then, and repeated the request.
#[test]
fn openstack_022_a_token_refused_twice_is_an_error() {
    let fault = r#"{ "error": { "code": 401, "title": "Unauthorized", "message": "no" } }"#;
    assert!(matches!(refused(401, fault), Err(Error::Denied(_))));
}

#[test]
fn openstack_010_another_region_is_refused_and_asks_nothing() {
    let elsewhere = Node::named("node-1").with_provider_id(format!("openstack://other/{}", id(1)));
    let host = one().host();
    assert!(matches!(get(&host, &elsewhere), Err(Error::Invalid(why)) if why.contains("region \"other\"")));
    assert_eq!(host.requests(), [""; 0]);
}

#[test]
fn openstack_011_provider_ids_may_name_the_region() {
    let host = one().host().setting("regionalProviderIDs", "true");
    let found = get(&host, &Node::named("node-1")).unwrap().unwrap();
    assert_eq!(found.provider_id, Some(format!("openstack://RegionOne/{}", id(1))));
    let canonical = |text: String| host.run(|| OpenStack::canonical_id(&text));
    assert_eq!(canonical(format!("openstack://RegionOne/{}", id(1))), Ok(format!("openstack:///{}", id(1))));
    assert_eq!(canonical(id(1)), Ok(format!("openstack:///{}", id(1))));
    assert!(canonical(format!("openstack://other/{}", id(1))).is_err());
}

#[test]
fn openstack_012_a_node_without_id_is_found_by_name() {
    let mut project = one();
    project.servers.push(server(2, "web.1"));
    project.ports.push(port(102, 2, &["10.6.0.12"]));
    let host = project.host();
    let found = get(&host, &Node::named("web.1")).unwrap().unwrap();
    assert_eq!(found.provider_id, Some(format!("openstack:///{}", id(2))));
    assert_eq!(host.requests()[0], r"GET compute /servers/detail?name=^web\.1$&limit=1000");
    assert_eq!(get(&one().host(), &Node::named("ghost")), Ok(None));
}

#[test]
fn openstack_013_two_servers_with_one_name_are_told() {
    let mut project = one();
    project.servers.push(server(2, "node-1"));
    let host = project.clone().host();
    let answer = get(&host, &Node::named("node-1"));
    assert!(matches!(&answer, Err(Error::Invalid(why)) if why.contains(&id(1)) && why.contains(&id(2))), "{answer:?}");
    let [event] = &host.events()[..] else { panic!("{:?}", host.events()) };
    assert_eq!((event.about.as_deref(), &*event.reason), (Some("node-1"), "InstanceLookupFailed"));
    // One that is deleted is no rival.
    project.servers[1]["status"] = json!("SOFT_DELETED");
    assert_eq!(get(&project.host(), &Node::named("node-1")), Ok(Some(expected())));
}

#[test]
fn openstack_018_without_an_active_port_there_is_an_error() {
    let mut project = one();
    project.ports[0]["status"] = json!("DOWN");
    let refused = get(&project.clone().host(), &by_id()).unwrap_err();
    assert!(matches!(&refused, Error::Unavailable(why) if why.contains("none that is ACTIVE")), "{refused:?}");
    // A server that was shut down keeps its node's addresses, but does not join.
    project.servers[0]["status"] = json!("SHUTOFF");
    let stopped = get(&project.clone().host(), &by_id()).unwrap().unwrap();
    assert_eq!((stopped.state, stopped.addresses), (State::Stopped, Vec::new()));
    assert!(matches!(get(&project.host(), &Node::named("node-1")), Err(Error::Unavailable(_))));
}

#[test]
fn openstack_019_a_flavour_is_a_label_by_name_or_by_id() {
    let kind = |name: &str| {
        let mut project = one();
        project.servers[0]["flavor"]["original_name"] = json!(name);
        project.flavors = vec![json!({ "id": "f-7", "name": "big one" }), json!({ "id": "f 8", "name": "odd one" })];
        let host = project.host();
        (get(&host, &by_id()).unwrap().unwrap().machine_type, host.requests().len())
    };
    assert_eq!(kind("m1.large"), (Some("m1.large".to_owned()), 2));
    assert_eq!(kind("big one"), (Some("f-7".to_owned()), 3));
    assert_eq!(kind("odd one"), (None, 3));
    assert_eq!(kind("gone one"), (None, 3));
}

#[test]
fn openstack_020_a_zone_is_a_label() {
    let zone = |text: &str| changed(|it| it["OS-EXT-AZ:availability_zone"] = json!(text)).unwrap().unwrap().zone;
    assert_eq!(zone("zone 1").as_deref(), Some("zone-1"));
    assert_eq!(zone(""), None);
}

#[test]
fn several_nodes_cost_one_request_for_ports() {
    let mut project = one();
    for it in 2..=20 {
        project.servers.push(server(it, &format!("node-{it}")));
        project.ports.push(port(100 + it, it, &[&format!("10.6.0.{}", it + 10)]));
    }
    let nodes: Vec<Node> = (1..=21)
        .map(|it| Node::named(format!("node-{it}")).with_provider_id(format!("openstack:///{}", id(it))))
        .collect();
    let host = project.host();
    let answers = host.run(|| OpenStack::get_many(&nodes));
    assert!(answers[..20].iter().all(|it| matches!(it, Ok(Some(_)))));
    assert_eq!(answers[20], Ok(None));
    assert_eq!(host.requests().len(), 22);
}

#[test]
fn the_identity_is_the_project_and_the_region() {
    let host = one().host();
    assert_eq!(host.run(OpenStack::identity), Ok(Some("project p-1, region RegionOne".to_owned())));
    assert_eq!(host.requests(), ["GET network /quotas/project"]);
}

#[test]
fn a_module_describes_itself_before_it_is_configured() {
    let description = Host::new().run(OpenStack::describe).unwrap();
    assert_eq!((description.get_batch_size, description.list_page_size), (20, 1_000));
    assert_eq!(description.provider_id_prefixes, ["openstack://", ""]);
}
