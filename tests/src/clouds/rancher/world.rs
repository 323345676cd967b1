//! All resources of an environment, and how they change by themselves.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use crate::simulator::{CloudClock, End, Settles, Taking};

/// The collection that a resource is in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RancherKind {
    /// A machine.
    Host,
    /// An address of hosts.
    IpAddress,
    /// A group of services.
    Stack,
    /// A setting of the server.
    Setting,
    /// A load balancer.
    Balancer,
    /// Addresses outside of the environment.
    External,
}

impl RancherKind {
    /// All.
    pub(super) const ALL: [RancherKind; 6] = [
        RancherKind::Host,
        RancherKind::IpAddress,
        RancherKind::Stack,
        RancherKind::Setting,
        RancherKind::Balancer,
        RancherKind::External,
    ];

    /// The collection's name in paths, the type of its resources, and the letters before the number in their ids.
    pub(super) fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            RancherKind::Host => ("hosts", "host", "1h"),
            RancherKind::IpAddress => ("ipaddresses", "ipAddress", "1ip"),
            RancherKind::Stack => ("stacks", "stack", "1st"),
            RancherKind::Setting => ("settings", "setting", "1as"),
            RancherKind::Balancer => ("loadbalancerservices", "loadBalancerService", "1s"),
            RancherKind::External => ("externalservices", "externalService", "1s"),
        }
    }
}

/// One resource.
#[derive(Clone, Debug)]
pub struct RancherResource {
    /// Its collection.
    pub kind: RancherKind,
    /// Its fields, without those that its state tells.
    pub fields: Map<String, Value>,
    /// Its state.
    pub state: String,
    /// The change that it is in: the state that comes next, and when.
    pub change: Option<(&'static str, End)>,
    /// When it was made.
    made: SystemTime,
}

impl RancherResource {
    /// A field.
    #[must_use]
    pub fn field(&self, name: &str) -> &Value {
        self.fields.get(name).unwrap_or(&Value::Null)
    }

    /// Whether it is gone, and shown for a while.
    #[must_use]
    pub fn is_removed(&self) -> bool {
        self.state == "removed"
    }

    /// The actions that it offers now.
    pub(super) fn actions(&self) -> &'static [&'static str] {
        match (self.kind, &*self.state) {
            (RancherKind::Balancer, "inactive") => &["activate", "remove", "setservicelinks", "update"],
            (RancherKind::Balancer, "active") => &["deactivate", "remove", "setservicelinks", "update", "upgrade"],
            (RancherKind::Balancer, "upgraded") => &["finishupgrade", "remove", "rollback", "update"],
            (RancherKind::External, "inactive") => &["activate", "remove", "update"],
            (RancherKind::External, "active") => &["deactivate", "remove", "update"],
            _ => &[],
        }
    }
}

/// An environment.
#[derive(Debug)]
pub struct World {
    /// All resources by id.
    pub resources: BTreeMap<String, RancherResource>,
    /// How long a change takes.
    pub taking: Taking,
    /// How late new load balancers and external services come into lists. By its id each can be had at once.
    pub lists_late_by: Duration,
    /// The number of the host that runs load balancers; absent, any host does.
    pub host_of_balancers: Option<u64>,
    clock: CloudClock,
    ids: usize,
}

impl World {
    pub(super) fn new(taking: Taking) -> World {
        let mut world = World {
            resources: BTreeMap::new(),
            taking,
            lists_late_by: Duration::ZERO,
            host_of_balancers: None,
            clock: CloudClock::default(),
            ids: 0,
        };
        let image = "rancher/lb-service-haproxy:v0.9.1";
        let setting = json!({ "name": "lb.instance.image", "value": image, "activeValue": image, "inDb": false });
        world.insert(RancherKind::Setting, setting, "active");
        world
    }

    /// Adds a resource at rest, and returns its id.
    ///
    /// # Panics
    ///
    /// Panics if `fields` is no object.
    pub fn insert(&mut self, kind: RancherKind, fields: Value, state: &str) -> String {
        let Value::Object(fields) = fields else { panic!("no object: {fields}") };
        self.ids += 1;
        let id = format!("{}{}", kind.words().2, self.ids);
        let made = self.clock.now();
        self.resources
            .insert(id.clone(), RancherResource { kind, fields, state: state.to_owned(), change: None, made });
        id
    }

