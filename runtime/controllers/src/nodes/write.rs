//! Writing a node that others write too.

use std::sync::Arc;

use crate::node_object::KubeNode;
use kube::ResourceExt;
use kube::api::Api;

use crate::nodes::Nodes;
use crate::object::{self, ObjectPart};
use crate::trimmed::Trimmed;
use crate::worker::random;

impl Nodes {
    /// As [`object::update_latest`], with the node as the watch knows it.
    pub(crate) async fn write<E>(
        &self,
        api: &Api<Trimmed<KubeNode>>,
        node: Arc<KubeNode>,
        part: ObjectPart,
        plan: impl FnMut(&KubeNode) -> Result<KubeNode, E>,
    ) -> Result<Option<Arc<KubeNode>>, E>
    where
        E: From<object::Error>,
    {
        let name = node.name_any();
        object::update_latest(api, node, part, plan, || self.get(&name), random).await
    }
}
