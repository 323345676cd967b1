//! A Service, and what a host does about it: it keeps what the provider says, and calls again.

use cloud_provider::{
    Address, AddressKind, Deletion, Error, Event, EventKind, LoadBalancer, LoadBalancerStatus, LoadBalancers,
    PendingStatus, Port, Progress, Protocol, Reply, Result,
};
use serde_json::Value;
use tests::clouds::digitalocean::Droplet;
use tests::fixtures;

use crate::setup::{Rig, Setup};

pub(crate) const ID: &str = "kubernetes.digitalocean.com/load-balancer-id";
pub(crate) const TYPE: &str = "service.beta.kubernetes.io/do-loadbalancer-type";
pub(crate) const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
/// The default name of the Service's load balancer.
pub(crate) const NAME: &str = "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1";

/// More steps than any load balancer takes.
const PATIENCE: usize = 10;

/// An annotation of the vendor, by the end of its key.
pub(crate) fn key(name: &str) -> String {
    format!("service.beta.kubernetes.io/do-loadbalancer-{name}")
}

/// A cloud with two droplets and these settings.
pub(crate) async fn rig(settings: &[(&str, &str)]) -> Rig {
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Rig::start(Setup { settings, ..Setup::default() }, [Droplet::new(1, "web-1"), Droplet::new(2, "web-2")]).await
}

/// The initialised node of a droplet that is as [`Droplet::new`] makes it.
pub(crate) fn worker(droplet: u8) -> cloud_provider::Node {
    let address = |kind, value| Address { kind, value };
    cloud_provider::Node {
        name: format!("web-{droplet}"),
        provider_id: Some(format!("digitalocean://{droplet}")),
        addresses: vec![
            address(AddressKind::InternalIp, format!("10.0.0.{droplet}")),
            address(AddressKind::ExternalIp, format!("198.18.0.{droplet}")),
        ],
        region: Some("fra1".to_owned()),
        ..cloud_provider::Node::default()
    }
}

/// The same with a public IPv6 address.
pub(crate) fn dual(droplet: u8) -> cloud_provider::Node {
    let mut machine = worker(droplet);
    machine.addresses.push(Address { kind: AddressKind::ExternalIp, value: format!("2001:db8::{droplet}") });
    machine
}

/// The same without public addresses.
pub(crate) fn private(droplet: u8) -> cloud_provider::Node {
    let mut machine = worker(droplet);
    machine.addresses.retain(|it| it.kind == AddressKind::InternalIp);
    machine
}

/// A port on a node port of 30000 and itself.
pub(crate) fn port(protocol: Protocol, port: u16) -> Port {
    Port { name: format!("p-{port}"), protocol, port, node_port: Some(30_000 + port), app_protocol: None }
}

/// A Service of TCP port 80 and one node.
pub(crate) struct Service<'a> {
    load_balancers: &'a dyn LoadBalancers,
    pub(crate) desired: LoadBalancer,
}

impl<'a> Service<'a> {
    pub(crate) fn new(rig: &'a Rig) -> Self {
        Self::of(&*rig.load_balancers)
    }

    /// Of a provider without a rig.
    pub(crate) fn of(load_balancers: &'a dyn LoadBalancers) -> Self {
        let (ports, nodes) = (vec![port(Protocol::Tcp, 80)], vec![worker(1)]);
        let desired = LoadBalancer { ports, nodes, ..fixtures::load_balancer("web", UID) };
        Self { load_balancers, desired }
    }

