//! The Services of the story. Node ports are given, so that names and rules that hold them are the same each time. Numbers in comments are
//! those of the cases in `tests/CASES.md`.

use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use super::places::Places;

/// Before each annotation but one.
const PREFIX: &str = "service.beta.kubernetes.io/aws-load-balancer-";
/// That one.
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

/// A Service, and what changes about it.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) service: Service,
    pub(super) patch: Option<Value>,
}

impl Case {
    /// See [`annotations`].
    pub(super) fn annotated(self, annotations: &[(&str, Option<&str>)]) -> Self {
        self.patched_by(self::annotations(annotations))
    }

    fn patched_by(self, patch: Value) -> Self {
        Self { patch: Some(patch), ..self }
    }
}

/// A port, and its node port.
pub(super) fn port(port: u16, node_port: u16) -> Value {
    json!({ "name": format!("p-{port}"), "port": port, "nodePort": node_port, "protocol": "TCP" })
}

/// A patch by which annotations change so. What is null goes.
pub(super) fn annotations(annotations: &[(&str, Option<&str>)]) -> Value {
    let annotations: serde_json::Map<_, _> = annotations.iter().map(|(name, it)| (key(name), json!(it))).collect();
    json!({ "metadata": { "annotations": annotations } })
}

/// The whole key of an annotation.
fn key(name: &str) -> String {
    if name == SOURCE_RANGES { name.to_owned() } else { format!("{PREFIX}{name}") }
}

pub(super) fn service(name: &'static str, ports: &[Value], annotations: &[(&str, &str)], more: &Value) -> Case {
    let annotations: serde_json::Map<_, _> = annotations.iter().map(|(name, it)| (key(name), json!(it))).collect();
    let mut spec = json!({ "type": "LoadBalancer", "selector": { "app": name }, "ports": ports });
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    let service = json!({ "metadata": { "name": name, "annotations": annotations }, "spec": spec });
    Case { name, service: serde_json::from_value(service).expect("it is a Service"), patch: None }
}

pub(super) fn network(name: &'static str, ports: &[Value], annotations: &[(&str, &str)], more: &Value) -> Case {
    let annotations: Vec<_> = [("type", "nlb")].into_iter().chain(annotations.iter().copied()).collect();
    service(name, ports, &annotations, more)
}

/// Those whose load balancers get no security groups, unless they are Classic ones.
pub(super) fn all(places: &Places) -> Vec<Case> {
    let mut all = classic(places);
    all.extend(balanced(places));
    all
}

fn classic(places: &Places) -> Vec<Case> {
    let [first, _] = certificates(places);
    let ranges = |ranges: &[&str]| json!({ "loadBalancerSourceRanges": ranges });
    let (groups, second) = (places.groups.join(","), &places.groups[1]);
    vec![
        // 19, 20, 28, 29
        service("plain", &[port(80, 30_001)], &[], &json!({}))
            .patched_by(json!({ "spec": { "ports": [port(81, 30_001)] } })),
        // 21
        service(
            "tls",
            &[port(80, 30_002), port(443, 30_003)],
            &[("ssl-cert", first), ("ssl-ports", "443"), ("backend-protocol", "http")],
            &json!({}),
        )
        .annotated(&[("ssl-negotiation-policy", Some("ELBSecurityPolicy-TLS-1-2-2017-01"))]),
        // 26
        service("proxy", &[port(80, 30_004)], &[("proxy-protocol", "*")], &json!({}))
            .annotated(&[("proxy-protocol", None)]),
        // 27
        service(
            "local",
            &[port(80, 30_005)],
            &[],
            &json!({ "externalTrafficPolicy": "Local", "healthCheckNodePort": 31_000 }),
        ),
        service(
            "settings",
            &[port(80, 30_006)],
            &[
                ("internal", "true"),
                ("access-log-enabled", "true"),
                ("access-log-emit-interval", "5"),
                ("access-log-s3-bucket-name", "logs"),
                ("access-log-s3-bucket-prefix", "prod"),
                ("connection-draining-enabled", "true"),
                ("connection-draining-timeout", "60"),
                ("connection-idle-timeout", "120"),
                ("cross-zone-load-balancing-enabled", "true"),
                ("additional-resource-tags", "team=web,stage=prod"),
                ("healthcheck-healthy-threshold", "3"),
                ("healthcheck-unhealthy-threshold", "4"),
                ("healthcheck-timeout", "6"),
                ("healthcheck-interval", "20"),
            ],
            &json!({}),
        )
        .annotated(&[("connection-idle-timeout", Some("90")), ("healthcheck-interval", Some("30"))]),
        service("ranges", &[port(80, 30_007)], &[], &ranges(&["10.0.0.0/8"]))
            .patched_by(json!({ "spec": ranges(&["10.0.0.0/8", "11.0.0.0/8"]) })),
        service("labels", &[port(80, 30_008)], &[("target-node-labels", "role=edge")], &json!({})),
        service("rangenote", &[port(80, 30_009)], &[(SOURCE_RANGES, "10.0.0.0/8")], &json!({}))
            .annotated(&[(SOURCE_RANGES, Some("10.0.0.0/8,11.0.0.0/8"))]),
        service("groups", &[port(80, 30_010)], &[("security-groups", &groups)], &json!({})),
        service("extra", &[port(80, 30_022)], &[("extra-security-groups", second)], &json!({})),
    ]
}

