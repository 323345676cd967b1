//! Changes of nodes, and of what the cloud says of them: many at once make one pass over all Services.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::node_object::KubeNode;
use cloud_provider::CurrentDescription;
use parking_lot::Mutex;
use prometheus::Histogram;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::debounce::Debounce;
use crate::metrics::QueueMetrics;
use crate::nodes::Nodes;
use crate::service::backends::{self, BackendChange, BackendStatus, Backends};

/// The nodes that take traffic, and whether others do since the last pass.
pub(super) struct BackendChanges {
    nodes: Nodes,
    cloud: CurrentDescription,
    /// Whether the cloud can be asked about instances.
    confirms: bool,
    backends: Mutex<BackendCache>,
    /// The nodes that take traffic by what Kubernetes says, whatever the cloud says of them; and how often they changed.
    eligible: Mutex<HashSet<String>>,
    node_changes: Arc<AtomicU64>,
    /// Why nodes are left out, by name, if an event said so.
    reported: Mutex<HashMap<String, String>>,
    pending: Mutex<Option<Debounce>>,
    noted: Notify,
    metrics: QueueMetrics,
}

#[derive(Default)]
struct BackendCache {
    backends: Arc<Backends>,
    is_current: bool,
    /// Whether other nodes take traffic than in `backends`, as far as was noted.
    is_pending: bool,
    /// Whether no Service wants a load balancer: no backends are kept or compared until a Service reads them.
    is_resting: bool,
    /// How often they were read.
    reads: u64,
}

/// One pass over all Services; it ends when the last of them has been dealt with.
pub(super) struct BackendPass {
    began: Instant,
    latency: Histogram,
}

impl BackendChanges {
    pub(super) fn new(nodes: Nodes, cloud: CurrentDescription, confirms: bool, metrics: QueueMetrics) -> Self {
        let (backends, reported, pending) = (Mutex::default(), Mutex::default(), Mutex::new(None));
        let (eligible, node_changes) = (Mutex::default(), Arc::default());
        Self {
            nodes,
            cloud,
            confirms,
            backends,
            eligible,
            node_changes,
            reported,
            pending,
            noted: Notify::new(),
            metrics,
        }
    }

    /// How often the set of nodes has changed that take traffic by what Kubernetes says.
    pub(super) fn node_changes(&self) -> Arc<AtomicU64> {
        self.node_changes.clone()
    }

    /// Those that take traffic now.
    pub(super) fn backends(&self) -> Arc<Backends> {
        let mut cache = self.backends.lock();
        cache.reads = cache.reads.wrapping_add(1);
        if !cache.is_current {
            let nodes = self.nodes.all();
            let machines = nodes.iter().filter_map(|it| self.backend_status(it).machine()).collect();
            let shown_labels = &self.cloud.now().shown_labels;
            let backends = Arc::new(Backends::of(machines, shown_labels, &cache.backends));
            // A change that is seen here before it is noted would be no change any more.
            if !Arc::ptr_eq(&backends.compared_fields, &cache.backends.compared_fields) && !cache.is_pending {
                self.wait_for_quiet(Instant::now());
            }
            let reads = cache.reads;
            *cache = BackendCache { backends, is_current: true, is_pending: false, is_resting: false, reads };
        }
        cache.backends.clone()
    }

    /// How often the nodes that take traffic were read.
    pub(super) fn reads(&self) -> u64 {
        self.backends.lock().reads
    }

    /// Keeps nothing of nodes until somebody reads which take traffic, as no load balancer is there for them. Returns whether
    /// it is so: not if they were read since they had been so many times.
    pub(super) fn rest(&self, reads: u64) -> bool {
        let mut cache = self.backends.lock();
        let is_unread = cache.reads == reads;
        if is_unread {
            *cache = BackendCache { is_resting: true, reads, ..BackendCache::default() };
        }
        is_unread
    }

    /// What a node is to load balancers now.
    pub(super) fn backend_status(&self, node: &KubeNode) -> BackendStatus {
        backends::status(node, &self.cloud.now(), self.confirms.then(|| self.nodes.evidence(node)))
    }

    /// Takes note that a node has changed, or what the cloud says of it, or that it is gone. Returns what it is now, unless an
    /// event has said already why it is left out.
    pub(super) fn note(&self, name: &str, now: Instant) -> Option<BackendStatus> {
        let node = self.nodes.get(name);
        self.note_eligible(name, node.as_ref().is_some_and(|it| backends::is_eligible(it)));
        let backend = node.map_or(BackendStatus::No, |it| self.backend_status(&it));
        let is_news = self.is_news(name, &backend);
        let machine = match &backend {
            BackendStatus::Yes(machine) => Some(machine),
            BackendStatus::No | BackendStatus::Unknown | BackendStatus::LeftOut(_) => None,
        };
        let change = {
            let mut cache = self.backends.lock();
            if cache.is_resting {
                return is_news.then_some(backend);
            }
            let change = backends::change(cache.backends.get(name), machine, &self.cloud.now());
            cache.is_current &= change == BackendChange::Nothing;
            cache.is_pending |= matches!(change, BackendChange::Backend | BackendChange::Labels);
            change
        };
        if change == BackendChange::Labels {
            // Kubernetes says so: what follows from it may be written.
            self.node_changes.fetch_add(1, Ordering::Relaxed);
        }
        if matches!(change, BackendChange::Backend | BackendChange::Labels) {
            self.wait_for_quiet(now);
        }
        is_news.then_some(backend)
    }

