//! Reports of all that differs from the published description.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};
use tests::clouds::digitalocean::{Droplet, Fault, LoadBalancer, Options, Simulator};

use crate::client::{self, simulator};
use crate::creation::{ID, desired, two, want, with};
use crate::table::{Row, Step, ask, get, play, post, row, say, then};

/// A load balancer's path.
const ONE: &str = "/v2/load_balancers/4de7ac8b-495b-4884-9a69-1050c6793cd6";

type Assets = tests::clouds::digitalocean::Assets;

async fn one() -> Simulator {
    simulator(Options::default(), 1, 1).await
}

/// All that is found wrong.
fn found(violations: Vec<String>) -> Step<Assets> {
    then(move |it: &Simulator, _| assert_eq!(it.take_violations(), violations))
}

/// GET, and what is found wrong with it and its answer.
fn check(path: &str, violations: &[&str]) -> [Step<Assets>; 2] {
    [get(path).whatever(), found(violations.iter().map(|it| format!("GET {path}: {it}")).collect())]
}

/// Asks for a load balancer with an attribute more. What is found wrong with the request is this.
fn attribute(method: &'static str, name: &str, value: Value, violation: Option<String>) -> Row<Assets> {
    let path = if method == "POST" { "/v2/load_balancers" } else { ONE };
    let found = found(violation.into_iter().map(|it| format!("{method} {path}: the request's body at {it}")).collect());
    row(format!("{method} {name}"), two())
        .asks([say(method, path, with(desired("web"), name, value)).whatever(), found])
}