fn balanced(places: &Places) -> Vec<Case> {
    let ranges = |ranges: &[&str]| json!({ "loadBalancerSourceRanges": ranges });
    let subnets = places.subnets[..2].join(",");
    let [first, second] = certificates(places);
    let addresses = places.addresses.join(",");
    vec![
        // 31, 32, 34
        network("nlb", &[port(80, 30_011), port(443, 30_012)], &[], &json!({}))
            .patched_by(json!({ "spec": { "ports": [port(80, 30_011), port(8443, 30_012)] } })),
        // 32, 40
        network("nlbtls", &[port(443, 30_013)], &[("ssl-cert", first)], &json!({}))
            .annotated(&[("ssl-cert", Some(second))]),
        network(
            "nlblocal",
            &[port(80, 30_014)],
            &[],
            &json!({ "externalTrafficPolicy": "Local", "healthCheckNodePort": 31_001 }),
        ),
        // 37
        network("nlbint", &[port(80, 30_015)], &[("internal", "true")], &json!({})),
        // 38
        network("nlbrange", &[port(80, 30_016)], &[], &ranges(&["10.0.0.0/8"]))
            .patched_by(json!({ "spec": ranges(&["10.0.0.0/8", "11.0.0.0/8"]) })),
        // 32, 39
        network(
            "nlbcheck",
            &[port(80, 30_017)],
            &[
                ("healthcheck-protocol", "HTTP"),
                ("healthcheck-path", "/ready"),
                ("healthcheck-port", "8080"),
                ("healthcheck-interval", "30"),
                ("healthcheck-healthy-threshold", "4"),
            ],
            &json!({}),
        )
        .annotated(&[("healthcheck-interval", Some("10"))]),
        network(
            "nlbattr",
            &[port(80, 30_018)],
            &[
                ("target-group-attributes", "preserve_client_ip.enabled=false,proxy_protocol_v2.enabled=true"),
                ("cross-zone-load-balancing-enabled", "true"),
                ("access-log-enabled", "true"),
                ("access-log-s3-bucket-name", "logs"),
                ("access-log-s3-bucket-prefix", "prod"),
                ("additional-resource-tags", "team=web,stage=prod"),
            ],
            &json!({}),
        )
        .annotated(&[("cross-zone-load-balancing-enabled", Some("false")), ("access-log-enabled", Some("false"))]),
        network(
            "nlbudp",
            &[json!({ "name": "dns", "port": 53, "nodePort": 30_019, "protocol": "UDP" })],
            &[],
            &json!({}),
        ),
        network("nlbplace", &[port(80, 30_020)], &[("subnets", &subnets)], &json!({})),
        network("nlblabel", &[port(80, 30_021)], &[("target-node-labels", "role=edge")], &json!({}))
            .annotated(&[("target-node-labels", None)]),
        network("nlbeip", &[port(80, 30_023)], &[("subnets", &subnets), ("eip-allocations", &addresses)], &json!({})),
        network(
            "nlbpriv",
            &[port(80, 30_024)],
            &[("internal", "true"), ("subnets", &subnets), ("private-ipv4-addresses", "172.31.15.200,172.31.31.200")],
            &json!({}),
        ),
        network("nlbssl", &[port(443, 30_025)], &[("ssl-cert", first), ("backend-protocol", "ssl")], &json!({})),
    ]
}

/// Those whose Network Load Balancers get security groups. 46
pub(super) fn managed(places: &Places) -> Vec<Case> {
    let [first, _] = certificates(places);
    vec![
        network("guarded", &[port(80, 30_031)], &[], &json!({})),
        network("given", &[port(80, 30_033)], &[("security-groups", &places.groups.join(","))], &json!({})),
        network("safe", &[port(443, 30_032)], &[("ssl-cert", first)], &json!({})),
    ]
}

pub(super) fn certificates(places: &Places) -> [&str; 2] {
    [0, 1].map(|it| places.certificates[it].as_str())
}
