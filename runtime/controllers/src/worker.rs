//! Workers: they take keys from a queue, reconcile what is behind them, and put back what failed.

use std::any::Any;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::task::JoinSet;
use tracing::{debug, error};

use crate::error::{BackOff, Pause, chain};
use crate::liveness::Liveness;
use crate::queue::pump::WorkQueue;

/// How often the gauges of a queue are written.
const OBSERVE: Duration = Duration::from_millis(500);

/// The work of a queue's workers.
pub(crate) trait Reconcile: Send + Sync + 'static {
    /// Why it could not be done.
    type Error: Send;

    /// Reconciles what is behind a key.
    fn sync(&self, key: &str) -> impl Future<Output = Result<NextSync, Self::Error>> + Send;

    /// Shows a failure to whom it concerns, after `failures` in a row before this one.
    fn show(&self, key: &str, error: &Self::Error, failures: u32);

    /// When a key is tried again, after `failures` in a row before this one.
    fn pause(&self, error: &Self::Error, failures: u32) -> Pause;

    /// The pauses after a panic.
    fn back_off(&self) -> BackOff;
}

/// The next step for a key that did not fail.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NextSync {
    /// It is as it should be.
    Done,
    /// It is reconciled again then.
    After(Duration),
    /// The cloud is at work on it, and it is reconciled again then: whether that fails is still to be seen, so that failures before it count.
    UnderWay(Duration),
}

/// Works with so many workers, watched by `liveness`, until `shutdown` is ready or one of `background` ends; then what is being worked on is
/// finished. `background` tasks end with it.
pub(crate) async fn run<R: Reconcile>(
    reconciler: Arc<R>,
    queue: Arc<WorkQueue>,
    workers: usize,
    mut background: JoinSet<()>,
    liveness: &Liveness,
    shutdown: impl Future<Output = ()> + Send,
) {
    background.spawn(observe(queue.clone()));
    let watched = queue.clone();
    liveness.watch(move || watched.stalled());
    let mut running = JoinSet::new();
    for _ in 0..workers.max(1) {
        running.spawn(work(reconciler.clone(), queue.clone()));
    }
    tokio::select! {
        () = shutdown => {}
        // A worker ends only if it panicked outside of a key's work, which is contained.
        Some(Err(panic)) = running.join_next() => error!(error = chain(&panic), "a worker ended"),
        Some(Err(panic)) = background.join_next() => error!(error = chain(&panic), "a background task ended"),
    }
    queue.close();
    while running.join_next().await.is_some() {}
}

/// Takes keys from the queue, one after the other, until it is closed.
async fn work<R: Reconcile>(reconciler: Arc<R>, queue: Arc<WorkQueue>) {
    while let Some(work) = queue.next().await {
        let key = work.key().to_owned();
        match contained(reconciler.sync(&key)).await {
            Ok(Ok(NextSync::Done)) => work.succeeded(),
            Ok(Ok(NextSync::After(delay))) => work.postponed(delay),
            Ok(Ok(NextSync::UnderWay(delay))) => work.goes_on(delay),
            Ok(Err(error)) => {
                reconciler.show(&key, &error, work.failures());
                let pause = work.failed(|failures| reconciler.pause(&error, failures));
                debug!(key, ?pause, "tried again after a pause");
            }
            Err(panic) => {
                error!("panic syncing '{key}': {panic}, requeuing");
                work.failed(|failures| Pause::AtLeast(reconciler.back_off().after(failures)));
            }
        }
    }
}

async fn observe(queue: Arc<WorkQueue>) {
    loop {
        tokio::time::sleep(OBSERVE).await;
        queue.observe();
    }
}

