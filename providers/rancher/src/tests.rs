//! The mapping, natively. The whole way is tested elsewhere, against a simulated Rancher.

use aerostat_sdk::readme;
use aerostat_sdk::testing::{Host, Outcome, Request, answer, warnings};
use aerostat_sdk::{Address, Error, Instance, Instances, LoadBalancer, LoadBalancers, Node, Port, Protocol, Provider};
use serde_json::{Value, json};

use crate::Rancher;

mod balancers;

const UUID: &str = "d8b0c8a5-0f5e-4c0e-9d4c-3f7b0f6d2a11";

fn host(id: &str, name: &str, state: &str) -> Value {
    json!({ "id": id, "type": "host", "state": state, "transitioning": "no", "uuid": UUID, "hostname": name, "agentIpAddress": "10.0.0.1" })
}

fn collection(data: Value) -> Outcome {
    answer(200, json!({ "type": "collection", "data": data, "pagination": { "partial": false } }).to_string())
}

fn query<'a>(request: &'a Request, name: &str) -> &'a str {
    request.query.iter().find(|(it, _)| it == name).map_or("", |(_, it)| it)
}

fn instance() -> Instance {
    Instance::new("web-1", format!("rancher://{UUID}"))
        .addresses([Address::hostname("web-1"), Address::internal_ip("10.0.0.1"), Address::internal_ip("10.1.0.1")])
        .extra("host", "1h1")
}

/// Hosts in these collections, each with the address of its agent and one more, which comes twice.
fn hosts(shown: impl Fn(&Request) -> Value + 'static) -> Host {
    Host::new().answers(move |request| match request.path.join("/").as_str() {
        "hosts" => collection(shown(request)),
        _ => collection(json!([{ "address": "10.0.0.1" }, { "address": "10.1.0.1" }, { "address": null }])),
    })
}

#[test]
fn provider_of_rancher_has_at_most_600_lines() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let own = files.filter(|it| it.is_file() && !it.ends_with("tests.rs"));
    let lines: usize = own.map(|it| std::fs::read_to_string(it).unwrap().lines().count()).sum();
    assert!((1..=600).contains(&lines), "it has {lines}");
}

/// Cases: rancher 2
#[test]
fn host_of_a_node_is_found_by_its_uuid() {
    let known = Node::named("web-1").with_provider_id(format!("rancher://{UUID}"));
    for state in ["active", "inactive", "deactivating", "disconnected", "reconnecting"] {
        let host = hosts(move |_| json!([host("1h1", "web-1", state)]));
        assert_eq!(host.run(|| Rancher::get(&known)), Ok(Some(instance())), "{state}");
        assert_eq!(host.requests()[0], format!("GET api /hosts?uuid={UUID}&removed_null=1&limit=1000"));
        assert_eq!(host.requests().len(), 2);
    }
    let gone = hosts(|_| json!([host("1h1", "web-1", "removed")]));
    assert_eq!(gone.run(|| Rancher::get(&known)), Ok(None));
}

#[test]
fn host_that_no_list_shows_is_asked_for_by_its_id() {
    let known = Node::named("web-1").with_provider_id(format!("rancher://{UUID}"));
    let whole =
        |shown: Value| hosts(move |request| if query(request, "uuid").is_empty() { shown.clone() } else { json!([]) });
    let late = whole(json!([host("1h1", "web-1", "active")]));
    assert_eq!(late.run(|| Rancher::get(&known)), Ok(Some(instance())), "without an id, all hosts are read");
    let gone = whole(json!([]));
    assert_eq!(gone.run(|| Rancher::get(&known)), Ok(None));
    assert_eq!(gone.requests().last().unwrap(), "GET api /hosts?removed_null=1&limit=1000");
    let two = hosts(|_| json!([host("1h0", "web-0", "removed"), host("1h1", "web-1", "active")]));
    assert_eq!(two.run(|| Rancher::get(&known)), Ok(Some(instance())), "a removed one of the same UUID is another");
    let mut seen = known;
    seen.extra.push(("host".to_owned(), "1h1".to_owned()));
    for (status, shown, gone) in [
        (404, json!({ "code": "NotFound" }), true),
        (200, host("1h1", "web-1", "purged"), true),
        (200, host("1h1", "web-1", "active"), false),
    ] {
        let cloud = Host::new().answers(move |request| match request.path.len() {
            1 => collection(json!([])),
            _ => answer(status, shown.to_string()),
        });
        let told = cloud.run(|| Rancher::get(&seen));
        assert_eq!(told.is_ok_and(|it| it.is_none()), gone, "{status}");
    }
}