    /// With an annotation of the vendor, by the end of its key.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.annotate(&key(name), value);
        self
    }

    /// Another Service, with another UID.
    pub(crate) fn named(mut self, name: &str, uid: &str) -> Self {
        self.desired.name = fixtures::load_balancer_name(uid);
        name.clone_into(&mut self.desired.owner.name);
        uid.clone_into(&mut self.desired.owner.uid);
        self
    }

    pub(crate) fn annotate(&mut self, key: &str, value: &str) {
        self.desired.annotations.retain(|(it, _)| it != key);
        self.desired.annotations.push((key.to_owned(), value.to_owned()));
        self.desired.annotations.sort();
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.desired.annotations.retain(|(it, _)| *it != key(name));
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.desired.annotations.iter().find(|(it, _)| it == key).map(|(_, value)| value.as_str())
    }

    /// One step, with what the provider has to say; what it wants to be kept is kept.
    pub(crate) async fn ask(&mut self) -> Reply<Result<Progress>> {
        let reply = self.load_balancers.ensure(&self.desired).await;
        match &reply.answer {
            Ok(Progress::Ready(standing)) => {
                self.keep(standing);
                self.desired.current_ingress.clone_from(&standing.ingress);
            }
            Ok(Progress::Pending(PendingStatus { status, .. }) | Progress::Failed(status, _)) => self.keep(status),
            Ok(Progress::NotManaged) | Err(_) => {}
        }
        reply
    }

    fn keep(&mut self, standing: &LoadBalancerStatus) {
        self.desired.memo.clone_from(&standing.memo);
        for (key, value) in &standing.annotations {
            self.annotate(key, value);
        }
    }

    /// One step, about which the provider has nothing further to say.
    pub(crate) async fn step(&mut self) -> Result<Progress> {
        let reply = self.ask().await;
        assert_eq!(reply.events, []);
        reply.answer
    }

    /// As many steps as it takes, one right after the other. Returns also what was said on the way.
    pub(crate) async fn served_with(&mut self) -> (LoadBalancerStatus, Vec<Event>) {
        let mut events = Vec::new();
        for _ in 0..PATIENCE {
            let reply = self.ask().await;
            events.extend(reply.events);
            match reply.answer.unwrap() {
                Progress::Ready(standing) => return (standing, events),
                Progress::Pending(_) => {}
                other @ (Progress::Failed(..) | Progress::NotManaged) => panic!("another answer: {other:?}"),
            }
        }
        panic!("{PATIENCE} steps are not enough: {:?}", self.desired.memo);
    }

    /// As many steps as it takes, about which the provider has nothing further to say.
    pub(crate) async fn served(&mut self) -> LoadBalancerStatus {
        let (standing, events) = self.served_with().await;
        assert_eq!(events, []);
        standing
    }

    /// The step that does not end it.
    pub(crate) async fn pending(&mut self) -> PendingStatus {
        match self.ask().await.answer {
            Ok(Progress::Pending(pending_status)) => pending_status,
            other => panic!("not pending: {other:?}"),
        }
    }

    /// Steps until it cannot go on, and why.
    pub(crate) async fn refused(&mut self) -> Error {
        for _ in 0..PATIENCE {
            match self.step().await {
                Err(error) => return error,
                Ok(Progress::Pending(_)) => {}
                Ok(other) => panic!("not refused: {other:?}"),
            }
        }
        panic!("{PATIENCE} steps, and no refusal");
    }

    /// Why it is invalid.
    pub(crate) async fn invalid(&mut self) -> String {
        match self.refused().await {
            Error::Invalid(why) => why,
            other => panic!("not invalid: {other:?}"),
        }
    }

    /// One step of its deletion, about which the provider has nothing further to say.
    pub(crate) async fn delete(&mut self) -> Result<Deletion> {
        let reply = self.ask_to_delete().await;
        assert_eq!(reply.events, []);
        reply.answer
    }

    /// One step of its deletion, with what the provider has to say.
    pub(crate) async fn ask_to_delete(&mut self) -> Reply<Result<Deletion>> {
        self.desired.nodes.clear();
        let reply = self.load_balancers.delete(&self.desired).await;
        if let Ok(Deletion::Pending(pending)) = &reply.answer {
            self.keep(&pending.status);
        }
        reply
    }

    /// Its deletion ends in one step, with a warning about a load balancer that stays: its message.
    pub(crate) async fn gone_without(&mut self, id: &str) -> String {
        let reply = self.ask_to_delete().await;
        assert_eq!(reply.answer, Ok(Deletion::Done));
        let (reason, message) = warning(&reply.events);
        assert_eq!(reason, "LoadBalancerNotDeleted");
        assert!(message.contains(id), "{message}");
        message.to_owned()
    }

    /// As many steps of its deletion as it takes.
    pub(crate) async fn gone(&mut self) {
        for _ in 0..PATIENCE {
            if self.delete().await.unwrap() == Deletion::Done {
                return;
            }
        }
        panic!("{PATIENCE} steps are not enough: {:?}", self.desired.memo);
    }
}

/// What the only warning says: its reason and its message.
pub(crate) fn warning(events: &[Event]) -> (&str, &str) {
    let [event] = events else { panic!("not one warning: {events:?}") };
    assert_eq!((event.kind, &event.about), (EventKind::Warning, &None));
    (&event.reason, &event.message)
}

impl Rig {
    /// What was written: "POST /v2/load_balancers → 202".
    pub(crate) fn writes(&self) -> Vec<String> {
        self.requests().into_iter().filter(|it| !it.starts_with("GET ")).collect()
    }

    /// The body of the last request of this method and path.
    pub(crate) fn body(&self, method: &str, path: &str) -> Value {
        let requests = self.cloud.requests_to(method, path);
        let last = requests.last().unwrap_or_else(|| panic!("no {method} {path} among {:?}", self.requests()));
        serde_json::from_slice(&last.body).unwrap()
    }

    /// The id of the only load balancer.
    pub(crate) fn only(&self) -> String {
        let all = self.cloud.load_balancers().all();
        let [one] = &all[..] else { panic!("not one load balancer: {all:?}") };
        one.id.clone()
    }
}
