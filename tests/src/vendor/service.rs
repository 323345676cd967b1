//! A Service, and what a host does about it: it keeps what the provider says, and calls again.
//!
//! A failure here fails the test that asked for it: everything panics, with what was seen.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt;
use std::time::Duration;

use cloud_provider::{
    Deletion, Error, Event, EventKind, LoadBalancer, LoadBalancerStatus, LoadBalancers, PendingStatus, Port, Progress,
    Protocol, Reply, Result,
};

use crate::fixtures;

use super::description::Vendor;
use super::provider::ProviderRig;

/// The UID of the Service.
pub const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
/// The default name of its load balancer.
pub const NAME: &str = "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1";

/// More steps than any load balancer takes.
const PATIENCE: usize = 20;
/// How long is waited between two of them at most, where the provider asks for a pause: the clouds here take little longer.
const PAUSE: Duration = Duration::from_millis(100);

/// A Service of TCP port 80 with one node, that of machine 1.
pub struct Service<'a> {
    load_balancers: &'a dyn LoadBalancers,
    /// The beginning of the vendor's annotations.
    prefix: &'static str,
    /// The load balancer that it wants, and the memo of it.
    pub desired: LoadBalancer,
}

impl<'a> Service<'a> {
    /// A Service, of which nobody has heard yet.
    #[must_use]
    pub fn new<V: Vendor>(rig: &'a ProviderRig<V>) -> Service<'a> {
        Self::of::<V>(&*rig.load_balancers)
    }

    /// The same of a provider without a cloud.
    #[must_use]
    pub fn of<V: Vendor>(load_balancers: &'a dyn LoadBalancers) -> Service<'a> {
        let (ports, nodes) = (vec![port(Protocol::Tcp, 80)], vec![V::worker(1)]);
        let desired = LoadBalancer { ports, nodes, ..fixtures::load_balancer("web", UID) };
        Service { load_balancers, prefix: V::PREFIX, desired }
    }

    /// With an annotation of the vendor, by the end of its key.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Service<'a> {
        self.set(name, value);
        self
    }

    /// Another Service, with another UID.
    #[must_use]
    pub fn named(mut self, name: &str, uid: &str) -> Service<'a> {
        self.desired.name = fixtures::load_balancer_name(uid);
        name.clone_into(&mut self.desired.owner.name);
        uid.clone_into(&mut self.desired.owner.uid);
        self
    }

    /// Sets an annotation of the vendor, by the end of its key.
    pub fn set(&mut self, name: &str, value: &str) {
        self.annotate(&format!("{}{name}", self.prefix), value);
    }

    /// Sets an annotation.
    pub fn annotate(&mut self, key: &str, value: &str) {
        self.desired.annotations.retain(|(it, _)| it != key);
        self.desired.annotations.push((key.to_owned(), value.to_owned()));
        self.desired.annotations.sort();
    }

    /// Takes an annotation of the vendor away, by the end of its key.
    pub fn remove(&mut self, name: &str) {
        let key = format!("{}{name}", self.prefix);
        self.desired.annotations.retain(|(it, _)| *it != key);
    }

