//! How much CPU time a future has used, without what the host does for itself meanwhile.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The CPU time spent inside `poll` of one future.
///
/// Wall time would charge a guest for the neighbours that its thread had to wait for, and counting ticks charges it for
/// every wake after a host call. What the host does with the cloud's words, the meter leaves out: a guest has not chosen them.
#[derive(Default)]
pub(crate) struct Meter {
    /// Nanoseconds in the polls that have ended.
    spent: AtomicU64,
    /// The thread's clock at the beginning of the poll that is running, in nanoseconds, later by what was left out of it. One poll
    /// never changes thread.
    since: AtomicU64,
}

impl Meter {
    /// Runs `future`, and charges it for every poll.
    pub(crate) async fn measure<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            self.since.store(thread_clock(), Relaxed);
            let poll = future.as_mut().poll(context);
            self.spent.fetch_add(thread_clock().saturating_sub(self.since.load(Relaxed)), Relaxed);
            poll
        })
        .await
    }

    /// Runs `future` within a future that is measured, and charges nothing for it.
    pub(crate) async fn leave_out<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            let start = thread_clock();
            let poll = future.as_mut().poll(context);
            self.since.fetch_add(thread_clock().saturating_sub(start), Relaxed);
            poll
        })
        .await
    }

    /// The time that the polls that have ended used.
    pub(crate) fn spent(&self) -> Duration {
        Duration::from_nanos(self.spent.load(Relaxed))
    }

    /// The time that the future has used so far. To be asked only from within a poll.
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

    fn work(milliseconds: u64) {
        let start = thread_clock();
        while thread_clock() - start < milliseconds * 1_000_000 {}
    }

    #[tokio::test]
    async fn adv_158_work_that_is_left_out_costs_nothing() {
        let meter = Meter::default();
        let host = async {
            work(100);
            tokio::task::yield_now().await;
            work(100);
        };
        meter
            .measure(async {
                work(10);
                meter.leave_out(host).await;
                work(10);
                assert!(meter.running() >= Duration::from_millis(20), "{:?}", meter.running());
            })
            .await;
        let spent = meter.spent();
        assert!((Duration::from_millis(20)..Duration::from_millis(100)).contains(&spent), "{spent:?}");
    }

    #[tokio::test]
    async fn waiting_is_free_and_working_is_not() {
        let meter = Meter::default();
        meter.measure(tokio::time::sleep(Duration::from_millis(50))).await;
        assert!(meter.spent() < Duration::from_millis(20), "waiting cost {:?}", meter.spent());
        meter
            .measure(async {
                work(30);
                assert!(meter.running() >= Duration::from_millis(30));
            })
            .await;
        assert!(meter.spent() >= Duration::from_millis(30), "working cost {:?}", meter.spent());
    }
}
