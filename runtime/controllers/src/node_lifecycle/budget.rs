//! How many nodes may be deleted in how long. No clock: it is told the time.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// A bound on deletions, so that a wrong answer of the cloud costs a few nodes and not the cluster.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Budget {
    /// Of the nodes that have a provider id, so many percent may be deleted in one window; but always one.
    pub percent: u8,
    /// How long a deletion counts.
    pub window: Duration,
}

/// When nodes were deleted.
#[derive(Debug, Default)]
pub(super) struct Spent(VecDeque<Instant>);

impl Budget {
    /// How many of so many nodes may be deleted in one window.
    pub(super) fn deletions(&self, nodes: usize) -> usize {
        (nodes * usize::from(self.percent) / 100).max(1)
    }
}

impl Spent {
    /// Takes one deletion of `deletions` in a window. Returns whether there was one left.
    pub(super) fn take(&mut self, deletions: usize, window: Duration, now: Instant) -> bool {
        while self.0.front().is_some_and(|at| now.saturating_duration_since(*at) >= window) {
            self.0.pop_front();
        }
        let left = self.0.len() < deletions;
        if left {
            self.0.push_back(now);
        }
        left
    }

    /// Puts the last deletion back: it did not happen.
    pub(super) fn put_back(&mut self) {
        self.0.pop_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_may_go_but_always_one() {
        let budget = Budget { percent: 10, window: Duration::from_secs(600) };
        let deletions: Vec<_> = [0, 1, 9, 10, 19, 20, 100, 500].map(|nodes| budget.deletions(nodes)).into();
        assert_eq!(deletions, [1, 1, 1, 1, 1, 2, 10, 50]);
        assert_eq!(Budget { percent: 0, ..budget }.deletions(1000), 1);
        assert_eq!(Budget { percent: 100, ..budget }.deletions(1000), 1000);
    }

    #[test]
    fn adv_71_of_five_hundred_nodes_fifty_may_go_in_any_ten_minutes() {
        let budget = Budget { percent: 10, window: Duration::from_secs(600) };
        let (mut spent, start) = (Spent::default(), Instant::now());
        let mut at = Vec::new();
        for second in 0..3600 {
            if spent.take(budget.deletions(500), budget.window, start + Duration::from_secs(second)) {
                at.push(second);
            }
        }
        assert_eq!(at.len(), 300);
        for second in 0..3000 {
            let window = second..second + 600;
            assert!(at.iter().filter(|it| window.contains(*it)).count() <= 50, "from second {second} on");
        }
    }

    #[test]
    fn what_did_not_happen_does_not_count() {
        let (mut spent, now) = (Spent::default(), Instant::now());
        assert!(spent.take(1, Duration::from_secs(600), now));
        assert!(!spent.take(1, Duration::from_secs(600), now));
        spent.put_back();
        assert!(spent.take(1, Duration::from_secs(600), now));
    }
}
