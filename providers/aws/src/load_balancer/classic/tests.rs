//! Classic Load Balancers in a cloud that remembers. The numbers in the names are those of the cases in the provider's
//! specification.

mod answers;
mod changed;
mod cloud;
mod created;
mod deleted;
mod groups;
mod recorded;
mod refused;

use aerostat_sdk::testing::Host;
use aerostat_sdk::{Deletion, LoadBalancer, LoadBalancerStatus, LoadBalancers, Node, Port, Progress, Protocol, Result};

use self::cloud::Cloud;
use crate::Aws;
use crate::tests::{line, value};

const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
const NAME: &str = "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1";
/// The name of its own group.
const GROUP: &str = "k8s-elb-a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1";

const CERTIFICATE: &str = "arn:aws:iam::123456789012:server-certificate/c";
const OTHER: &str = "arn:aws:iam::123456789012:server-certificate/d";

/// The key of one of the vendor's annotations.
fn vendor(name: &str) -> String {
    format!("service.beta.kubernetes.io/aws-load-balancer-{name}")
}

fn port(number: u16, node_port: u16) -> Port {
    Port::new(Protocol::Tcp, number, node_port)
}

/// Port 80 at 30080, from everywhere.
fn service(nodes: &[&str]) -> LoadBalancer {
    let node = |id: &&str| Node::named(*id).with_provider_id(format!("aws:///us-east-1a/{id}"));
    LoadBalancer {
        source_ranges: vec!["0.0.0.0/0".to_owned()],
        nodes: nodes.iter().map(node).collect(),
        ..LoadBalancer::of("default", "web", UID).with_port(port(80, 30_080))
    }
}

fn with(service: LoadBalancer, annotations: &[(&str, &str)]) -> LoadBalancer {
    annotations.iter().fold(service, |it, (name, value)| it.with_annotation(vendor(name), *value))
}

fn ensure(host: &Host, service: &LoadBalancer) -> Result<Progress> {
    host.run(|| Aws::ensure(service))
}

/// Calls until it is ready, each time with what the host has kept. What is lost is repeated, and no more is lost then.
fn ready(cloud: &Cloud, service: &LoadBalancer) -> LoadBalancerStatus {
    let mut service = service.clone();
    for _ in 0..10 {
        match ensure(&cloud.host(), &service) {
            Ok(Progress::Ready(status)) => {
                cloud.lost.set(None);
                return status;
            }
            Ok(Progress::Pending(pending)) => service = service.after(pending.status),
            Ok(other) => panic!("{other:?}"),
            Err(error) => assert!(format!("{error:?}").contains("lost"), "{error:?}"),
        }
    }
    panic!("it is not ready")
}

/// The writes until it is ready.
fn written(cloud: &Cloud, service: &LoadBalancer) -> Vec<String> {
    let host = cloud.host();
    let progress = ensure(&host, service);
    assert!(matches!(progress, Ok(Progress::Ready(_))), "{progress:?}");
    writes(&host)
}

/// The writes, a line each.
fn writes(host: &Host) -> Vec<String> {
    let is_write = |action: &str| !action.starts_with("Describe");
    host.sent().iter().filter(|it| is_write(value(it, "Action").unwrap())).map(line).collect()
}

fn delete(host: &Host, service: &LoadBalancer) -> Result<Deletion> {
    host.run(|| Aws::delete(service))
}

/// The texts of events.
fn events(host: &Host) -> Vec<String> {
    host.events().into_iter().map(|it| format!("{}: {}", it.reason, it.message)).collect()
}
