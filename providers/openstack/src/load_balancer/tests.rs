//! Load balancers against Octavia and Neutron in memory.

mod cloud;
mod counts;
mod described;
mod endings;
mod lives;
mod plans;
mod spoken;

use std::time::Duration;

use aerostat_sdk::testing::{FakeCloud as _, Host, SharedCloud, SimulatedCloud};
use aerostat_sdk::{
    Address, Deletion, Error, Instance, Instances, LoadBalancer, LoadBalancers, Node, Page, Port, Progress, Protocol,
    Result,
};

use self::cloud::Cloud;
use crate::provider::OpenStack;

const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
const MOST_CALLS: usize = 100;

/// The provider's load balancers, with machines of this test.
struct Balancers;

impl Instances for Balancers {
    fn get(node: &Node) -> Result<Option<Instance>> {
        let number: u8 = node.name.strip_prefix("web-").and_then(|it| it.parse().ok()).unwrap();
        let instance = Instance::new(&node.name, format!("openstack:///server-{number}"));
        Ok(Some(instance.addresses([Address::internal_ip(format!("10.6.0.{number}"))])))
    }

    fn list(_: Option<&str>, _: u32) -> Result<Page> {
        Ok(Page::new(Vec::new(), None))
    }
}

impl LoadBalancers for Balancers {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        OpenStack::ensure(desired)
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        OpenStack::delete(unwanted)
    }
}

/// A Service, its cloud, and a host that keeps what calls answer.
struct Stage {
    cloud: SharedCloud<Cloud>,
    settings: Vec<(String, String)>,
    service: LoadBalancer,
    /// The reasons of events, each once.
    events: Vec<String>,
}

impl Stage {
    fn new() -> Self {
        let mut cloud = Cloud::default();
        let nodes: Vec<_> = (11..14).map(|it| node(&mut cloud, it)).collect();
        let mut service = LoadBalancer::of("default", "web", UID).with_port(Port::new(Protocol::Tcp, 80, 30_080));
        service.nodes = nodes;
        let settings = [
            ("region", "RegionOne"),
            ("loadBalancers.floatingNetworkID", "ext"),
            ("loadBalancers.floatingSubnetID", "ext-a"),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Self { cloud: SimulatedCloud::new(cloud).shared(), settings, service, events: Vec::new() }
    }

    fn with(mut self, change: impl FnOnce(&mut LoadBalancer)) -> Self {
        change(&mut self.service);
        self
    }

    fn annotated(mut self, key: &str, value: &str) -> Self {
        self.annotate(key, value);
        self
    }

    fn annotate(&mut self, key: &str, value: &str) {
        let key = if key.contains('/') { key.to_owned() } else { format!("loadbalancer.openstack.org/{key}") };
        self.service.annotations.retain(|(it, _)| *it != key);
        self.service.annotations.push((key, value.to_owned()));
    }

    fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.retain(|(it, _)| it != name);
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Another Service in the same cloud.
    fn other(&self, name: &str, uid: &str) -> Self {
        let mut service = LoadBalancer::of("default", name, uid);
        service.nodes.clone_from(&self.service.nodes);
        Self { cloud: self.cloud.clone(), settings: self.settings.clone(), service, events: Vec::new() }
    }

    fn run<T>(&mut self, call: impl FnOnce(&LoadBalancer) -> T) -> T {
        let host = self.settings.iter().fold(Host::of(&self.cloud), |it, (name, value)| it.setting(name, value));
        let host = host.at(self.cloud.borrow().now());
        let answer = host.run(|| call(&self.service));
        for event in host.events() {
            if !self.events.contains(&event.reason) {
                self.events.push(event.reason);
            }
        }
        answer
    }

    /// Calls until it is ready, or refused. Returns the lines of all writes.
    fn ensured(&mut self) -> Result<Vec<String>> {
        self.cloud.borrow_mut().asked();
        for _ in 0..MOST_CALLS {
            let answer = self.run(OpenStack::ensure);
            self.service.extra.clear();
            match answer? {
                Progress::Ready(status) => {
                    for (key, value) in &status.annotations {
                        self.annotate(key, value);
                    }
                    self.service = self.service.clone().after(status);
                    return Ok(self.writes());
                }
                Progress::Pending(it) => {
                    if it.status.memo != self.service.memo {
                        self.service.extra.push(("host.new-memo".to_owned(), "true".to_owned()));
                    }
                    self.service = self.service.clone().after(it.status);
                    self.pause(it.wait.milliseconds);
                }
                Progress::Failed(it) => {
                    self.service = self.service.clone().after(it.status);
                    return Err(it.error);
                }
                Progress::NotManaged => panic!("it is managed"),
            }
        }
        panic!("it does not end: {:?}", self.cloud.borrow_mut().asked())
    }

    /// Calls until it is gone. Returns the lines of all writes.
    fn deleted(&mut self) -> Result<Vec<String>> {
        self.cloud.borrow_mut().asked();
        self.service.nodes.clear();
        for _ in 0..MOST_CALLS {
            match self.run(OpenStack::delete)? {
                Deletion::Done | Deletion::Kept(_) => return Ok(self.writes()),
                Deletion::Pending(it) => {
                    self.service = self.service.clone().after(it.status);
                    self.pause(it.wait.milliseconds);
                }
            }
        }
        panic!("it does not end")
    }

    fn pause(&self, milliseconds: u32) {
        self.cloud.borrow_mut().advance(Duration::from_millis(milliseconds.max(500).into()));
    }

    /// The writes since they were asked for last, and the number of all requests before them.
    fn writes(&self) -> Vec<String> {
        let asked = self.cloud.borrow_mut().asked().requests;
        let short = |line: &str| {
            let line = line.replace("/v2.0/lbaas", "");
            let segments = line.split('/').map(|it| if it.starts_with("00000000-") { "*" } else { it });
            segments.collect::<Vec<_>>().join("/")
        };
        asked.iter().filter(|it| it.writes).map(|it| short(it.line.split('?').next().unwrap())).collect()
    }

    fn change(&self, change: impl FnOnce(&mut Cloud)) {
        change(self.cloud.borrow_mut().cloud());
    }

    /// The rest of the cloud, without the ports of nodes.
    fn left(&self) -> Vec<String> {
        let mut shared = self.cloud.borrow_mut();
        shared.cloud().objects().into_iter().map(|it| format!("{} {}", it.kind, it.name)).collect()
    }

    fn shown(&self) -> Vec<String> {
        self.service.current_ingress.iter().map(|it| it.ip.clone().or(it.hostname.clone()).unwrap()).collect()
    }
}

fn node(cloud: &mut Cloud, number: u8) -> Node {
    let server = cloud.server(number);
    let mut node = Node::named(format!("node-{number}")).with_provider_id(format!("openstack:///{server}"));
    node.addresses =
        vec![Address::internal_ip(format!("10.6.0.{number}")), Address::internal_ip(format!("fd00:6::{number}"))];
    node
}

fn why<T: std::fmt::Debug>(answer: Result<T>) -> String {
    match answer {
        Err(Error::Invalid(why)) => why,
        other => panic!("{other:?}"),
    }
}
