//! Asking the cloud about nodes that could be backends, as far as nobody else has: before it has said which of the nodes
//! exist that were there at the start, no load balancer is changed, so that a restart never takes a backend away.
//!
//! Ordinarily nothing is asked here: who initialises nodes and updates their addresses gets the same answers. The list
//! at the start is theirs too.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use crate::node_object::KubeNode;
use cloud_provider::{Error, Result};
use futures::{StreamExt, stream};
use kube::ResourceExt;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::error::LONGEST_RETRY_AFTER;
use crate::freshness::{BACKENDS, FIRST_BACKENDS, FreshnessRule, LastAnswered};
use crate::inventory::Inventory;
use crate::inventory::instance_list::InstanceList;
use crate::node_fields::provider_id;
use crate::nodes::{Evidence, InstanceRecord, Nodes};
use crate::service::backends::is_eligible;
use crate::worker::contained;

/// After so long without an answer about an instance, the cloud is asked again: whoever updates addresses is quicker.
const STALE: Duration = Duration::from_secs(900);
/// At the start, whoever updates addresses asks about few nodes one by one: so long the same is not asked here.
const HEAD_START: Duration = Duration::from_secs(3);
/// The pause before a second question about an instance that was missing: longer than one answer may serve two.
const APART: Duration = Duration::from_secs(3);
/// The pause after a first failure, and the longest: it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A node that a complete list lacks is waited for so many failed questions about it alone.
const ALONE: u32 = 3;
/// Nodes that are asked about side by side.
const SIDE_BY_SIDE: usize = 4;
/// For so long a failure is nobody's concern.
const SILENT: Duration = Duration::from_secs(10);

/// What the cloud is asked about nodes that could be backends.
pub(super) struct Confirmations {
    /// `None`: this cloud cannot be asked about instances.
    inventory: Option<Arc<Inventory>>,
    nodes: Nodes,
    wake: Notify,
    /// The Services that wait until it is known which of the nodes exist that were there at the start, and the text of the last event
    /// about it; `None` once it is known.
    waiting: Mutex<Option<HashMap<String, Option<String>>>>,
}

/// Questions about one node that have failed.
#[derive(Clone, Debug, Default)]
pub(super) struct FailedCheck {
    provider_id: String,
    times: u32,
    /// Those of them that were about it alone, with a complete list that lacks it.
    alone: u32,
    due: Option<Instant>,
}

impl Confirmations {
    pub(super) fn new(inventory: Option<Arc<Inventory>>, nodes: Nodes) -> Self {
        let waiting = Mutex::new(inventory.is_some().then(HashMap::new));
        Self { inventory, nodes, wake: Notify::new(), waiting }
    }

    /// Whether this cloud can be asked about instances.
    pub(super) fn are_possible(&self) -> bool {
        self.inventory.is_some()
    }

    /// Whether it is known which of the nodes exist that were there at the start.
    pub(super) fn are_complete(&self) -> bool {
        self.waiting.lock().is_none()
    }

    /// Remembers a Service until that is known. Returns whether it has to wait.
    pub(super) fn hold(&self, key: &str) -> bool {
        let mut waiting = self.waiting.lock();
        if let Some(waiting) = &mut *waiting {
            waiting.entry(key.to_owned()).or_default();
        }
        waiting.is_some()
    }

    /// A Service is gone: it waits no longer.
    pub(super) fn forget(&self, key: &str) {
        if let Some(waiting) = &mut *self.waiting.lock() {
            waiting.remove(key);
        }
    }

