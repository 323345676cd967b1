//! The mapping, natively: what is asked, and what becomes of the answers. The whole way through the sandbox is tested
//! elsewhere, against a simulated cloud.

mod dedicated;
mod described;

use std::time::Duration;

use aerostat_sdk::testing::{Host, Outcome, Request, Response, answer};
use aerostat_sdk::{Address, Error, Instance, Instances, Node, Page, Provider, Result, State};
use serde_json::{Value, json};

use crate::Hetzner;

/// A server that the API shows.
pub(crate) fn server(id: u64, name: &str) -> Value {
    json!({
        "id": id, "name": name, "status": "running", "server_type": { "id": 104, "name": "cx22" },
        "location": { "id": 1, "name": "fsn1", "network_zone": "eu-central" },
        "public_net": {
            "ipv4": { "ip": "203.0.113.5", "blocked": false }, "ipv6": { "ip": "2001:db8:1:2::/64", "blocked": false },
        },
        "private_net": [{ "network": 7, "ip": "10.0.0.5", "alias_ips": [] }, { "network": 8, "ip": "10.9.0.5" }],
        "labels": {},
    })
}

fn instance(id: u64, name: &str) -> Instance {
    Instance::new(name, format!("hcloud://{id}"))
        .machine_type("cx22")
        .region("fsn1")
        .zone("fsn1-dc14")
        .label("instance.hetzner.cloud/provided-by", "cloud")
        .extra("public-ipv4", "203.0.113.5")
        .addresses([Address::hostname(name), Address::external_ip("203.0.113.5")])
}

fn cloud(answers: impl Fn(&Request) -> Outcome + 'static) -> Host {
    Host::new().at(1_000).answers(answers)
}

fn get(host: &Host, node: &Node) -> Result<Option<Instance>> {
    host.run(|| Hetzner::get(node))
}

fn by_id() -> Node {
    Node::named("web-1").with_provider_id("hcloud://42")
}

/// The instance of a server that differs from the usual one, with these settings.
fn mapped(settings: &[(&str, &str)], change: impl FnOnce(&mut Value)) -> Instance {
    let mut server = server(42, "web-1");
    change(&mut server);
    let body = json!({ "server": server }).to_string();
    let host =
        settings.iter().fold(cloud(move |_| answer(200, body.clone())), |it, (name, value)| it.setting(name, value));
    let instance = get(&host, &by_id()).unwrap().unwrap();
    assert_eq!(host.requests(), ["GET hcloud /servers/42"]);
    instance
}

/// The error that an answer is.
fn refused(status: u16, headers: &[(&str, &str)], body: &str) -> Error {
    let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let body = body.as_bytes().to_vec();
    let host = cloud(move |_| Ok(Response { status, headers: headers.clone(), body: body.clone() }));
    get(&host, &by_id()).unwrap_err()
}

#[test]
fn a_server_is_found_by_the_nodes_provider_id() {
    assert_eq!(mapped(&[], |_| ()), instance(42, "web-1"));
}

#[test]
fn only_off_is_stopped() {
    for status in ["running", "initializing", "starting", "stopping", "deleting", "migrating", "rebuilding", "new"] {
        assert_eq!(mapped(&[], |it| it["status"] = json!(status)).state, State::Running, "{status}");
    }
    assert_eq!(mapped(&[], |it| it["status"] = json!("off")).state, State::Stopped);
}

#[test]
fn addresses_are_those_of_the_chosen_families() {
    let addresses = |family| mapped(&[("addressFamily", family)], |_| ()).addresses;
    let (name, v4) = (Address::hostname("web-1"), Address::external_ip("203.0.113.5"));
    let v6 = Address::external_ip("2001:db8:1:2::1");
    assert_eq!(addresses("ipv4"), [name.clone(), v4.clone()]);
    assert_eq!(addresses("ipv6"), [name.clone(), v6.clone()]);
    assert_eq!(addresses("dualstack"), [name, v4, v6]);
}

