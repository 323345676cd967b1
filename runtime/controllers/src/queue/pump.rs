//! A queue that workers share: a clock, a lock and metrics around the plain one.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::error::Pause;
use crate::metrics::QueueMetrics;
use crate::queue::Queue;
use crate::queue::limits::Limits;

/// A queue that workers share.
pub(crate) struct WorkQueue {
    state: Mutex<PumpState>,
    /// A key became ready, an earlier delay was added, or the queue was closed.
    changed: Notify,
    metrics: QueueMetrics,
    /// A number between 0 and 1, another one each time.
    jitter: fn() -> f64,
}

struct PumpState {
    queue: Queue,
    closed: bool,
    /// When a worker last finished a key, whatever came of it.
    finished: Instant,
}

/// A key that a worker has; it goes back when this is dropped, whatever happened to the worker.
pub(crate) struct QueuedWork<'a> {
    key: String,
    queue: &'a WorkQueue,
}

impl WorkQueue {
    pub(crate) fn new(metrics: QueueMetrics, limits: Limits, jitter: fn() -> f64) -> Self {
        let state = PumpState { queue: Queue::new(limits), closed: false, finished: Instant::now() };
        Self { state: Mutex::new(state), changed: Notify::new(), metrics, jitter }
    }

    /// Makes a key ready at once.
    pub(crate) fn add(&self, key: &str) {
        self.add_if(key, |_| true);
    }

    /// Makes a key ready at once, also during a pause that was asked for.
    pub(crate) fn add_despite_pause(&self, key: &str) {
        self.change(|queue, now| queue.add_despite_pause(key, now));
    }

    /// Makes a key ready at once, unless it was put back for later: then its pause stands.
    pub(crate) fn add_unless_paused(&self, key: &str) {
        self.add_if(key, |queue| !queue.is_paused(key));
    }

    /// As [`WorkQueue::add_unless_paused`], but not if a worker has the key either: what it is about is what the worker does.
    pub(crate) fn add_if_idle(&self, key: &str) {
        self.add_if(key, |queue| !queue.is_paused(key) && !queue.is_taken(key));
    }

    /// Makes a key ready once more, if a worker has it now.
    pub(crate) fn add_if_taken(&self, key: &str) {
        self.add_if(key, |queue| queue.is_taken(key));
    }

    /// How many times in a row a key has failed.
    pub(crate) fn failures(&self, key: &str) -> u32 {
        self.lock().queue.failures(key)
    }