    /// A node came, of which nothing is known.
    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Asks, as long as it runs. Services that waited are given to `release`; those that need an event about why they
    /// wait, to `report` with the reason.
    pub(super) async fn run(
        &self,
        release: impl Fn(&str) + Send + Sync,
        report: impl Fn(&[String], &str) + Send + Sync,
    ) -> Infallible {
        let Some(inventory) = &self.inventory else { return std::future::pending().await };
        let began = Instant::now();
        let mut failed = HashMap::new();
        loop {
            let candidates = self.candidates(inventory);
            retain(&mut failed, &candidates);
            let (now, mut due, mut next) = (Instant::now(), Vec::new(), None::<Instant>);
            let mut settled = true;
            for node in candidates {
                let (record, failed) = (self.nodes.record(&node), failed.get(&node.name_any()));
                settled &= is_settled(record.as_ref(), failed);
                match due_at(record.as_ref(), failed, now) {
                    at if at <= now => due.push(node),
                    at => next = Some(next.map_or(at, |it| it.min(at))),
                }
            }
            if settled {
                self.complete().iter().for_each(|it| release(it));
            }
            let head_start = began + HEAD_START;
            if !self.are_complete() && (1..inventory.many()).contains(&due.len()) && now < head_start {
                due.clear();
                next = Some(next.map_or(head_start, |it| it.min(head_start)));
            }
            if !due.is_empty() {
                let error = self.ask(inventory, due, rule(self.are_complete()), &mut failed).await;
                if let Some(error) = error.filter(|_| began.elapsed() >= SILENT)
                    && let why = error.to_string()
                    && let services = self.unreported(&why)
                    && !services.is_empty()
                {
                    report(&services, &why);
                }
                continue;
            }
            let woken = self.wake.notified();
            match next {
                Some(next) => drop(tokio::time::timeout_at(next, woken).await),
                None => woken.await,
            }
        }
    }

    /// The nodes that could be backends in this cloud.
    fn candidates(&self, inventory: &Inventory) -> Vec<Arc<KubeNode>> {
        let mut nodes = self.nodes.all();
        nodes.retain(|it| is_eligible(it) && inventory.covers(it));
        nodes
    }

    /// Asks about these nodes. Returns the last error, if there was one.
    async fn ask(
        &self,
        inventory: &Inventory,
        nodes: Vec<Arc<KubeNode>>,
        rule: FreshnessRule<LastAnswered>,
        failed: &mut HashMap<String, FailedCheck>,
    ) -> Option<Error> {
        let asked = Instant::now();
        let doubtful = |node: &Arc<KubeNode>| {
            failed.contains_key(&node.name_any()) || self.nodes.record(node).is_some_and(|it| it.missed.is_some())
        };
        let list = if nodes.len() >= inventory.many() || nodes.iter().any(doubtful) {
            match contained(inventory.list(rule.at_any_time())).await.unwrap_or_else(panicked) {
                Ok(list) => Some(list),
                Err(error) => {
                    nodes.iter().for_each(|it| fail(failed, it, &error, false));
                    return Some(error);
                }
            }
        } else {
            None
        };
        let list = list.as_deref();
        let is_listed = |it: &Arc<KubeNode>| list.is_some_and(|list| matches!(inventory.listed(it, list), Ok(Some(_))));
        let lacking: Vec<_> = nodes.into_iter().filter(|it| !is_listed(it)).collect();
        let familiar = list.is_some_and(|it| inventory.is_familiar(it));
        let worthless = |node: &KubeNode| {
            list.and_then(|it| worthless(it, rule, asked, self.nodes.zone(node).as_deref(), familiar))
        };
        let all_worthless: Option<Vec<_>> = lacking.iter().map(|it| worthless(it)).collect();
        if let Some(errors) = all_worthless.filter(|_| lacking.len() >= inventory.many()) {
            lacking.iter().zip(&errors).for_each(|(it, error)| fail(failed, it, error, false));
            return errors.into_iter().next();
        }
        let ask = |node: Arc<KubeNode>| async move {
            let answer = contained(inventory.asked(&node, list)).await.unwrap_or_else(panicked);
            (node, answer)
        };
        let mut answers = stream::iter(lacking).map(ask).buffer_unordered(SIDE_BY_SIDE);
        let mut last = None;
        while let Some((node, answer)) = answers.next().await {
            let because = worthless(&node);
            let proves = list.is_some() && because.is_none();
            let error = match answer {
                Ok(Some(_)) => continue,
                Ok(None) if proves => continue,
                Ok(None) => because.unwrap_or_else(|| {
                    Error::Unavailable(format!("the cloud has no instance of node {}", node.name_any()))
                }),
                Err(error) => error,
            };
            // Some answers show something although they are errors.
            if matches!(self.nodes.evidence(&node), Evidence::Unknown) {
                fail(failed, &node, &error, proves);
                last = Some(error);
            }
        }
        failed.retain(|name, _| {
            self.nodes.get(name).is_some_and(|it| matches!(self.nodes.evidence(&it), Evidence::Unknown))
        });
        last
    }

    /// It is known which of the nodes exist that were there at the start. Returns the Services that waited for it.
    fn complete(&self) -> Vec<String> {
        let Some(waiting) = self.waiting.lock().take() else { return Vec::new() };
        info!("it is known which nodes may be backends of load balancers");
        waiting.into_keys().collect()
    }