/// The result of a future, or its message when it panicked.
pub(crate) async fn contained<T>(future: impl Future<Output = T>) -> Result<T, String> {
    AssertUnwindSafe(future).catch_unwind().await.map_err(|panic: Box<dyn Any + Send>| {
        let text = panic.downcast_ref::<&str>().map(|it| (*it).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
    })
}

/// A number between 0 and 1, another one each time. It only spreads retries over time.
pub(crate) fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    bits as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::liveness::STUCK;

    #[tokio::test]
    async fn a_panic_is_contained() {
        assert_eq!(contained(async { 1 }).await, Ok(1));
        let panic: Result<(), _> = contained(async { panic!("{} went wrong", "it") }).await;
        assert_eq!(panic, Err("it went wrong".to_owned()));
    }

    /// Never comes to an end with keys that hang.
    struct Hangs;

    impl Reconcile for Hangs {
        type Error = ();

        async fn sync(&self, key: &str) -> Result<NextSync, ()> {
            match key.strip_prefix("hang") {
                Some(_) => std::future::pending().await,
                None => Err(()),
            }
        }

        fn show(&self, _: &str, (): &(), _: u32) {}

        fn pause(&self, (): &(), _: u32) -> Pause {
            Pause::Exactly(STUCK * 100)
        }

        fn back_off(&self) -> BackOff {
            crate::error::NODES
        }
    }

    /// Cases: case 254
    #[tokio::test(start_paused = true)]
    async fn workers_that_finish_nothing_are_stuck_and_failures_are_not() {
        let metrics = crate::metrics::Metrics::register(&prometheus::Registry::new()).unwrap();
        let limits = crate::queue::limits::Limits::per_key();
        let queue = Arc::new(WorkQueue::new(metrics.queue("test"), limits, random));
        let (liveness, mut tasks) = (Liveness::default(), JoinSet::new());
        let (shared, asked) = (queue.clone(), liveness.clone());
        tasks.spawn(async move {
            run(Arc::new(Hangs), shared, 2, JoinSet::new(), &asked, std::future::pending()).await;
        });
        let nearly = STUCK - Duration::from_secs(1);
        let pass = async |time| tokio::time::sleep(time).await;
        pass(2 * STUCK).await;
        assert!(!liveness.is_stuck(), "there is nothing to do");
        queue.add("hang-1");
        for nth in 0..3 {
            pass(nearly).await;
            assert!(!liveness.is_stuck(), "the other worker finishes what there is");
            queue.add(&format!("fails-{nth}"));
        }
        queue.add("hang-2");
        pass(nearly).await;
        assert!(!liveness.is_stuck());
        pass(Duration::from_secs(2)).await;
        assert!(liveness.is_stuck(), "both workers hang");
    }

    /// Begins what fails a second later, each time.
    #[derive(Default)]
    struct Begins(parking_lot::Mutex<Vec<tokio::time::Instant>>);

    impl Reconcile for Begins {
        type Error = ();

        async fn sync(&self, _: &str) -> Result<NextSync, ()> {
            let mut calls = self.0.lock();
            calls.push(tokio::time::Instant::now());
            if calls.len() % 2 == 1 { Ok(NextSync::UnderWay(Duration::from_secs(1))) } else { Err(()) }
        }

        fn show(&self, _: &str, (): &(), _: u32) {}

        fn pause(&self, (): &(), failures: u32) -> Pause {
            Pause::AtLeast(self.back_off().after(failures))
        }

        fn back_off(&self) -> BackOff {
            crate::volume_error::BACK_OFF
        }
    }

    /// Cases: csi 55
    #[tokio::test(start_paused = true)]
    async fn work_that_fails_once_begun_is_begun_after_growing_pauses() {
        let metrics = crate::metrics::Metrics::register(&prometheus::Registry::new()).unwrap();
        let limits = crate::queue::limits::Limits::per_key();
        let queue = Arc::new(WorkQueue::new(metrics.queue("test"), limits, || 0.0));
        let (begins, mut tasks) = (Arc::new(Begins::default()), JoinSet::new());
        queue.add("one");
        let (shared, worked) = (queue.clone(), begins.clone());
        tasks.spawn(async move {
            run(worked, shared, 1, JoinSet::new(), &Liveness::default(), std::future::pending()).await;
        });
        tokio::time::sleep(Duration::from_secs(100)).await;
        let calls = begins.0.lock().clone();
        let begun: Vec<_> = calls.iter().step_by(2).collect();
        let pauses: Vec<_> = begun.windows(2).map(|it| (*it[1] - *it[0]).as_secs()).collect();
        assert_eq!(pauses, [2, 3, 5, 9, 17, 33]);
    }

    #[test]
    fn randomness_is_between_zero_and_one() {
        let numbers: Vec<_> = (0..100).map(|_| random()).collect();
        assert!(numbers.iter().all(|it| (0.0..1.0).contains(it)), "{numbers:?}");
        assert!(numbers.iter().any(|it| *it != numbers[0]));
    }
}