    fn note_eligible(&self, name: &str, is_eligible: bool) {
        let mut eligible = self.eligible.lock();
        let is_change = if is_eligible { eligible.insert(name.to_owned()) } else { eligible.remove(name) };
        if is_change {
            self.node_changes.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether no event has said this of a node. From now on one has.
    fn is_news(&self, name: &str, backend: &BackendStatus) -> bool {
        let mut reported = self.reported.lock();
        match backend {
            BackendStatus::LeftOut(why) if reported.get(name) == Some(why) => return false,
            BackendStatus::LeftOut(why) => drop(reported.insert(name.to_owned(), why.clone())),
            BackendStatus::Unknown => {}
            // Whoever is excluded for a moment gets no second event.
            BackendStatus::No if self.nodes.get(name).is_some() => {}
            BackendStatus::No | BackendStatus::Yes(_) => drop(reported.remove(name)),
        }
        true
    }

    fn wait_for_quiet(&self, now: Instant) {
        let mut pending = self.pending.lock();
        if pending.is_none() {
            self.metrics.adds.inc();
            self.metrics.depth.set(1);
        }
        // As if there had just been a pass: the first change waits for others, too.
        *pending = Some(Debounce::noted(*pending, Some(now), now));
        self.noted.notify_one();
    }

    /// Waits until nodes have changed, and have been quiet for a moment.
    pub(super) async fn settled(&self) {
        loop {
            let pending = *self.pending.lock();
            let Some(pending) = pending else {
                self.noted.notified().await;
                continue;
            };
            let due = pending.due();
            if due <= Instant::now() {
                *self.pending.lock() = None;
                self.metrics.depth.set(0);
                self.metrics.waited.observe(pending.first().elapsed().as_secs_f64());
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

impl BackendPass {
    /// A pass that begins now; `latency` observes how long it took.
    pub(super) fn begin(latency: Histogram) -> Arc<Self> {
        Arc::new(Self { began: Instant::now(), latency })
    }
}

impl Drop for BackendPass {
    fn drop(&mut self) {
        self.latency.observe(self.began.elapsed().as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use crate::watched::WatchWriter;
    use cloud_provider::Description;
    use kube::runtime::watcher::Event;
    use prometheus::Registry;
    use serde_json::json;

    use super::*;
    use crate::metrics::Metrics;
    use crate::service::testing::node;

    const SECOND: Duration = Duration::from_secs(1);

    /// Nodes, and the changes of a cloud that cannot be asked about instances.
    fn changes() -> Arc<(BackendChanges, Watched)> {
        changes_of(Description::default())
    }

    /// The same of one with this description.
    fn changes_of(cloud: Description) -> Arc<(BackendChanges, Watched)> {
        let metrics = Metrics::register(&Registry::new()).unwrap();
        let (nodes, mut writer) = Nodes::new();
        nodes.apply(Event::Init, &mut writer);
        nodes.apply(Event::InitDone, &mut writer);
        let changes = BackendChanges::new(nodes.clone(), Arc::new(cloud).into(), false, metrics.queue("node"));
        Arc::new((changes, Watched { nodes, writer: Mutex::new(writer) }))
    }

    struct Watched {
        nodes: Nodes,
        writer: Mutex<WatchWriter<KubeNode>>,
    }

    impl Watched {
        fn apply(&self, node: KubeNode) {
            self.nodes.apply(Event::Apply(node), &mut self.writer.lock());
        }
    }

    /// A node joins under this number.
    fn join((changes, watched): &(BackendChanges, Watched), nth: usize) {
        let name = format!("n{nth}");
        watched.apply(node(&name, json!({})));
        changes.note(&name, Instant::now());
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_waits_for_a_quiet_second() {
        let (both, began) = (changes(), Instant::now());
        let changes = &both.0;
        join(&both, 0);
        let others = async {
            for nth in 1..=2 {
                tokio::time::sleep(SECOND / 2).await;
                join(&both, nth);
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
        let (both, began) = (changes(), Instant::now());
        join(&both, 0);
        let restless = async {
            for nth in 1.. {
                tokio::time::sleep(SECOND / 2).await;
                join(&both, nth);
            }
        };
        tokio::select! {
            () = both.0.settled() => {}
            () = restless => {}
        }
        assert_eq!(began.elapsed(), 5 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn case_157_a_change_beside_load_balancers_makes_no_pass() {
        let both = changes();
        let (changes, watched) = &*both;
        join(&both, 1);
        changes.settled().await;
        changes.backends();
        let excluded = || json!({ "node.kubernetes.io/exclude-from-external-load-balancers": "true" });
        for (name, change) in [
            ("n1", json!({ "metadata": { "labels": { "a": "b" } } })),
            ("n1", json!({ "spec": { "unschedulable": true } })),
            ("n1", json!({ "spec": { "taints": [{ "key": "example.com/any", "effect": "NoExecute" }] } })),
            ("n1", json!({ "status": { "conditions": [{ "type": "Ready", "status": "False" }] } })),
            ("n2", json!({ "metadata": { "labels": excluded() } })),
            ("n2", json!({ "metadata": { "labels": excluded() }, "spec": { "unschedulable": true } })),
        ] {
            watched.apply(node(name, change));
            changes.note(name, Instant::now());
            changes.backends();
        }
        assert!(tokio::time::timeout(60 * SECOND, changes.settled()).await.is_err());
        assert_eq!(changes.metrics.adds.get(), 1, "the node that joined, and nothing after it");
    }

    #[tokio::test(start_paused = true)]
    async fn labels_that_flip_wait_and_raise_no_limit() {
        let both = changes_of(Description { shown_labels: vec!["a".to_owned()], ..Description::default() });
        let (changes, watched) = &*both;
        join(&both, 1);
        changes.settled().await;
        let (first, counted) = (changes.backends(), changes.node_changes().load(Ordering::Relaxed));
        let began = Instant::now();
        let flips = async {
            for nth in 0.. {
                watched.apply(node("n1", json!({ "metadata": { "labels": { "a": nth.to_string() } } })));
                changes.note("n1", Instant::now());
                tokio::time::sleep(SECOND / 2).await;
            }
        };
        tokio::select! {
            () = changes.settled() => {}
            () = flips => {}
        }
        assert_eq!(began.elapsed(), 5 * SECOND, "as other changes of nodes");
        assert_ne!(changes.backends().compared_fields, first.compared_fields);
        assert_eq!(changes.node_changes().load(Ordering::Relaxed), counted, "a kubelet writes it");
    }

    #[tokio::test(start_paused = true)]
    async fn backends_are_read_again_after_any_relevant_change() {
        let both = changes();
        let (changes, watched) = &*both;
        join(&both, 1);
        let first = changes.backends();
        assert!(Arc::ptr_eq(&first, &changes.backends()));
        watched.apply(node("n1", json!({ "metadata": { "labels": { "a": "b" } } })));
        changes.note("n1", Instant::now());
        let second = changes.backends();
        assert!(!Arc::ptr_eq(&first, &second) && Arc::ptr_eq(&first.compared_fields, &second.compared_fields));
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_that_is_seen_before_it_is_noted_makes_a_pass() {
        let both = changes();
        let (changes, watched) = &*both;
        join(&both, 1);
        changes.settled().await;
        changes.backends();
        watched.apply(node("n1", json!({ "metadata": { "labels": { "a": "b" } } })));
        changes.note("n1", Instant::now());
        watched.apply(node("n2", json!({})));
        assert_eq!(changes.backends().nodes.len(), 2);
        changes.note("n2", Instant::now());
        tokio::time::timeout(60 * SECOND, changes.settled()).await.expect("a pass");
    }

    #[tokio::test(start_paused = true)]
    async fn nodes_that_no_load_balancer_needs_make_no_pass() {
        let both = changes();
        let (changes, watched) = &*both;
        join(&both, 1);
        changes.settled().await;
        let reads = changes.reads();
        changes.backends();
        assert!(!changes.rest(reads), "they were read");
        assert!(changes.rest(changes.reads()));
        join(&both, 2);
        let next = tokio::time::timeout(60 * SECOND, changes.settled()).await;
        assert!(next.is_err(), "nobody needs them");
        assert_eq!(changes.backends().nodes.len(), 2);
        tokio::time::timeout(60 * SECOND, changes.settled()).await.expect("a pass, as somebody does");
        watched.apply(node("n3", json!({})));
        changes.note("n3", Instant::now());
        tokio::time::timeout(60 * SECOND, changes.settled()).await.expect("a pass");
    }

    #[test]
    fn why_a_node_is_left_out_is_recorded_once() {
        let metrics = Metrics::register(&Registry::new()).unwrap();
        let nodes = Nodes::of([node("n1", json!({})), node("n2", json!({ "spec": { "providerID": "aws:///z/i" } }))]);
        let cloud = Description { provider_id_prefixes: vec!["fake://".to_owned()], ..Description::default() };
        let changes = BackendChanges::new(nodes, Arc::new(cloud).into(), true, metrics.queue("node"));
        let note = |name| changes.note(name, Instant::now());
        assert_eq!(note("n1"), Some(BackendStatus::Unknown));
        assert!(matches!(note("n2"), Some(BackendStatus::LeftOut(why)) if why.contains("aws:///z/i")));
        assert_eq!(note("n2"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_has_ended_when_its_last_service_has() {
        let latency = Metrics::register(&Registry::new()).unwrap().backend_pass;
        let pass = BackendPass::begin(latency.clone());
        let last = pass.clone();
        drop(pass);
        assert_eq!(latency.get_sample_count(), 0);
        tokio::time::advance(3 * SECOND).await;
        drop(last);
        assert_eq!((latency.get_sample_count(), latency.get_sample_sum()), (1, 3.0));
    }
}
