//! Deletions of nodes, counted so that they outlive the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout};

use crate::share::{Budget, Spent};

/// How long a deletion waits until a record of it is stored.
const RECORD: Duration = Duration::from_secs(10);
/// More deletions than any budget has: they leave nothing.
const ALL: u32 = 100_000;

/// The deletions of nodes of the last time. Clones share them.
///
/// Nothing is stored here. Once they are [kept](Self::keep), a node is deleted only after a record that holds its deletion is stored.
#[derive(Clone, Default)]
pub struct NodeDeletions(Arc<Inner>);

#[derive(Default)]
struct Inner {
    spent: Mutex<Spent>,
    /// How many were counted by this process.
    counted: AtomicU64,
    /// How long a deletion counts, where they are kept.
    window: Mutex<Option<Duration>>,
    due: Notify,
    /// How many of those that were counted are in a record that is stored.
    stored: watch::Sender<u64>,
}

impl NodeDeletions {
    /// From now on no node is deleted before a record is stored that holds its deletion. It counts for this `window`.
    pub fn keep(&self, window: Duration) {
        *self.0.window.lock() = Some(window);
    }

    /// Ends when a deletion waits for a record.
    pub async fn due(&self) {
        self.0.due.notified().await;
    }

    /// The record to store now: the ages of deletions and their counts; and the number that [`Self::stored`] is told.
    #[must_use]
    pub fn record(&self, now: Instant) -> (Vec<(Duration, u32)>, u64) {
        let (spent, window) = (self.spent(), self.0.window.lock().unwrap_or_default());
        (spent.ages(window, now), self.0.counted.load(Ordering::Relaxed))
    }

    /// A record is stored.
    pub fn stored(&self, number: u64) {
        self.0.stored.send_if_modified(|stored| {
            let is_new = *stored != number;
            *stored = number;
            is_new
        });
    }

    /// Counts the deletions of processes before: the latest, and no more than any budget has.
    pub fn restore(&self, ages: &[(Duration, u32)], now: Instant) {
        let (mut latest, mut left) = (ages.to_vec(), ALL);
        latest.sort_unstable();
        let bounded = latest.into_iter().map(|(age, count)| {
            let count = count.min(left);
            left -= count;
            (age, count)
        });
        self.spent().restore(bounded, now);
    }

    /// The deletions of processes before cannot be known: for one window, only nodes go that a person has approved.
    pub fn fill(&self, now: Instant) {
        self.restore(&[(Duration::ZERO, ALL)], now);
    }

    /// Takes one deletion of so many nodes.
    ///
    /// # Errors
    ///
    /// The number of deletions in this window, if all of them are spent.
    pub fn take(&self, budget: &Budget, nodes: usize, now: Instant) -> Result<(), usize> {
        let mut spent = self.spent();
        spent.take(budget, nodes, now)?;
        self.0.counted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Puts the last deletion back: it did not happen.
    pub fn put_back(&self) {
        self.spent().put_back();
    }

    /// Waits until what was taken is stored, where it is kept. Returns whether it is.
    pub async fn are_stored(&self) -> bool {
        if self.0.window.lock().is_none() {
            return true;
        }
        let mut stored = self.0.stored.subscribe();
        let counted = self.0.counted.load(Ordering::Relaxed);
        self.0.due.notify_one();
        timeout(RECORD, stored.wait_for(|it| *it >= counted)).await.is_ok_and(|it| it.is_ok())
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.0.spent.lock()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    const BUDGET: Budget = Budget { percent: 10, least: 1, window: Duration::from_secs(600) };
    const SECOND: Duration = Duration::from_secs(1);

    /// How many of a hundred nodes may go.
    fn gone(deletions: &NodeDeletions, now: Instant) -> usize {
        (0..100).filter(|_| deletions.take(&BUDGET, 100, now).is_ok()).count()
    }

    #[test]
    fn adv_162_two_processes_delete_a_tenth_of_the_nodes() {
        let (before, start) = (NodeDeletions::default(), Instant::now());
        before.keep(BUDGET.window);
        (0..7).for_each(|_| before.take(&BUDGET, 100, start).unwrap());
        let (ages, _) = before.record(start + 30 * SECOND);
        let after = NodeDeletions::default();
        after.restore(&ages, start + 30 * SECOND);
        assert_eq!(gone(&after, start + 90 * SECOND), 3);
        assert_eq!(gone(&after, start + BUDGET.window), 7, "a window is a window");
        let full = NodeDeletions::default();
        full.fill(start);
        assert_eq!((gone(&full, start + 599 * SECOND), gone(&full, start + BUDGET.window)), (0, 10));
    }

    #[test]
    fn a_deletion_that_did_not_happen_is_put_back() {
        let (deletions, now) = (NodeDeletions::default(), Instant::now());
        assert_eq!(gone(&deletions, now), 10);
        deletions.put_back();
        assert_eq!(gone(&deletions, now), 1);
    }

    #[test]
    fn a_record_holds_the_deletions_of_one_window() {
        let (deletions, start) = (NodeDeletions::default(), Instant::now());
        deletions.keep(BUDGET.window);
        deletions.take(&BUDGET, 100, start).unwrap();
        let held = |seconds: u32| deletions.record(start + seconds * SECOND).0;
        assert_eq!((held(599), held(600)), (vec![(599 * SECOND, 1)], Vec::new()));
    }

    #[test]
    fn adv_162_a_record_of_billions_costs_no_more_than_a_full_one() {
        let (deletions, now) = (NodeDeletions::default(), Instant::now());
        let ages: Vec<_> = (0..5_000).rev().map(|age| (age * SECOND, u32::MAX)).collect();
        deletions.restore(&ages, now);
        assert_eq!(deletions.spent().ages(Duration::from_secs(1 << 20), now).len(), ALL as usize);
        assert_eq!(gone(&deletions, now + 599 * SECOND), 0, "the latest count");
    }

    #[tokio::test(start_paused = true)]
    async fn adv_162_a_deletion_waits_until_it_is_stored() {
        let (deletions, now) = (NodeDeletions::default(), Instant::now());
        deletions.take(&BUDGET, 100, now).unwrap();
        assert!(deletions.are_stored().await, "without a Lease it lives in memory");
        deletions.keep(BUDGET.window);
        let (_, old) = deletions.record(now);
        deletions.take(&BUDGET, 100, now).unwrap();
        let mut waiting = Box::pin(deletions.are_stored());
        assert_eq!(waiting.as_mut().now_or_never(), None);
        deletions.due().await;
        deletions.stored(old);
        assert_eq!(waiting.as_mut().now_or_never(), None, "that record does not hold it");
        deletions.stored(deletions.record(now).1);
        assert_eq!(waiting.as_mut().now_or_never(), Some(true));
        deletions.take(&BUDGET, 100, now).unwrap();
        assert!(!deletions.are_stored().await, "no record is stored in time");
    }
}
