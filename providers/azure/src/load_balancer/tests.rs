//! Load balancers before a resource manager in memory.

mod ending;
mod internal;
mod recorded;
mod refused;
mod removal;
mod rights;
mod scope;
mod security;
mod shared;

use std::cell::RefCell;
use std::rc::Rc;

use aerostat_sdk::testing::{Body, Host, Request};
use aerostat_sdk::{
    Address, BatchItem, Deletion, LoadBalancer, LoadBalancerBatches, LoadBalancers, Method, Node, Port, Progress,
    Protocol, Result,
};
use serde_json::{Value, json};

use crate::Azure;
use crate::tests::{FakeArm, host, rg};

const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
/// The base of that Service's names.
const BASE: &str = "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1";

/// The key of an annotation by its last part.
fn key(name: &str) -> String {
    format!("service.beta.kubernetes.io/{name}")
}

/// A Service with a port 80.
fn service() -> LoadBalancer {
    named("web", UID).with_port(tcp(80))
}

fn named(name: &str, uid: &str) -> LoadBalancer {
    LoadBalancer::of("default", name, uid)
}

fn uid(number: usize) -> String {
    format!("{number:08x}-9a5e-4a8e-8f0b-1f6d3f6f2a11")
}

fn tcp(port: u16) -> Port {
    Port { name: format!("p{port}"), ..Port::new(Protocol::Tcp, port, 30_000 + port) }
}

/// A cluster of two machines, and requests to its cloud.
struct BalancerStage {
    host: Host,
    cloud: Rc<RefCell<FakeArm>>,
    nodes: Vec<Node>,
}

impl BalancerStage {
    fn new() -> Self {
        Self::of(FakeArm::default(), &[])
    }

    fn of(mut cloud: FakeArm, settings: &[(&str, &str)]) -> Self {
        let mut nodes = Vec::new();
        for (name, last) in [("node-1", 4), ("node-2", 5)] {
            cloud.machine(name, last);
            nodes.push(Node {
                provider_id: Some(format!("azure://{}", rg(&format!("Microsoft.Compute/virtualMachines/{name}")))),
                addresses: vec![Address::internal_ip(format!("10.240.0.{last}"))],
                extra: vec![(
                    "interface".to_owned(),
                    rg(&format!("Microsoft.Network/networkInterfaces/{name}-nic/ipConfigurations/ipc")),
                )],
                ..Node::named(name)
            });
        }
        let (host, cloud) = host(cloud);
        let host = settings.iter().fold(host, |it, (name, value)| it.setting(name, value));
        Self { host, cloud, nodes }
    }

    fn with_addresses() -> Self {
        Self::of(FakeArm::default(), &[("loadBalancerBackendPoolConfigurationType", "nodeIP")])
    }

    fn step(&self, service: &LoadBalancer) -> Result<Progress> {
        let service = LoadBalancer { nodes: self.nodes.clone(), ..service.clone() };
        self.host.run(|| Azure::ensure(&service))
    }

    /// Calls until it is ready; the Service as it is then.
    fn ready(&self, service: LoadBalancer) -> LoadBalancer {
        let mut service = service;
        for _ in 0..60 {
            match self.step(&service) {
                Ok(Progress::Ready(status)) => return service.after(status),
                Ok(Progress::Pending(pending)) => service = service.after(pending.status),
                other => panic!("{other:?}\n{:#?}", self.host.requests()),
            }
        }
        panic!("it does not get ready: {:#?}", self.host.requests())
    }

    /// Several Services in one call each time, until all are ready.
    fn all_ready(&self, mut services: Vec<LoadBalancer>) -> Vec<LoadBalancer> {
        for _ in 0..60 {
            let answers = self.batch(&services);
            let is_over = answers.iter().all(|it| matches!(it, Ok(Progress::Ready(_))));
            for (service, answer) in services.iter_mut().zip(answers) {
                match answer {
                    Ok(Progress::Ready(status)) => *service = service.clone().after(status),
                    Ok(Progress::Pending(pending)) => *service = service.clone().after(pending.status),
                    other => panic!("{other:?}"),
                }
            }
            if is_over {
                return services;
            }
        }
        panic!("they do not get ready: {:#?}", self.host.requests())
    }

    fn batch(&self, services: &[LoadBalancer]) -> Vec<Result<Progress>> {
        let nodes: Vec<u32> = (0..).zip(&self.nodes).map(|(at, _)| at).collect();
        let item = |it: &LoadBalancer| BatchItem { load_balancer: it.clone(), nodes: nodes.clone() };
        let items: Vec<_> = services.iter().map(item).collect();
        self.host.run(|| Azure::ensure_batch(&items, &self.nodes))
    }

    fn refused(&self, service: &LoadBalancer) -> String {
        match self.step(service) {
            Err(error) => error.why().to_owned(),
            Ok(Progress::Failed(failed)) => failed.error.why().to_owned(),
            other => panic!("{other:?}"),
        }
    }

    fn delete(&self, service: &LoadBalancer) -> Result<Deletion> {
        self.host.run(|| Azure::delete(service))
    }

