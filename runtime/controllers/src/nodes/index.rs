//! What is asked of all nodes together, kept so that nobody has to look through them.

use std::collections::{HashMap, HashSet};

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

use crate::node::plan;
use crate::nodes::provider_id;

/// Who waits to be initialised, and who has which provider id.
#[derive(Debug, Default)]
pub(super) struct Index {
    waiting: HashSet<String>,
    /// Name by provider id.
    holders: HashMap<String, String>,
    /// Provider id by name.
    held: HashMap<String, String>,
}

impl Index {
    pub(super) fn of<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Self {
        let mut index = Self::default();
        nodes.into_iter().for_each(|it| index.apply(it));
        index
    }

    pub(super) fn apply(&mut self, node: &Node) {
        let name = node.name_any();
        if let Some(provider_id) = provider_id(node)
            && self.held.get(&name).is_none_or(|it| it != provider_id)
        {
            self.forget(&name);
            // Of two nodes with one provider id the first keeps it: the second will not take the first one's place.
            self.claim(provider_id, &name);
        }
        if plan::is_waiting(node) {
            self.waiting.insert(name);
        } else {
            self.waiting.remove(&name);
        }
    }

    pub(super) fn delete(&mut self, name: &str) {
        self.forget(name);
        self.waiting.remove(name);
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn waiting_names(&self) -> impl Iterator<Item = &str> {
        self.waiting.iter().map(String::as_str)
    }

    pub(super) fn holder(&self, provider_id: &str) -> Option<&str> {
        self.holders.get(provider_id).map(String::as_str)
    }

    pub(super) fn claim(&mut self, provider_id: &str, name: &str) -> bool {
        match self.holders.get(provider_id) {
            Some(holder) => holder == name,
            None => {
                self.holders.insert(provider_id.to_owned(), name.to_owned());
                self.held.insert(name.to_owned(), provider_id.to_owned());
                true
            }
        }
    }

    pub(super) fn release(&mut self, provider_id: &str, name: &str) {
        if self.holder(provider_id) == Some(name) {
            self.forget(name);
        }
    }

    fn forget(&mut self, name: &str) {
        if let Some(provider_id) = self.held.remove(name) {
            self.holders.remove(&provider_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{NodeSpec, Taint};

    use super::*;

    fn node(name: &str, provider_id: Option<&str>, tainted: bool) -> Node {
        let taint = Taint { key: plan::UNINITIALIZED.into(), ..Taint::default() };
        let spec = NodeSpec {
            provider_id: provider_id.map(Into::into),
            taints: tainted.then(|| vec![taint]),
            ..NodeSpec::default()
        };
        let mut node = Node { spec: Some(spec), ..Node::default() };
        node.metadata.name = Some(name.into());
        node
    }

    #[test]
    fn tainted_nodes_wait_until_they_are_not_or_are_gone() {
        let mut index = Index::of(&[node("a", None, true), node("b", None, true), node("c", Some("x://c"), false)]);
        assert_eq!(index.waiting(), 2);
        index.apply(&node("a", Some("x://a"), false));
        assert_eq!(index.waiting(), 1);
        index.delete("b");
        assert_eq!(index.waiting(), 0);
    }

    #[test]
    fn a_provider_id_has_one_holder() {
        let mut index = Index::of(&[node("a", Some("x://1"), false)]);
        assert_eq!(index.holder("x://1"), Some("a"));
        assert!(!index.claim("x://1", "b"));
        assert!(index.claim("x://1", "a"));
        index.delete("a");
        assert_eq!(index.holder("x://1"), None);
        assert!(index.claim("x://1", "b"));
        index.release("x://1", "a");
        assert_eq!(index.holder("x://1"), Some("b"), "a claim is released by its holder alone");
        index.release("x://1", "b");
        assert_eq!(index.holder("x://1"), None);
    }

    #[test]
    fn a_second_node_with_the_same_provider_id_does_not_take_the_firsts_place() {
        let mut index = Index::of(&[node("a", Some("x://1"), false), node("b", Some("x://1"), false)]);
        assert_eq!(index.holder("x://1"), Some("a"));
        index.delete("b");
        assert_eq!(index.holder("x://1"), Some("a"));
    }
}