#[test]
fn the_internal_address_is_the_one_in_the_clusters_network() {
    let in_network = mapped(&[("network", "7")], |_| ());
    let expected =
        instance(42, "web-1").addresses([Address::internal_ip("10.0.0.5")]).extra("private-ipv4", "10.0.0.5");
    assert_eq!(in_network, expected);
    let elsewhere = mapped(&[("network", "9")], |_| ());
    assert_eq!(elsewhere, instance(42, "web-1").extra("private-ipv4", ""));
}

#[test]
fn a_private_server_has_no_external_address() {
    let private = mapped(&[("network", "7")], |server| {
        server["public_net"] = json!({ "ipv4": null, "ipv6": null });
    });
    assert_eq!(private.addresses, [Address::hostname("web-1"), Address::internal_ip("10.0.0.5")]);
}

#[test]
fn zones_are_those_that_nodes_have_always_had() {
    let zone = |location: &str| mapped(&[], |it| it["location"]["name"] = json!(location)).zone;
    for (location, expected) in [("nbg1", "nbg1-dc3"), ("hel1", "hel1-dc2"), ("ash", "ash-dc1"), ("new1", "new1")] {
        assert_eq!(zone(location).as_deref(), Some(expected));
    }
    assert_eq!(mapped(&[("zoneLabel", "false")], |_| ()).zone, None);
}

#[test]
fn a_network_is_found_by_its_name() {
    let host = cloud(|request| match &*request.path[0] {
        "networks" => answer(200, json!({ "networks": [{ "id": 7, "name": "net" }] }).to_string()),
        _ => answer(200, json!({ "server": server(42, "web-1") }).to_string()),
    });
    let found = get(&host.setting("network", "net"), &by_id()).unwrap().unwrap();
    assert!(found.addresses.contains(&Address::internal_ip("10.0.0.5")));
}

#[test]
fn a_node_without_provider_id_is_found_by_name() {
    let host = cloud(|_| answer(200, json!({ "servers": [server(7, "web-1")], "meta": {} }).to_string()));
    assert_eq!(get(&host, &Node::named("web-1")), Ok(Some(instance(7, "web-1"))));
    assert_eq!(host.requests(), ["GET hcloud /servers?name=web-1"]);
    assert_eq!(get(&host, &Node::named("web-2")), Ok(None));
}

#[test]
fn another_provider_id_is_invalid_and_asks_nothing() {
    let refused = |id: &str| get(&Host::new(), &Node::named("web-1").with_provider_id(id));
    let foreign = "provider id \"aws:///x/i-1\" begins neither with hcloud:// nor with hrobot://";
    assert_eq!(refused("aws:///x/i-1"), Err(Error::invalid(foreign)));
    for id in ["hcloud://web-1", "hcloud://042", "hcloud://", "hrobot://x", "hcloud://bm-", "hcloud://bm-07"] {
        assert!(matches!(refused(id), Err(Error::Invalid(_))), "{id}");
    }
}

#[test]
fn one_machine_has_one_canonical_id() {
    let canonical = |id| Hetzner::canonical_id(id);
    assert_eq!(canonical("hcloud://7"), Ok("hcloud://7".to_owned()));
    assert_eq!(canonical("hcloud://bm-7"), Ok("hrobot://7".to_owned()));
    assert_eq!(canonical("hrobot://7"), Ok("hrobot://7".to_owned()));
    assert!(canonical("gce:///7").is_err());
}

