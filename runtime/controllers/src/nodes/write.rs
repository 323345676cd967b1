//! Writing a node that others write too.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
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
        api: &Api<Trimmed<Node>>,
        node: Arc<Node>,
        part: ObjectPart,
        plan: impl FnMut(&Node) -> Result<Node, E>,
    ) -> Result<Option<Arc<Node>>, E>
    where
        E: From<object::Error>,
    {
        let name = node.name_any();
        object::update_latest(api, node, part, plan, || self.get(&name), random).await
    }
}