    /// Waits for a key. Returns `None` once the queue is closed.
    ///
    /// Keys that are ready or delayed then are left: whoever comes next finds them in the cluster.
    pub(crate) async fn next(&self) -> Option<QueuedWork<'_>> {
        loop {
            let wakes_at = {
                let mut state = self.lock();
                if state.closed {
                    self.changed.notify_one();
                    return None;
                }
                let now = Instant::now();
                self.metrics.adds.inc_by(state.queue.promote(now) as u64);
                let taken = state.queue.take(now);
                self.metrics.depth.set(state.queue.depth() as i64);
                if let Some(taken) = taken {
                    self.metrics.waited.observe(taken.waited.as_secs_f64());
                    // Another worker has to watch what is ready or delayed while this one works.
                    if state.queue.depth() > 0 || state.queue.wakes_at().is_some() {
                        self.changed.notify_one();
                    }
                    return Some(QueuedWork { key: taken.key, queue: self });
                }
                state.queue.wakes_at()
            };
            match wakes_at {
                Some(at) => {
                    let _ = tokio::time::timeout_at(at, self.changed.notified()).await;
                }
                None => self.changed.notified().await,
            }
        }
    }

    /// Lets every worker end after what it has.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// Writes the gauges that change while nothing happens.
    pub(crate) fn observe(&self) {
        let (sum, longest) = self.lock().queue.busy(Instant::now());
        self.metrics.unfinished.set(sum.as_secs_f64());
        self.metrics.longest.set(longest.as_secs_f64());
    }

    /// For how long there has been work of which nothing was finished: no worker has come to an end.
    pub(crate) fn stalled(&self) -> Duration {
        let state = self.lock();
        let now = Instant::now();
        match state.queue.waits_since(now) {
            Some(since) if !state.closed => now.saturating_duration_since(since.max(state.finished)),
            Some(_) | None => Duration::ZERO,
        }
    }

    fn add_if(&self, key: &str, condition: impl FnOnce(&Queue) -> bool) {
        self.change(|queue, now| condition(queue) && queue.add(key, now));
    }

    /// Changes the queue; `add` says whether a key was added.
    fn change(&self, add: impl FnOnce(&mut Queue, Instant) -> bool) {
        let mut state = self.lock();
        if add(&mut state.queue, Instant::now()) {
            self.metrics.adds.inc();
            self.metrics.depth.set(state.queue.depth() as i64);
            self.changed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, PumpState> {
        self.state.lock()
    }
}

impl QueuedWork<'_> {
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// The key is as it should be: its failures are forgotten.
    pub(crate) fn succeeded(self) {
        self.queue.lock().queue.forget(&self.key);
    }

    /// The key has not failed, and has to be reconciled again after `delay`.
    pub(crate) fn postponed(self, delay: Duration) {
        let mut state = self.queue.lock();
        self.queue.metrics.retries.inc();
        state.queue.postpone(&self.key, delay, Instant::now());
        drop(state);
        self.queue.changed.notify_one();
    }

    /// As [`Self::postponed`], where what was begun may still fail: failures before it count.
    pub(crate) fn goes_on(self, delay: Duration) {
        let mut state = self.queue.lock();
        self.queue.metrics.retries.inc();
        state.queue.put_back(&self.key, delay, Instant::now());
        drop(state);
        self.queue.changed.notify_one();
    }

    /// How many times in a row the key has failed before.
    pub(crate) fn failures(&self) -> u32 {
        self.queue.lock().queue.failures(&self.key)
    }

    /// The key has to be tried again; `pause` says when, told how many times in a row it had failed before.
    /// Returns the pause that it was given.
    pub(crate) fn failed(self, pause: impl FnOnce(u32) -> Pause) -> Duration {
        let mut state = self.queue.lock();
        let pause = pause(state.queue.failures(&self.key));
        self.queue.metrics.retries.inc();
        let delay = state.queue.retry(&self.key, pause, Instant::now(), (self.queue.jitter)());
        drop(state);
        self.queue.changed.notify_one();
        delay
    }
}

