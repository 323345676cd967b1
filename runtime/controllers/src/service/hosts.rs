//! Which nodes take traffic from load balancers. No client, no clock, no log.

use std::sync::Arc;

use cloud_provider::{Address, Machine};
use k8s_openapi::api::core::v1::Node;

use crate::inventory::machine;
use crate::node::plan::is_waiting;
use crate::nodes::provider_id;

/// With a true value, a node takes no traffic from load balancers.
const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
/// The key of the taint of a node that the cluster autoscaler is about to delete, with any value and any effect.
const TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";
/// The most hosts that a message names.
const NAMED: usize = 20;

/// The nodes that take traffic, sorted by name.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    pub(super) machines: Vec<Machine>,
    /// Shared with every load balancer that was built for them.
    pub(super) essence: Arc<[Host]>,
}

/// What makes a node another host: its labels and its place do not.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Host {
    name: String,
    provider_id: Option<String>,
    addresses: Vec<Address>,
}

impl Hosts {
    /// Those of `nodes` that take traffic. `before` are those of the last time: what is equal is shared with them.
    pub(super) fn of<'a>(nodes: impl IntoIterator<Item = &'a Node>, before: Option<&Hosts>) -> Self {
        let mut machines: Vec<_> = nodes.into_iter().filter_map(host).collect();
        machines.sort_by(|a, b| a.name.cmp(&b.name));
        let essence: Vec<_> = machines.iter().map(Host::of).collect();
        let essence = match before {
            Some(before) if *before.essence == *essence => before.essence.clone(),
            _ => essence.into(),
        };
        Self { machines, essence }
    }

    /// Whether a change of a node concerns what is said of it here, and whether it concerns load balancers.
    pub(super) fn change(before: Option<&Node>, node: Option<&Node>) -> Change {
        let (before, after) = (before.and_then(host), node.and_then(host));
        if before == after {
            Change::Nothing
        } else if before.as_ref().map(Host::of) == after.as_ref().map(Host::of) {
            Change::Detail
        } else {
            Change::Host
        }
    }
}

/// What a change of a node means to load balancers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Change {
    /// Nothing at all.
    Nothing,
    /// The next call about a load balancer says it, and none is made for it.
    Detail,
    /// Other nodes take traffic, or take it elsewhere.
    Host,
}

impl Host {
    fn of(machine: &Machine) -> Self {
        Self {
            name: machine.name.clone(),
            provider_id: machine.provider_id.clone(),
            addresses: machine.addresses.clone(),
        }
    }
}

/// The first names of hosts, as upstream's messages list them: `[n1 n2 <3 more>]`.
pub(super) fn names(hosts: &[Host]) -> String {
    let mut names: Vec<_> = hosts.iter().take(NAMED).map(|it| it.name.clone()).collect();
    if hosts.len() > NAMED {
        names.push(format!("<{} more>", hosts.len() - NAMED));
    }
    format!("[{}]", names.join(" "))
}

/// What a provider may know of a node that takes traffic; `None` if it does not.
fn host(node: &Node) -> Option<Machine> {
    let taints = node.spec.as_ref().and_then(|it| it.taints.as_deref()).unwrap_or_default();
    let takes_traffic = node.metadata.deletion_timestamp.is_none()
        && !is_excluded(node)
        && !taints.iter().any(|it| it.key == TO_BE_DELETED)
        && !is_waiting(node)
        && provider_id(node).is_some();
    takes_traffic.then(|| machine(node))
}

/// Whether the exclusion label is there and does not say false, in one of the spellings that Go knows.
fn is_excluded(node: &Node) -> bool {
    let label = node.metadata.labels.as_ref().and_then(|it| it.get(EXCLUDED));
    label.is_some_and(|it| !matches!(it.as_str(), "0" | "f" | "F" | "FALSE" | "false" | "False"))
}
