//! How much Kubernetes asks to have changed in the cloud, counted over the last minutes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use cloud_provider::Demand;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::Instant;

/// The longest time that can be asked about.
pub const LONGEST_WINDOW: Duration = Duration::from_secs(3600);
/// Changes within this time are kept as one entry.
const STEP: Duration = Duration::from_secs(1);

/// Changes of the cloud that Kubernetes asks for. Clones share the counts.
#[derive(Clone, Default)]
pub struct RequestedChanges {
    counts: Arc<Mutex<Counts>>,
    /// How often a person has approved.
    approvals: Arc<watch::Sender<u64>>,
}

#[derive(Default)]
struct Counts {
    waiting: u32,
    new: Window,
    changes: Window,
    /// So many changes that a process before has counted may be seen again, until then.
    repeated: Option<(u32, Instant)>,
    approved: Option<Instant>,
}

/// A Service that waits for its first load balancer, until this is dropped.
pub struct WaitingChange(RequestedChanges);

impl RequestedChanges {
    /// The demand in the `window` that ends now. The window is at most [`LONGEST_WINDOW`].
    #[must_use]
    pub fn within(&self, window: Duration, now: Instant) -> Demand {
        let counts = self.counts();
        Demand {
            waiting: counts.waiting,
            new: counts.new.within(window, now),
            changes: counts.changes.within(window, now),
            is_approved: counts.approved.is_some_and(|it| now.saturating_duration_since(it) < window),
        }
    }

    /// A person approves that more is written, for one window from now on.
    pub fn approve(&self, now: Instant) {
        self.counts().approved = Some(now);
        self.approvals.send_modify(|it| *it += 1);
    }

    /// How often a person has approved.
    pub fn approvals(&self) -> watch::Receiver<u64> {
        self.approvals.subscribe()
    }

    /// A Service, or a pod network of a node, was seen for the first time.
    pub fn add_new(&self, now: Instant) {
        self.counts().new.add(1, now);
    }

    /// A Service asks for something else than before, is deleted, or so many nodes have come to it or left it: clouds take
    /// those one by one. Or so many pod networks have lost their node.
    pub fn add_changes(&self, changes: u32, now: Instant) {
        self.counts().changes.add(changes, now);
    }

    /// A deletion that was already asked for when this process first saw it. Where a process before has counted changes, it is
    /// one of them: a process that is started again and again must not free writes by that.
    pub fn add_deletion_found(&self, now: Instant) {
        let mut counts = self.counts();
        match &mut counts.repeated {
            Some((left, until)) if *left > 0 && now < *until => *left -= 1,
            Some(_) | None => counts.changes.add(1, now),
        }
    }

    /// The changes of the `window` that ends now: how long ago, and how many. It outlives the process on the Lease.
    #[must_use]
    pub fn changes(&self, window: Duration, now: Instant) -> Vec<(Duration, u32)> {
        self.counts().changes.ages(window, now)
    }

    /// Counts the changes that a process before has counted in the `window` that ends now.
    pub fn restore(&self, changes: &[(Duration, u32)], window: Duration, now: Instant) {
        let mut counts = self.counts();
        let within = changes.iter().filter(|(age, _)| *age < window);
        let mut all: Vec<_> = within.filter_map(|(age, count)| Some((now.checked_sub(*age)?, *count))).collect();
        let repeated = all.iter().fold(0_u32, |sum, (_, count)| sum.saturating_add(*count));
        counts.repeated = Some((repeated, now + window));
        all.extend(counts.changes.0.drain(..));
        all.sort_unstable();
        counts.changes.0 = all.into();
    }

    /// A Service waits for its first load balancer from now on.
    pub fn wait(&self) -> WaitingChange {
        self.counts().waiting += 1;
        WaitingChange(self.clone())
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock()
    }
}

impl Drop for WaitingChange {
    fn drop(&mut self) {
        self.0.counts().waiting -= 1;
    }
}

/// A count over the last minutes. Its clock is an argument.
#[derive(Default)]
struct Window(VecDeque<(Instant, u32)>);

