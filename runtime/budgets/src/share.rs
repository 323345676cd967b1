//! How many objects may be deleted in how long. No clock: times are arguments.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// A bound on deletions, so that a wrong answer costs a few objects and not the cluster.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Budget {
    /// The share of all objects, in percent, that may be deleted in one window; but always a few.
    pub percent: u8,
    /// So many in any case.
    pub least: usize,
    /// How long a deletion counts.
    pub window: Duration,
}

/// When objects were deleted, and how many there were then.
#[derive(Debug, Default)]
pub struct Spent(VecDeque<(Instant, usize)>);

impl Budget {
    /// How many of so many objects may be deleted in one window.
    fn deletions(&self, objects: usize) -> usize {
        (objects * usize::from(self.percent) / 100).max(self.least)
    }
}

impl Spent {
    /// Takes one deletion, when there are so many objects. The share is that of the most objects
    /// in this window: what was deleted does not make it smaller.
    ///
    /// # Errors
    ///
    /// The number of deletions in this window, if all of them are spent.
    pub fn take(&mut self, budget: &Budget, objects: usize, now: Instant) -> Result<(), usize> {
        if self.left(budget, objects, now) == 0 {
            return Err(budget.deletions(self.most().max(objects)));
        }
        self.count(objects, now);
        Ok(())
    }

    /// How many deletions are left in this window, as [`take`](Self::take) counts them.
    pub fn left(&mut self, budget: &Budget, objects: usize, now: Instant) -> usize {
        self.forget(budget.window, now);
        budget.deletions(self.most().max(objects)).saturating_sub(self.0.len())
    }

    /// Forgets deletions that do not count any more.
    fn forget(&mut self, window: Duration, now: Instant) {
        while self.0.front().is_some_and(|(at, _)| now.saturating_duration_since(*at) >= window) {
            self.0.pop_front();
        }
    }

    /// Whether no deletion counts.
    pub(crate) fn is_unspent(&mut self, window: Duration, now: Instant) -> bool {
        self.forget(window, now);
        self.0.is_empty()
    }

    /// The most objects at one of the deletions of this window.
    fn most(&self) -> usize {
        self.0.iter().map(|(_, objects)| *objects).max().unwrap_or_default()
    }

    /// Counts a deletion, whether or not one is left.
    pub fn count(&mut self, objects: usize, now: Instant) {
        self.0.push_back((now, objects));
    }

    /// How long ago the deletions of the last `window` were, and how many.
    pub fn ages(&self, window: Duration, now: Instant) -> Vec<(Duration, u32)> {
        let all = self.0.iter().map(|(at, _)| (now.saturating_duration_since(*at), 1));
        all.filter(|(age, _)| *age < window).collect()
    }

    /// Counts deletions of a process before. How many objects there were then is not known: the present ones say the share.
    pub fn restore(&mut self, ages: impl Iterator<Item = (Duration, u32)>, now: Instant) {
        for (age, count) in ages {
            let at = now.checked_sub(age);
            self.0.extend(at.into_iter().flat_map(|at| std::iter::repeat_n((at, 0), count as usize)));
        }
        self.0.make_contiguous().sort_unstable();
    }

    /// Puts the last deletion back: it did not happen.
    pub fn put_back(&mut self) {
        self.0.pop_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_may_go_but_always_one() {
        let budget = Budget { percent: 10, least: 1, window: Duration::from_secs(600) };
        let deletions: Vec<_> = [0, 1, 9, 10, 19, 20, 100, 500].map(|nodes| budget.deletions(nodes)).into();
        assert_eq!(deletions, [1, 1, 1, 1, 1, 2, 10, 50]);
        assert_eq!(Budget { percent: 0, ..budget }.deletions(1000), 1);
        assert_eq!([20, 40].map(|it| Budget { least: 3, ..budget }.deletions(it)), [3, 4], "or always three");
        assert_eq!(Budget { percent: 100, ..budget }.deletions(1000), 1000);
    }

    #[test]
    fn adv_71_a_tenth_of_the_nodes_may_go_in_any_ten_minutes() {
        let budget = Budget { percent: 10, least: 1, window: Duration::from_secs(600) };
        let (mut spent, start) = (Spent::default(), Instant::now());
        let mut at = Vec::new();
        for second in 0..3600 {
            if spent.take(&budget, 500, start + Duration::from_secs(second)).is_ok() {
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
    fn the_share_stays_while_nodes_go() {
        let budget = Budget { percent: 10, least: 1, window: Duration::from_secs(600) };
        let (mut spent, now) = (Spent::default(), Instant::now());
        let taken = (0..100).take_while(|gone| spent.take(&budget, 100 - gone, now).is_ok()).count();
        assert_eq!(taken, 10);
        assert_eq!(spent.take(&budget, 90, now), Err(10));
        assert_eq!(spent.take(&budget, 200, now), Ok(()), "there are more nodes now");
    }

    #[test]
    fn a_deletion_that_did_not_happen_does_not_count() {
        let budget = Budget { percent: 10, least: 1, window: Duration::from_secs(600) };
        let (mut spent, now) = (Spent::default(), Instant::now());
        assert_eq!(spent.take(&budget, 10, now), Ok(()));
        assert_eq!(spent.take(&budget, 10, now), Err(1));
        spent.put_back();
        assert_eq!(spent.take(&budget, 10, now), Ok(()));
    }
}
