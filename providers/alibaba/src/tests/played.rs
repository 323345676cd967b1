//! A cluster before a cloud in memory.

use std::time::Duration;

use aerostat_sdk::testing::{FakeCloud, Host, Request, SharedCloud, SimulatedCloud};
use aerostat_sdk::{LoadBalancer, LoadBalancers as _, Node, Port, Progress, Protocol, Result};

use super::action;
use crate::provider::Alibaba;

/// The UID of the Service.
pub(crate) const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";

pub(crate) fn node(number: usize) -> Node {
    Node::named(format!("node-{number}")).with_provider_id(format!("cn-hangzhou.i-bp{number:03}"))
}

/// A Service with TCP port 80 and three nodes.
pub(crate) fn service() -> LoadBalancer {
    let service = LoadBalancer::of("default", "web", UID).with_port(Port::new(Protocol::Tcp, 80, 30_080));
    (1..=3).map(node).fold(service, LoadBalancer::with_node)
}

/// A cluster before a cloud.
pub(crate) struct Played<C: FakeCloud + 'static> {
    pub(crate) host: Host,
    pub(crate) cloud: SharedCloud<C>,
}

impl<C: FakeCloud + 'static> Played<C> {
    pub(crate) fn new(cloud: C) -> Self {
        let settings = cloud.settings();
        let cloud = SimulatedCloud::new(cloud).shared();
        let host = settings.into_iter().fold(Host::of(&cloud), |it, (name, value)| it.setting(name, value));
        Self { host, cloud }
    }

    /// One call, and what the host keeps of its answer.
    pub(crate) fn call(&self, service: &mut LoadBalancer) -> Result<Progress> {
        let host = self.host.clone().at(self.cloud.borrow().now());
        let answer = host.run(|| Alibaba::ensure(service));
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

    /// Calls until it is ready. Returns the requests.
    pub(crate) fn settle(&self, service: &mut LoadBalancer) -> Vec<Request> {
        let before = self.host.sent().len();
        for _ in 0..40 {
            if let Ok(Progress::Ready(_)) = self.call(service) {
                return self.host.sent().split_off(before);
            }
        }
        panic!("it is not ready: {:?} {:?}", self.call(service), self.host.requests());
    }

    pub(crate) fn reasons(&self) -> Vec<String> {
        self.host.events().into_iter().map(|it| it.reason).collect()
    }
}

pub(crate) fn actions(requests: &[Request]) -> Vec<&str> {
    requests.iter().map(action).collect()
}

pub(crate) fn writes(requests: &[Request]) -> Vec<&str> {
    let is_read = |it: &&str| ["Describe", "List", "Get"].iter().any(|read| it.starts_with(read));
    actions(requests).into_iter().filter(|it| !is_read(it)).collect()
}