    /// The Services that wait, and were not told of this error.
    fn unreported(&self, why: &str) -> Vec<String> {
        let mut waiting = self.waiting.lock();
        let Some(waiting) = &mut *waiting else { return Vec::new() };
        warn!(error = why, "load balancers stay as they are until the cloud says which nodes exist");
        let unreported = waiting.iter_mut().filter(|(_, blocked)| blocked.as_deref() != Some(why));
        unreported
            .map(|(key, blocked)| {
                *blocked = Some(why.to_owned());
                key.clone()
            })
            .collect()
    }
}

/// When the cloud is to be asked about a node, given what its answers have shown and what has failed.
fn due_at(record: Option<&InstanceRecord>, failed: Option<&FailedCheck>, now: Instant) -> Instant {
    let retry = failed.and_then(|it| it.due);
    match record {
        None => retry.unwrap_or(now),
        Some(InstanceRecord { evidence: Evidence::Refused(_), at, .. } | InstanceRecord { missed: None, at, .. }) => {
            retry.unwrap_or(*at + STALE)
        }
        Some(InstanceRecord { at, .. }) => (*at + APART).max(retry.unwrap_or(*at)),
    }
}

/// Whether nothing is waited for any more before load balancers are changed.
fn is_settled(record: Option<&InstanceRecord>, failed: Option<&FailedCheck>) -> bool {
    record.is_some_and(|it| it.evidence != Evidence::Unknown) || failed.is_some_and(|it| it.alone >= ALONE)
}

/// How old an answer may be, before and after it is known which of the nodes exist that were there at the start.
fn rule(is_complete: bool) -> FreshnessRule<LastAnswered> {
    if is_complete { BACKENDS } else { FIRST_BACKENDS }
}

/// Why a list that lacks an instance proves nothing of it: `None` if it does. `zone` is the instance's, as far as the cloud
/// has named it; `familiar` says that the list has any instance of the cluster. The question began at `asked`.
fn worthless(
    list: &InstanceList,
    rule: FreshnessRule<LastAnswered>,
    asked: Instant,
    zone: Option<&str>,
    familiar: bool,
) -> Option<Error> {
    // An answer that was young enough when it was asked for stays so, however long it took.
    let fresh = rule.at_any_time().asked_at(asked);
    let why = match list.gap(zone) {
        _ if !fresh.allows(list.began, list.began) => "the cloud's list of instances is too old".to_owned(),
        Some(why) => format!("the cloud's list of instances is incomplete: {why}"),
        None if familiar => return None,
        None => "the cloud lists no instance of any node of this cluster; check whether the credential belongs to the \
                 cluster's account and may list its instances"
            .to_owned(),
    };
    Some(Error::Unavailable(why))
}

/// Forgets what failed of nodes that are none of these any more.
fn retain(failed: &mut HashMap<String, FailedCheck>, candidates: &[Arc<KubeNode>]) {
    // A map: this runs for each change of a node while the cloud fails, and then all of thousands may have failed.
    let ids: HashMap<_, _> = candidates.iter().map(|it| (it.metadata.name.as_deref(), provider_id(it))).collect();
    failed.retain(|name, it| ids.get(&Some(name.as_str())).is_some_and(|id| *id == Some(it.provider_id.as_str())));
}

fn fail(failed: &mut HashMap<String, FailedCheck>, node: &KubeNode, error: &Error, alone: bool) {
    let it = failed.entry(node.name_any()).or_default();
    it.provider_id = provider_id(node).unwrap_or_default().to_owned();
    let pause = match error {
        Error::RetryAfter { after, .. } | Error::Crashed { after, .. } => (*after).min(LONGEST_RETRY_AFTER),
        Error::Invalid(_) | Error::Denied(_) | Error::Unavailable(_) => {
            FIRST_PAUSE.saturating_mul(1 << it.times.min(10)).min(LONGEST_PAUSE)
        }
    };
    it.times = it.times.saturating_add(1);
    it.alone = if alone { it.alone.saturating_add(1) } else { 0 };
    it.due = Some(Instant::now() + pause);
}

fn panicked<T>(panic: String) -> Result<T> {
    Err(Error::Unavailable(format!("the provider panicked: {panic}")))
}

#[cfg(test)]
mod calls;
#[cfg(test)]
pub(crate) mod tests;
