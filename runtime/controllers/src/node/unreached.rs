//! Nodes that wait while the cloud is not reached are told so: an event on the node names the cause.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::node_object::KubeNode;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::events::{EventKind, reference};
use crate::node::controller::NodeController;
use crate::node_fields::is_waiting;
use crate::outage::Outage;

/// How often nodes that wait are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How long a node waits during an outage before it is told: what is not reached may not be what it waits for.
const WAITED: Duration = Duration::from_secs(5);
/// How often a node is told.
const TELL: Duration = Duration::from_secs(300);
/// The reason of the event.
const REASON: &str = "InstanceMetadataUnavailable";

/// The nodes that wait during an outage.
#[derive(Default)]
struct NodesInOutage {
    /// By their UID.
    nodes: HashMap<String, Waits>,
}

struct Waits {
    since: Instant,
    told: Option<Instant>,
}

/// Records an event on each node that waits during an outage, as long as it is polled.
pub(super) async fn tell(controller: Arc<NodeController>, outage: Outage) {
    let mut waiting = NodesInOutage::default();
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(sentence) = outage.now() else {
            waiting = NodesInOutage::default();
            continue;
        };
        let nodes = controller.waiting();
        let due = waiting.due(nodes.iter().filter_map(|it| it.metadata.uid.as_deref()), Instant::now());
        for node in nodes.iter().filter(|it| it.metadata.uid.as_ref().is_some_and(|it| due.contains(it))) {
            let message = format!("the node waits for the cloud: {sentence}");
            controller.recorder.record(reference(node.as_ref()), EventKind::Warning, REASON, &message);
        }
    }
}

impl NodeController {
    /// The nodes that wait for this cloud.
    fn waiting(&self) -> Vec<Arc<KubeNode>> {
        let nodes = self.nodes.waiting_names().into_iter().filter_map(|it| self.nodes.get(&it));
        nodes.filter(|it| is_waiting(it) && self.inventory.covers(it)).collect()
    }
}

impl NodesInOutage {
    /// Which of the nodes that wait now are to be told. Others are forgotten.
    fn due<'a>(&mut self, uids: impl Iterator<Item = &'a str>, now: Instant) -> Vec<String> {
        let (mut due, mut before) = (Vec::new(), std::mem::take(&mut self.nodes));
        for uid in uids {
            let mut waits = before.remove(uid).unwrap_or(Waits { since: now, told: None });
            let is_due = waits.told.is_none_or(|it| now.duration_since(it) >= TELL);
            if is_due && now.duration_since(waits.since) >= WAITED {
                waits.told = Some(now);
                due.push(uid.to_owned());
            }
            self.nodes.insert(uid.to_owned(), waits);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_waits_is_told_soon_and_then_rarely() {
        let (mut waiting, begin) = (NodesInOutage::default(), Instant::now());
        let mut due =
            |uids: &[&str], seconds| waiting.due(uids.iter().copied(), begin + Duration::from_secs(seconds)).join(" ");
        assert_eq!(due(&["a"], 0), "");
        assert_eq!(due(&["a", "b"], 4), "");
        assert_eq!(due(&["a", "b"], 5), "a");
        assert_eq!(due(&["a", "b"], 9), "b");
        assert_eq!(due(&["a", "b"], 304), "");
        assert_eq!(due(&["a", "b"], 305), "a");
        assert_eq!(due(&["a"], 310), "", "b no longer waits");
        assert_eq!(due(&["a", "b"], 311), "", "and begins again");
        assert_eq!(due(&["a", "b"], 316), "b");
    }
}
