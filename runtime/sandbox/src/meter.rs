//! How much CPU time a future has used.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The CPU time spent inside `poll` of one future.
///
/// Wall time would charge a guest for the neighbours that its thread had to wait for, and counting ticks charges it for
/// every wake after a host call.
#[derive(Default)]
pub(crate) struct Meter {
    /// Nanoseconds in the polls that have ended.
    spent: AtomicU64,
    /// The thread's clock at the beginning of the poll that is running, in nanoseconds. One poll never changes thread.
    since: AtomicU64,
}

impl Meter {
    /// Runs `future`, and charges it for every poll.
    pub(crate) async fn measure<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            let start = thread_clock();
            self.since.store(start, Relaxed);
            let poll = future.as_mut().poll(context);
            self.spent.fetch_add(thread_clock().saturating_sub(start), Relaxed);
            poll
        })
        .await
    }

    /// What the polls that have ended used.
    pub(crate) fn spent(&self) -> Duration {
        Duration::from_nanos(self.spent.load(Relaxed))
    }

    /// What the future has used so far. To be asked only from within a poll.
    pub(crate) fn running(&self) -> Duration {
        self.spent() + Duration::from_nanos(thread_clock().saturating_sub(self.since.load(Relaxed)))
    }
}

/// The CPU time of this thread in nanoseconds.
fn thread_clock() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waiting_is_free_and_working_is_not() {
        let meter = Meter::default();
        meter.measure(tokio::time::sleep(Duration::from_millis(50))).await;
        assert!(meter.spent() < Duration::from_millis(20), "waiting cost {:?}", meter.spent());
        meter
            .measure(async {
                let start = thread_clock();
                while thread_clock() - start < 30_000_000 {}
                assert!(meter.running() >= Duration::from_millis(30));
            })
            .await;
        assert!(meter.spent() >= Duration::from_millis(30), "working cost {:?}", meter.spent());
    }
}
