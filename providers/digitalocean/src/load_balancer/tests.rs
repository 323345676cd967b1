//! The mapping, natively: what is sent for a Service, and what becomes of the answers. The whole way through the sandbox
//! is tested elsewhere, against a simulated cloud.

mod desired;
mod differences;
mod refused;
mod rules;
mod steps;
mod tolerated;

use aerostat_sdk::testing::{Event, EventKind, Host};
use aerostat_sdk::{Address, Error, LoadBalancer, Node, Port, Protocol};
use serde_json::{Value, json};

use super::annotations as key;
use super::desired::Desired;
use crate::api::load_balancers::LoadBalancer as Live;
use crate::settings::Settings;

const ID: &str = "4de7ac8b-495b-4884-9a69-1050c6793cd6";
const OTHER_ID: &str = "fb294d78-d193-4cb2-8737-ea620993591b";
const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
const NAME: &str = "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1";
const CERTIFICATE: &str = "892071a0-bb95-49bc-8021-3afd67a210bf";

/// A node with a private and a public address.
fn worker(droplet: u64) -> Node {
    let addresses =
        [Address::internal_ip(format!("10.0.0.{droplet}")), Address::external_ip(format!("192.0.2.{droplet}"))];
    private(droplet, addresses)
}

/// A node with these addresses.
fn private(droplet: u64, addresses: impl IntoIterator<Item = Address>) -> Node {
    let mut node = Node::named(format!("worker-{droplet}")).with_provider_id(format!("digitalocean://{droplet}"));
    node.region = Some("nyc3".to_owned());
    node.addresses = addresses.into_iter().collect();
    node
}

/// A Service with TCP port 80 on node port 30080 and one node.
fn service() -> LoadBalancer {
    LoadBalancer::of("default", "web", UID).with_port(Port::new(Protocol::Tcp, 80, 30_080)).with_node(worker(1))
}

/// The same of type REGIONAL, with port 443 as well.
fn regional() -> LoadBalancer {
    service().with_port(Port::new(Protocol::Tcp, 443, 30_443)).with_annotation(key::TYPE.name, "REGIONAL")
}

/// The desired of a Service for a new load balancer, as JSON, and what its author should know.
fn desired(service: &LoadBalancer) -> (Value, Vec<String>) {
    let host = Host::new().setting("allowedReservedIPs", "198.51.100.7");
    let spec = host.run(|| {
        let desired = Desired::of(service, &Settings::read()?, None)?;
        desired.warnings.emit();
        Ok(json!(desired.spec))
    });
    (spec.unwrap_or_else(|error: Error| panic!("{error:?}")), warnings(&host.events()))
}

/// Why a Service gets no load balancer.
fn refusal(service: &LoadBalancer) -> String {
    let refused = Host::new().run(|| Desired::of(service, &Settings::read()?, None).map(|it| json!(it.spec)));
    match refused {
        Err(Error::Invalid(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// The texts of warnings, after making sure that they are warnings.
fn warnings(events: &[Event]) -> Vec<String> {
    let line = |event: &Event| {
        assert_eq!((event.kind, &event.about), (EventKind::Warning, &None), "{event:?}");
        format!("{}: {}", event.reason, event.message)
    };
    events.iter().map(line).collect()
}

/// A load balancer as the cloud shows it: the one that [`service`] asks for, and what the cloud adds.
fn shown() -> Value {
    json!({
        "id": ID, "name": NAME, "status": "active", "ip": "203.0.113.5", "size_unit": 1, "size": "lb-small",
        "algorithm": "round_robin", "type": "REGIONAL_NETWORK", "network": "EXTERNAL", "network_stack": "IPV4",
        "created_at": "2026-11-21T03:00:00Z", "region": { "slug": "nyc3", "name": "NYC 3" }, "tag": "",
        "forwarding_rules": [{
            "entry_protocol": "tcp", "entry_port": 80, "target_protocol": "tcp", "target_port": 80,
            "certificate_id": "", "tls_passthrough": false,
        }],
        "health_check": {
            "protocol": "http", "port": 10_256, "path": "/healthz", "check_interval_seconds": 3,
            "response_timeout_seconds": 5, "unhealthy_threshold": 3, "healthy_threshold": 5,
        },
        "sticky_sessions": { "type": "none" }, "droplet_ids": [1], "redirect_http_to_https": false,
        "enable_proxy_protocol": false, "enable_backend_keepalive": false, "disable_lets_encrypt_dns_records": null,
        "http_idle_timeout_seconds": 60, "vpc_uuid": "c33931f2-a26a-4e61-b85c-4e95a2ec431b",
        "firewall": { "allow": [], "deny": [] }, "project_id": "9cc10173-e9ea-4176-9dbc-a4cee4c4ff30",
        "tls_cipher_policy": "STRONG",
    })
}

/// [`shown`] with changes, parsed.
fn live(changes: &Value) -> Live {
    let mut object = shown();
    for (name, value) in changes.as_object().unwrap() {
        object[name] = value.clone();
    }
    Live::read(object).unwrap()
}

/// The desired state that a Service asks of a load balancer that there is.
fn desired_of(service: &LoadBalancer, live: &Live) -> (Desired, Vec<String>) {
    let host = Host::new();
    let desired = host.run(|| {
        let mut desired = Desired::of(service, &Settings::read()?, Some(live))?;
        std::mem::take(&mut desired.warnings).emit();
        Ok(desired)
    });
    (desired.unwrap_or_else(|error: Error| panic!("{error:?}")), warnings(&host.events()))
}
