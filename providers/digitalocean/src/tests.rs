//! The mapping, natively: what is asked, and what becomes of the answers. The whole way through the sandbox is tested
//! elsewhere, against a simulated cloud.

use std::time::Duration;

use aerostat_sdk::testing::{EventKind, Host, Outcome, Request, Response, answer};
use aerostat_sdk::{Address, Error, Instance, Instances, Node, Page, Provider, Result, State, readme};
use serde_json::{Value, json};

use crate::DigitalOcean;

fn droplet(id: u64, name: &str) -> Value {
    json!({
        "id": id, "name": name, "status": "active", "size_slug": "s-1vcpu-1gb", "region": { "slug": "nyc3", "name": "NYC 3" },
        "networks": { "v4": [
            { "ip_address": "203.0.113.5", "type": "public" },
            { "ip_address": "10.1.2.3", "type": "private" },
        ], "v6": [] },
        "tags": ["k8s", "k8s:c-1"],
    })
}

fn instance(id: u64, name: &str) -> Instance {
    Instance::new(name, format!("digitalocean://{id}")).machine_type("s-1vcpu-1gb").region("nyc3").addresses([
        Address::hostname(name),
        Address::internal_ip("10.1.2.3"),
        Address::external_ip("203.0.113.5"),
    ])
}

fn page(droplets: &[Value]) -> String {
    json!({ "droplets": droplets, "links": {}, "meta": { "total": droplets.len() } }).to_string()
}

fn page_before_another(droplets: &[Value]) -> String {
    let next = "https://api.digitalocean.com/v2/droplets?page=2";
    json!({ "droplets": droplets, "links": { "pages": { "next": next } }, "meta": { "total": 450 } }).to_string()
}

fn cloud(answers: impl Fn(&Request) -> Outcome + 'static) -> Host {
    Host::new().at(1_000).answers(answers)
}

fn get(host: &Host, node: &Node) -> Result<Option<Instance>> {
    host.run(|| DigitalOcean::get(node))
}

fn by_id() -> Node {
    Node::named("web-1").with_provider_id("digitalocean://42")
}

/// The instance of a droplet that differs from the usual one.
fn mapped(change: impl FnOnce(&mut Value)) -> (Instance, Host) {
    let mut droplet = droplet(42, "web-1");
    change(&mut droplet);
    let body = json!({ "droplet": droplet }).to_string();
    let host = cloud(move |_| answer(200, body.clone()));
    let instance = get(&host, &by_id()).unwrap().unwrap();
    (instance, host)
}

/// The error that an answer is.
fn refused(status: u16, headers: &[(&str, &str)], body: &str) -> Error {
    let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let body = body.as_bytes().to_vec();
    let host = cloud(move |_| Ok(Response { status, headers: headers.clone(), body: body.clone() }));
    get(&host, &by_id()).unwrap_err()
}

#[test]
fn a_droplet_is_found_by_the_nodes_provider_id() {
    let (found, host) = mapped(|_| ());
    assert_eq!(found, instance(42, "web-1"));
    assert_eq!(host.requests(), ["GET api /v2/droplets/42"]);
}

#[test]
fn a_status_says_whether_it_runs() {
    for (status, state) in [
        ("new", State::Running),
        ("active", State::Running),
        ("off", State::Stopped),
        ("archive", State::Stopped),
        ("a status of tomorrow", State::Running),
    ] {
        assert_eq!(mapped(|it| it["status"] = json!(status)).0.state, state, "{status}");
    }
}

#[test]
fn the_first_address_of_each_kind_counts() {
    let (found, host) = mapped(|droplet| {
        droplet["networks"]["v4"].as_array_mut().unwrap().extend([
            json!({ "ip_address": "10.9.9.9", "type": "private" }),
            json!({ "ip_address": "192.0.2.1", "type": "reserved" }),
        ]);
        droplet["networks"]["v6"] = json!([{ "ip_address": "2001:db8::1", "type": "public" }]);
    });
    assert_eq!(found, instance(42, "web-1").addresses([Address::external_ip("2001:db8::1")]));
    assert_eq!(host.events(), []);
}

