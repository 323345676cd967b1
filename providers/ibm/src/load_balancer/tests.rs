//! Load balancers before a VPC in memory: what is sent for a Service, and what becomes of the answers.

mod changed;
mod cloud;
mod network;
mod owners;
mod ranges;
mod recorded;
mod refused;
mod sdk;
mod way_out;

use std::time::Duration;

use aerostat_sdk::testing::{self, Host, SharedCloud, SimulatedCloud};
use aerostat_sdk::{
    Address, Deletion, Error, Ingress, LoadBalancer, LoadBalancers as _, Node, Port, Progress, Protocol, Result,
};
use serde_json::{Value, json};

use self::cloud::FakeVpc;
use super::annotations::PREFIX;
use crate::provider::Ibm;

const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
/// The name of the Service's load balancer.
const NAME: &str = "kube-c1-0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a11";

/// A node of one of three zones.
fn node(number: usize) -> Node {
    let mut node = Node::named(format!("node-{number}"));
    node.zone = Some(format!("us-south-{}", number % 3 + 1));
    node.addresses = vec![Address::internal_ip(format!("10.240.0.{number}"))];
    node
}

/// A Service with TCP port 80 and three nodes.
fn service() -> LoadBalancer {
    let service = LoadBalancer::of("default", "web", UID).with_port(Port::new(Protocol::Tcp, 80, 30_080));
    (1..=3).map(node).fold(service, LoadBalancer::with_node)
}

fn annotated(name: &str, value: &str) -> LoadBalancer {
    service().with_annotation(format!("{PREFIX}{name}"), value)
}

/// A cluster before a VPC.
struct Played {
    host: Host,
    cloud: SharedCloud<FakeVpc>,
}

impl Played {
    fn new(cloud: FakeVpc) -> Self {
        let settings = testing::FakeCloud::settings(&cloud);
        let cloud = SimulatedCloud::new(cloud).shared();
        let host = settings.into_iter().fold(Host::of(&cloud), |it, (name, value)| it.setting(name, value));
        Self { host, cloud }
    }

    /// The same with a setting of the operator.
    fn with(self, setting: &str, value: &str) -> Self {
        Self { host: self.host.setting(setting, value), ..self }
    }

    /// One call, and the pause after it. Returns the answer.
    fn call(&self, service: &mut LoadBalancer) -> Result<Progress> {
        let host = self.host.clone().at(self.cloud.borrow().now());
        let answer = host.run(|| Ibm::ensure(service));
        let had = service.memo.clone();
        service.extra.clear();
        let status = match &answer {
            Ok(Progress::Ready(status)) => Some(status.clone()),
            Ok(Progress::Pending(it)) => Some(it.status.clone()),
            Ok(Progress::Failed(it)) => Some(it.status.clone()),
            _ => None,
        };
        if let Some(status) = status {
            *service = service.clone().after(status);
            if service.memo.is_some() && service.memo != had {
                service.extra.push(("host.new-memo".to_owned(), "true".to_owned()));
            }
        }
        self.cloud.borrow_mut().advance(Duration::from_millis(500));
        answer
    }

    /// The deletions that were sent.
    fn deletions(&self) -> Vec<String> {
        self.host.requests().iter().filter(|it| it.starts_with("DELETE")).map(|it| plain(it)).collect()
    }

    /// Calls until it is ready. Returns the requests that wrote.
    fn settle(&self, service: &mut LoadBalancer) -> Vec<String> {
        let before = self.host.requests().len();
        for _ in 0..100 {
            if let Ok(Progress::Ready(_)) = self.call(service) {
                return self.host.requests()[before..]
                    .iter()
                    .filter(|it| !it.starts_with("GET"))
                    .map(|it| plain(it))
                    .collect();
            }
        }
        panic!("it is not ready: {:?}", self.host.requests());
    }

    /// The bodies that were written, last.
    fn bodies(&self) -> Vec<Value> {
        self.host.bodies().iter().map(|it| serde_json::from_str(it).unwrap()).collect()
    }

    fn reasons(&self) -> Vec<String> {
        self.host.events().into_iter().map(|it| it.reason).collect()
    }
}

/// A request without what every one has.
fn plain(request: &str) -> String {
    request.replace("?version=2026-06-23&generation=2", "").replace("vpc /load_balancers", "")
}

/// The requests of a load balancer's life, with each kind of change that there is.
fn life() -> Vec<testing::Request> {
    let played = Played::new(FakeVpc::default());
    let mut service = LoadBalancer { nodes: vec![node(1)], ..service() };
    played.settle(&mut service);
    service.ports.push(Port::new(Protocol::Tcp, 443, 30_443));
    played.settle(&mut service);
    service.ports.pop();
    service.ports[0].node_port = Some(30_090);
    played.settle(&mut service);
    service = service.with_annotation(format!("{PREFIX}vpc-idle-connection-timeout"), "120");
    played.settle(&mut service);
    let _ = played.host.run(|| Ibm::delete(&service));
    played.host.sent()
}