#[test]
fn only_the_apis_own_404_is_none() {
    let ask = |body: &'static str| get(&cloud(move |_| answer(404, body)), &by_id());
    assert_eq!(ask(r#"{ "error": { "code": "not_found", "message": "server not found" } }"#), Ok(None));
    for body in ["", "<html>nginx</html>", r#"{ "message": "no route" }"#, "[]"] {
        assert!(
            matches!(ask(body), Err(Error::Unavailable(text)) if text.contains("does baseUrl lead to it?")),
            "{body}"
        );
    }
}

#[test]
fn errors_are_sorted_by_what_happens_next() {
    let error = |code: &str| json!({ "error": { "code": code, "message": "no", "details": {} } }).to_string();
    assert!(matches!(refused(401, &[], &error("unauthorized")), Error::Denied(_)));
    assert!(matches!(refused(403, &[], &error("forbidden")), Error::Denied(_)));
    assert!(matches!(refused(503, &[], &error("maintenance")), Error::Unavailable(_)));
    assert!(matches!(refused(423, &[], &error("locked")), Error::Unavailable(_)));
    // A status alone would blame the credential.
    let quota = refused(403, &[], &error("resource_limit_exceeded"));
    assert!(quota.is_quota() && !format!("{quota:?}").contains("credential"), "{quota:?}");
    assert!(matches!(refused(403, &[], &error("protected")), Error::Invalid(_)));
    let fields = json!({ "error": { "code": "invalid_input", "message": "invalid", "details": {
        "fields": [{ "name": "name", "messages": ["is too long", "has spaces"] }]
    } } });
    let text = "GET /servers/42 at endpoint hcloud: 422 invalid; name: is too long, has spaces";
    assert_eq!(refused(422, &[], &fields.to_string()), Error::invalid(text));
}

#[test]
fn a_used_up_limit_says_when_to_come_back() {
    let pause = |seconds| Error::retry_after(Duration::from_secs(seconds), "GET /servers/42 at endpoint hcloud: 429");
    assert_eq!(refused(429, &[("RateLimit-Reset", "1090")], ""), pause(90));
    assert_eq!(refused(429, &[("Retry-After", "20"), ("RateLimit-Reset", "4600")], ""), pause(20));
    assert_eq!(refused(429, &[], ""), Error::unavailable("GET /servers/42 at endpoint hcloud: 429"));
}

#[test]
fn the_last_requests_of_the_project_are_for_others() {
    let host = cloud(|_| {
        let headers = vec![("ratelimit-remaining".to_owned(), "5".to_owned())];
        Ok(Response { status: 404, headers, body: br#"{ "error": { "code": "not_found" } }"#.to_vec() })
    });
    assert_eq!(get(&host, &by_id()), Ok(None));
    assert_eq!(host.throttles(), ["hcloud 15000 ms: 5 requests of the quota are left"]);
}

#[test]
fn a_list_goes_on_as_long_as_there_are_pages() {
    let host = cloud(|request| {
        let page = &request.query.iter().find(|(name, _)| name == "page").unwrap().1;
        let next = if page == "1" { json!(2) } else { Value::Null };
        let meta = json!({ "pagination": { "next_page": next } });
        answer(200, json!({ "servers": [server(page.parse().unwrap(), "A")], "meta": meta }).to_string())
    });
    let ask = |cursor: Option<&str>| host.run(|| Hetzner::list(cursor, 1_000)).unwrap();
    let first = ask(None);
    assert_eq!(first, Page::new(vec![instance(1, "a")], Some("servers:2:50".to_owned())));
    assert_eq!(ask(first.next.as_deref()), Page::new(vec![instance(2, "a")], None));
    assert_eq!(
        host.requests(),
        ["GET hcloud /servers?sort=id:asc&page=1&per_page=50", "GET hcloud /servers?sort=id:asc&page=2&per_page=50"]
    );
}

#[test]
fn the_identity_is_the_clusters_network() {
    let network = |status, body: &'static str| {
        cloud(move |_| answer(status, body)).setting("network", "7").run(Hetzner::identity)
    };
    assert_eq!(network(200, r#"{ "network": { "id": 7 } }"#), Ok(Some("network 7".to_owned())));
    let missing = network(404, r#"{ "error": { "code": "not_found", "message": "no" } }"#);
    assert!(matches!(missing, Err(Error::Denied(why)) if why.contains("has no network 7")));
    assert!(matches!(network(401, "{}"), Err(Error::Denied(_))));
    assert_eq!(Host::new().run(Hetzner::identity), Ok(None), "without a network nothing tells projects apart");
}