#[test]
fn a_droplet_without_private_address_is_a_warning() {
    let (found, host) = mapped(|it| it["networks"]["v4"] = json!([{ "ip_address": "203.0.113.5", "type": "public" }]));
    assert_eq!(found.addresses, [Address::hostname("web-1"), Address::external_ip("203.0.113.5")]);
    let [event] = &host.events()[..] else { panic!("one warning") };
    assert_eq!((event.about.as_deref(), event.kind), (Some("web-1"), EventKind::Warning));
    assert_eq!(event.reason, "NoPrivateAddress");
    assert!(event.message.starts_with("droplet 42 (web-1) has no private IPv4 address"), "{}", event.message);
}

#[test]
fn another_provider_id_is_invalid_and_asks_nothing() {
    let refused = |id: &str| get(&Host::new(), &Node::named("web-1").with_provider_id(id));
    let foreign = Error::invalid("provider id \"aws:///x/i-1\" does not begin with digitalocean://");
    assert_eq!(refused("aws:///x/i-1"), Err(foreign));
    for id in ["digitalocean://web-1", "digitalocean://042", "digitalocean://-1"] {
        let error = format!("provider id {id:?} is not digitalocean:// and the droplet's id, a number");
        assert_eq!(refused(id), Err(Error::Invalid(error)));
    }
}

#[test]
fn a_node_without_provider_id_is_found_by_name_in_any_case() {
    let host = cloud(|_| answer(200, page(&[droplet(7, "Web-1")])));
    assert_eq!(get(&host, &Node::named("web-1")), Ok(Some(instance(7, "web-1"))));
    assert_eq!(host.requests(), ["GET api /v2/droplets?name=web-1&page=1&per_page=200"]);
}

#[test]
fn a_machine_with_gpus_is_found_by_name() {
    let host = cloud(|request| match request.query.iter().any(|(name, _)| name == "type") {
        true => answer(200, page(&[droplet(8, "web-1")])),
        false => answer(200, page(&[])),
    });
    assert_eq!(get(&host, &Node::named("web-1")), Ok(Some(instance(8, "web-1"))));
    assert_eq!(
        host.requests(),
        [
            "GET api /v2/droplets?name=web-1&page=1&per_page=200",
            "GET api /v2/droplets?type=gpus&name=web-1&page=1&per_page=200",
        ]
    );
}

#[test]
fn a_name_without_a_droplet_is_none() {
    let host = cloud(|_| answer(200, page(&[droplet(7, "web-10")])));
    assert_eq!(get(&host, &Node::named("web-1")), Ok(None));
}

#[test]
fn two_droplets_of_one_name_are_both_named() {
    let host = cloud(|_| answer(200, page(&[droplet(7, "web-1"), droplet(8, "WEB-1")])));
    let Err(Error::Invalid(text)) = get(&host, &Node::named("web-1")) else { panic!("ambiguous") };
    assert!(text.starts_with("droplets 7 and 8 are called web-1"), "{text}");
}

#[test]
fn a_name_with_more_droplets_than_a_page_is_ambiguous_too() {
    let host = cloud(|_| answer(200, page_before_another(&[droplet(7, "web-1")])));
    let Err(Error::Invalid(text)) = get(&host, &Node::named("web-1")) else { panic!("ambiguous") };
    assert!(text.starts_with("more than 200 droplets are called web-1"), "{text}");
}

#[test]
fn with_a_cluster_only_its_droplets_count() {
    let host = cloud(|_| {
        let mut other = droplet(7, "web-1");
        other["tags"] = json!(["k8s:c-2"]);
        answer(200, page(&[other, droplet(8, "web-1")]))
    });
    let host = host.setting("clusterId", "c-1");
    assert_eq!(get(&host, &Node::named("web-1")), Ok(Some(instance(8, "web-1"))));
}