#[tokio::test]
async fn requests_are_as_declared() {
    let paths: [(&str, &[&str]); 13] = [
        ("/v2/droplets?page=1&per_page=200&type=gpus", &[]),
        ("/v2/droplets?colour=red", &["the query key colour is not declared"]),
        ("/v2/droplets?page=1&page=1", &["the query key page stands there twice"]),
        ("/v2/droplets?per_page=201", &["the query key per_page: 201 is greater than the maximum of 200"]),
        ("/v2/droplets?page=one", &[r#"the query key page: "one" is not of type "integer""#]),
        ("/v2/droplets/first", &[r#"the path's droplet_id: "first" is not of type "integer""#]),
        ("/v2/droplets/1/actions", &["the description has no such operation"]),
        ("/v2/account?page=1", &["the query key page is not declared"]),
        // Filters that only the vendor's client knows are not offered.
        ("/v2/load_balancers?page=1&per_page=200", &[]),
        ("/v2/load_balancers?names=web", &["the query key names is not declared"]),
        ("/v2/load_balancers?uuids=web", &["the query key uuids is not declared"]),
        ("/v2/load_balancers?name=web", &["the query key name is not declared"]),
        ("/v2/load_balancers/4de7ac8b-495b-4884-9a69-1050c6793cd6?page=1", &["the query key page is not declared"]),
    ];
    let method = "DELETE /v2/droplets/1: the description has no such operation".to_owned();
    let body = "GET /v2/droplets/1: the operation takes no body".to_owned();
    let fault = || Fault::status("GET", "/v2/droplets", 500).body(r#"{"colour":"red"}"#);
    let others = [
        row("a method that is not declared", one())
            .asks([ask("DELETE", "/v2/droplets/1").whatever(), found(vec![method])]),
        row("a body that is not declared", one())
            .asks([say("GET", "/v2/droplets/1", json!({})).whatever(), found(vec![body])]),
        row("faults on purpose are let through and their requests are not", one())
            .asks([then(move |it: &Simulator, _| it.inject(fault()))])
            .asks(check("/v2/droplets", &[]))
            .asks(check("/v2/droplets?colour=red", &["the query key colour is not declared"])),
    ];
    play(paths.map(|(path, violations)| row(path, one()).asks(check(path, violations))).into_iter().chain(others))
        .await;
}

#[tokio::test]
async fn answers_are_as_declared() {
    let unexpected = |at: &str, name: &str| {
        format!(r#"the answer at "{at}": Unevaluated properties are not allowed ('{name}' was unexpected)"#)
    };
    let status = r#"the answer at "/droplet/status": "resting" is not one of "new", "active" or 2 other candidates"#;
    let address = r#"the answer at "/droplet/networks/v4/0/ip_address": "10.0.0.300" is not a "ipv4""#;
    let networks = json!({ "v4": [{ "ip_address": "10.0.0.300", "type": "private" }] });
    let insert = |name: &'static str, value: Value| {
        then(move |it: &Simulator, _| it.droplets().insert(Droplet::new(7, "worker").field(name, value)))
    };
    let fields = [
        ("colour", json!("red"), unexpected("/droplet", "colour")),
        ("vcpus", json!("two"), r#"the answer at "/droplet/vcpus": "two" is not of type "integer""#.to_owned()),
        ("status", json!("resting"), status.to_owned()),
        ("networks", networks, address.to_owned()),
        ("networks", json!({ "v5": [] }), unexpected("/droplet/networks", "v5")),
    ];
    let fields = fields.map(|(name, value, violation)| {
        row(name, one()).asks([insert(name, value)]).asks(check("/v2/droplets/7", &[&violation]))
    });
    // A page is composed of parts. The part that holds the droplets does not count as a declaration once it fails.
    let (list, composed) = (unexpected("/droplets/1", "colour"), unexpected("", "droplets"));
    let list =
        row("a list", one()).asks([insert("colour", json!("red"))]).asks(check("/v2/droplets", &[&list, &composed]));
    play(fields.into_iter().chain([list])).await;
}

#[tokio::test]
async fn a_body_says_what_is_declared_and_nothing_else() {
    let undeclared =
        |name: &str| Some(format!(r#""": Unevaluated properties are not allowed ('{name}' was unexpected)"#));
    let rows = ["POST", "PUT"].into_iter().flat_map(|method| {
        let declared = [
            ("size_unit", json!(1)),
            // Declared nowhere, and known to be understood.
            ("tags", json!(["k8s:c"])),
            ("subnet_uuid", json!(ID)),
            ("health_check", json!({ "proxy_protocol": false })),
        ];
        let others = [
            // Declared nowhere.
            ("colour", json!("red")),
            ("validate_only", json!(true)),
            // Declared, and read-only.
            ("id", json!("new")),
            ("status", json!("new")),
            ("created_at", json!("new")),
            ("ipv6", json!("new")),
        ];
        let declared = declared.map(|(name, value)| attribute(method, name, value, None));
        declared.into_iter().chain(others.map(|(name, value)| attribute(method, name, value, undeclared(name))))
    });
    let address = || json!("198.51.100.7");
    let addresses = [attribute("POST", "ip", address(), None), attribute("PUT", "ip", address(), undeclared("ip"))];
    play(rows.chain(addresses)).await;
}

#[tokio::test]
async fn a_body_says_it_as_declared() {
    let wrong = [
        ("name", json!(7), r#"at "/name": 7 is not of type "string""#),
        ("firewall", json!({ "log": [] }), r#"at "/firewall": Unevaluated properties"#),
        ("size_unit", json!(101), r#"at "/size_unit": 101 is greater than the maximum"#),
        ("droplet_ids", json!(["1"]), r#"at "/droplet_ids/0": "1" is not of type "integer""#),
        ("forwarding_rules", json!([]), r#"at "/forwarding_rules""#),
        ("forwarding_rules", json!([{}]), r#"at "/forwarding_rules/0": "entry_protocol" is a required"#),
        ("enable_proxy_protocol", json!("true"), r#"is not of type "boolean""#),
        ("vpc_uuid", json!("default"), r#"at "/vpc_uuid": "default" is not a "uuid""#),
        ("tls_cipher_policy", Value::Null, r#"at "/tls_cipher_policy""#),
        // It takes one or the other.
        ("tag", json!("web"), r#"at "":"#),
    ];
    let contains = |part: String| {
        then(move |simulator: &Simulator, _| {
            let violations = simulator.take_violations();
            assert!(violations.iter().any(|it| it.contains(&part)), "{part} is not in {violations:#?}");
        })
    };
    let rows = wrong.map(|(name, value, reason)| {
        row(name, two()).asks([want(with(desired("web"), name, value)).whatever(), contains(reason.to_owned())])
    });
    let unexpected = "the request's body at \"\": Unevaluated properties are not allowed ('tag' was unexpected)";
    let unknown = "the request's body at \"\": Unevaluated properties are not allowed ('droplets' was unexpected)";
    let required = "the request's body at \"\": \"droplet_ids\" is a required property";
    let targets = format!("{ONE}/droplets");
    let resource = json!({ "resource_id": ID, "resource_type": "balancer" });
    let others = [
        row("what is missing", two()).asks([
            want(json!({ "forwarding_rules": [] })).whatever(),
            contains(r#""droplet_ids" is a required property"#.to_owned()),
        ]),
        row("bodies of targets and tags", two()).asks([
            then(|it: &Simulator, _| it.load_balancers().insert(LoadBalancer::new(ID, "web"))),
            post(&*targets, json!({ "droplet_ids": [1] })).whatever(),
            then(|it: &Simulator, _| it.assert_valid()),
            post(&*targets, json!({ "droplet_ids": [1], "tag": "web" })).whatever(),
            found(vec![format!("POST {targets}: {unexpected}")]),
            say("DELETE", &*targets, json!({ "droplets": [1] })).whatever(),
            found([required, unknown].map(|it| format!("DELETE {targets}: {it}")).into()),
            post("/v2/tags/web/resources", json!({ "resources": [resource] })).whatever(),
            contains("\"balancer\" is not one of".to_owned()),
        ]),
    ];
    play(rows.into_iter().chain(others)).await;
}

#[tokio::test]
async fn nothing_is_checked_where_that_is_switched_off() {
    let simulator = simulator(Options { checked: false, ..Options::default() }, 1, 1).await;
    client::get(&simulator, "/v2/droplets?colour=red").await.unwrap();
    simulator.stop().await;
}

#[tokio::test]
async fn a_test_fails_even_if_it_does_not_check() {
    let simulator = one().await;
    client::get(&simulator, "/v2/droplets?colour=red").await.unwrap();
    let file = simulator.ca_file();
    let panic = catch_unwind(AssertUnwindSafe(|| drop(simulator))).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.ends_with("\n    GET /v2/droplets?colour=red: the query key colour is not declared"), "{message}");
    assert!(!file.exists());
}

#[tokio::test]
async fn the_explicit_check_lists_everything() {
    let simulator = one().await;
    client::get(&simulator, "/v2/droplets?colour=red").await.unwrap();
    client::get(&simulator, "/v2/things").await.unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| simulator.assert_valid())).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>().unwrap().lines().count(), 3);
}
