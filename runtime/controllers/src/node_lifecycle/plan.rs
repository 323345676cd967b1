//! The fate of a node that is not ready, given the cloud's word about its machine. No client, no clock, no log.

use std::sync::Arc;
use std::time::Duration;

use crate::node_object::KubeNode;
use cloud_provider::State;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{NodeCondition, Taint};
use tokio::time::Instant;

use crate::freshness::{CheckBegan, NODE_DELETION};
use crate::node_fields::DELETE_APPROVED;

/// The key of the taint that a node has while its machine is stopped.
const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";
/// That taint's effect. A taint with the key and another effect is somebody else's.
const NO_SCHEDULE: &str = "NoSchedule";

/// Why a node stays although its machine seems to be gone.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Reason {
    /// The credential belongs to another account: its answers are about other machines.
    Account(String),
    /// The list of machines lacks some, and says why.
    Incomplete(String),
    /// No machine of the list stands behind any node of the cluster, and the cluster's account, if it is known, answers.
    Unfamiliar(Option<Arc<str>>),
    /// The list does not have the machine, and asked about it alone, the cloud does.
    Contradiction,
    /// This other node's provider id is another spelling of the node's.
    Twin(String),
    /// The controller has only just begun.
    WarmUp(Duration),
    /// The node is this long from being old enough.
    Grace(Duration),
    /// Enough nodes were deleted in the last minutes.
    Budget {
        /// So many nodes.
        deletions: usize,
        /// In so long.
        window: Duration,
    },
}

/// The worth of a list that lacks a machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListQuality<'a> {
    /// When it began.
    pub(super) began: Instant,
    /// When the check began that rests on it.
    pub(super) checked: CheckBegan,
    /// Why it lacks machines.
    pub(super) incomplete: Option<&'a str>,
    /// Whether it has any of the cluster's machines.
    pub(super) familiar: bool,
    /// The cluster's account, which has answered, if the cloud names accounts.
    pub(super) account: Option<&'a Arc<str>>,
}

/// The times that hold a deletion back for a while.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeletionPatience {
    /// The rest of the first time of leadership.
    pub(super) warm_up: Duration,
    /// A node that is younger stays.
    pub(super) grace: Duration,
    /// The time.
    pub(super) now: Timestamp,
    /// The same time, on the clock that answers go by.
    pub(super) decided: Instant,
}

impl Reason {
    /// The value of the metric's label `reason`.
    pub(super) fn label(&self) -> &'static str {
        match self {
            Self::Account(_) => "account",
            Self::Incomplete(_) => "incomplete",
            Self::Unfamiliar(_) => "unfamiliar",
            Self::Contradiction => "contradiction",
            Self::Twin(_) => "twin",
            Self::WarmUp(_) => "warm_up",
            Self::Grace(_) => "grace",
            Self::Budget { .. } => "budget",
        }
    }

    /// All labels, so that a metric can show those that never came.
    pub(super) const LABELS: [&'static str; 8] =
        ["account", "incomplete", "unfamiliar", "contradiction", "twin", "warm_up", "grace", "budget"];

    /// After how long there is no such reason any more, where that is known.
    pub(super) fn ends_in(&self) -> Option<Duration> {
        match self {
            Self::WarmUp(left) | Self::Grace(left) => Some(*left),
            Self::Account(_)
            | Self::Incomplete(_)
            | Self::Unfamiliar(_)
            | Self::Contradiction
            | Self::Twin(_)
            | Self::Budget { .. } => None,
        }
    }

    /// The message of the event on the node: why it stays, and what can be done. The same words as long as the reason
    /// is the same.
    pub(super) fn message(&self, node: &str) -> String {
        let approve = format!("annotate it with {DELETE_APPROVED}=true to have it deleted now");
        match self {
            Self::Account(error) => format!("Not asking the cloud about node {node}, which is not ready: {error}"),
            Self::Incomplete(why) => format!(
                "Not deleting node {node}: the cloud does not find its machine, and says that its list of machines is \
                 incomplete: {why}"
            ),
            Self::Unfamiliar(Some(account)) => format!(
                "Not deleting node {node}: the cloud does not find its machine, and lists no machine of any other \
                 node of this cluster, although the credential belongs to the cluster's account {account:?}; if all of \
                 the cluster's machines are gone, {approve}; else check whether the credential may list its machines"
            ),
            Self::Unfamiliar(None) => format!(
                "Not deleting node {node}: the cloud does not find its machine, and lists no machine of any other \
                 node of this cluster; check whether the credential belongs to the cluster's account and may list its \
                 machines"
            ),
            Self::Contradiction => format!(
                "Not deleting node {node}: the cloud's list of machines lacks its machine, and asked about it alone, \
                 the cloud finds it"
            ),
            Self::Twin(other) => format!(
                "Not deleting node {node}, whose machine does not exist: its provider id is another spelling of that of \
                 node {other}; delete the node that is wrong, or correct its provider id"
            ),
            Self::WarmUp(_) => format!(
                "Not deleting node {node} yet, whose machine does not exist: this controller has begun to work only \
                 now; {approve}"
            ),
            Self::Grace(_) => {
                format!("Not deleting node {node} yet, whose machine does not exist: the node is too young; {approve}")
            }
            Self::Budget { deletions, window } => format!(
                "Not deleting node {node} yet, whose machine does not exist: at most {deletions} are deleted in {} s; \
                 {approve}",
                window.as_secs()
            ),
        }
    }
}

