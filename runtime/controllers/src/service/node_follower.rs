//! Following nodes: once others take traffic, the Services are worked on whose load balancers lack them.

use std::sync::Arc;

use kube::ResourceExt;
use tokio::time::Instant;

use crate::events::{EventKind, reference};
use crate::nodes::Nodes;
use crate::service::backends::BackendStatus;
use crate::service::changes::{BackendChanges, BackendPass};
use crate::service::confirmations::Confirmations;
use crate::service::plan::is_wanted;
use crate::service::shared::SharedState;

/// The part of this controller that follows nodes.
pub(super) struct NodeFollower {
    pub(super) shared: Arc<SharedState>,
    pub(super) nodes: Nodes,
    pub(super) changes: Arc<BackendChanges>,
    pub(super) confirmations: Arc<Confirmations>,
}

impl NodeFollower {
    /// Takes note of changes of nodes from now on.
    pub(super) fn listen(self: &Arc<Self>) {
        let follower = Arc::downgrade(self);
        self.nodes.listen(move |before, node| {
            if let (Some(follower), Some(node)) = (follower.upgrade(), node.or(before)) {
                follower.on_node_change(&node.name_any());
            }
        });
        let follower = Arc::downgrade(self);
        self.nodes.listen_for_evidence(move |node| {
            if let Some(follower) = follower.upgrade() {
                follower.on_node_change(node);
            }
        });
    }

    /// Asks the cloud about nodes of which nothing is known, for as long as it runs.
    pub(super) async fn confirm_backends(self: Arc<Self>) {
        let release = |key: &str| self.shared.queue.add(key);
        match self.confirmations.run(release, |services, why| self.record_blocked(services, why)).await {}
    }

    /// Makes passes over all Services, for as long as it runs.
    pub(super) async fn follow(self: Arc<Self>) {
        loop {
            self.changes.settled().await;
            self.pass();
        }
    }

    /// A node has changed, or what the cloud says of it.
    fn on_node_change(&self, name: &str) {
        let noted = self.changes.note(name, Instant::now());
        if noted == Some(BackendStatus::Unknown) || !self.confirmations.are_complete() {
            self.confirmations.wake();
        }
        if let (Some(BackendStatus::LeftOut(why)), Some(node)) = (noted, self.nodes.get(name)) {
            let message = format!("Node {name} is no backend of load balancers: {why}");
            self.shared.recorder.record(reference(node.as_ref()), EventKind::Warning, "NotABackend", &message);
        }
    }

    /// Records on Services why nothing is done about their load balancers.
    fn record_blocked(&self, services: &[String], why: &str) {
        let message = format!(
            "Error syncing load balancer: the cloud has not said yet which nodes exist, and until it has, load balancers \
             stay as they are: {why}"
        );
        for service in services.iter().filter_map(|it| self.shared.services.get(it)) {
            self.shared.record(&service, EventKind::Warning, "SyncLoadBalancerFailed", &message);
        }
    }

    /// Goes through all Services once other nodes take traffic.
    fn pass(&self) {
        let began = Instant::now();
        let SharedState { queue, cluster, metrics, .. } = &*self.shared;
        let pass = BackendPass::begin(metrics.backend_pass.clone());
        // A Service that comes later reads which nodes take traffic by itself.
        let reads = self.changes.reads();
        let are_wanted = self.shared.services.all().iter().any(|it| is_wanted(it, cluster));
        if !are_wanted && self.changes.rest(reads) {
            return self.changes.worked(began.elapsed());
        }
        let backends = self.changes.backends();
        self.shared.each(|key, service, state| {
            if !is_wanted(service, cluster) {
                return;
            }
            // A Service that says nothing which can be read is worked on when it changes.
            let Ok(backends) = self.shared.selected(state.desired(), &backends) else { return };
            let backends = &backends.compared_fields;
            if state.lacks(backends) {
                state.observed.pass = Some(pass.clone());
                queue.add(key);
            } else if *state.backends() != **backends {
                // A call in flight has the nodes as they were.
                queue.add_if_taken(key);
            }
        });
        self.changes.worked(began.elapsed());
    }
}
