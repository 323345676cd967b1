//! Changes of nodes: many at once make one pass over all Services.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use prometheus::Histogram;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::metrics::QueueMetrics;
use crate::nodes::Nodes;
use crate::service::hosts::{Change, Hosts};

/// How long nodes have to be quiet before a pass.
const QUIET: Duration = Duration::from_secs(1);
/// How long the first change waits at most.
const LONGEST: Duration = Duration::from_secs(5);

/// The nodes that take traffic, and whether others do since the last pass.
pub(super) struct Changes {
    nodes: Nodes,
    hosts: Mutex<Cache>,
    pending: Mutex<Option<Pending>>,
    noted: Notify,
    metrics: QueueMetrics,
}

#[derive(Default)]
struct Cache {
    hosts: Arc<Hosts>,
    is_current: bool,
}

/// Changes that wait for a pass.
#[derive(Clone, Copy, Debug)]
struct Pending {
    first: Instant,
    last: Instant,
}

/// One pass over all Services; it ends when the last of them has been dealt with.
pub(super) struct Pass {
    began: Instant,
    latency: Histogram,
}

impl Changes {
    pub(super) fn new(nodes: Nodes, metrics: QueueMetrics) -> Self {
        let (hosts, pending) = (Mutex::default(), Mutex::new(None));
        Self { nodes, hosts, pending, noted: Notify::new(), metrics }
    }

    /// Those that take traffic now.
    pub(super) fn hosts(&self) -> Arc<Hosts> {
        let mut cache = lock(&self.hosts);
        if !cache.is_current {
            let nodes = self.nodes.store().state();
            cache.hosts = Arc::new(Hosts::of(nodes.iter().map(AsRef::as_ref), Some(&cache.hosts)));
            cache.is_current = true;
        }
        cache.hosts.clone()
    }

    /// Takes note of a change of a node.
    pub(super) fn note(&self, before: Option<&Node>, node: Option<&Node>, now: Instant) {
        let change = Hosts::change(before, node);
        if change != Change::Nothing {
            lock(&self.hosts).is_current = false;
        }
        if change == Change::Host {
            let mut pending = lock(&self.pending);
            if pending.is_none() {
                self.metrics.adds.inc();
                self.metrics.depth.set(1);
            }
            *pending = Some(Pending { first: pending.map_or(now, |it| it.first), last: now });
            self.noted.notify_one();
        }
    }

    /// Waits until nodes have changed, and have been quiet for a moment.
    pub(super) async fn settled(&self) {
        loop {
            let pending = *lock(&self.pending);
            let Some(pending) = pending else {
                self.noted.notified().await;
                continue;
            };
            let due = pending.due();
            if due <= Instant::now() {
                *lock(&self.pending) = None;
                self.metrics.depth.set(0);
                self.metrics.waited.observe(pending.first.elapsed().as_secs_f64());
                return;
            }
            let _ = tokio::time::timeout_at(due, self.noted.notified()).await;
        }
    }

    /// A pass took this long.
    pub(super) fn worked(&self, duration: Duration) {
        self.metrics.worked.observe(duration.as_secs_f64());
    }
}

impl Pending {
    /// When a pass begins, unless more changes.
    fn due(&self) -> Instant {
        (self.last + QUIET).min(self.first + LONGEST)
    }
}

impl Pass {
    /// A pass that begins now; `latency` observes how long it took.
    pub(super) fn begin(latency: Histogram) -> Arc<Self> {
        Arc::new(Self { began: Instant::now(), latency })
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.latency.observe(self.began.elapsed().as_secs_f64());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while one of these is held; and if it did, what is in there is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use prometheus::Registry;
    use serde_json::json;

    use super::*;
    use crate::metrics::Metrics;
    use crate::service::testing::node;

    const SECOND: Duration = Duration::from_secs(1);

    fn changes(nodes: Nodes) -> Arc<Changes> {
        let metrics = Metrics::register(&Registry::new()).unwrap();
        Arc::new(Changes::new(nodes, metrics.queue("node")))
    }

    fn join(changes: &Changes) {
        changes.note(None, Some(&node("n1", json!({}))), Instant::now());
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_waits_for_a_quiet_second() {
        let (changes, began) = (changes(Nodes::of([])), Instant::now());
        join(&changes);
        let noted = changes.clone();
        let others = async move {
            for _ in 0..2 {
                tokio::time::sleep(SECOND / 2).await;
                join(&noted);
            }
        };
        tokio::join!(changes.settled(), others);
        assert_eq!(began.elapsed(), 2 * SECOND);
        assert_eq!((changes.metrics.adds.get(), changes.metrics.depth.get()), (1, 0));
        assert_eq!(changes.metrics.waited.get_sample_sum(), 2.0);
        let next = tokio::time::timeout(60 * SECOND, changes.settled()).await;
        assert!(next.is_err(), "one pass for all of them");
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_waits_no_longer_than_five_seconds() {
        let (changes, began) = (changes(Nodes::of([])), Instant::now());
        join(&changes);
        let noted = changes.clone();
        let restless = async move {
            loop {
                tokio::time::sleep(SECOND / 2).await;
                join(&noted);
            }
        };
        tokio::select! {
            () = changes.settled() => {}
            () = restless => {}
        }
        assert_eq!(began.elapsed(), 5 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn case_157_what_does_not_concern_load_balancers_makes_no_pass() {
        let changes = changes(Nodes::of([]));
        let (before, after) = (node("n1", json!({})), node("n1", json!({ "metadata": { "labels": { "a": "b" } } })));
        changes.note(Some(&before), Some(&after), Instant::now());
        assert!(tokio::time::timeout(60 * SECOND, changes.settled()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn hosts_are_read_anew_after_any_change_that_a_provider_is_told() {
        let changes = changes(Nodes::of([node("n1", json!({}))]));
        let first = changes.hosts();
        assert!(Arc::ptr_eq(&first, &changes.hosts()));
        let other = node("n1", json!({ "metadata": { "labels": { "a": "b" } } }));
        changes.note(None, Some(&other), Instant::now());
        let second = changes.hosts();
        assert!(!Arc::ptr_eq(&first, &second) && Arc::ptr_eq(&first.essence, &second.essence));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_has_ended_when_its_last_service_has() {
        let latency = Metrics::register(&Registry::new()).unwrap().host_pass;
        let pass = Pass::begin(latency.clone());
        let last = pass.clone();
        drop(pass);
        assert_eq!(latency.get_sample_count(), 0);
        tokio::time::advance(3 * SECOND).await;
        drop(last);
        assert_eq!((latency.get_sample_count(), latency.get_sample_sum()), (1, 3.0));
    }
}
