//! The load balancer that a Service describes, without the nodes behind it. No client, no clock, no log.

use std::collections::BTreeSet;

use cloud_provider::{
    CurrentDescription, Description, ExternalTrafficPolicy, IpFamily, LoadBalancer, Owner, Port, Protocol,
};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use kube::ResourceExt;

use crate::limits::{objection, trimmed};
use crate::service::selectors::Selectors;
use crate::service::status::{current, memo};

/// The length of a load balancer's default name.
const NAME: usize = 32;
/// For how long a client stays with its pod, if the Service does not say.
const AFFINITY: u32 = 10_800;
/// Where source ranges were before `spec.loadBalancerSourceRanges` was.
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

/// Whose load balancers are looked after, and in which cloud.
#[derive(Clone)]
pub(super) struct ServedCluster {
    /// `--cluster-name`.
    pub(super) name: String,
    /// `--load-balancer-class`: Services of this class are looked after too.
    pub(super) class: Option<String>,
    /// What the cloud's provider says of itself.
    pub(super) description: CurrentDescription,
}

/// A Service that says nothing which could be done, or too much. The API server lets only the latter through.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Invalid(String);

impl Invalid {
    pub(super) fn new(because: String) -> Self {
        Self(because)
    }
}

/// Upstream's default name of a load balancer: what can be told from a UID alone.
pub(super) fn name(uid: &str) -> String {
    std::iter::once('a').chain(uid.chars().filter(|it| *it != '-')).take(NAME).collect()
}

/// The load balancer that a Service asks for.
pub(super) fn desired(service: &Service, cluster: &ServedCluster) -> Result<LoadBalancer, Invalid> {
    let (spec, description) = (service.spec.as_ref(), cluster.description.now());
    let desired = LoadBalancer {
        ports: spec.and_then(|it| it.ports.as_deref()).map_or(Ok(Vec::new()), ports)?,
        source_ranges: source_ranges(service, &description)?,
        ..described(service, cluster)
    };
    if let Some(objection) = objection(&desired) {
        return Err(Invalid(objection));
    }
    Selectors::of(&desired, &description).map_err(Invalid)?;
    Ok(desired)
}

/// The load balancer that a Service does not ask for any more: as much of it as can be told in any case, and never more
/// than a provider is given.
pub(super) fn unwanted(service: &Service, cluster: &ServedCluster) -> LoadBalancer {
    trimmed(described(service, cluster))
}

/// What a Service says of a load balancer. What cannot be read is left out.
fn described(service: &Service, cluster: &ServedCluster) -> LoadBalancer {
    let uid = service.metadata.uid.clone().unwrap_or_default();
    let (spec, description) = (service.spec.as_ref(), cluster.description.now());
    let text = |it: &Option<String>| it.clone().filter(|it| !it.is_empty());
    LoadBalancer {
        name: name(&uid),
        owner: Owner {
            cluster: cluster.name.clone(),
            namespace: service.namespace().unwrap_or_default(),
            name: service.name_any(),
            uid,
        },
        memo: memo(service).map(str::to_owned),
        memo_is_new: false,
        current_ingress: current(service),
        load_balancer_class: spec.and_then(|it| it.load_balancer_class.clone()),
        ports: spec.and_then(|it| it.ports.as_deref()).and_then(|it| ports(it).ok()).unwrap_or_default(),
        nodes: Vec::new(),
        annotations: annotations(service, &description),
        source_ranges: source_ranges(service, &description).unwrap_or_default(),
        ip_families: families(spec),
        load_balancer_ip: spec.and_then(|it| text(&it.load_balancer_ip)),
        external_traffic_policy: spec.map_or(ExternalTrafficPolicy::Cluster, traffic),
        client_ip_affinity_seconds: spec.and_then(affinity),
        finalizers: finalizers(service, &description),
    }
}

/// Without what only claims a load balancer: the addresses, and the annotations in which the provider notes whose it is.
pub(super) fn unclaimed(mut unwanted: LoadBalancer, cluster: &ServedCluster) -> LoadBalancer {
    unwanted.current_ingress.clear();
    let description = cluster.description.now();
    unwanted.annotations.retain(|(key, _)| !description.writes_annotations.contains(key));
    unwanted
}

