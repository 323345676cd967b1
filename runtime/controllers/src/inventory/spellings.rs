//! Nodes whose provider ids are other spellings of their machines' ids.

use std::collections::HashSet;

use crate::node_object::KubeNode;
use cloud_provider::{Error, Result};
use kube::ResourceExt;

use crate::inventory::Inventory;
use crate::inventory::instance_list::InstanceList;
use crate::node_fields::provider_id;

impl Inventory {
    /// The same list, which knows other spellings of its machines' provider ids if nodes have them. The provider is asked
    /// only if nodes are not in the list by their ids' bytes, and machines are there that nobody has.
    pub(super) async fn spelled(&self, mut list: InstanceList) -> InstanceList {
        let nodes = self.nodes.all();
        let ids: HashSet<&str> = nodes.iter().filter(|it| self.covers(it)).filter_map(|it| provider_id(it)).collect();
        let lost: Vec<_> = ids.iter().copied().filter(|it| !list.has(it)).collect();
        if lost.is_empty() {
            return list;
        }
        let free: Vec<_> = list.provider_ids().filter(|it| !ids.contains(it)).map(str::to_owned).collect();
        if free.is_empty() {
            return list;
        }
        let asked = lost.iter().copied().chain(free.iter().map(String::as_str));
        let words = self.canonical_ids.of(&*self.instances, asked).await;
        let of_nodes: Vec<_> = lost.iter().filter_map(|it| Some((*it, words.get(it)?.clone()))).collect();
        let of_machines = free.iter().filter_map(|it| Some((it.clone(), words.get(it.as_str())?.clone()))).collect();
        list.spell(of_nodes, &of_machines);
        list
    }

    /// Another node whose provider id is a spelling of this one's: then nobody can tell whose machine it is.
    ///
    /// # Errors
    ///
    /// If the provider does not know the node's provider id, or does not answer now.
    pub(crate) async fn twin(&self, node: &KubeNode) -> Result<Option<String>> {
        let Some(own) = provider_id(node) else { return Ok(None) };
        let nodes = self.nodes.all();
        let others = nodes.iter().filter(|it| it.metadata.name != node.metadata.name && self.covers(it));
        let others: Vec<_> = others.filter_map(|it| Some((it.name_any(), provider_id(it)?))).collect();
        let ids = others.iter().map(|(_, id)| *id).chain([own]);
        let words = self.canonical_ids.of(&*self.instances, ids).await;
        let Some(word) = words.get(own) else {
            return Err(Error::Unavailable(format!(
                "the provider does not say which machine the provider id {own:?} names"
            )));
        };
        Ok(others.iter().find(|(_, id)| words.get(id) == Some(word)).map(|(name, _)| name.clone()))
    }
}