/// Whether the node's kubelet says that all is well. A node that says nothing is not ready.
pub(super) fn is_ready(node: &KubeNode) -> bool {
    ready(node).is_some_and(|it| it.status == "True")
}

/// Since when the node is ready or not, if it says so.
pub(super) fn ready_since(node: &KubeNode) -> Option<Timestamp> {
    ready(node)?.last_transition_time.as_ref().map(|it| it.0)
}

/// Whether the node has the taint of a stopped machine.
pub(super) fn is_tainted(node: &KubeNode) -> bool {
    taints(node).iter().any(is_shutdown)
}

/// The node with the taint if its machine is stopped, and without if it runs.
pub(super) fn with_state(node: &KubeNode, state: State) -> KubeNode {
    let mut desired = node.clone();
    let spec = desired.spec.get_or_insert_default();
    match state {
        State::Stopped if is_tainted(node) => {}
        State::Stopped => spec.taints.get_or_insert_default().push(Taint {
            key: SHUTDOWN.to_owned(),
            effect: NO_SCHEDULE.to_owned(),
            ..Taint::default()
        }),
        State::Running => {
            spec.taints = spec.taints.take().map(|mut taints| {
                taints.retain(|it| !is_shutdown(it));
                taints
            });
            if spec.taints.as_ref().is_some_and(Vec::is_empty) {
                spec.taints = None;
            }
        }
    }
    if node.spec.is_none() && desired.spec.as_ref().is_some_and(|it| it.taints.is_none()) {
        desired.spec = None;
    }
    desired
}

/// The objection to deleting a node whose machine neither a list nor a question about it alone has found.
///
/// An operator's word overrules what only asks for patience, and the doubt about a list without any of the cluster's
/// machines, if the cluster's own account has answered. It never stands in for the cloud's own word.
pub(super) fn objection(node: &KubeNode, list: ListQuality<'_>, patience: DeletionPatience) -> Option<Reason> {
    if !NODE_DELETION.since(list.checked).allows(list.began, patience.decided) {
        return Some(Reason::Incomplete("it began before the node was checked".to_owned()));
    }
    if let Some(why) = list.incomplete {
        return Some(Reason::Incomplete(why.to_owned()));
    }
    let is_approved = is_approved(node);
    let proves = list.familiar || (is_approved && list.account.is_some());
    if !proves {
        return Some(Reason::Unfamiliar(list.account.cloned()));
    }
    if is_approved {
        return None;
    }
    if !patience.warm_up.is_zero() {
        return Some(Reason::WarmUp(patience.warm_up));
    }
    young(node, patience).map(Reason::Grace)
}

/// How long it takes until a node is old enough, if it is not.
pub(super) fn young(node: &KubeNode, patience: DeletionPatience) -> Option<Duration> {
    let age = node.metadata.creation_timestamp.as_ref().map_or(Duration::ZERO, |created| {
        Duration::try_from(patience.now.duration_since(created.0)).unwrap_or(Duration::ZERO)
    });
    patience.grace.checked_sub(age).filter(|it| !it.is_zero())
}

/// Whether an operator wants the node deleted if its machine is gone, whatever asks for patience.
pub(super) fn is_approved(node: &KubeNode) -> bool {
    node.metadata.annotations.as_ref().and_then(|it| it.get(DELETE_APPROVED)).is_some_and(|it| it == "true")
}

fn ready(node: &KubeNode) -> Option<&NodeCondition> {
    let conditions = node.status.as_ref().and_then(|it| it.conditions.as_deref()).unwrap_or_default();
    conditions.iter().find(|it| it.type_ == "Ready")
}

fn is_shutdown(taint: &Taint) -> bool {
    taint.key == SHUTDOWN && taint.effect == NO_SCHEDULE
}

fn taints(node: &KubeNode) -> &[Taint] {
    node.spec.as_ref().and_then(|it| it.taints.as_deref()).unwrap_or_default()
}

#[cfg(test)]
pub(crate) mod tests;