    /// Calls until it is gone.
    fn gone(&self, service: &LoadBalancer) {
        for _ in 0..60 {
            match self.delete(service) {
                Ok(Deletion::Done) => return,
                Ok(Deletion::Pending(_)) => {}
                other => panic!("{other:?}"),
            }
        }
        panic!("it does not go: {:#?}", self.host.requests())
    }

    /// Writes since so many requests: method and the last parts of paths.
    fn writes(&self, since: usize) -> Vec<String> {
        let sent = self.host.sent();
        let writes = sent[since..].iter().filter(|it| it.method != Method::Get);
        writes.map(|it| format!("{:?} {}", it.method, it.path[6..].join("/")).replace("Method::", "")).collect()
    }

    fn asked(&self) -> usize {
        self.host.sent().len()
    }

    fn object(&self, words: &str) -> Value {
        self.cloud.borrow().get(words).cloned().unwrap_or_default()
    }

    fn balancer(&self) -> Value {
        self.object("Microsoft.Network/loadBalancers/kubernetes")
    }

    fn internal(&self) -> Value {
        self.object("Microsoft.Network/loadBalancers/kubernetes-internal")
    }

    fn group(&self) -> Value {
        self.object("Microsoft.Network/networkSecurityGroups/nsg1")
    }

    fn publics(&self) -> Vec<String> {
        let cloud = self.cloud.borrow();
        let publics = cloud.objects.keys().filter(|it| it.contains("/publicipaddresses/"));
        publics.map(|it| it.rsplit('/').next().unwrap().to_owned()).collect()
    }

    fn public(&self, name: &str) -> Value {
        self.object(&format!("Microsoft.Network/publicIPAddresses/{name}"))
    }
}

/// A part of an object by its name.
fn part(shown: &Value, kind: &str, name: &str) -> Value {
    super::tree::part(shown, kind, name)
        .cloned()
        .unwrap_or_else(|| panic!("no {name} in {}", shown["properties"][kind]))
}

