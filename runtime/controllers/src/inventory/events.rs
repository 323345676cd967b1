//! Events of a provider, and our own warnings about nodes: written, or logged.

use crate::node_object::KubeNode;
use cloud_provider::Event;
use kube::ResourceExt;
use tokio::time::Instant;
use tracing::info;

use crate::events::{EventKind, reference};
use crate::inventory::Inventory;
use crate::node_fields::is_waiting;
use crate::provider_events::Sample;

impl Inventory {
    /// Records the events of a provider on the nodes that they are about, and logs a few of those that are about no
    /// node of this cloud.
    pub(super) fn record_provider_events(&self, events: Vec<Event>, asked: Option<&KubeNode>) {
        for event in events {
            let about = match &event.about {
                Some(name) => self.nodes.get(name).filter(|it| self.covers(it)),
                None => None,
            };
            let node = about.as_deref().or(asked.filter(|_| event.about.is_none()));
            let Some(node) = node else {
                self.log_unrelated(&event);
                continue;
            };
            let mut recorded = self.events.lock();
            if recorded.is_new(&node.name_any(), &event, Instant::now()) {
                self.recorder.record(reference(node), event.kind, &event.reason, &event.message);
            }
        }
    }

    /// Logs an event about a machine that is no node of this cluster, unless there were many lately.
    fn log_unrelated(&self, event: &Event) {
        let sample = self.unrelated.lock().sample(Instant::now());
        let Sample::Logged { left_out } = sample else { return };
        if left_out > 0 {
            info!(left_out, "the provider said more about machines that are no nodes of this cluster; it is not shown");
        }
        info!(reason = event.reason, about = event.about, "the provider says: {}", event.message);
    }

    /// Warns that an answer about a node is refused: its addresses stay as they are. Why a node cannot join is said by the
    /// controller that initialises it.
    pub(super) fn warn_of_refusal(&self, node: Option<&KubeNode>, why: &str) {
        if let Some(node) = node.filter(|it| !is_waiting(it)) {
            let message = format!("nothing is taken of what the cloud says of node {}: {why}", node.name_any());
            self.warn(node, "InstanceMetadataInvalid", message);
        }
    }

    /// Warns about a node, unless an event said so lately.
    pub(super) fn warn(&self, node: &KubeNode, reason: &str, message: String) {
        let event = Event { about: None, kind: EventKind::Warning, reason: reason.to_owned(), message };
        let mut warned = self.warned.lock();
        if warned.is_new(&node.name_any(), &event, Instant::now()) {
            self.recorder.record(reference(node), event.kind, reason, &event.message);
        }
    }
}