/// What makes two desired load balancers of one Service different: all but what we write ourselves, and the order of
/// its ports.
pub(super) fn compared_fields(mut desired: LoadBalancer) -> LoadBalancer {
    desired.memo = None;
    desired.memo_is_new = false;
    desired.current_ingress.clear();
    desired.nodes.clear();
    desired.ports.sort_by(|a, b| (a.port, a.protocol, &a.name).cmp(&(b.port, b.protocol, &b.name)));
    desired
}

/// What a Service asks for, without the annotations in which its provider notes something.
pub(super) fn asked(desired: &LoadBalancer, provider_writes: &[String]) -> LoadBalancer {
    let mut asked = compared_fields(desired.clone());
    asked.annotations.retain(|(key, _)| !provider_writes.contains(key));
    asked
}

/// Those that the provider describes: a change of any other is no change of what is desired.
fn annotations(service: &Service, description: &Description) -> Vec<(String, String)> {
    let is_read = |key: &str| description.annotation(key).is_some();
    let annotations = service.metadata.annotations.iter().flatten();
    annotations.filter(|(key, _)| is_read(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Those that the provider describes.
fn finalizers(service: &Service, description: &Description) -> Vec<String> {
    let finalizers = service.metadata.finalizers.iter().flatten();
    finalizers.filter(|it| description.finalizers.contains(it)).cloned().collect()
}

fn ports(ports: &[ServicePort]) -> Result<Vec<Port>, Invalid> {
    ports.iter().map(port).collect()
}

fn port(port: &ServicePort) -> Result<Port, Invalid> {
    let protocol = port.protocol.as_deref().unwrap_or("TCP");
    Ok(Port {
        name: port.name.clone().unwrap_or_default(),
        protocol: Protocol::parse(protocol).ok_or_else(|| Invalid(format!("unknown protocol {protocol:?}")))?,
        port: number(port.port)?,
        node_port: port.node_port.filter(|it| *it != 0).map(number).transpose()?,
        app_protocol: port.app_protocol.clone().filter(|it| !it.is_empty()),
    })
}

fn number(port: i32) -> Result<u16, Invalid> {
    u16::try_from(port).map_err(|_| Invalid(format!("{port} is no port")))
}

/// The ranges of the spec or, if it has none, of the annotation, where the provider describes that: as upstream's
/// `GetLoadBalancerSourceRanges`. The API server takes white space around a range, and bits behind its prefix.
fn source_ranges(service: &Service, description: &Description) -> Result<Vec<String>, Invalid> {
    let is_described = description.annotation(SOURCE_RANGES).is_some();
    let annotation = service.metadata.annotations.as_ref().and_then(|it| it.get(SOURCE_RANGES));
    let annotation = annotation.map(|it| it.trim()).filter(|it| is_described && !it.is_empty());
    let spec = service.spec.as_ref().and_then(|it| it.load_balancer_source_ranges.as_deref()).unwrap_or_default();
    let ranges = match annotation {
        Some(annotation) if spec.is_empty() => canonical(annotation.split(','), &format!("annotation {SOURCE_RANGES}")),
        Some(_) | None => canonical(spec.iter().map(String::as_str), "spec.loadBalancerSourceRanges"),
    };
    Ok(ranges?.into_iter().collect())
}

/// Ranges of addresses as they are written usually, each once and in order.
fn canonical<'a>(ranges: impl Iterator<Item = &'a str>, field: &str) -> Result<BTreeSet<String>, Invalid> {
    let range = |text: &str| match text.trim().parse::<IpNet>() {
        Ok(range) => Ok(range.trunc().to_string()),
        Err(_) => Err(Invalid(format!("{field}: {text:?} is no range of addresses, such as \"10.0.0.0/8\""))),
    };
    ranges.map(range).collect()
}

fn families(spec: Option<&ServiceSpec>) -> Vec<IpFamily> {
    let families = spec.and_then(|it| it.ip_families.as_deref()).unwrap_or_default();
    families.iter().filter_map(|it| IpFamily::parse(it)).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Where a Service keeps traffic on the node that it came to, its health check says which nodes have a pod.
fn traffic(spec: &ServiceSpec) -> ExternalTrafficPolicy {
    let is_local = spec.external_traffic_policy.as_deref() == Some("Local");
    let is_load_balancer = spec.type_.as_deref() == Some("LoadBalancer");
    let port = spec.health_check_node_port.and_then(|it| u16::try_from(it).ok()).filter(|it| *it != 0);
    match port {
        Some(port) if is_local && is_load_balancer => ExternalTrafficPolicy::Local(port),
        _ => ExternalTrafficPolicy::Cluster,
    }
}

fn affinity(spec: &ServiceSpec) -> Option<u32> {
    if spec.session_affinity.as_deref() != Some("ClientIP") {
        return None;
    }
    let config = spec.session_affinity_config.as_ref().and_then(|it| it.client_ip.as_ref());
    let seconds = config.and_then(|it| it.timeout_seconds).and_then(|it| u32::try_from(it).ok());
    Some(seconds.unwrap_or(AFFINITY))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cloud_provider::{Annotation, Ingress, IpMode};
    use serde_json::{Value, json};

    use super::*;
    use crate::service::testing::{ID, SIZE, cluster, service, with_load_balancer};

    fn compared(change: Value) -> LoadBalancer {
        desired(&service(change), &cluster()).unwrap()
    }

    fn differs(before: Value, after: Value) -> bool {
        compared_fields(compared(before)) != compared_fields(compared(after))
    }

    /// Whether a change of the usual Service is a change of what it desires.
    fn check(change: Value, expected: bool) {
        assert_eq!(differs(json!({}), change.clone()), expected, "{change}");
    }

    fn with_port(change: Value) -> Value {
        let mut port = json!({ "name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080, "nodePort": 30080 });
        for (key, value) in change.as_object().unwrap() {
            port[key] = value.clone();
        }
        json!({ "spec": { "ports": [port] } })
    }

    #[test]
    fn everything_in_a_service_is_in_its_desired_load_balancer() {
        let mut change = with_load_balancer();
        change["metadata"]["annotations"] = json!({ SIZE: "2", "example.com/not-described": "x" });
        change["spec"] = json!({
            "ports": [
                { "name": "quic", "protocol": "UDP", "port": 443, "nodePort": 30444 },
                { "name": "https", "protocol": "TCP", "port": 443, "nodePort": 30443, "appProtocol": "kubernetes.io/h2c" },
                { "name": "http", "port": 80, "nodePort": 0 },
            ],
            "ipFamilies": ["IPv6", "IPv4"],
            "loadBalancerIP": "192.0.2.50",
            "loadBalancerSourceRanges": [" 192.168.0.7/16 ", "10.0.0.0/8", "0.0.0.0/0", "2001:DB8::/64", "10.0.0.0/8"],
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": { "clientIP": { "timeoutSeconds": 60 } },
            "externalTrafficPolicy": "Local",
            "healthCheckNodePort": 31000,
        });
        let port = |name: &str, protocol, port, node_port, app_protocol: Option<&str>| Port {
            name: name.to_owned(),
            protocol,
            port,
            node_port,
            app_protocol: app_protocol.map(str::to_owned),
        };
        let expected = LoadBalancer {
            name: "a0f0e0d0c11112222333344445555666".to_owned(),
            owner: Owner {
                cluster: "kubernetes".to_owned(),
                namespace: "default".to_owned(),
                name: "s1".to_owned(),
                uid: "0f0e0d0c-1111-2222-3333-444455556666".to_owned(),
            },
            memo: Some("lb-1".to_owned()),
            memo_is_new: false,
            current_ingress: vec![Ingress {
                ip: Some("192.0.2.1".to_owned()),
                hostname: None,
                ip_mode: Some(IpMode::Vip),
            }],
            load_balancer_class: None,
            ports: vec![
                port("quic", Protocol::Udp, 443, Some(30444), None),
                port("https", Protocol::Tcp, 443, Some(30443), Some("kubernetes.io/h2c")),
                port("http", Protocol::Tcp, 80, None, None),
            ],
            nodes: Vec::new(),
            annotations: vec![(SIZE.to_owned(), "2".to_owned())],
            source_ranges: ["0.0.0.0/0", "10.0.0.0/8", "192.168.0.0/16", "2001:db8::/64"].map(str::to_owned).to_vec(),
            ip_families: vec![IpFamily::Ipv4, IpFamily::Ipv6],
            load_balancer_ip: Some("192.0.2.50".to_owned()),
            external_traffic_policy: ExternalTrafficPolicy::Local(31000),
            client_ip_affinity_seconds: Some(60),
            finalizers: Vec::new(),
        };
        assert_eq!(compared(change), expected);
    }

    #[test]
    fn a_name_is_what_upstream_calls_it() {
        assert_eq!(name("0f0e0d0c-1111-2222-3333-444455556666"), "a0f0e0d0c11112222333344445555666");
        assert_eq!(name("short"), "ashort");
    }

    #[test]
    fn case_109_a_change_of_a_port_is_a_change() {
        for change in [
            json!({ "name": "web" }),
            json!({ "protocol": "UDP" }),
            json!({ "port": 81 }),
            json!({ "nodePort": 30081 }),
            json!({ "nodePort": 0 }),
            json!({ "appProtocol": "http" }),
        ] {
            check(with_port(change), true);
        }
        let (one, other) = (with_port(json!({ "appProtocol": "http" })), with_port(json!({ "appProtocol": "ws" })));
        assert!(differs(one.clone(), other), "changed");
        assert!(!differs(one.clone(), one), "the same");
        let two = |ports: [Value; 2]| json!({ "spec": { "ports": ports } });
        let (http, tls) = (json!({ "name": "a", "port": 80 }), json!({ "name": "b", "port": 443 }));
        check(two([http.clone(), tls.clone()]), true);
        assert!(!differs(two([http.clone(), tls.clone()]), two([tls, http])), "the order says nothing");
        check(with_port(json!({ "targetPort": 9090 })), false);
    }

    #[test]
    fn case_110_other_fields_make_a_change() {
        check(json!({ "metadata": { "uid": "another" } }), true);
        let local = |port: u16| json!({ "spec": { "externalTrafficPolicy": "Local", "healthCheckNodePort": port } });
        check(local(31000), true);
        assert!(differs(local(31000), local(31001)));
        check(json!({ "spec": { "externalIPs": ["192.0.2.9"] } }), false);
        check(json!({ "spec": { "ipFamilies": ["IPv4", "IPv6"] } }), true);
        let families = |list: [&str; 2]| json!({ "spec": { "ipFamilies": list } });
        assert!(!differs(families(["IPv4", "IPv6"]), families(["IPv6", "IPv4"])), "the order says nothing");
    }

    #[test]
    fn case_112_described_annotations_are_a_change() {
        let annotated = |key: &str, value: &str| json!({ "metadata": { "annotations": { key: value } } });
        check(annotated(SIZE, "2"), true);
        check(annotated(ID, "lb-1"), true);
        assert!(differs(annotated(SIZE, "2"), annotated(SIZE, "3")), "changed");
        assert!(differs(annotated(SIZE, "2"), json!({})), "removed");
        check(annotated("example.com/not-described", "2"), false);
        check(json!({ "metadata": { "labels": { "a": "b" } } }), false);
        check(with_load_balancer(), false);
        check(json!({ "spec": { "selector": { "app": "s2" } } }), false);
    }

    #[test]
    fn case_113_source_ranges_affinity_and_address_are_changes() {
        let ranges = |list: Value| json!({ "spec": { "loadBalancerSourceRanges": list } });
        check(ranges(json!(["10.0.0.0/8"])), true);
        check(ranges(json!([])), false);
        assert!(!differs(ranges(json!(["10.1.2.3/8"])), ranges(json!([" 10.0.0.0/8"]))), "the same range");
        let sticky = |seconds: i32| {
            let config = json!({ "clientIP": { "timeoutSeconds": seconds } });
            json!({ "spec": { "sessionAffinity": "ClientIP", "sessionAffinityConfig": config } })
        };
        check(sticky(60), true);
        assert!(differs(sticky(60), sticky(61)));
        assert!(!differs(sticky(10_800), json!({ "spec": { "sessionAffinity": "ClientIP" } })), "the default");
        check(json!({ "spec": { "loadBalancerIP": "192.0.2.50" } }), true);
    }

    #[test]
    fn source_ranges_may_stand_in_the_annotation_of_old() {
        let annotated = |value: &str, ranges: Value| {
            service(json!({
                "metadata": { "annotations": { SOURCE_RANGES: value } },
                "spec": { "loadBalancerSourceRanges": ranges },
            }))
        };
        let mut described = cluster();
        let mut description = (*described.description.now()).clone();
        let doc = || String::new();
        let annotation = Annotation {
            key: SOURCE_RANGES.to_owned(),
            values: doc(),
            default: None,
            doc: doc(),
            ..Annotation::default()
        };
        description.annotations.push(annotation);
        described.description = Arc::new(description).into();
        let ranges = |it: &Service, cluster: &ServedCluster| desired(it, cluster).map(|it| it.source_ranges);
        let two = annotated(" 192.168.0.7/16 , 10.0.0.0/8 ", json!([]));
        let list = |ranges: &[&str]| Ok(ranges.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
        assert_eq!(ranges(&two, &described), list(&["10.0.0.0/8", "192.168.0.0/16"]));
        assert_eq!(ranges(&two, &cluster()), list(&[]), "its provider does not describe it");
        assert_eq!(ranges(&annotated("nonsense", json!([])), &cluster()), list(&[]), "nor is it refused then");
        assert_eq!(ranges(&annotated("10.0.0.0/8", json!(["172.16.0.0/12"])), &described), list(&["172.16.0.0/12"]));
        assert_eq!(ranges(&annotated("  ", json!([])), &described), list(&[]));
        for (nonsense, named) in
            [("10.0.0.0/8,nonsense", "\"nonsense\""), ("10.0.0.0/8,", "\"\""), ("10.0.0.1", "10.0.0.1")]
        {
            let error = ranges(&annotated(nonsense, json!([])), &described).unwrap_err().to_string();
            assert!(error.contains(named) && error.contains(SOURCE_RANGES), "{error}");
            assert!(unwanted(&annotated(nonsense, json!([])), &described).source_ranges.is_empty());
        }
    }

    #[test]
    fn case_114_a_field_of_the_cluster_alone_is_no_change() {
        check(json!({ "spec": { "internalExternalTrafficPolicyPolicy": "Local" } }), false);
        check(json!({ "spec": { "allocateLoadBalancerNodePorts": false } }), false);
        check(json!({ "spec": { "clusterIP": "10.96.0.8", "clusterIPs": ["10.96.0.8"] } }), false);
        check(json!({ "spec": { "publishNotReadyAddresses": true } }), false);
    }

    #[test]
    fn case_144_traffic_that_stays_on_its_node_has_a_health_check() {
        let traffic = |spec: Value| compared(json!({ "spec": spec })).external_traffic_policy;
        assert_eq!(
            traffic(json!({ "externalTrafficPolicy": "Local", "healthCheckNodePort": 31000 })),
            ExternalTrafficPolicy::Local(31000)
        );
        assert_eq!(traffic(json!({ "healthCheckNodePort": 31000 })), ExternalTrafficPolicy::Cluster);
        assert_eq!(traffic(json!({ "externalTrafficPolicy": "Local" })), ExternalTrafficPolicy::Cluster);
        let node_port = json!({ "type": "NodePort", "externalTrafficPolicy": "Local", "healthCheckNodePort": 31000 });
        assert_eq!(traffic(node_port), ExternalTrafficPolicy::Cluster);
    }

    #[test]
    fn claims_of_a_load_balancer_can_be_left_out() {
        let mut change = with_load_balancer();
        change["metadata"]["annotations"] = json!({ ID: "lb-1", SIZE: "2" });
        let unclaimed = unclaimed(compared(change), &cluster());
        assert_eq!(
            (unclaimed.current_ingress.len(), unclaimed.annotations),
            (0, vec![(SIZE.to_owned(), "2".to_owned())])
        );
    }

    #[test]
    fn an_unreadable_service_is_told_and_still_can_be_deleted() {
        let bad = |spec: Value| service(json!({ "spec": spec }));
        for (spec, expected) in [
            (json!({ "loadBalancerSourceRanges": ["nonsense"] }), "\"nonsense\" is no range"),
            (json!({ "ports": [{ "port": 70_000 }] }), "70000 is no port"),
            (json!({ "ports": [{ "port": 80, "protocol": "ICMP" }] }), "unknown protocol \"ICMP\""),
        ] {
            let error = desired(&bad(spec.clone()), &cluster()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert_eq!(unwanted(&bad(spec), &cluster()).owner.name, "s1");
        }
    }

    #[test]
    fn adv_103_a_huge_service_is_invalid_and_can_be_deleted() {
        let ports: Vec<_> = (1..=45_000).map(|it| json!({ "name": format!("p{it}"), "port": it })).collect();
        let mut change = with_load_balancer();
        change["metadata"]["annotations"] = json!({ SIZE: "8".repeat(250_000), ID: "lb-1" });
        change["spec"] = json!({ "ports": ports });
        let error = desired(&service(change.clone()), &cluster()).unwrap_err().to_string();
        assert!(error.starts_with("spec.ports has 45000 ports, and a provider is given 1500 at most"), "{error}");
        let unwanted = unwanted(&service(change), &cluster());
        assert_eq!((unwanted.memo.as_deref(), unwanted.ports.len()), (Some("lb-1"), 1_500));
        assert!(unwanted.annotations.contains(&(ID.to_owned(), "lb-1".to_owned())));
    }
}