#[test]
fn only_the_apis_own_404_is_none() {
    let ask = |body: &'static str| get(&cloud(move |_| answer(404, body)), &by_id());
    assert_eq!(ask(r#"{ "id": "not_found", "message": "The resource you requested could not be found." }"#), Ok(None));
    for body in ["", "<html>nginx</html>", r#"{ "message": "no Route matched with those values" }"#, "[]"] {
        assert!(
            matches!(ask(body), Err(Error::Unavailable(text)) if text.contains("does baseUrl lead to it?")),
            "{body}"
        );
    }
}

#[test]
fn a_busy_object_is_not_a_missing_right() {
    let busy =
        r#"{ "id": "forbidden", "message": "Load Balancer can't be updated while it processes previous actions" }"#;
    assert!(matches!(refused(403, &[], busy), Error::Unavailable(_)));
    let full = r#"{ "id": "forbidden", "message": "You have reached the limit of load balancers" }"#;
    assert!(refused(403, &[], full).is_quota());
    let denied = r#"{ "id": "forbidden", "message": "You do not have access", "request_id": "r-9" }"#;
    let text = "GET /v2/droplets/42 at endpoint api: 403 You do not have access (request r-9)";
    assert_eq!(refused(403, &[], denied), Error::denied(text));
}

#[test]
fn a_used_up_limit_says_when_to_come_back() {
    let pause = |seconds| Error::retry_after(Duration::from_secs(seconds), "GET /v2/droplets/42 at endpoint api: 429");
    assert_eq!(refused(429, &[("Retry-After", "20"), ("ratelimit-reset", "4600")], ""), pause(20));
    assert_eq!(refused(429, &[("ratelimit-reset", "1090")], ""), pause(90));
    assert_eq!(refused(429, &[("ratelimit-reset", "900")], ""), pause(1));
    assert_eq!(refused(429, &[], ""), Error::unavailable("GET /v2/droplets/42 at endpoint api: 429"));
}

#[test]
fn a_droplet_without_a_required_field_is_unavailable() {
    for field in ["id", "name", "status", "size_slug", "region", "networks"] {
        let mut droplet = droplet(42, "web-1");
        droplet.as_object_mut().unwrap().remove(field);
        let Error::Unavailable(text) = refused(200, &[], &json!({ "droplet": droplet }).to_string()) else {
            panic!("{field}")
        };
        assert!(text.contains(&format!("missing field `{field}`")), "{text}");
    }
}

#[test]
fn a_list_shows_droplets_and_then_machines_with_gpus() {
    let host = cloud(|request| {
        let is = |name: &str, value: &str| request.query.iter().any(|it| it.0 == name && it.1 == value);
        match (is("type", "gpus"), is("page", "1")) {
            (false, true) => answer(200, page_before_another(&[droplet(1, "a")])),
            (false, false) => answer(200, page(&[droplet(2, "b")])),
            (true, _) => answer(200, page(&[droplet(3, "c")])),
        }
    });
    let ask = |cursor: Option<&str>| host.run(|| DigitalOcean::list(cursor, 1_000)).unwrap();
    let first = ask(None);
    assert_eq!(first, Page::new(vec![instance(1, "a")], Some("droplets:2:200".to_owned())));
    let second = ask(first.next.as_deref());
    assert_eq!(second, Page::new(vec![instance(2, "b")], Some("gpus:1:200".to_owned())));
    let third = ask(second.next.as_deref());
    assert_eq!(third, Page::new(vec![instance(3, "c")], None));
    assert_eq!(
        host.requests(),
        [
            "GET api /v2/droplets?page=1&per_page=200",
            "GET api /v2/droplets?page=2&per_page=200",
            "GET api /v2/droplets?type=gpus&page=1&per_page=200",
        ]
    );
}

#[test]
fn the_list_of_a_cluster_asks_for_its_tag_alone() {
    let host = cloud(|_| answer(200, page(&[droplet(1, "a")]))).setting("clusterId", "c-1");
    let listed = host.run(|| DigitalOcean::list(None, 50));
    assert_eq!(listed, Ok(Page::new(vec![instance(1, "a")], None)));
    assert_eq!(host.requests(), ["GET api /v2/droplets?tag_name=k8s:c-1&page=1&per_page=50"]);
}

#[test]
fn a_list_keeps_its_page_size() {
    for cursor in ["droplets:2:200", "droplets:x:100", "machines:2:100", "droplets:2", ""] {
        let Err(Error::Invalid(text)) = Host::new().run(|| DigitalOcean::list(Some(cursor), 100)) else {
            panic!("{cursor}")
        };
        assert_eq!(text, format!("cursor {cursor:?} is not one of a list with 100 droplets a page"));
    }
}

#[test]
fn the_identity_is_the_team_or_else_the_user() {
    let ask = |status, body: &'static str| cloud(move |_| answer(status, body)).run(DigitalOcean::identity);
    assert_eq!(ask(200, r#"{ "account": { "uuid": "u", "team": { "uuid": "t" } } }"#), Ok(Some("t".to_owned())));
    assert_eq!(ask(200, r#"{ "account": { "uuid": "u" } }"#), Ok(Some("u".to_owned())));
    assert_eq!(ask(403, r#"{ "id": "forbidden", "message": "missing scope" }"#), Ok(None));
    assert!(matches!(ask(401, "{}"), Err(Error::Denied(_))));
    assert!(matches!(ask(404, "{}"), Err(Error::Unavailable(_))));
    assert!(matches!(ask(200, "{}"), Err(Error::Unavailable(_))));
}

#[test]
fn it_describes_its_endpoint_and_its_settings() {
    let description = Host::new().run(DigitalOcean::describe).unwrap();
    assert_eq!(
        (description.name.as_str(), description.get_batch_size, description.list_page_size),
        ("digitalocean", 1, 200)
    );
    assert_eq!(description.provider_id_prefixes, ["digitalocean://"]);
    let [api] = &description.endpoints[..] else { panic!("one endpoint") };
    assert_eq!((api.name.as_str(), api.example_base_url.as_str()), ("api", "https://api.digitalocean.com"));
    let settings: Vec<_> = description.settings.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        settings,
        [
            "clusterId",
            "vpcId",
            "region",
            "defaultLoadBalancerType",
            "pollInterval",
            "createAgainAfter",
            "adoptById",
            "allowedCertificates",
            "allowedReservedIPs",
            "volumes",
        ]
    );
    let keys: std::collections::BTreeSet<_> = description.annotations.iter().map(|it| it.key.as_str()).collect();
    assert_eq!((description.annotations.len(), keys.len()), (38, 38));
    let id = "kubernetes.digitalocean.com/load-balancer-id";
    assert_eq!(description.writes_annotations, [id, "service.beta.kubernetes.io/do-loadbalancer-type"]);
}

#[test]
fn a_cluster_id_that_no_tag_can_have_is_refused_at_load() {
    for id in ["", "c 1", "c/1", &"c".repeat(252)] {
        let Err(Error::Invalid(text)) = Host::new().setting("clusterId", id).run(DigitalOcean::describe) else {
            panic!("{id}")
        };
        assert!(text.starts_with("setting clusterId: "), "{text}");
    }
}

#[test]
fn settings_that_cannot_work_are_refused_at_load() {
    for (name, value, allowed) in [
        ("vpcId", "default", "the UUID of a VPC"),
        ("region", "New York", "a region's slug such as nyc3"),
        ("defaultLoadBalancerType", "GLOBAL", "REGIONAL or REGIONAL_NETWORK"),
        ("pollInterval", "500ms", "between 1s and 5m"),
        ("pollInterval", "6m", "between 1s and 5m"),
        ("createAgainAfter", "0s", "between 1s and 1h"),
        ("adoptById", "yes", "true or false"),
        ("volumes", "on", "true or false"),
    ] {
        let refused = Host::new().setting(name, value).run(DigitalOcean::describe).unwrap_err();
        assert_eq!(refused, Error::invalid(format_args!("setting {name}: {value:?} is not {allowed}")));
    }
}

#[test]
fn the_readme_shows_what_is_described() {
    let description = Host::new().run(DigitalOcean::describe).unwrap();
    let prefix = "service.beta.kubernetes.io/do-loadbalancer-";
    let filled = readme::filled(include_str!("../README.md"), &description, prefix);
    // UPDATE_EXPECT=1 rewrites the file; the failure says so.
    expect_test::expect_file!["../README.md"].assert_eq(&filled);
}
