//! The state that the parts of the cloud-node-controller share.

use std::sync::Arc;

use crate::node_object::KubeNode;
use kube::api::Api;

use crate::events::Recorder;
use crate::inventory::Inventory;
use crate::metrics::Metrics;
use crate::nodes::Nodes;
use crate::object::{self, ObjectPart};
use crate::trimmed::Trimmed;

/// The state that the parts of this controller share.
pub(super) struct NodeController {
    pub(super) api: Api<Trimmed<KubeNode>>,
    pub(super) nodes: Nodes,
    pub(super) inventory: Arc<Inventory>,
    pub(super) recorder: Recorder,
    pub(super) metrics: Metrics,
}

impl NodeController {
    /// As [`Nodes::write`].
    pub(super) async fn write<E>(
        &self,
        node: Arc<KubeNode>,
        part: ObjectPart,
        plan: impl FnMut(&KubeNode) -> Result<KubeNode, E>,
    ) -> Result<Option<Arc<KubeNode>>, E>
    where
        E: From<object::Error>,
    {
        self.nodes.write(&self.api, node, part, plan).await
    }
}