    /// The value of an annotation.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.desired.annotations.iter().find(|(it, _)| it == key).map(|(_, value)| value.as_str())
    }

    /// One step, with what the provider has to say; what it wants to be kept is kept.
    pub async fn ask(&mut self) -> Reply<Result<Progress>> {
        let reply = self.load_balancers.ensure(&self.desired).await;
        let before = self.desired.memo.clone();
        self.desired.memo_is_new = false;
        match &reply.answer {
            Ok(Progress::Ready(standing)) => {
                self.keep(standing);
                self.desired.current_ingress.clone_from(&standing.ingress);
            }
            Ok(Progress::Pending(PendingStatus { status, .. }) | Progress::Failed(status, _)) => self.keep(status),
            Ok(Progress::NotManaged) | Err(_) => {}
        }
        self.desired.memo_is_new = self.desired.memo.is_some() && self.desired.memo != before;
        reply
    }

    fn keep(&mut self, standing: &LoadBalancerStatus) {
        self.desired.memo.clone_from(&standing.memo);
        for (key, value) in &standing.annotations {
            self.annotate(key, value);
        }
    }

    /// One step, about which the provider has nothing further to say.
    ///
    /// # Errors
    ///
    /// The provider's.
    pub async fn step(&mut self) -> Result<Progress> {
        let reply = self.ask().await;
        assert_eq!(reply.events, []);
        reply.answer
    }

    /// As many steps as it takes, one right after the other. Returns also what was said on the way.
    pub async fn served_with(&mut self) -> (LoadBalancerStatus, Vec<Event>) {
        let mut events = Vec::new();
        for _ in 0..PATIENCE {
            let reply = self.ask().await;
            events.extend(reply.events);
            match reply.answer.unwrap() {
                Progress::Ready(standing) => return (standing, events),
                Progress::Pending(it) => pause(&it).await,
                other @ (Progress::Failed(..) | Progress::NotManaged) => panic!("another answer: {other:?}"),
            }
        }
        panic!("{PATIENCE} steps are not enough: {:?}", self.desired.memo);
    }

    /// As many steps as it takes, about which the provider has nothing further to say.
    pub async fn served(&mut self) -> LoadBalancerStatus {
        let (standing, events) = self.served_with().await;
        assert_eq!(events, []);
        standing
    }

    /// Where it is reached, after as many steps as it takes.
    pub async fn addresses(&mut self) -> Vec<String> {
        let (standing, _) = self.served_with().await;
        standing.ingress.into_iter().map(|it| it.ip.or(it.hostname).unwrap()).collect()
    }

    /// The reasons of what was said until it was served.
    pub async fn reasons(&mut self) -> Vec<String> {
        self.served_with().await.1.into_iter().map(|it| it.reason).collect()
    }

    /// The step that does not end it.
    pub async fn pending(&mut self) -> PendingStatus {
        match self.ask().await.answer {
            Ok(Progress::Pending(pending_status)) => pending_status,
            other => panic!("not pending: {other:?}"),
        }
    }

    /// Steps until it cannot go on, and why.
    pub async fn refused(&mut self) -> Error {
        for _ in 0..PATIENCE {
            match self.step().await {
                Err(error) | Ok(Progress::Failed(_, error)) => return error,
                Ok(Progress::Pending(it)) => pause(&it).await,
                Ok(other) => panic!("not refused: {other:?}"),
            }
        }
        panic!("{PATIENCE} steps, and no refusal");
    }

    /// Why it is invalid.
    pub async fn invalid(&mut self) -> String {
        match self.refused().await {
            Error::Invalid(why) => why,
            other => panic!("not invalid: {other:?}"),
        }
    }

    /// One step of its deletion, about which the provider has nothing further to say.
    ///
    /// # Errors
    ///
    /// The provider's.
    pub async fn delete(&mut self) -> Result<Deletion> {
        let reply = self.ask_to_delete().await;
        assert_eq!(reply.events, []);
        reply.answer
    }

    /// One step of its deletion, with what the provider has to say.
    pub async fn ask_to_delete(&mut self) -> Reply<Result<Deletion>> {
        self.desired.nodes.clear();
        let reply = self.load_balancers.delete(&self.desired).await;
        if let Ok(Deletion::Pending(pending)) = &reply.answer {
            self.keep(&pending.status);
        }
        reply
    }

    /// Its deletion ends in one step, with a warning about a load balancer that stays: its message.
    pub async fn gone_without(&mut self, id: &str) -> String {
        let reply = self.ask_to_delete().await;
        assert_eq!(reply.answer, Ok(Deletion::Done));
        let (reason, message) = warning(&reply.events);
        assert_eq!(reason, "LoadBalancerNotDeleted");
        assert!(message.contains(id), "{message}");
        message.to_owned()
    }

    /// As many steps of its deletion as it takes.
    pub async fn gone(&mut self) {
        for _ in 0..PATIENCE {
            match self.delete().await.unwrap() {
                Deletion::Done => return,
                Deletion::Pending(it) => pause(&it).await,
                Deletion::Kept(why) => panic!("it is kept: {why}"),
            }
        }
        panic!("{PATIENCE} steps are not enough: {:?}", self.desired.memo);
    }
}

/// Waits as the provider asks, or for a moment.
async fn pause(pending: &PendingStatus) {
    tokio::time::sleep(pending.after.min(PAUSE)).await;
}

impl fmt::Debug for Service<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("desired", &self.desired).finish_non_exhaustive()
    }
}

/// A port on a node port of 30000 and itself.
#[must_use]
pub fn port(protocol: Protocol, port: u16) -> Port {
    Port { name: format!("p-{port}"), protocol, port, node_port: Some(30_000 + port), app_protocol: None }
}

/// The reason and the message of the only warning, about the object of the call.
#[must_use]
pub fn warning(events: &[Event]) -> (&str, &str) {
    let [event] = events else { panic!("not one warning: {events:?}") };
    assert_eq!((event.kind, &event.about), (EventKind::Warning, &None));
    (&event.reason, &event.message)
}
