//! The nodes that are not ready: when each is checked again, and what is remembered of it. No clock: times are
//! arguments.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::node_object::KubeNode;
use jiff::Timestamp;
use kube::ResourceExt;
use tokio::time::Instant;

use crate::node_lifecycle::plan::{self, Reason};

/// The longest pause between two checks of a node.
const LONGEST: Duration = Duration::from_secs(300);
/// How much a pause grows at the most where checks cost several calls.
const GROWTH: u32 = 4;
/// How many times in a row the cloud has to miss a machine before its node is deleted.
const ABSENCES: u32 = 2;
/// How often that number doubles at the most, once for each time that a missing machine was there again.
const DOUBLINGS: u32 = 3;
/// How long the same reason is not recorded again.
const QUIET: Duration = Duration::from_secs(600);

/// The nodes that are not ready.
#[derive(Debug)]
pub(super) struct Watchlist {
    /// The first pause between two checks.
    period: Duration,
    /// The pause after a check that missed a machine.
    apart: Duration,
    nodes: HashMap<String, WatchedNode>,
}

/// The memory of a node.
#[derive(Debug)]
struct WatchedNode {
    uid: Option<String>,
    /// Since when it is not ready.
    since: Option<Timestamp>,
    /// The pause before the next check.
    pause: Duration,
    due: Instant,
    /// When the last check ended that has shown something.
    checked: Option<Instant>,
    /// Somebody is looking.
    busy: bool,
    /// It was ready since they began to look: then it is looked at again at once, whatever they see.
    again: bool,
    /// How many times in a row its machine was missing.
    absences: u32,
    /// How many times it was missing and then there again.
    returns: u32,
    /// When which reason was recorded.
    reported: HashMap<&'static str, Instant>,
}

/// Nodes to check now. Until they are [settled](Watchlist::settle), nobody else checks them.
#[derive(Debug, Default)]
pub(super) struct TakenNodes {
    /// Those whose time has come.
    pub(super) due: Vec<Arc<KubeNode>>,
    /// The others, for which an answer costs nothing if one about all comes in.
    pub(super) early: Vec<Arc<KubeNode>>,
}

/// The outcome of a node's check.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum CheckOutcome {
    /// Its machine exists.
    Present {
        /// How many calls such a check takes, whoever makes them; none if the list of somebody else has shown it.
        calls: usize,
    },
    /// Its machine is missing: it is checked again soon.
    Absent,
    /// Its machine is missing, and the node stays, for a reason that ends in so long.
    Withheld(Option<Duration>),
    /// Nothing. It may be tried again after so long.
    Failed(Option<Duration>),
    /// Nothing: the cloud is not asked before so long. Its pause does not grow, since nothing was tried.
    Postponed(Duration),
    /// Nothing, and its time had not come.
    Early,
}

impl Watchlist {
    pub(super) fn new(period: Duration, apart: Duration) -> Self {
        Self { period, apart: apart.max(period), nodes: HashMap::new() }
    }

    /// Takes those of `not_ready` that are to be checked, and forgets all nodes that are not among them. The others are
    /// taken too if one answer about all is about to come, or is there: the list that began at `there`, if they were
    /// not checked since.
    pub(super) fn take(&mut self, not_ready: &[Arc<KubeNode>], there: Option<Instant>, now: Instant) -> TakenNodes {
        let mut known = std::mem::take(&mut self.nodes);
        let mut taken = TakenNodes::default();
        for node in not_ready {
            let name = node.name_any();
            let watched = known.remove(&name).filter(|it| it.uid == node.metadata.uid);
            let mut watched = watched.unwrap_or_else(|| WatchedNode::new(node, self.period, now));
            // It may have been ready between two passes: then it is checked often again.
            let since = plan::ready_since(node);
            if watched.since != since {
                watched.since = since;
                watched.absences = 0;
                watched.pause = self.period;
                watched.due = watched.due.min(now);
                watched.again = watched.busy;
            }
            if !watched.busy && watched.due <= now {
                taken.due.push(node.clone());
            } else if !watched.busy && there.is_none_or(|began| watched.checked < Some(began)) {
                taken.early.push(node.clone());
            }
            self.nodes.insert(name, watched);
        }
        // Where nobody's time has come, there is no answer to share.
        if taken.due.is_empty() && there.is_none() {
            taken.early.clear();
        }
        for node in taken.due.iter().chain(&taken.early) {
            if let Some(watched) = self.nodes.get_mut(&node.name_any()) {
                watched.busy = true;
            }
        }
        taken
    }

