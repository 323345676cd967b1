//! Following nodes: once others take traffic, the Services are worked on whose load balancers lack them.

use std::sync::Arc;

use kube::ResourceExt;
use tokio::time::Instant;

use crate::events::{EventKind, reference};
use crate::nodes::Nodes;
use crate::service::changes::{Changes, Noted, Pass};
use crate::service::confirmations::{Blocked, Confirmations};
use crate::service::plan::is_wanted;
use crate::service::services::key;
use crate::service::shared::Shared;

/// The part of this controller that follows nodes.
pub(super) struct NodeFollower {
    pub(super) shared: Arc<Shared>,
    pub(super) nodes: Nodes,
    pub(super) changes: Arc<Changes>,
    pub(super) confirmations: Arc<Confirmations>,
}

/// Whether a pass has to do with a Service.
enum Concern {
    /// Its load balancer has these nodes, or it says nothing that can be read: then it is worked on when it changes.
    None,
    /// It lacks them.
    Lacks,
    /// A call in flight has the nodes as they were.
    InFlight,
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
        match self.confirmations.run(release, |blocked| self.record_blocked(&blocked)).await {}
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
        let Noted { unknown, left_out } = self.changes.note(name, Instant::now());
        if unknown || !self.confirmations.are_complete() {
            self.confirmations.wake();
        }
        if let (Some(why), Some(node)) = (left_out, self.nodes.get(name)) {
            let message = format!("Node {name} is no backend of load balancers: {why}");
            self.shared.recorder.record(reference(node.as_ref()), EventKind::Warning, "NotABackend", &message);
        }
    }

    /// Records on Services why nothing is done about their load balancers.
    fn record_blocked(&self, Blocked { services, why }: &Blocked) {
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
        let (began, backends) = (Instant::now(), self.changes.backends());
        let Shared { services, states, queue, cluster, metrics, .. } = &*self.shared;
        let pass = Pass::begin(metrics.backend_pass.clone());
        for service in services.all().iter().filter(|it| is_wanted(it, cluster)) {
            let key = key(service);
            let concern = states.with(&key, |state| {
                let Ok(backends) = self.shared.selected(state.desired(), &backends) else { return Concern::None };
                if *state.backends() == *backends.compared_fields {
                    Concern::None
                } else if state.lacks(&backends.compared_fields) {
                    state.observed.pass = Some(pass.clone());
                    Concern::Lacks
                } else {
                    Concern::InFlight
                }
            });
            match concern {
                Some(Concern::Lacks) => queue.add(&key),
                Some(Concern::InFlight) => queue.add_if_taken(&key),
                Some(Concern::None) | None => {}
            }
        }
        self.changes.worked(began.elapsed());
    }
}
