//! A queue that workers share: a clock, a lock and metrics around the plain one.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::error::Pause;
use crate::metrics::QueueMetrics;
use crate::queue::Queue;

/// A queue that workers share.
pub(crate) struct WorkQueue {
    state: Mutex<State>,
    /// A key became ready, an earlier delay was added, or the queue was closed.
    changed: Notify,
    metrics: QueueMetrics,
    /// A number between 0 and 1, another one each time.
    jitter: fn() -> f64,
}

struct State {
    queue: Queue,
    closed: bool,
}

/// A key that a worker has; it goes back when this is dropped, whatever happened to the worker.
pub(crate) struct Work<'a> {
    key: String,
    queue: &'a WorkQueue,
}

impl WorkQueue {
    pub(crate) fn new(metrics: QueueMetrics, jitter: fn() -> f64) -> Self {
        let state = State { queue: Queue::new(Instant::now()), closed: false };
        Self { state: Mutex::new(state), changed: Notify::new(), metrics, jitter }
    }

    /// Makes a key ready at once.
    pub(crate) fn add(&self, key: &str) {
        self.add_if(key, |_| true);
    }

    /// Makes a key ready at once, unless it was put back for later: then its pause stands.
    pub(crate) fn add_unless_paused(&self, key: &str) {
        self.add_if(key, |queue| !queue.is_paused(key));
    }

    /// Waits for a key. Returns `None` once the queue is closed.
    ///
    /// Keys that are ready or delayed then are left: whoever comes next finds them in the cluster.
    pub(crate) async fn next(&self) -> Option<Work<'_>> {
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
                    return Some(Work { key: taken.key, queue: self });
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

    fn add_if(&self, key: &str, condition: impl FnOnce(&Queue) -> bool) {
        let mut state = self.lock();
        if condition(&state.queue) && state.queue.add(key, Instant::now()) {
            self.metrics.adds.inc();
            self.metrics.depth.set(state.queue.depth() as i64);
            self.changed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held; and if it did, every operation leaves the queue whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Work<'_> {
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// The key is as it should be: its failures are forgotten.
    pub(crate) fn succeeded(self) {
        self.queue.lock().queue.forget(&self.key);
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

impl Drop for Work<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        let worked = state.queue.done(&self.key, Instant::now());
        self.queue.metrics.worked.observe(worked.as_secs_f64());
        self.queue.metrics.depth.set(state.queue.depth() as i64);
        if state.queue.depth() > 0 {
            self.queue.changed.notify_one();
        }
    }
}