impl Window {
    fn add(&mut self, more: u32, now: Instant) {
        while self.0.front().is_some_and(|(at, _)| now.saturating_duration_since(*at) > LONGEST_WINDOW + STEP) {
            self.0.pop_front();
        }
        match self.0.back_mut() {
            Some((at, count)) if now.saturating_duration_since(*at) < STEP => *count = count.saturating_add(more),
            Some(_) | None => self.0.push_back((now, more)),
        }
    }

    fn within(&self, window: Duration, now: Instant) -> u32 {
        self.ages(window, now).iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    fn ages(&self, window: Duration, now: Instant) -> Vec<(Duration, u32)> {
        let all = self.0.iter().map(|(at, count)| (now.saturating_duration_since(*at), *count));
        all.filter(|(age, _)| *age < window).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(600);
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn restored_changes_count_beside_those_seen() {
        let (requested, now) = (RequestedChanges::default(), Instant::now());
        requested.add_changes(2, now);
        requested.restore(&[(10 * SECOND, 3)], WINDOW, now);
        assert_eq!(requested.changes(WINDOW, now), [(10 * SECOND, 3), (Duration::ZERO, 2)]);
    }

    #[test]
    fn changes_count_for_one_window() {
        let (requested, start) = (RequestedChanges::default(), Instant::now());
        for second in 0..700 {
            requested.add_changes(1, start + second * SECOND);
            requested.add_changes(1, start + second * SECOND + SECOND / 2);
        }
        let now = start + 699 * SECOND;
        assert_eq!(requested.within(WINDOW, now).changes, 1200);
        assert_eq!(requested.within(10 * SECOND, now).changes, 20);
        assert_eq!(requested.within(WINDOW, now + WINDOW).changes, 0);
        let far = start + 2 * LONGEST_WINDOW;
        requested.add_changes(1, far);
        assert_eq!(requested.counts().changes.0.len(), 1, "what is too old is not kept");
    }

    #[test]
    fn adv_162_changes_outlive_the_process_and_count_once() {
        let (before, start) = (RequestedChanges::default(), Instant::now());
        before.add_changes(3, start);
        before.add_deletion_found(start + 2 * SECOND);
        let now = start + 60 * SECOND;
        let (after, ages) = (RequestedChanges::default(), before.changes(WINDOW, now));
        assert_eq!(ages, [(60 * SECOND, 3), (58 * SECOND, 1)]);
        after.restore(&ages, WINDOW, now);
        assert_eq!(after.within(WINDOW, now).changes, 4);
        (0..4).for_each(|_| after.add_deletion_found(now));
        assert_eq!(after.within(WINDOW, now).changes, 4, "what is seen again was counted before");
        after.add_deletion_found(now);
        after.add_changes(1, now);
        assert_eq!(after.within(WINDOW, now).changes, 6);
        assert_eq!(after.within(WINDOW, start + WINDOW).changes, 3, "each for one window");
    }

    #[test]
    fn adv_162_changes_of_long_ago_hide_no_deletion() {
        let (requested, start) = (RequestedChanges::default(), Instant::now() + 2 * WINDOW);
        requested.restore(&[(WINDOW + SECOND, 200), (WINDOW - SECOND, 1)], WINDOW, start);
        (0..3).for_each(|_| requested.add_deletion_found(start));
        assert_eq!(requested.within(WINDOW, start).changes, 3, "one of them was counted before");
        requested.restore(&[(SECOND, 200)], WINDOW, start);
        let late = start + WINDOW;
        (0..3).for_each(|_| requested.add_deletion_found(late));
        assert_eq!(requested.within(WINDOW, late).changes, 3, "what was counted before counts no more");
    }

    #[test]
    fn a_service_waits_until_its_guard_is_dropped() {
        let (requested, now) = (RequestedChanges::default(), Instant::now());
        let waiting = [requested.wait(), requested.wait()];
        assert_eq!(requested.within(WINDOW, now).waiting, 2);
        drop(waiting);
        assert_eq!(requested.within(WINDOW, now), Demand::default());
    }

    #[test]
    fn an_approval_lasts_one_window() {
        let (requested, now) = (RequestedChanges::default(), Instant::now());
        assert!(!requested.within(WINDOW, now).is_approved);
        requested.approve(now);
        assert!(requested.within(WINDOW, now + WINDOW - SECOND).is_approved);
        assert!(!requested.within(WINDOW, now + WINDOW).is_approved);
        assert_eq!(*requested.approvals().borrow(), 1);
    }
}