/// Cases: rancher 2
#[test]
fn host_of_a_new_node_has_its_name_with_or_without_a_domain() {
    let get = |host_name: &'static str, node: &str| {
        hosts(move |_| json!([host("1h1", host_name, "active")]))
            .run(|| Rancher::get(&Node::named(node)))
            .unwrap()
            .is_some()
    };
    assert!(get("web-1", "web-1") && get("Web-1.example.com", "web-1") && get("web-1", "web-1.example.com"));
    assert!(!get("web-1.one.example", "web-1.two.example") && !get("web-10", "web-1"));
    let two = hosts(|_| json!([host("1h1", "web-1", "active"), host("1h2", "WEB-1.example.com", "active")]));
    let told = two.run(|| Rancher::get(&Node::named("web-1")));
    assert!(matches!(&told, Err(Error::Invalid(why)) if why.contains("1h1 and 1h2")), "{told:?}");
}

/// Cases: rancher 3
#[test]
fn hosts_are_one_list_with_addresses_in_one_request() {
    let cloud = Host::new().answers(|request| match (request.path[0].as_str(), query(request, "marker")) {
        ("hosts", "") => answer(
            200,
            json!({
                "data": [host("1h1", "web-1", "active")],
                "pagination": { "partial": true, "next": "http://elsewhere.example/v2-beta/hosts?limit=1&marker=m1" },
            })
            .to_string(),
        ),
        ("hosts", _) => collection(json!([])),
        _ => collection(json!([
            { "address": "10.1.0.1", "hosts": [host("1h1", "web-1", "active")] },
            { "address": "10.9.0.1", "hosts": [host("1h9", "web-9", "active")] },
        ])),
    });
    let page = cloud.run(|| Rancher::list(None, 1)).unwrap();
    assert_eq!((page.instances, page.next.as_deref()), (vec![instance()], Some("m1")));
    assert_eq!(
        cloud.requests(),
        ["GET api /hosts?removed_null=1&limit=1", "GET api /ipaddresses?include=hosts&removed_null=1&limit=1000"]
    );
    let page = cloud.run(|| Rancher::list(Some("m1"), 1)).unwrap();
    assert_eq!((page.instances, page.next), (Vec::new(), None));
    let cut = Host::new().answers(|_| answer(200, r#"{ "data": [], "pagination": { "partial": true } }"#));
    assert!(matches!(cut.run(|| Rancher::list(None, 1)), Err(Error::Unavailable(_))));
}

/// Cases: rancher 4
#[test]
fn service_that_rancher_cannot_serve_is_refused() {
    let service = || LoadBalancer::of("default", "web", "uid").with_port(Port::new(Protocol::Tcp, 80, 30_080));
    let refused = |change: fn(&mut LoadBalancer), word: &str| {
        let mut service = service();
        change(&mut service);
        let host = Host::new();
        let told = host.run(|| Rancher::ensure(&service));
        assert!(matches!(&told, Err(Error::Invalid(why)) if why.contains(word)), "{word}: {told:?}");
        assert!(host.requests().is_empty());
    };
    refused(|it| it.ports.push(Port::new(Protocol::Udp, 53, 30_053)), "only TCP");
    refused(|it| it.load_balancer_ip = Some("192.0.2.1".to_owned()), "loadBalancerIP");
    refused(|it| it.client_ip_affinity_seconds = Some(10), "sessionAffinity");
    refused(|it| it.source_ranges.push("10.0.0.0/8".to_owned()), "loadBalancerSourceRanges");
    refused(|it| it.ports[0].node_port = None, "no node port");
}

/// Cases: rancher 1, rancher 7
#[test]
fn description_has_no_mistakes() {
    let described = Host::new().run(Rancher::describe).unwrap();
    assert_eq!(warnings(&described), [""; 0]);
    let filled = readme::filled(include_str!("../README.md"), &described, "");
    // UPDATE_EXPECT=1 rewrites the file; the failure says so.
    expect_test::expect_file!["../README.md"].assert_eq(&filled);
}