    /// Adds a host that its agent has registered, with one address more than the agent's; the UUID holds the number.
    pub fn add_host(&mut self, number: u64, name: &str) {
        let agent = format!("10.0.0.{number}");
        let fields = json!({ "uuid": host_uuid(number), "hostname": name, "agentIpAddress": agent });
        let host = self.insert(RancherKind::Host, fields, "active");
        for address in [agent, format!("10.1.0.{number}")] {
            self.insert(RancherKind::IpAddress, json!({ "address": address, "hosts": [host] }), "active");
        }
    }

    /// Deletes the host of this number, as people do; Rancher shows it for a while.
    pub fn remove_host(&mut self, number: u64) {
        let uuid = json!(host_uuid(number));
        let found = self.resources.values_mut().filter(|it| it.kind == RancherKind::Host && *it.field("uuid") == uuid);
        found.for_each(|it| it.state = "removed".to_owned());
    }

    /// All resources of a kind that are not removed, with their ids.
    pub fn all(&self, kind: RancherKind) -> impl Iterator<Item = (&String, &RancherResource)> {
        self.resources.iter().filter(move |(_, it)| it.kind == kind && !it.is_removed())
    }

    /// Whether lists show a resource already.
    pub(super) fn is_listed(&self, resource: &RancherResource) -> bool {
        let comes_late = matches!(resource.kind, RancherKind::Balancer | RancherKind::External);
        !comes_late || resource.made + self.lists_late_by <= self.clock.now()
    }

    /// Lets a resource change: it is in the first state until it is in the second.
    pub(super) fn begin(&mut self, id: &str, now: &str, next: &'static str) {
        let end = self.taking.begun(self.clock.now());
        if let Some(it) = self.resources.get_mut(id) {
            now.clone_into(&mut it.state);
            it.change = Some((next, end));
        }
    }

    /// The addresses at which a load balancer is reached: those of hosts that run.
    fn endpoints(&self, balancer: &RancherResource) -> Value {
        let ports = balancer.field("launchConfig")["ports"].as_array().into_iter().flatten();
        let ports: Vec<u16> = ports.filter_map(|it| it.as_str()?.split(':').next()?.parse().ok()).collect();
        let chosen = self.host_of_balancers.map(|it| json!(host_uuid(it)));
        let runs =
            |it: &RancherResource| it.state == "active" && chosen.as_ref().is_none_or(|uuid| it.field("uuid") == uuid);
        let hosts = self.all(RancherKind::Host).filter(|(_, it)| runs(it)).take(1);
        let of = |(id, host): (&String, &RancherResource), port: &u16| json!({ "hostId": id, "ipAddress": host.field("agentIpAddress"), "port": port });
        let all = hosts.flat_map(|host| ports.iter().map(move |port| of(host, port)));
        Value::Array(all.collect())
    }
}

impl Settles for World {
    fn settle(&mut self) {
        let now = self.clock.now();
        let due = self
            .resources
            .iter()
            .filter_map(|(id, it)| it.change.filter(|(_, end)| end.is_due(now)).map(|(next, _)| (id.clone(), next)));
        for (id, next) in due.collect::<Vec<_>>() {
            let Some(mut it) = self.resources.remove(&id) else { continue };
            (it.state, it.change) = (next.to_owned(), None);
            if it.kind == RancherKind::Balancer {
                // Containers that were placed stay where they are.
                let placed = it.field("publicEndpoints")[0]["ipAddress"].clone();
                let mut endpoints = if matches!(next, "active" | "upgraded") { self.endpoints(&it) } else { json!([]) };
                for endpoint in endpoints.as_array_mut().into_iter().flatten().filter(|_| !placed.is_null()) {
                    endpoint["ipAddress"] = placed.clone();
                }
                if next != "inactive" {
                    it.fields.insert("publicEndpoints".to_owned(), endpoints);
                }
            }
            self.resources.insert(id, it);
        }
    }
}

/// The UUID of the host of this number.
#[must_use]
pub fn host_uuid(number: u64) -> String {
    format!("d8b0c8a5-0f5e-4c0e-9d4c-{number:012}")
}
