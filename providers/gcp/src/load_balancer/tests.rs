//! Load balancers against Compute Engine in memory.

mod cloud;
mod external;
mod internal;
mod refused;
mod together;

use std::time::Duration;

use aerostat_sdk::testing::{Event, FakeCloud as _, Host, SharedCloud, SimulatedCloud};
use aerostat_sdk::{
    BatchItem, Deletion, Error, Instance, Instances, LoadBalancer, LoadBalancerBatches, LoadBalancers, Node, Page,
    Port, Progress, Protocol, Result, testing,
};
use serde_json::{Value, json};

use self::cloud::Cloud;
use crate::Gcp;

const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
/// The Service's name in names.
const LB: &str = "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1";
/// The cluster's id in names.
const CID: &str = "c1a5e00011112222";
const MOST_CALLS: usize = 100;

/// The provider's load balancers, with machines of this test.
struct Balancers;

impl Instances for Balancers {
    fn get(node: &Node) -> Result<Option<Instance>> {
        let zone = if node.name == "web-1" { "europe-west1-b" } else { "europe-west1-c" };
        Ok(Some(Instance::new(&node.name, format!("gce://p1/{zone}/{}", node.name))))
    }

    fn list(_: Option<&str>, _: u32) -> Result<Page> {
        Ok(Page::new(Vec::new(), None))
    }
}

impl LoadBalancers for Balancers {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        Gcp::ensure(desired)
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        Gcp::delete(unwanted)
    }
}

#[test]
fn a_life_survives_each_trouble() {
    assert_eq!(testing::converge::<Balancers, _>(Cloud::default), [""; 0]);
}

/// A Service, its cloud, and a host that keeps what calls answer.
struct Stage {
    cloud: SharedCloud<Cloud>,
    settings: Vec<(String, String)>,
    service: LoadBalancer,
    events: Vec<Event>,
    requests: usize,
}

fn node(number: usize) -> Node {
    let path = Cloud::path_of(number);
    let parts: Vec<_> = path.split('/').collect();
    Node::named(parts[5]).with_provider_id(format!("gce://p1/{}/{}", parts[3], parts[5]))
}

impl Stage {
    fn new() -> Self {
        let mut service = LoadBalancer::of("default", "web", UID).with_port(Port::new(Protocol::Tcp, 80, 30_080));
        service.nodes = vec![node(1), node(2)];
        let settings = Cloud::default().settings();
        let settings = settings.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let cloud = SimulatedCloud::new(Cloud::default()).shared();
        Self { cloud, settings, service, events: Vec::new(), requests: 0 }
    }

    fn internal() -> Self {
        Self::new().annotated("networking.gke.io/load-balancer-type", "Internal")
    }

    fn annotated(mut self, key: &str, value: &str) -> Self {
        self.annotate(key, value);
        self
    }

    fn annotate(&mut self, key: &str, value: &str) {
        self.service.annotations.retain(|(it, _)| it != key);
        self.service.annotations.push((key.to_owned(), value.to_owned()));
    }

    fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.retain(|(it, _)| it != name);
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Another Service in the same cloud.
    fn other(&self, name: &str, uid: &str) -> Self {
        let mut service =
            LoadBalancer { annotations: self.service.annotations.clone(), ..LoadBalancer::of("default", name, uid) };
        service.nodes.clone_from(&self.service.nodes);
        service.ports.clone_from(&self.service.ports);
        Self { cloud: self.cloud.clone(), settings: self.settings.clone(), service, events: Vec::new(), requests: 0 }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Cloud) -> T) -> T {
        change(self.cloud.borrow_mut().cloud())
    }

    fn host(&self) -> Host {
        self.settings.iter().fold(Host::of(&self.cloud), |host, (name, value)| host.setting(name, value))
    }

    /// One call, and the writes that it made, with names for what changes.
    fn call<T>(&mut self, call: impl FnOnce(&LoadBalancer) -> T) -> (T, Vec<String>) {
        let host = self.host();
        let answer = host.run(|| call(&self.service));
        self.events.extend(host.events());
        let asked = self.cloud.borrow_mut().asked().requests;
        self.requests += asked.len();
        let bodies: Vec<Value> = host.bodies().iter().filter_map(|it| serde_json::from_str(it).ok()).collect();
        let mut bodies = bodies.into_iter();
        let mut writes = Vec::new();
        for sent in host.sent() {
            let body = sent.body.is_some().then(|| bodies.next()).flatten().unwrap_or_default();
            let line = format!("{:?} {}", sent.method, sent.path.join("/")).replace("Method::", "").to_uppercase();
            let is_write = Cloud::default().writes(&sent);
            if is_write {
                let verb = line.split(' ').next().unwrap().to_owned();
                let place: Vec<_> =
                    sent.path.iter().skip(if sent.path[0] == "global" { 1 } else { 2 }).cloned().collect();
                let name =
                    body["name"].as_str().filter(|_| verb == "POST").map(|it| format!(" {it}")).unwrap_or_default();
                writes.push(format!("{verb} {}{name}", place.join("/")).replace(LB, "LB").replace(CID, "CID"));
            }
        }
        (answer, writes)
    }

    fn pause(&self, milliseconds: u32) {
        self.cloud.borrow_mut().advance(Duration::from_millis(u64::from(milliseconds.max(500))));
    }

    /// Calls until it is over, and returns the writes.
    fn ensured(&mut self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for _ in 0..MOST_CALLS {
            let (answer, writes) = self.call(Gcp::ensure);
            all.extend(writes);
            match answer? {
                Progress::Ready(status) => {
                    for (key, value) in &status.annotations {
                        self.annotate(key, value);
                    }
                    self.service = self.service.clone().after(status);
                    return Ok(all);
                }
                Progress::Pending(it) => {
                    self.service = self.service.clone().after(it.status);
                    self.pause(it.wait.milliseconds);
                }
                Progress::Failed(it) => {
                    self.service = self.service.clone().after(it.status);
                    return Err(it.error);
                }
                Progress::NotManaged => return Err(Error::invalid("not managed")),
            }
        }
        panic!("it does not end: {all:?}")
    }

    fn deleted(&mut self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for _ in 0..MOST_CALLS {
            let (answer, writes) = self.call(Gcp::delete);
            all.extend(writes);
            match answer? {
                Deletion::Done => return Ok(all),
                Deletion::Kept(why) => return Err(Error::Denied(why)),
                Deletion::Pending(it) => {
                    self.service = self.service.clone().after(it.status);
                    self.pause(it.wait.milliseconds);
                }
            }
        }
        panic!("it does not end: {all:?}")
    }

    /// The resources in the cloud, by kind and name.
    fn left(&self) -> Vec<String> {
        let short = |path: &String| {
            let parts: Vec<_> = path.rsplit('/').take(2).collect();
            format!("{} {}", parts[1], parts[0]).replace(LB, "LB").replace(CID, "CID")
        };
        self.cloud.borrow_mut().cloud().objects.keys().map(short).collect()
    }

    /// How often somebody else was asked for a write.
    fn manual_changes(&self) -> usize {
        self.events.iter().filter(|it| it.reason == "LoadBalancerManualChange").count()
    }

    fn ip(&self) -> String {
        self.service.current_ingress[0].ip.clone().unwrap()
    }

    /// An object of the cloud by the end of its path.
    fn object(&self, end: &str) -> Value {
        let end = end.replace("LB", LB).replace("CID", CID);
        self.change(|cloud| cloud.get(&end).cloned().unwrap_or_default())
    }

    fn why(answer: Result<Vec<String>>) -> String {
        answer.map(|it| panic!("{it:?}")).unwrap_err().why().to_owned()
    }
}
