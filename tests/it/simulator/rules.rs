//! Refusals of load balancers, and their words.

use serde_json::{Value, json};
use tests::clouds::digitalocean::{Certificate, Simulator};

use crate::creation::{saying, two, want, with};
use crate::table::{play, row, then};

const CERTIFICATE: &str = "892071a0-bb95-49bc-8021-3afd67a210bf";

/// Checks that load balancers with these attributes are refused, each for its reason.
async fn check(refused: &[(Value, &str)]) {
    play(refused.iter().map(|(attributes, message)| {
        let refused = want(saying("web", attributes)).refused(422, message);
        row(attributes.to_string(), with_certificate()).asks([
            refused,
            then(|simulator: &Simulator, _| {
                assert_eq!(simulator.load_balancers().all().len(), 0);
                // Some of it is not even as declared.
                drop(simulator.take_violations());
            }),
        ])
    }))
    .await;
}

/// A simulator with two droplets and a certificate.
async fn with_certificate() -> Simulator {
    let simulator = two().await;
    simulator.certificates().insert(Certificate::new(CERTIFICATE, "web"));
    simulator
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

#[tokio::test]
async fn attributes_have_limits() {
    check(&[
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
        (json!({ "http_idle_timeout_seconds": 29 }), "http_idle_timeout_seconds must be between 30 and 600, not 29"),
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
    ])
    .await;
}

#[tokio::test]
async fn forwarding_rules_are_checked() {
    let unknown = "ba9b9c18-6c59-46c2-99df-70da170a42ba";
    let https = || rule("https", 443, "http");
    let terminated = |id: &str| with(https(), "certificate_id", json!(id));
    let network = |rule: Value| with(rules([rule]), "type", json!("REGIONAL_NETWORK"));
    check(&[
        (rules([]), "forwarding_rules must have at least one rule"),
        (
            rules([rule("sctp", 80, "tcp")]),
            r#"entry_protocol "sctp" is not one of http, https, http2, http3, tcp, udp"#,
        ),
        (rules([rule("http3", 80, "http3")]), r#"target_protocol "http3" is not one of http, https, http2, tcp, udp"#),
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
    ])
    .await;
}

#[tokio::test]
async fn allowed_rules_are_taken() {
    let terminated = |entry: &str| with(rule(entry, 443, "http"), "certificate_id", json!(CERTIFICATE));
    let passed_through = with(rule("https", 443, "https"), "tls_passthrough", json!(true));
    let shared = [terminated("https"), terminated("http3"), rule("tcp", 53, "tcp"), rule("udp", 53, "udp")];
    let certified = json!({ "forwarding_rules": [{}, { "certificate_id": CERTIFICATE }, {}, {}] });
    let redirect = |to: Vec<Value>| with(rules(to), "redirect_http_to_https", json!(true));
    let redirected = || json!({ "redirect_http_to_https": true });
    let named = |characters| json!({ "sticky_sessions": { "cookie_name": "c".repeat(characters) } });
    let allowed = [
        ("TCP and UDP may share a port number", rules(shared), certified),
        ("a redirect beside passthrough", redirect(vec![passed_through]), redirected()),
        ("a redirect beside HTTP/2", redirect(vec![terminated("http2")]), redirected()),
        ("a redirect beside HTTP/3", redirect(vec![terminated("http3"), terminated("http2")]), redirected()),
        ("a cookie of two characters", cookie(2), named(2)),
        ("a cookie of forty characters", cookie(40), named(40)),
    ];
    play(allowed.map(|(name, attributes, made)| {
        let made = want(saying("web", &attributes)).is(202, json!({ "load_balancer": made }));
        row(name, with_certificate()).asks([made])
    }))
    .await;
}

#[tokio::test]
async fn a_body_that_is_no_load_balancer_is_a_bad_request() {
    let bodies =
        [json!([]), saying("web", &json!({ "droplet_ids": ["one"] })), saying("web", &json!({ "ip": "here" }))];
    play(bodies.map(|body| {
        let name = body.to_string();
        row(name, two()).asks([
            want(body).is(400, json!({ "id": "bad_request" })),
            then(|it: &Simulator, _| assert!(!it.take_violations().is_empty())),
        ])
    }))
    .await;
}
