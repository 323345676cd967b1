//! Nodes as they change, told in words.

use std::collections::BTreeMap;

use futures::{Stream, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Node;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tests::kubelet;

/// A stream of nodes, each as it is after a change.
pub(crate) fn watch(client: &Client) -> impl Stream<Item = anyhow::Result<Node>> + Send + Unpin + use<> {
    let nodes: Api<Node> = Api::all(client.clone());
    watcher(nodes, watcher::Config::default()).default_backoff().applied_objects().map_err(anyhow::Error::from).boxed()
}

/// Tells what is new about nodes.
#[derive(Default)]
pub(crate) struct Teller {
    known: BTreeMap<String, Seen>,
}

#[derive(Clone, Default, PartialEq)]
struct Seen {
    waiting: bool,
    provider_id: Option<String>,
    labels: BTreeMap<String, String>,
    addresses: Vec<String>,
}

impl Teller {
    /// What has changed since the node was last told about, in the order in which a reader wants it.
    pub(crate) fn tell(&mut self, node: &Node) -> Vec<String> {
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
            lines.push("taint gone   pods may run here".to_owned());
        }
        if before.addresses != now.addresses {
            lines.push(format!("addresses    {}", now.addresses.join("  ")));
        }
        lines
    }

    /// Whether this many nodes are initialised and have their addresses.
    pub(crate) fn are_ready(&self, count: usize) -> bool {
        self.known.values().filter(|it| !it.waiting && !it.addresses.is_empty()).count() >= count
    }
}

impl Seen {
    fn of(node: &Node) -> Seen {
        Seen {
            waiting: kubelet::is_uninitialized(node),
            provider_id: node.spec.as_ref().and_then(|it| it.provider_id.clone()),
            labels: node.labels().clone(),
            addresses: kubelet::addresses(node).iter().map(|(kind, address)| format!("{kind} {address}")).collect(),
        }
    }
}
