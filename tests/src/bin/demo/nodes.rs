//! Changes of nodes, in words.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use tests::kubelet;

use crate::part;

/// Tells what is new about nodes.
#[derive(Default)]
pub(crate) struct Nodes {
    known: BTreeMap<String, Seen>,
}

#[derive(Clone, Default, PartialEq)]
struct Seen {
    waiting: bool,
    /// Whether it has the taint of nodes in an existing cluster.
    marked: bool,
    ready: bool,
    provider_id: Option<String>,
    labels: BTreeMap<String, String>,
    addresses: Vec<String>,
}

impl Nodes {
    /// The changes since the node was last shown, in the order in which a reader wants them.
    pub(crate) fn describe(&mut self, node: &Node) -> Vec<String> {
        let now = Seen::of(node);
        let Some(before) = self.known.insert(node.name_any(), now.clone()) else {
            return vec![if now.waiting {
                format!("registered, with the taint {}", kubelet::UNINITIALIZED)
            } else {
                "is known".to_owned()
            }];
        };
        let mut lines = Vec::new();
        if before.provider_id != now.provider_id {
            lines.extend(now.provider_id.as_ref().map(|it| format!("provider id  {it}")));
        }
        let new = |(key, value): &(&String, &String)| before.labels.get(*key) != Some(value) && !key.contains("beta");
        let labels: Vec<_> = now.labels.iter().filter(new).map(|(key, value)| format!("{key}={value}")).collect();
        if !labels.is_empty() {
            lines.push(format!("labels       {}", labels.join("  ")));
        }
        if before.waiting && !now.waiting {
            lines.push(if now.marked {
                format!("taint gone   the demo's own, {}, stays: no pods of yours run here", part::LABEL)
            } else {
                "taint gone   pods may run here".to_owned()
            });
        }
        if before.addresses != now.addresses {
            lines.push(format!("addresses    {}", now.addresses.join("  ")));
        }
        if before.ready && !now.ready {
            lines.push("is NotReady".to_owned());
        }
        lines
    }

    /// Forgets a node that is no more.
    pub(crate) fn forget(&mut self, name: &str) {
        self.known.remove(name);
    }

    /// Whether there is a node of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.known.contains_key(name)
    }

    /// Whether there is a node of this name without its taint.
    pub(crate) fn is_initialised(&self, name: &str) -> bool {
        self.known.get(name).is_some_and(|it| !it.waiting)
    }

    /// Whether this many nodes are initialised and have their addresses.
    pub(crate) fn are_initialised(&self, count: usize) -> bool {
        self.known.values().filter(|it| !it.waiting && !it.addresses.is_empty()).count() >= count
    }
}

impl Seen {
    fn of(node: &Node) -> Seen {
        let conditions = node.status.as_ref().and_then(|it| it.conditions.as_deref()).unwrap_or_default();
        Seen {
            waiting: kubelet::is_uninitialized(node),
            marked: part::is_marked(node),
            ready: conditions.iter().any(|it| it.type_ == "Ready" && it.status == "True"),
            provider_id: node.spec.as_ref().and_then(|it| it.provider_id.clone()),
            labels: node.labels().clone(),
            addresses: kubelet::addresses(node).iter().map(|(kind, address)| format!("{kind} {address}")).collect(),
        }
    }
}
