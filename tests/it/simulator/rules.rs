//! What the service refuses of a load balancer, and in which words.

use serde_json::{Value, json};
use tests::clouds::digitalocean::{Certificate, Options, Simulator};

use crate::client::{send, simulator};
use crate::creation::{create, desired};

const CERTIFICATE: &str = "892071a0-bb95-49bc-8021-3afd67a210bf";

/// Checks that a load balancer with these attributes is refused, each for its reason.
async fn check(simulator: &Simulator, refused: &[(Value, &str)]) {
    for (attributes, message) in refused {
        let mut desired = desired("web");
        desired.as_object_mut().unwrap().extend(attributes.as_object().unwrap().clone());
        let answer = send(simulator, "POST", "/v2/load_balancers", &desired).await.unwrap();
        assert_eq!(answer.refusal(), (422, *message));
    }
    assert_eq!(simulator.load_balancers().all().len(), 0);
    // Some of it is not even as declared.
    let _ = simulator.take_violations();
}

fn rule(entry: &str, port: u32, target: &str) -> Value {
    json!({ "entry_protocol": entry, "entry_port": port, "target_protocol": target, "target_port": 30080 })
}

/// The attributes of a load balancer with these rules.
fn rules(rules: impl IntoIterator<Item = Value>) -> Value {
    json!({ "forwarding_rules": Vec::from_iter(rules) })
}

/// Sessions that stick by a cookie whose name has so many characters.
fn cookie(characters: usize) -> Value {
    json!({ "sticky_sessions": {
        "type": "cookies", "cookie_name": "c".repeat(characters), "cookie_ttl_seconds": 300,
    } })
}

fn with(mut object: Value, name: &str, value: Value) -> Value {
    object[name] = value;
    object
}

