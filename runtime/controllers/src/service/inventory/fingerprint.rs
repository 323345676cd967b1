//! A short name for all that is asked of the cloud for a Service. It is kept on the Service and read by later processes:
//! the same question has the same name, whatever compiler built them. No client, no clock, no log.

use cloud_provider::{ExternalTrafficPolicy, Ingress, IpFamily, IpMode, LoadBalancer, Owner, Port};
use serde_json::{Value, json};
use sha256::Digest;

use crate::service::backends::BackendNode;

/// The first 64 bits, as 16 hexadecimal digits, of the SHA-256 of what is asked of the cloud for a Service, and of where it
/// is reached then. Another version of this program or of the provider may ask for something else.
pub(crate) fn fingerprint(
    (program, provider): (&str, &str),
    desired: &LoadBalancer,
    backends: &[BackendNode],
    ingress: &[Ingress],
) -> String {
    let backends: Vec<_> = backends.iter().map(BackendNode::listed).collect();
    let ingress: Vec<_> = ingress.iter().map(place).collect();
    // Lists alone: the order of an object's fields would be the serializer's.
    let text = json!([program, provider, asked(desired), backends, ingress]).to_string();
    format!("{:016x}", Digest::of(text.as_bytes()).prefix())
}

fn asked(desired: &LoadBalancer) -> Value {
    let LoadBalancer {
        name,
        owner: Owner { cluster, namespace, name: service, uid },
        // Our own status and memo are no part of the question; the backends stand beside it.
        memo: _,
        memo_is_new: _,
        current_ingress: _,
        nodes: _,
        load_balancer_class,
        ports,
        annotations,
        source_ranges,
        ip_families,
        load_balancer_ip,
        external_traffic_policy,
        client_ip_affinity_seconds,
        finalizers,
    } = desired;
    let health_check = match external_traffic_policy {
        ExternalTrafficPolicy::Cluster => None,
        ExternalTrafficPolicy::Local(port) => Some(port),
    };
    let mut asked = json!([
        name,
        [cluster, namespace, service, uid],
        load_balancer_class,
        ports.iter().map(port).collect::<Vec<_>>(),
        annotations,
        source_ranges,
        ip_families.iter().copied().map(IpFamily::as_str).collect::<Vec<_>>(),
        load_balancer_ip,
        health_check,
        client_ip_affinity_seconds,
    ]);
    // Without them it is what it was before they were known.
    if let (false, Some(asked)) = (finalizers.is_empty(), asked.as_array_mut()) {
        asked.push(json!(finalizers));
    }
    asked
}

fn port(Port { name, protocol, port, node_port, app_protocol }: &Port) -> Value {
    json!([name, protocol.as_str(), port, node_port, app_protocol])
}

fn place(Ingress { ip, hostname, ip_mode }: &Ingress) -> Value {
    json!([ip, hostname, ip_mode.map(IpMode::as_str)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::machine;
    use crate::service::backends::Backends;
    use crate::service::desired::{compared_fields, desired};
    use crate::service::testing::{SIZE, cluster, node, service};

    fn of(change: Value) -> LoadBalancer {
        compared_fields(desired(&service(change), &cluster()).unwrap())
    }

    fn at(ip: &str) -> [Ingress; 1] {
        [Ingress { ip: Some(ip.to_owned()), hostname: None, ip_mode: Some(IpMode::Vip) }]
    }

    #[test]
    fn case_150_a_fingerprint_is_of_all_that_is_asked_for() {
        let plain = of(json!({}));
        let print = |it: &LoadBalancer| fingerprint(("1", "2"), it, &[], &at("192.0.2.1"));
        assert_eq!(print(&plain), print(&of(json!({}))));
        assert_eq!(print(&plain), print(&of(json!({ "metadata": { "labels": { "a": "b" } } }))));
        let port = |change: Value| {
            let mut port = json!({ "name": "http", "protocol": "TCP", "port": 80, "nodePort": 30080 });
            port.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            json!({ "spec": { "ports": [port] } })
        };
        assert_eq!(print(&plain), print(&of(port(json!({})))));
        for change in [
            port(json!({ "name": "web" })),
            port(json!({ "protocol": "UDP" })),
            port(json!({ "port": 81 })),
            port(json!({ "nodePort": 30081 })),
            port(json!({ "appProtocol": "http" })),
            json!({ "metadata": { "name": "s2" } }),
            json!({ "metadata": { "namespace": "another" } }),
            json!({ "metadata": { "uid": "another" } }),
            json!({ "metadata": { "annotations": { SIZE: "2" } } }),
            json!({ "spec": { "loadBalancerSourceRanges": ["10.0.0.0/8"] } }),
            json!({ "spec": { "ipFamilies": ["IPv6"] } }),
            json!({ "spec": { "loadBalancerIP": "192.0.2.50" } }),
            json!({ "spec": { "externalTrafficPolicy": "Local", "healthCheckNodePort": 31000 } }),
            json!({ "spec": { "sessionAffinity": "ClientIP" } }),
        ] {
            assert_ne!(print(&plain), print(&of(change.clone())), "{change}");
        }
        let class = LoadBalancer { load_balancer_class: Some("example.com/ours".to_owned()), ..plain.clone() };
        assert_ne!(print(&plain), print(&class));
        for versions in [("1", "3"), ("2", "2")] {
            assert_ne!(print(&plain), fingerprint(versions, &plain, &[], &at("192.0.2.1")), "{versions:?}");
        }
        assert_ne!(print(&plain), fingerprint(("1", "2"), &plain, &[], &[]), "its status was cleared");
        assert_ne!(print(&plain), fingerprint(("1", "2"), &plain, &[], &at("192.0.2.2")));
        let backends =
            |change| Backends::of(vec![machine(&node("n1", change))], &[], &Backends::default()).compared_fields;
        let with = |change| fingerprint(("1", "2"), &plain, &backends(change), &at("192.0.2.1"));
        assert_ne!(print(&plain), with(json!({})));
        assert_ne!(with(json!({})), with(json!({ "spec": { "providerID": "fake://another" } })));
        let moved = json!({ "status": { "addresses": [{ "type": "InternalIP", "address": "10.1.0.2" }] } });
        assert_ne!(with(json!({})), with(moved));
        let shown = |labels: Value| {
            let machine = machine(&node("n1", json!({ "metadata": { "labels": labels } })));
            let backends = Backends::of(vec![machine], &["a".to_owned()], &Backends::default()).compared_fields;
            fingerprint(("1", "2"), &plain, &backends, &at("192.0.2.1"))
        };
        assert_eq!(with(json!({})), shown(json!({ "b": "" })), "the provider is not shown it");
        assert_ne!(with(json!({})), shown(json!({ "a": "" })));
    }

    /// Another text here means that each load balancer is asked about once after an update.
    #[test]
    fn a_fingerprint_is_the_same_in_every_build() {
        let backends = Backends::of(vec![machine(&node("n1", json!({})))], &[], &Backends::default()).compared_fields;
        let print = fingerprint(("1", "2"), &of(json!({})), &backends, &at("192.0.2.1"));
        assert_eq!(print, "5fcfd5e8113da0b3");
    }
}
