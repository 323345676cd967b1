//! Network Load Balancers beside load balancing in memory. The numbers in the names of tests are those of the cases in
//! the provider's specification.

mod cloud;
mod created;
mod deleted;
mod ec2;
mod lost;
mod owners;
mod refused;
mod updated;

use aerostat_sdk::testing::Host;
use aerostat_sdk::{
    Deletion, Error, Ingress, LoadBalancer, LoadBalancerStatus, LoadBalancers, Node, Port, Progress, Protocol, Result,
};

use self::cloud::Cloud;
use crate::Aws;
use crate::load_balancer::annotations::TYPE;
use crate::tests::sent;

const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
const NAME: &str = "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1";
const HOSTNAME: &str = "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1-1.elb.us-east-1.amazonaws.com";

const VENDOR: [(&str, &str); 2] =
    [("kubernetes.io/service-name", "default/web"), ("kubernetes.io/cluster/prod", "owned")];

/// A Service with a port and two nodes.
fn service() -> LoadBalancer {
    with_nodes(without_ports().with_port(Port::new(Protocol::Tcp, 80, 30_080)), 2)
}

fn without_ports() -> LoadBalancer {
    LoadBalancer::of("default", "web", UID).with_annotation(TYPE.name, "nlb")
}

fn with_nodes(service: LoadBalancer, count: usize) -> LoadBalancer {
    LoadBalancer { nodes: (1..=count).map(|it| node(&format!("i-{it}"))).collect(), ..service }
}

fn node(id: &str) -> Node {
    let extra = vec![("security-groups".to_owned(), ec2::NODES.to_owned())];
    Node { extra, ..Node::named(id).with_provider_id(format!("aws:///us-east-1a/{id}")) }
}

/// An annotation of the vendor's on a Service.
fn annotated(service: LoadBalancer, name: &str, value: &str) -> LoadBalancer {
    service.with_annotation(format!("service.beta.kubernetes.io/aws-load-balancer-{name}"), value)
}

fn ensure(host: &Host, service: &LoadBalancer) -> Result<Progress> {
    host.run(|| Aws::ensure(service))
}

fn delete(host: &Host, service: &LoadBalancer) -> Result<Deletion> {
    host.run(|| Aws::delete(service))
}

/// The status of a Service whose load balancer is as it asks for.
fn ready(cloud: &Cloud, service: &LoadBalancer) -> LoadBalancerStatus {
    match ensure(&cloud.host(), service) {
        Ok(Progress::Ready(status)) => status,
        other => panic!("{other:?}"),
    }
}

/// The same, once it is ready. What is sent from then on writes nothing.
fn served(cloud: &Cloud, service: LoadBalancer) -> LoadBalancer {
    let status = ready(cloud, &service);
    let service = service.after(status);
    assert_eq!(writes(cloud, &service), [""; 0]);
    service
}

/// The writes of a call that makes a Service's load balancer as it asks for: actions and what follows them.
fn writes(cloud: &Cloud, service: &LoadBalancer) -> Vec<String> {
    let host = cloud.host();
    let answer = ensure(&host, service);
    assert!(matches!(answer, Ok(Progress::Ready(_))), "{answer:?}");
    written(&host)
}

fn written(host: &Host) -> Vec<String> {
    let lines = sent(host).into_iter().map(|it| it.trim_start_matches("Action=").to_owned());
    lines.filter(|it| !it.starts_with("Describe")).collect()
}

/// The actions alone.
fn actions(lines: &[String]) -> Vec<&str> {
    lines.iter().map(|it| it.split(' ').next().unwrap()).collect()
}

/// The sentence of a refusal, before or after there is a load balancer.
fn refusal(answer: Result<Progress>) -> String {
    match answer {
        Err(Error::Invalid(why)) => why,
        Ok(Progress::Failed(it)) => format!("{:?}", it.error),
        other => panic!("{other:?}"),
    }
}

fn hostname() -> Vec<Ingress> {
    vec![Ingress::hostname(HOSTNAME)]
}