impl Drop for QueuedWork<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        let now = Instant::now();
        let worked = state.queue.done(&self.key, now);
        state.finished = now;
        self.queue.metrics.worked.observe(worked.as_secs_f64());
        self.queue.metrics.depth.set(state.queue.depth() as i64);
        if state.queue.depth() > 0 {
            self.queue.changed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use prometheus::Registry;
    use tokio::sync::oneshot;
    use tokio::task::JoinSet;

    use super::*;
    use crate::metrics::Metrics;

    fn queue() -> Arc<WorkQueue> {
        let metrics = Metrics::register(&Registry::new()).unwrap();
        Arc::new(WorkQueue::new(metrics.queue("test"), Limits::shared(Instant::now()), || 0.0))
    }

    /// Fails a test that hangs.
    async fn soon<T>(future: impl Future<Output = T>) -> T {
        tokio::time::timeout(Duration::from_secs(30), future).await.expect("in time")
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_key_never_waits_while_a_worker_is_free() {
        let queue = queue();
        for _ in 0..200 {
            // One worker is busy, the other one is asleep or about to be.
            let (mut workers, (go_on, held)) = (JoinSet::new(), oneshot::channel::<()>());
            let busy = queue.clone();
            queue.add("busy");
            workers.spawn(async move {
                let work = busy.next().await.unwrap();
                held.await.unwrap();
                work.succeeded();
            });
            let idle = queue.clone();
            workers.spawn(async move {
                let work = idle.next().await.unwrap();
                work.succeeded();
            });
            queue.add("other");
            soon(workers.join_next()).await.unwrap().unwrap();
            go_on.send(()).unwrap();
            soon(workers.join_next()).await.unwrap().unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn every_key_is_worked_on_until_it_succeeds() {
        let queue = queue();
        let left = Arc::new(Mutex::new((0..500).map(|it| (it.to_string(), 3)).collect::<HashMap<_, _>>()));
        let mut workers = JoinSet::new();
        for _ in 0..8 {
            let (queue, left) = (queue.clone(), left.clone());
            workers.spawn(async move {
                while let Some(work) = queue.next().await {
                    tokio::task::yield_now().await;
                    let tries = {
                        let mut left = left.lock();
                        let tries = left.get_mut(work.key()).unwrap();
                        *tries -= 1;
                        *tries
                    };
                    if tries > 0 {
                        work.failed(|_| Pause::Exactly(Duration::from_millis(u64::from(tries as u8))));
                        continue;
                    }
                    left.lock().remove(work.key());
                    work.succeeded();
                    if left.lock().is_empty() {
                        queue.close();
                    }
                }
            });
        }
        (0..500).for_each(|it| queue.add(&it.to_string()));
        soon(async { while workers.join_next().await.is_some() {} }).await;
        assert!(left.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_delay_that_is_added_last_can_end_first() {
        let queue = queue();
        let began = Instant::now();
        for (key, seconds) in [("slow", 60), ("quick", 1)] {
            queue.add(key);
            queue.next().await.unwrap().failed(|_| Pause::Exactly(Duration::from_secs(seconds)));
        }
        for (key, seconds) in [("quick", 1), ("slow", 60)] {
            let work = queue.next().await.unwrap();
            assert_eq!((work.key(), began.elapsed()), (key, Duration::from_secs(seconds)));
            work.succeeded();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_without_news_does_not_spoil_the_pause_of_a_worker() {
        let (queue, began) = (queue(), Instant::now());
        queue.add("a");
        let work = queue.next().await.unwrap();
        queue.add_if_idle("a");
        work.failed(|_| Pause::AtLeast(Duration::from_secs(60)));
        queue.add_if_idle("a");
        queue.next().await.unwrap().succeeded();
        assert_eq!(began.elapsed(), Duration::from_secs(60));
    }

    #[tokio::test]
    async fn a_closed_queue_lets_every_worker_go() {
        let queue = queue();
        let mut workers = JoinSet::new();
        for _ in 0..5 {
            let queue = queue.clone();
            workers.spawn(async move { assert!(queue.next().await.is_none()) });
        }
        tokio::task::yield_now().await;
        queue.close();
        soon(workers.join_all()).await;
    }

    #[tokio::test]
    async fn the_queue_is_measured() {
        let registry = Registry::new();
        let metrics = Metrics::register(&registry).unwrap();
        let queue = WorkQueue::new(metrics.queue("Nodes"), Limits::shared(Instant::now()), || 0.0);
        queue.add("a");
        queue.add("a");
        queue.add("b");
        assert_eq!((queue.metrics.adds.get(), queue.metrics.depth.get()), (2, 2));
        let work = queue.next().await.unwrap();
        assert_eq!(queue.metrics.depth.get(), 1);
        queue.observe();
        assert!(queue.metrics.unfinished.get() >= queue.metrics.longest.get());
        work.failed(|_| Pause::Exactly(Duration::from_secs(60)));
        assert_eq!((queue.metrics.retries.get(), queue.metrics.worked.get_sample_count()), (1, 1));
        assert_eq!(queue.metrics.waited.get_sample_count(), 1);
    }
}
