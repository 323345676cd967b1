//! The Services of the story that cannot have what they ask for. Numbers in comments are those of the cases in
//! `tests/CASES.md`.

use serde_json::{Value, json};

use super::places::Places;
use super::services::{Case, certificates, network, port, service};

/// Those that are refused as they are. One is another controller's, and one is served: its kind changes later.
pub(super) fn all(places: &Places) -> Vec<Case> {
    let mut all = specs();
    all.extend(annotated(places));
    // 45
    all.push(service("theirs", &[port(80, 30_070)], &[("type", "external")], &json!({})));
    // 30
    all.push(service("kind", &[port(80, 30_071)], &[], &json!({})).annotated(&[("type", Some("nlb"))]));
    all
}

/// One that no subnet serves. 43
pub(super) fn nowhere() -> Case {
    network("nowhere", &[port(80, 30_072)], &[], &json!({}))
}

/// One whose rules do not fit into the group of the nodes. 44
pub(super) fn full() -> Case {
    network("full", &[port(80, 30_073), port(81, 30_074), port(82, 30_075)], &[], &json!({}))
}

fn udp(port: u16, node_port: u16) -> Value {
    json!({ "name": "dns", "port": port, "nodePort": node_port, "protocol": "UDP" })
}

fn specs() -> Vec<Case> {
    vec![
        // 22
        service("udp", &[udp(53, 30_041)], &[], &json!({})),
        // 23
        service("affinity", &[port(80, 30_042)], &[], &json!({ "sessionAffinity": "ClientIP" })),
        // 24
        service("address", &[port(80, 30_043)], &[], &json!({ "loadBalancerIP": "192.0.2.1" })),
        // 36
        network("mixed", &[port(80, 30_044), udp(53, 30_045)], &[], &json!({})),
        // 41
        network(
            "clientip",
            &[udp(53, 30_046)],
            &[("target-group-attributes", "preserve_client_ip.enabled=false")],
            &json!({}),
        ),
    ]
}

/// Each of the annotations that AWS's manager judges, with a value that it refuses. Kubernetes judges that of source ranges.
fn annotated(places: &Places) -> Vec<Case> {
    let [certificate, _] = certificates(places);
    let two = places.subnets[..2].join(",");
    let twins = format!("{},{}", places.subnets[0], places.twin);
    let classic: [(&str, &[(&str, &str)]); 9] = [
        // 25
        ("proxied", &[("proxy-protocol", "true")]),
        ("logs", &[("access-log-enabled", "yes")]),
        ("logevery", &[("access-log-emit-interval", "soon")]),
        ("drains", &[("connection-draining-enabled", "on")]),
        ("drainsfor", &[("connection-draining-timeout", "soon")]),
        ("idles", &[("connection-idle-timeout", "soon")]),
        ("crosses", &[("cross-zone-load-balancing-enabled", "maybe")]),
        ("backend", &[("ssl-cert", certificate), ("backend-protocol", "udp")]),
        ("attributes", &[("target-group-attributes", "proxy_protocol_v2.enabled=true")]),
    ];
    let balanced: [(&str, &[(&str, &str)]); 11] = [
        // 35
        ("eips", &[("subnets", &two), ("eip-allocations", &places.addresses[0])]),
        ("privates", &[("subnets", &two), ("internal", "true"), ("private-ipv4-addresses", "172.31.15.200")]),
        // 41
        ("nlbattributes", &[("target-group-attributes", "foo=bar")]),
        // 42
        ("twins", &[("subnets", &twins)]),
        ("extras", &[("extra-security-groups", &places.groups[0])]),
        ("checkwith", &[("healthcheck-protocol", "icmp")]),
        ("checkat", &[("healthcheck-port", "https")]),
        ("checkevery", &[("healthcheck-interval", "soon")]),
        ("checkfor", &[("healthcheck-timeout", "5s")]),
        ("healthy", &[("healthcheck-healthy-threshold", "some")]),
        ("unhealthy", &[("healthcheck-unhealthy-threshold", "some")]),
    ];
    let classic = classic.iter().zip(30_048..).map(|(it, node)| service(it.0, &[port(80, node)], it.1, &json!({})));
    let balanced = balanced.iter().zip(30_058..).map(|(it, node)| network(it.0, &[port(80, node)], it.1, &json!({})));
    classic.chain(balanced).collect()
}