#[test]
fn lives_of_load_balancers_keep_the_promises() {
    assert_eq!(testing::converge::<Ibm, _>(FakeVpc::default), [""; 0]);
}

#[test]
fn ibm_014_one_request_makes_it_all() {
    let played = Played::new(FakeVpc::default());
    let mut service = service();
    assert_eq!(played.settle(&mut service), ["POST "]);
    let members: Vec<Value> =
        (1..=3).map(|it| json!({ "port": 30_080, "target": { "address": format!("10.240.0.{it}") } })).collect();
    let mut body = played.bodies().remove(0);
    let made = body["pools"][0]["members"].as_array_mut().unwrap();
    made.sort_by_key(ToString::to_string);
    assert_eq!(*made, members);
    assert_eq!((&body["name"], &body["is_public"]), (&json!(NAME), &json!(true)));
    assert_eq!(body["subnets"], json!([{ "id": "0717-s1" }, { "id": "0727-s2" }]));
    assert_eq!(
        body["listeners"],
        json!([{
            "port": 80, "protocol": "tcp", "connection_limit": 15_000, "default_pool": { "name": "tcp-80-30080" },
        }])
    );
    assert_eq!(service.current_ingress, [Ingress::hostname("lb-1.lb.appdomain.example")]);
}

#[test]
fn ibm_015_a_load_balancer_that_is_being_built_is_read_alone() {
    let played = Played::new(FakeVpc::default());
    let mut service = service();
    for _ in 0..2 {
        let _ = played.call(&mut service);
    }
    let before = played.host.requests().len();
    let building = played.call(&mut service);
    assert!(matches!(&building, Ok(Progress::Pending(it)) if it.wait.reason.contains("builds")), "{building:?}");
    let asked: Vec<_> = played.host.requests()[before..].iter().map(|it| plain(it)).collect();
    assert_eq!(asked, ["GET /lb-1"]);
    assert!(played.host.events().is_empty());
}

#[test]
fn ibm_015_states_that_pass_by_themselves_are_waited_for() {
    let played = Played::new(FakeVpc::default());
    let mut service = service();
    played.settle(&mut service);
    service.nodes.push(node(4));
    for status in ["create_pending", "update_pending", "maintenance_pending", "migrate_pending", "delete_pending"] {
        played.cloud.borrow_mut().cloud().ends_in = status;
        let before = played.host.requests().len();
        let waiting = played.call(&mut service);
        assert!(
            matches!(&waiting, Ok(Progress::Pending(it)) if it.wait.milliseconds >= 15_000),
            "{status}: {waiting:?}"
        );
        let asked: Vec<_> = played.host.requests()[before..].iter().map(|it| plain(it)).collect();
        assert_eq!(asked, ["GET /lb-1"], "{status}");
    }
    played.cloud.borrow_mut().cloud().ends_in = "active";
    assert_eq!(played.settle(&mut service), ["PUT /lb-1/pools/pool-1/members"]);
    assert!(played.host.events().is_empty(), "{:?}", played.host.events());
}

#[test]
fn ibm_034_a_deletion_is_done_once_the_load_balancer_is_gone() {
    let played = Played::new(FakeVpc::default());
    let mut service = service();
    played.settle(&mut service);
    for _ in 0..3 {
        let deletion = played.host.run(|| Ibm::delete(&service));
        assert!(matches!(&deletion, Ok(Deletion::Pending(it)) if it.wait.milliseconds == 15_000), "{deletion:?}");
    }
    played.cloud.borrow_mut().advance(Duration::from_secs(9));
    assert_eq!(played.host.run(|| Ibm::delete(&service)), Ok(Deletion::Done));
    assert_eq!(played.deletions(), ["DELETE /lb-1"], "while it is being deleted another deletion would be refused");
}

#[test]
fn ibm_035_a_busy_load_balancer_is_deleted_later() {
    let played = Played::new(FakeVpc::default());
    let mut service = service();
    played.settle(&mut service);
    service.ports.push(Port::new(Protocol::Tcp, 443, 30_443));
    let _ = played.call(&mut service);
    for _ in 0..2 {
        let deletion = played.host.run(|| Ibm::delete(&service));
        assert!(matches!(&deletion, Ok(Deletion::Pending(_))), "{deletion:?}");
        played.cloud.borrow_mut().advance(Duration::from_secs(9));
    }
    assert_eq!(played.host.run(|| Ibm::delete(&service)), Ok(Deletion::Done));
    assert_eq!(played.deletions(), ["DELETE /lb-1"; 2], "the first one was refused");
}