#[tokio::test]
async fn attributes_have_limits() {
    let simulator = simulator(Options::default(), 1, 2).await;
    check(
        &simulator,
        &[
            (json!({ "name": "-web" }), r#"name "-web" is invalid"#),
            (json!({ "name": "web-" }), r#"name "web-" is invalid"#),
            (json!({ "name": "w_b" }), r#"name "w_b" is invalid"#),
            (json!({ "name": "" }), r#"name "" is invalid"#),
            (json!({ "type": "L7" }), r#"type "L7" is not one of REGIONAL, REGIONAL_NETWORK"#),
            (json!({ "network": "internal" }), r#"network "internal" is not one of EXTERNAL, INTERNAL"#),
            (json!({ "network_stack": "IPV6" }), r#"network_stack "IPV6" is not one of IPV4, DUALSTACK"#),
            (
                json!({ "network": "INTERNAL", "network_stack": "DUALSTACK" }),
                "internal load balancers do not support the network stack DUALSTACK",
            ),
            (json!({ "size": "lb-huge" }), "size lb-huge is invalid"),
            (json!({ "size": "lb-small", "size_unit": 1 }), "size and size_unit are mutually exclusive"),
            (json!({ "size_unit": 101 }), "size_unit must be between 1 and 100, not 101"),
            (
                json!({ "http_idle_timeout_seconds": 29 }),
                "http_idle_timeout_seconds must be between 30 and 600, not 29",
            ),
            (
                json!({ "health_check": { "check_interval_seconds": 2 } }),
                "health_check.check_interval_seconds must be between 3 and 300, not 2",
            ),
            (
                json!({ "health_check": { "unhealthy_threshold": 11 } }),
                "health_check.unhealthy_threshold must be between 2 and 10, not 11",
            ),
            (json!({ "health_check": { "path": "healthz" } }), r#"health_check.path "healthz" must begin with /"#),
            (
                json!({ "health_check": { "protocol": "tcp", "path": "/" } }),
                "health_check.path cannot be set with the protocol tcp",
            ),
            (
                json!({ "redirect_http_to_https": true }),
                "redirect_http_to_https needs a forwarding rule for https or http2 on port 443",
            ),
            (
                json!({ "sticky_sessions": { "type": "cookies" } }),
                "sticky_sessions with cookies take a cookie_name and cookie_ttl_seconds",
            ),
            (cookie(1), "sticky_sessions.cookie_name must have 2 to 40 characters, not 1"),
            (cookie(41), "sticky_sessions.cookie_name must have 2 to 40 characters, not 41"),
            (json!({ "firewall": { "allow": ["10.0.0.0/8"] } }), r#"firewall rule "10.0.0.0/8" is invalid"#),
            (json!({ "firewall": { "deny": ["ip:10.0.0.0/8"] } }), r#"firewall rule "ip:10.0.0.0/8" is invalid"#),
            (json!({ "region": "mars1" }), "region mars1 is not available"),
            (json!({ "vpc_uuid": CERTIFICATE }), &format!("VPC {CERTIFICATE} was not found")),
            (json!({ "tag": "web" }), "droplet_ids and tag are mutually exclusive"),
            (json!({ "droplet_ids": [1, 7] }), "droplet 7 was not found"),
        ],
    )
    .await;
}

#[tokio::test]
async fn forwarding_rules_are_checked() {
    let simulator = simulator(Options::default(), 1, 2).await;
    simulator.certificates().insert(Certificate::new(CERTIFICATE, "web"));
    let unknown = "ba9b9c18-6c59-46c2-99df-70da170a42ba";
    let https = || rule("https", 443, "http");
    let terminated = |id: &str| with(https(), "certificate_id", json!(id));
    let network = |rule: Value| with(rules([rule]), "type", json!("REGIONAL_NETWORK"));
    check(
        &simulator,
        &[
            (rules([]), "forwarding_rules must have at least one rule"),
            (
                rules([rule("sctp", 80, "tcp")]),
                r#"entry_protocol "sctp" is not one of http, https, http2, http3, tcp, udp"#,
            ),
            (
                rules([rule("http3", 80, "http3")]),
                r#"target_protocol "http3" is not one of http, https, http2, tcp, udp"#,
            ),
            (rules([rule("tcp", 0, "tcp")]), "entry_port must be between 1 and 65535, not 0"),
            (rules([rule("tcp", 50_053, "tcp")]), "entry_port 50053 is reserved"),
            (rules([rule("udp", 50_055, "udp")]), "entry_port 50055 is reserved"),
            (rules([rule("udp", 80, "tcp")]), "udp can be forwarded to udp only"),
            (
                rules([rule("tcp", 80, "tcp"), rule("http", 80, "http")]),
                "forwarding rules must have unique entry ports: 80 is used twice",
            ),
            (rules([https()]), "https takes either certificate_id or tls_passthrough"),
            (
                rules([with(terminated(CERTIFICATE), "tls_passthrough", json!(true))]),
                "https takes either certificate_id or tls_passthrough",
            ),
            (rules([rule("http3", 443, "http")]), "http3 takes a certificate_id"),
            (
                rules([
                    with(rule("http3", 443, "http"), "certificate_id", json!(CERTIFICATE)),
                    with(rule("https", 8443, "http"), "certificate_id", json!(CERTIFICATE)),
                ]),
                "http3 on port 443 needs a rule for https or http2 on port 443",
            ),
            (
                rules([with(rule("tcp", 80, "tcp"), "tls_passthrough", json!(true))]),
                "tcp takes neither certificate_id nor tls_passthrough",
            ),
            (rules([terminated(unknown)]), &format!("certificate {unknown} was not found")),
            (
                network(rule("http", 80, "http")),
                "network load balancers forward tcp to tcp and udp to udp, not http to http",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn tcp_and_udp_may_share_a_port_number() {
    let simulator = simulator(Options::default(), 1, 2).await;
    simulator.certificates().insert(Certificate::new(CERTIFICATE, "web"));
    let terminated = |entry: &str| with(rule(entry, 443, "http"), "certificate_id", json!(CERTIFICATE));
    let mut desired = desired("web");
    desired["forwarding_rules"] =
        json!([terminated("https"), terminated("http3"), rule("tcp", 53, "tcp"), rule("udp", 53, "udp")]);
    let made = create(&simulator, &desired).await;
    assert_eq!(made["forwarding_rules"][1]["certificate_id"], CERTIFICATE);
}

#[tokio::test]
async fn a_redirect_and_http3_are_taken_beside_tls() {
    let simulator = simulator(Options::default(), 1, 2).await;
    simulator.certificates().insert(Certificate::new(CERTIFICATE, "web"));
    let terminated = |entry: &str| with(rule(entry, 443, "http"), "certificate_id", json!(CERTIFICATE));
    let passed_through = with(rule("https", 443, "https"), "tls_passthrough", json!(true));
    for (index, rules) in
        [vec![passed_through], vec![terminated("http2")], vec![terminated("http3"), terminated("http2")]]
            .into_iter()
            .enumerate()
    {
        let mut desired = with(desired(&format!("web-{index}")), "redirect_http_to_https", json!(true));
        desired["forwarding_rules"] = json!(rules);
        assert_eq!(create(&simulator, &desired).await["redirect_http_to_https"], true);
    }
}

#[tokio::test]
async fn names_of_cookies_have_2_to_40_characters() {
    let simulator = simulator(Options::default(), 1, 2).await;
    for characters in [2, 40] {
        let desired = with(
            desired(&format!("web-{characters}")),
            "sticky_sessions",
            cookie(characters)["sticky_sessions"].clone(),
        );
        let name = create(&simulator, &desired).await["sticky_sessions"]["cookie_name"].clone();
        assert_eq!(name.as_str().unwrap().len(), characters);
    }
}

#[tokio::test]
async fn a_body_that_is_no_load_balancer_is_a_bad_request() {
    let simulator = simulator(Options::default(), 1, 2).await;
    for body in
        [json!([]), with(desired("web"), "droplet_ids", json!(["one"])), with(desired("web"), "ip", json!("here"))]
    {
        let answer = send(&simulator, "POST", "/v2/load_balancers", &body).await.unwrap();
        assert_eq!((answer.status, &answer.body["id"]), (400, &json!("bad_request")));
    }
    assert!(simulator.take_violations().len() >= 3);
}
