//! Evidence about the instances behind nodes, by node, and listeners for its changes.

use std::net::IpAddr;
use std::sync::Arc;

use crate::node_object::KubeNode;
use parking_lot::MutexGuard;
use tokio::time::Instant;

use crate::nodes::Nodes;
use crate::nodes::confirmed::{Confirmed, ConfirmedInstances, Evidence, InstanceAnswer, InstanceRecord};

impl Nodes {
    /// The instance behind this node, as the cloud named it; `None` until the cloud has answered, and if it does not
    /// know the instance, or as another node's.
    #[must_use]
    pub fn confirmed(&self, node: &KubeNode) -> Option<Arc<Confirmed>> {
        match self.evidence(node) {
            Evidence::Confirmed(confirmed) => Some(confirmed),
            Evidence::Unknown | Evidence::Refused(_) => None,
        }
    }

    /// The node whose machine has this address, as the cloud says. The Node itself may say otherwise, or not say it yet: its
    /// addresses are written last, and its kubelet can take them off.
    pub(crate) fn confirmed_at(&self, ip: IpAddr) -> Option<String> {
        self.confirmed_instances().at(ip).map(str::to_owned)
    }

    /// The zone in which the cloud has named the instance behind this node last. What the node says itself does not count:
    /// its kubelet writes it.
    pub(crate) fn zone(&self, node: &KubeNode) -> Option<String> {
        self.confirmed_instances().of(node)?.zone.clone()
    }

    /// The sum of the cloud's answers about the instance behind this node.
    pub(crate) fn evidence(&self, node: &KubeNode) -> Evidence {
        self.confirmed_instances().of(node).map_or(Evidence::Unknown, |it| it.evidence.clone())
    }

    /// The memory of the answers about the instance behind this node.
    pub(crate) fn record(&self, node: &KubeNode) -> Option<InstanceRecord> {
        self.confirmed_instances().of(node).cloned()
    }

    /// Takes note of an answer of the cloud about the instance with this provider id, which is that of the node with
    /// this name, or is about to be. The question began at `asked`. Calls the listeners if the answer shows something
    /// new. Returns whether it does.
    pub(crate) fn record_answer(
        &self,
        node: &str,
        provider_id: &str,
        answer: InstanceAnswer<'_>,
        asked: Instant,
    ) -> bool {
        let is_new = {
            let mut instances = self.confirmed_instances();
            // Read with the lock held: whoever forgets a node does so after it is gone from the store.
            self.get(node).is_some() && instances.record_answer(node, provider_id, answer, asked, Instant::now())
        };
        if is_new {
            self.notify_evidence_listeners(node);
        }
        is_new
    }

    /// The evidence against these nodes may be outdated: it is forgotten, so that the cloud is asked about them again.
    pub(super) fn doubt_instances(&self, nodes: &[String]) {
        for node in nodes {
            if self.confirmed_instances().doubt(node) {
                self.notify_evidence_listeners(node);
            }
        }
    }

    fn notify_evidence_listeners(&self, node: &str) {
        let listeners = self.shared.evidence_listeners.lock();
        listeners.iter().for_each(|it| it(node));
    }

    /// Calls `listener` with a node's name whenever answers of the cloud show something new of its instance. It must be
    /// quick.
    pub(crate) fn listen_for_evidence(&self, listener: impl Fn(&str) + Send + 'static) {
        let mut listeners = self.shared.evidence_listeners.lock();
        listeners.push(Box::new(listener));
    }

    pub(super) fn forget_instance(&self, node: &str) {
        self.confirmed_instances().forget(node);
    }

    pub(super) fn forget_other_instances(&self) {
        let mut instances = self.confirmed_instances();
        instances.retain(|it| self.get(it).is_some());
    }

    pub(super) fn confirmed_instances(&self) -> MutexGuard<'_, ConfirmedInstances> {
        self.shared.confirmed.lock()
    }
}