    /// Whether the machine of a node was missing at its last check.
    pub(super) fn is_missing(&self, node: &KubeNode) -> bool {
        self.nodes.get(&node.name_any()).is_some_and(|it| it.absences > 0)
    }

    /// Counts that a node's machine is missing. Returns whether it has been missing often enough in a row.
    pub(super) fn miss(&mut self, node: &KubeNode) -> bool {
        let period = self.period;
        let Some(watched) = self.of(node).filter(|it| !it.again && !it.is_after(node)) else { return false };
        if watched.absences == 0 {
            watched.pause = period;
        }
        watched.absences = watched.absences.saturating_add(1);
        watched.absences >= ABSENCES << watched.returns.min(DOUBLINGS)
    }

    /// Ends a check of a node.
    pub(super) fn settle(&mut self, node: &KubeNode, outcome: CheckOutcome, now: Instant) {
        let (period, apart) = (self.period, self.apart);
        // A check from before the node was ready for a while says nothing of the node since.
        let Some(watched) = self.of(node).filter(|it| it.again || !it.is_after(node)) else { return };
        watched.busy = false;
        if std::mem::take(&mut watched.again) {
            watched.absences = 0;
            return;
        }
        let was_due = watched.due <= now;
        if !matches!(outcome, CheckOutcome::Early | CheckOutcome::Postponed(_)) {
            watched.checked = Some(now);
        }
        let pause = watched.pause;
        watched.due = match outcome {
            CheckOutcome::Early => return,
            CheckOutcome::Postponed(after) => {
                watched.due = now + after;
                return;
            }
            CheckOutcome::Present { calls } => {
                if std::mem::take(&mut watched.absences) > 0 {
                    watched.returns = watched.returns.saturating_add(1);
                }
                // What costs more is asked for less often.
                let calls = u32::try_from(calls).unwrap_or(u32::MAX);
                let pause = pause.max(period.saturating_mul(calls)).min(LONGEST.max(period));
                // Who has asked for a list asks again after about as long as the longest pause, and should come first.
                watched.due = now + pause + if calls == 0 { period * 2 } else { Duration::ZERO };
                if was_due {
                    watched.pause = grown(pause, calls.clamp(2, GROWTH), period);
                }
                return;
            }
            CheckOutcome::Absent => {
                watched.due = now + apart;
                return;
            }
            CheckOutcome::Withheld(ends) => now + ends.map_or(pause, |it| it.min(pause)).max(period),
            CheckOutcome::Failed(after) => now + after.map_or(pause, |it| it.max(pause)),
        };
        if was_due {
            watched.pause = grown(pause, 2, period);
        }
    }

    /// Whether a reason is to be recorded: it was not in the last minutes.
    pub(super) fn is_new(&mut self, node: &KubeNode, reason: &Reason, now: Instant) -> bool {
        let Some(watched) = self.of(node) else { return false };
        let reported = watched.reported.get(reason.label());
        let is_new = reported.is_none_or(|at| now - *at >= QUIET);
        if is_new {
            watched.reported.insert(reason.label(), now);
        }
        is_new
    }

    fn of(&mut self, node: &KubeNode) -> Option<&mut WatchedNode> {
        self.nodes.get_mut(&node.name_any()).filter(|it| it.uid == node.metadata.uid)
    }
}

impl WatchedNode {
    fn new(node: &KubeNode, period: Duration, now: Instant) -> Self {
        Self {
            uid: node.metadata.uid.clone(),
            since: plan::ready_since(node),
            pause: period,
            due: now,
            checked: None,
            busy: false,
            again: false,
            absences: 0,
            returns: 0,
            reported: HashMap::new(),
        }
    }

    /// Whether the node, as it was taken for a check, has been ready since.
    fn is_after(&self, node: &KubeNode) -> bool {
        plan::ready_since(node) < self.since
    }
}

/// The pause after the next check: so many times as long each time, and five minutes at the most.
fn grown(pause: Duration, times: u32, period: Duration) -> Duration {
    pause.saturating_mul(times).min(LONGEST.max(period))
}

#[cfg(test)]
mod tests;
