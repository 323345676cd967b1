//! A Service, and what a host does about it: it keeps what the provider says, and calls again.

use cloud_provider::{
    Address, AddressKind, Deletion, Error, Event, LoadBalancer, LoadBalancerStatus, LoadBalancers, PendingStatus, Port,
    Progress, Protocol, Reply, Result,
};
use tests::fixtures;

use crate::setup::Rig;

pub(crate) const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
/// The default name of the Service's load balancer.
pub(crate) const NAME: &str = "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1";
/// Where load balancers are built.
pub(crate) const LOCATION: (&str, &str) = ("loadBalancers.location", "hel1");

/// More steps than any load balancer takes.
const PATIENCE: usize = 20;

/// An annotation of the vendor, by the end of its key.
pub(crate) fn key(name: &str) -> String {
    format!("load-balancer.hetzner.cloud/{name}")
}

/// The initialised node of a server that is as the rig makes it.
pub(crate) fn worker(server: u8) -> cloud_provider::Node {
    let address = |kind, value| Address { kind, value };
    let (public, private) = (format!("198.18.0.{server}"), format!("10.0.0.{}", server + 1));
    cloud_provider::Node {
        name: format!("web-{server}"),
        provider_id: Some(format!("hcloud://{server}")),
        extra: vec![("public-ipv4".to_owned(), public.clone()), ("private-ipv4".to_owned(), private.clone())],
        addresses: vec![address(AddressKind::ExternalIp, public), address(AddressKind::InternalIp, private)],
        ..cloud_provider::Node::default()
    }
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
        let (ports, nodes) = (vec![port(Protocol::Tcp, 80)], vec![worker(1)]);
        let desired = LoadBalancer { ports, nodes, ..fixtures::load_balancer("web", UID) };
        Self { load_balancers: &**rig.abilities.load_balancers.as_ref().unwrap(), desired }
    }

    /// With an annotation of the vendor, by the end of its key.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.annotate(name, value);
        self
    }

    pub(crate) fn annotate(&mut self, name: &str, value: &str) {
        let key = key(name);
        self.desired.annotations.retain(|(it, _)| *it != key);
        self.desired.annotations.push((key, value.to_owned()));
        self.desired.annotations.sort();
    }

    /// One step, with what the provider has to say; what it wants to be kept is kept.
    pub(crate) async fn ask(&mut self) -> Reply<Result<Progress>> {
        let reply = self.load_balancers.ensure(&self.desired).await;
        match &reply.answer {
            Ok(Progress::Ready(status)) => {
                self.keep(status);
                self.desired.current_ingress.clone_from(&status.ingress);
            }
            Ok(Progress::Pending(PendingStatus { status, .. }) | Progress::Failed(status, _)) => self.keep(status),
            Ok(Progress::NotManaged) | Err(_) => {}
        }
        reply
    }

    fn keep(&mut self, status: &LoadBalancerStatus) {
        self.desired.memo.clone_from(&status.memo);
    }

    /// As many steps as it takes, one right after the other. Returns also what was said on the way.
    pub(crate) async fn served_with(&mut self) -> (LoadBalancerStatus, Vec<Event>) {
        let mut events = Vec::new();
        for _ in 0..PATIENCE {
            let reply = self.ask().await;
            events.extend(reply.events);
            match reply.answer.unwrap() {
                Progress::Ready(status) => return (status, events),
                Progress::Pending(_) => {}
                other @ (Progress::Failed(..) | Progress::NotManaged) => panic!("another answer: {other:?}"),
            }
        }
        panic!("{PATIENCE} steps are not enough: {:?}", self.desired.memo);
    }

    /// Where it is reached, after as many steps as it takes.
    pub(crate) async fn addresses(&mut self) -> Vec<String> {
        let (status, _) = self.served_with().await;
        status.ingress.into_iter().map(|it| it.ip.or(it.hostname).unwrap()).collect()
    }

    /// The reasons of what was said until it was served.
    pub(crate) async fn reasons(&mut self) -> Vec<String> {
        self.served_with().await.1.into_iter().map(|it| it.reason).collect()
    }

    /// Steps until it cannot go on, and why it is invalid.
    pub(crate) async fn invalid(&mut self) -> String {
        for _ in 0..PATIENCE {
            match self.ask().await.answer {
                Err(Error::Invalid(why)) => return why,
                Ok(Progress::Pending(_)) => {}
                other => panic!("not refused: {other:?}"),
            }
        }
        panic!("{PATIENCE} steps, and no refusal");
    }

    /// One step of its deletion.
    pub(crate) async fn delete(&mut self) -> Result<Deletion> {
        self.desired.nodes.clear();
        let reply = self.load_balancers.delete(&self.desired).await;
        assert_eq!(reply.events, []);
        if let Ok(Deletion::Pending(pending)) = &reply.answer {
            self.keep(&pending.status);
        }
        reply.answer
    }
}