fn names(shown: &Value, kind: &str) -> Vec<String> {
    super::tree::parts(shown, kind).iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

/// The body of a request.
fn body(request: &Request) -> Value {
    match &request.body {
        Some(Body::Bytes(bytes)) => serde_json::from_slice(bytes).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn ips(service: &LoadBalancer) -> Vec<&str> {
    service.current_ingress.iter().filter_map(|it| it.ip.as_deref()).collect()
}

#[test]
fn whatever_goes_wrong_is_made_up_for() {
    assert_eq!(aerostat_sdk::testing::converge::<Azure, _>(FakeArm::default), [""; 0]);
}

#[test]
fn slow_operations_are_waited_for() {
    let slow = || FakeArm { takes: 7, ..FakeArm::default() };
    assert_eq!(aerostat_sdk::testing::converge::<Azure, _>(slow), [""; 0]);
}

#[test]
fn azure_018_and_021_the_first_service() {
    let stage = BalancerStage::new();
    let service = stage.ready(service());
    assert_eq!(ips(&service).len(), 1);
    let writes = [
        &*format!("Put publicIPAddresses/kubernetes-{BASE}"),
        "Put loadBalancers/kubernetes",
        "Put networkSecurityGroups/nsg1",
        "Put networkInterfaces/node-1-nic",
        "Put networkInterfaces/node-2-nic",
    ];
    assert_eq!(stage.writes(0), writes);
    let asked = stage.asked();
    let again = stage.step(&service);
    assert!(matches!(again, Ok(Progress::Ready(status)) if status == service.status()));
    assert_eq!((stage.writes(asked).len(), stage.asked() - asked), (0, 3), "a steady Service costs three reads");
}

#[test]
fn azure_019_a_further_service_changes_no_other() {
    let stage = BalancerStage::new();
    stage.ready(service());
    let before = stage.balancer();
    let asked = stage.asked();
    stage.ready(named("two", &uid(2)).with_port(tcp(80)).with_port(tcp(443)));
    let writes = stage.writes(asked);
    assert_eq!(writes.iter().filter(|it| it.contains("loadBalancers")).count(), 1);
    assert_eq!(writes.iter().filter(|it| it.contains("networkSecurityGroups")).count(), 1);
    let after = stage.balancer();
    for (kind, name) in [
        ("frontendIPConfigurations", BASE.to_owned()),
        ("loadBalancingRules", format!("{BASE}-TCP-80")),
        ("probes", format!("{BASE}-TCP-80")),
    ] {
        assert_eq!(part(&before, kind, &name), part(&after, kind, &name));
    }
}

#[test]
fn azure_020_ten_services_are_one_write_of_each() {
    let slow = FakeArm { takes: 3, ..FakeArm::default() };
    let stage = BalancerStage::of(slow, &[]);
    let services = (0..10).map(|it| named(&format!("s{it}"), &uid(it)).with_port(tcp(80))).collect();
    stage.all_ready(services);
    let writes = stage.writes(0);
    let count = |word: &str| writes.iter().filter(|it| it.contains(word)).count();
    assert_eq!([count("publicIPAddresses"), count("Put loadBalancers"), count("networkSecurityGroups")], [10, 1, 1]);
}

#[test]
fn azure_022_a_write_in_between_is_not_lost() {
    let nat: fn(&mut Value) =
        |it| it["properties"]["inboundNatRules"] = json!([{ "name": "ssh", "properties": { "x": 1 } }]);
    let rule: fn(&mut Value) = |entry| {
        let by_hand =
            json!({ "name": "by-hand", "properties": { "priority": 500, "direction": "Inbound", "access": "Deny" } });
        entry["properties"]["securityRules"].as_array_mut().unwrap().push(by_hand);
    };
    let stage = BalancerStage::new();
    stage.ready(service());
    stage.cloud.borrow_mut().meanwhile =
        vec![("/loadbalancers/".to_owned(), nat), ("/networksecuritygroups/".to_owned(), rule)];
    stage.ready(named("two", &uid(2)).with_port(tcp(443)));
    assert_eq!(stage.balancer()["properties"]["inboundNatRules"][0]["properties"]["x"], 1);
    let by_hand = part(&stage.group(), "securityRules", "by-hand");
    assert_eq!(by_hand["properties"]["access"], "Deny");
    // Four times is too often for one call: the next one goes on.
    let stage = BalancerStage::new();
    let first = stage.ready(service());
    stage.cloud.borrow_mut().meanwhile = vec![("/loadbalancers/".to_owned(), nat); 4];
    let two = first.with_port(tcp(443));
    assert!(matches!(stage.step(&two), Ok(Progress::Pending(_))));
    stage.ready(two);
}

#[test]
fn azure_046_and_047_nodes_come_and_go() {
    let mut stage = BalancerStage::with_addresses();
    let service = stage.ready(service());
    let members = |stage: &BalancerStage| {
        let pool = part(&stage.balancer(), "backendAddressPools", "kubernetes");
        let all = pool["properties"]["loadBalancerBackendAddresses"].as_array().unwrap().clone();
        all.iter().map(|it| it["properties"]["ipAddress"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(members(&stage), ["10.240.0.4", "10.240.0.5"]);
    let gone = stage.nodes.pop().unwrap();
    let asked = stage.asked();
    let service = stage.ready(service);
    assert_eq!(stage.writes(asked), ["Put loadBalancers/kubernetes/backendAddressPools/kubernetes"]);
    assert_eq!(members(&stage), ["10.240.0.4"]);
    let mut control_plane = gone;
    control_plane.labels.push(("node-role.kubernetes.io/control-plane".to_owned(), String::new()));
    stage.nodes.push(control_plane);
    let asked = stage.asked();
    stage.ready(service);
    assert_eq!((stage.writes(asked).len(), members(&stage).len()), (0, 1));
}

#[test]
fn azure_046_machines_of_scale_sets_join_behind_their_model() {
    let mut cloud = FakeArm::default();
    cloud.scale_set(2);
    let mut stage = BalancerStage::of(cloud, &[]);
    let set = "Microsoft.Compute/virtualMachineScaleSets/vs";
    let member = |entry: usize| {
        let vm = rg(&format!("{set}/virtualMachines/{entry}"));
        Node {
            extra: vec![("interface".to_owned(), format!("{vm}/networkInterfaces/nic0/ipConfigurations/ipc"))],
            provider_id: Some(format!("azure://{vm}")),
            ..Node::named(format!("aks-np-{entry:06}"))
        }
    };
    stage.nodes = vec![member(0), member(1)];
    let service = stage.ready(service());
    let writes = stage.writes(0);
    assert_eq!(
        writes[3..],
        [
            "Put virtualMachineScaleSets/vs",
            "Put virtualMachineScaleSets/vs/virtualMachines/0",
            "Put virtualMachineScaleSets/vs/virtualMachines/1"
        ]
    );
    // Interfaces that are not known from a list are asked for.
    stage.nodes[1].extra.clear();
    let asked = stage.asked();
    let service = stage.ready(service);
    assert_eq!((stage.writes(asked).len(), stage.asked() - asked), (0, 3));
    stage.gone(&service);
    assert_eq!((stage.balancer(), stage.publics().len()), (Value::Null, 0), "the scale set leaves first");
}

#[test]
fn deletions_by_batch_are_one_write_of_each() {
    let stage = BalancerStage::new();
    let services = stage.all_ready((0..5).map(|it| named(&format!("s{it}"), &uid(it)).with_port(tcp(80))).collect());
    let asked = stage.asked();
    let answers = stage.host.run(|| Azure::delete_batch(&services[1..]));
    assert!(answers.iter().all(|it| matches!(it, Ok(Deletion::Done))), "{answers:?}");
    let writes = stage.writes(asked);
    assert_eq!(writes.iter().filter(|it| it.contains("Put")).count(), 2);
    assert_eq!((writes.len(), names(&stage.balancer(), "loadBalancingRules").len(), stage.publics().len()), (6, 1, 1));
}
