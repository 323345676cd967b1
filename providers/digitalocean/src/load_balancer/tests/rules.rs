//! Forwarding rules.

use aerostat_sdk::{LoadBalancer, Port, Protocol};

use super::{CERTIFICATE, desired, key, refusal, regional, service};

/// The rules in short: "https 443 → http 30443 with C", "… through" where TLS is passed through.
fn rules(service: &LoadBalancer) -> Vec<String> {
    let (spec, warnings) = desired(service);
    assert_eq!(warnings, [""; 0]);
    let rules = spec["forwarding_rules"].as_array().unwrap().iter().map(|rule| {
        let word = |name: &str| rule[name].as_str().unwrap().to_owned();
        let end = match (rule.get("certificate_id"), rule.get("tls_passthrough")) {
            (Some(id), None) if id == CERTIFICATE => " with C",
            (None, Some(_)) => " through",
            (None, None) => "",
            other => panic!("{other:?}"),
        };
        format!(
            "{} {} → {} {}{end}",
            word("entry_protocol"),
            rule["entry_port"],
            word("target_protocol"),
            rule["target_port"]
        )
    });
    rules.collect()
}

fn with_certificate() -> LoadBalancer {
    regional().with_annotation(key::CERTIFICATE_ID.name, CERTIFICATE)
}

#[test]
fn packets_that_are_passed_through_keep_their_port() {
    let service = service().with_port(Port::new(Protocol::Udp, 53, 30_053));
    assert_eq!(rules(&service), ["udp 53 → udp 53", "tcp 80 → tcp 80"]);
}

#[test]
fn a_proxy_uses_node_ports() {
    let service = regional().with_port(Port::new(Protocol::Udp, 53, 30_053));
    assert_eq!(rules(&service), ["udp 53 → udp 30053", "tcp 80 → tcp 30080", "tcp 443 → tcp 30443"]);
}

#[test]
fn a_certificate_implies_https_on_443() {
    let service = with_certificate().with_annotation(key::PROTOCOL.name, "http");
    assert_eq!(rules(&service), ["http 80 → http 30080", "https 443 → http 30443 with C"]);
}

#[test]
fn http2_on_443_takes_the_place_of_implied_https() {
    let service = with_certificate().with_annotation(key::HTTP2_PORTS.name, "443");
    assert_eq!(rules(&service), ["tcp 80 → tcp 30080", "http2 443 → http 30443 with C"]);
}

#[test]
fn listed_ports_take_the_place_of_the_implied_one() {
    let service = with_certificate().with_annotation(key::TLS_PORTS.name, "80");
    assert_eq!(rules(&service), ["https 80 → http 30080 with C", "tcp 443 → tcp 30443"]);
}

#[test]
fn tls_that_is_passed_through_keeps_its_protocol() {
    let service =
        regional().with_annotation(key::TLS_PASSTHROUGH.name, "true").with_annotation(key::HTTP_PORTS.name, "80");
    assert_eq!(rules(&service), ["http 80 → http 30080", "https 443 → https 30443 through"]);
}

#[test]
fn white_space_between_ports_is_no_harm() {
    let service = regional().with_annotation(key::HTTP_PORTS.name, " 80, 443 ");
    assert_eq!(rules(&service), ["http 80 → http 30080", "http 443 → http 30443"]);
}

#[test]
fn http3_comes_beside_https() {
    let service =
        with_certificate().with_annotation(key::TLS_PORTS.name, "443").with_annotation(key::HTTP3_PORT.name, "443");
    let expected = ["tcp 80 → tcp 30080", "https 443 → http 30443 with C", "http3 443 → http 30443 with C"];
    assert_eq!(rules(&service), expected);
}

#[test]
fn ports_that_cannot_be_served_are_refused() {
    let sctp = service().with_port(Port::new(Protocol::Sctp, 5_000, 30_500));
    assert_eq!(refusal(&sctp), "only TCP or UDP protocol is supported: port 5000 is SCTP");
    let reserved = service().with_port(Port::new(Protocol::Tcp, 50_054, 30_500));
    let why = "port 50054 cannot be used: 50053 to 50055 are reserved by the cloud";
    assert_eq!(refusal(&reserved), why);
    let mut without = regional();
    without.ports[0].node_port = None;
    assert!(refusal(&without).starts_with("port 80 has no node port"));
}

#[test]
fn contradictions_about_tls_are_refused() {
    let doubled = regional().with_annotation(key::TLS_PORTS.name, "80,443").with_annotation(key::HTTP_PORTS.name, "80");
    let both = format!(
        "annotations {} and {} both list 80: a port can be in one of them",
        key::HTTP_PORTS.name,
        key::TLS_PORTS.name
    );
    assert_eq!(refusal(&doubled), both);
    let both = with_certificate().with_annotation(key::TLS_PASSTHROUGH.name, "true");
    let why = format!("annotations {} and {} cannot both be set", key::TLS_PASSTHROUGH.name, key::CERTIFICATE_ID.name);
    assert_eq!(refusal(&both), why);
    let neither = regional().with_annotation(key::TLS_PORTS.name, "443");
    assert!(refusal(&neither).starts_with("port 443 is to speak TLS: set one of the annotations"));
    let http3 = regional().with_annotation(key::HTTP3_PORT.name, "443");
    assert!(refusal(&http3).contains("needs a certificate"));
}
