//! The address loop: pass after pass over all initialised nodes.

use std::sync::Arc;
use std::time::Duration;

use crate::node_object::KubeNode;
use futures::{StreamExt, stream};
use kube::ResourceExt;
use tokio::time::Instant;
use tracing::{debug, error, warn};

use crate::error::chain;
use crate::freshness::{ADDRESSES, PassBegan};
use crate::inventory::instance_list::InstanceList;
use crate::liveness::Pulse;
use crate::node::controller::NodeController;
use crate::node_fields::is_waiting;
use crate::worker::contained;

/// Updates the addresses of all nodes, again and again. The first pass is about `existing`, and began when the controllers
/// did, at `start`: what another one has asked for since then serves it too. `parallel` nodes are updated side by side. `pulse` beats with each node.
pub(super) async fn run(
    controller: Arc<NodeController>,
    existing: Vec<Arc<KubeNode>>,
    start: Instant,
    frequency: Duration,
    parallel: usize,
    pulse: Pulse,
) {
    let mut first = Some((existing, start));
    sliding(frequency, || {
        let (nodes, began) = first.take().unwrap_or_else(|| (controller.nodes.all(), Instant::now()));
        let (controller, pulse) = (&controller, &pulse);
        async move { controller.pass(nodes, began, parallel, pulse).await }
    })
    .await;
}

/// Makes pass after pass. The period begins when a pass has ended.
async fn sliding<F: Future<Output = ()>>(period: Duration, mut pass: impl FnMut() -> F) {
    loop {
        pass().await;
        tokio::time::sleep(period).await;
    }
}

impl NodeController {
    /// Updates the addresses of these nodes from answers to questions that began with the pass, at `began`, or later.
    async fn pass(&self, nodes: Vec<Arc<KubeNode>>, began: Instant, parallel: usize, pulse: &Pulse) {
        pulse.beat();
        let nodes: Vec<_> = nodes.into_iter().filter(|it| self.is_due(it)).collect();
        let list = if nodes.len() < self.inventory.many() {
            None
        } else {
            match self.inventory.list(ADDRESSES.since(PassBegan(began))).await {
                Ok(list) => Some(list),
                Err(error) => {
                    warn!(error = error.to_string(), "no node's addresses are updated in this pass");
                    return;
                }
            }
        };
        let list = list.as_deref();
        let refresh = |node: Arc<KubeNode>| async move {
            if let Err(panic) = contained(self.refresh(&node, list)).await {
                error!(node = node.name_any(), "panic updating the node's addresses: {panic}");
            }
            // A pass over many nodes may take long: the cloud may be slow about each of them.
            pulse.beat();
        };
        stream::iter(nodes).for_each_concurrent(parallel, refresh).await;
    }

    /// Whether the loop looks after a node: it is initialised, and one of this cloud's.
    fn is_due(&self, node: &KubeNode) -> bool {
        !is_waiting(node) && self.inventory.covers(node)
    }

    async fn refresh(&self, node: &KubeNode, list: Option<&InstanceList>) {
        let name = node.name_any();
        // A pass may take a while.
        let Some(node) = self.nodes.get(&name).filter(|it| self.is_due(it)) else { return };
        match self.inventory.instance_of(&node, list).await {
            Ok(Some(instance)) => {
                if let Err(error) = self.address(node, &instance).await {
                    error!(node = name, "Error patching node with cloud ip addresses = [{}]", chain(&error));
                }
            }
            Ok(None) => debug!(node = name, "the cloud has no machine for this node; its addresses stay"),
            Err(error) => warn!(node = name, "Error getting instance metadata for node addresses: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn case_046_the_period_begins_when_a_pass_has_ended() {
        let minutes = |it: u64| Duration::from_secs(60 * it);
        let (began, starts) = (Instant::now(), Mutex::new(Vec::new()));
        let passes = sliding(minutes(5), || async {
            starts.lock().push(began.elapsed());
            tokio::time::sleep(minutes(2)).await;
        });
        tokio::time::timeout(minutes(15), passes).await.unwrap_err();
        assert_eq!(*starts.lock(), [minutes(0), minutes(7), minutes(14)]);
    }
}
