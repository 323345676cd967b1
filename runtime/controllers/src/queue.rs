//! Upstream's work queue as plain data: keys, times and failures go in, keys come out.
//!
//! A key is *dirty* while it waits for a worker and *processing* while one has it, so no key is ever worked on twice at
//! once, and any number of additions during a run makes one more run. Nothing in here looks at a clock.

pub(crate) mod limits;
pub(crate) mod pump;

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::error::Pause;

use self::limits::Limits;

/// Keys that want to be worked on.
#[derive(Debug)]
pub(crate) struct Queue {
    /// Keys that a worker may take now, oldest first.
    ready: VecDeque<String>,
    /// Keys that wait, and since when: all of `ready`, and those that were added while they were processed.
    dirty: HashMap<String, Instant>,
    /// Keys that workers have, and since when.
    processing: HashMap<String, Instant>,
    /// Keys that become ready later, earliest first.
    delayed: BTreeSet<(Instant, String)>,
    /// The time under which a key stands in `delayed`.
    due: HashMap<String, Instant>,
    /// Those of `delayed` that no mere change may bring forward.
    held: HashSet<String>,
    /// Those of `processing` for which a pause that their worker asks for does not count any more.
    unholdable: HashSet<String>,
    limits: Limits,
}

/// A key that a worker has, and how long it waited.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct TakenKey {
    pub(crate) key: String,
    pub(crate) waited: Duration,
}

impl Queue {
    /// A queue whose keys fail within `limits`.
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            ready: VecDeque::new(),
            dirty: HashMap::new(),
            processing: HashMap::new(),
            delayed: BTreeSet::new(),
            due: HashMap::new(),
            held: HashSet::new(),
            unholdable: HashSet::new(),
            limits,
        }
    }

    /// Makes a key ready at once, also when it is backing off, but not during a pause that was asked for. Returns
    /// whether it was not waiting already.
    pub(crate) fn add(&mut self, key: &str, now: Instant) -> bool {
        if self.dirty.contains_key(key) || self.held.contains(key) {
            return false;
        }
        self.dirty.insert(key.to_owned(), now);
        if !self.processing.contains_key(key) {
            self.ready.push_back(key.to_owned());
        }
        true
    }

    /// Makes a key ready at once, also during a pause that was asked for: there is something else to do than what asked
    /// for it. Nor does a pause count that is asked for by a worker who has the key now. Returns whether it was not
    /// waiting already.
    pub(crate) fn add_despite_pause(&mut self, key: &str, now: Instant) -> bool {
        if self.held.remove(key) {
            self.cancel(key);
        }
        if self.processing.contains_key(key) {
            self.unholdable.insert(key.to_owned());
        }
        self.add(key, now)
    }

    /// Makes a key ready after a delay; of several delays the earliest end counts.
    pub(crate) fn add_after(&mut self, key: &str, delay: Duration, now: Instant) {
        let at = now + delay;
        match self.due.get(key) {
            Some(&existing) if existing <= at => return,
            Some(_) => self.cancel(key),
            None => {}
        }
        self.due.insert(key.to_owned(), at);
        self.delayed.insert((at, key.to_owned()));
    }

    /// Whether a key has failed, or has been put back for later.
    pub(crate) fn is_paused(&self, key: &str) -> bool {
        self.due.contains_key(key) || self.failures(key) > 0
    }

    /// How many times in a row a key has failed.
    pub(crate) fn failures(&self, key: &str) -> u32 {
        self.limits.failures(key)
    }

    /// Puts a key that failed back for later. `jitter` is between 0 and 1 and can only lengthen a pause.
    ///
    /// During a pause that was asked for the key is not worked on: what was added meanwhile comes after it, but for
    /// [`Queue::add_despite_pause`].
    pub(crate) fn retry(&mut self, key: &str, pause: Pause, now: Instant, jitter: f64) -> Duration {
        match pause {
            Pause::Exactly(_) if self.unholdable.contains(key) => Duration::ZERO,
            Pause::Exactly(delay) => {
                self.cancel(key);
                self.dirty.remove(key);
                self.held.insert(key.to_owned());
                self.add_after(key, delay, now);
                delay
            }
            Pause::AtLeast(delay) => {
                let delay = self.limits.failed(key, delay, now, jitter);
                self.add_after(key, delay, now);
                delay
            }
        }
    }

    /// Puts a key that did not fail back for later, whatever delay it had before. With no delay it has only been written down what
    /// comes next: whether that fails again is still to be seen, so that failures before it count.
    pub(crate) fn postpone(&mut self, key: &str, delay: Duration, now: Instant) {
        if !delay.is_zero() {
            self.limits.forget(key);
        }
        self.put_back(key, delay, now);
    }

    /// Puts a key back for later, whatever delay it had before. Failures before count: what was begun may fail once more.
    pub(crate) fn put_back(&mut self, key: &str, delay: Duration, now: Instant) {
        self.cancel(key);
        self.add_after(key, delay, now);
    }

    /// Forgets the failures of a key. A delay that it has already stays, as upstream.
    pub(crate) fn forget(&mut self, key: &str) {
        self.limits.forget(key);
    }

    /// Gives the next ready key to a worker.
    pub(crate) fn take(&mut self, now: Instant) -> Option<TakenKey> {
        let key = self.ready.pop_front()?;
        let since = self.dirty.remove(&key).unwrap_or(now);
        self.processing.insert(key.clone(), now);
        self.unholdable.remove(&key);
        Some(TakenKey { key, waited: now - since })
    }

    /// Whether a worker has a key.
    pub(crate) fn is_taken(&self, key: &str) -> bool {
        self.processing.contains_key(key)
    }

    /// Takes a key back from its worker. Returns how long it was worked on.
    pub(crate) fn done(&mut self, key: &str, now: Instant) -> Duration {
        let since = self.processing.remove(key).unwrap_or(now);
        if self.dirty.contains_key(key) {
            self.ready.push_back(key.to_owned());
        }
        now - since
    }

    /// Makes every key ready whose delay is over. Returns how many were not waiting already.
    pub(crate) fn promote(&mut self, now: Instant) -> usize {
        let mut added = 0;
        while let Some((at, _)) = self.delayed.first()
            && *at <= now
        {
            let Some((_, key)) = self.delayed.pop_first() else { break };
            self.due.remove(&key);
            self.held.remove(&key);
            added += usize::from(self.add(&key, now));
        }
        added
    }

    /// When the next delay ends.
    pub(crate) fn wakes_at(&self) -> Option<Instant> {
        self.delayed.first().map(|(at, _)| *at)
    }

    /// How many keys a worker may take now.
    pub(crate) fn depth(&self) -> usize {
        self.ready.len()
    }

    /// How long workers have been busy: all of them together, and the busiest.
    pub(crate) fn busy(&self, now: Instant) -> (Duration, Duration) {
        self.processing
            .values()
            .map(|since| now - *since)
            .fold((Duration::ZERO, Duration::ZERO), |(sum, longest), age| (sum + age, longest.max(age)))
    }

    /// Since when the oldest work has waited for a worker, or for one to finish it; `None` if there is none.
    pub(crate) fn waits_since(&self, now: Instant) -> Option<Instant> {
        let overdue = self.wakes_at().filter(|it| *it <= now);
        self.dirty.values().chain(self.processing.values()).copied().chain(overdue).min()
    }

    fn cancel(&mut self, key: &str) {
        if let Some(at) = self.due.remove(key) {
            self.delayed.remove(&(at, key.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn queue() -> (Queue, Instant) {
        let now = Instant::now();
        (Queue::new(Limits::shared(now)), now)
    }

    fn take(queue: &mut Queue, now: Instant) -> Option<String> {
        queue.promote(now);
        queue.take(now).map(|it| it.key)
    }

    #[test]
    fn a_key_that_waits_already_is_not_added_again() {
        let (mut queue, now) = queue();
        assert!(queue.add("a", now));
        assert!(!queue.add("a", now));
        assert!(queue.add("b", now));
        assert_eq!(queue.depth(), 2);
        assert_eq!(take(&mut queue, now).as_deref(), Some("a"));
        assert_eq!(take(&mut queue, now).as_deref(), Some("b"));
        assert_eq!(take(&mut queue, now), None);
    }

    #[test]
    fn case_036_ten_events_during_one_run_make_one_more_run() {
        let (mut queue, now) = queue();
        queue.add("n1", now);
        assert_eq!(take(&mut queue, now).as_deref(), Some("n1"));
        for _ in 0..10 {
            queue.add("n1", now);
        }
        assert_eq!(take(&mut queue, now), None, "no key is worked on twice at once");
        assert_eq!(queue.done("n1", now + SECOND), SECOND);
        assert_eq!(take(&mut queue, now).as_deref(), Some("n1"));
        queue.done("n1", now);
        assert_eq!(take(&mut queue, now), None);
    }

    #[test]
    fn the_earliest_of_several_delays_counts() {
        let (mut queue, now) = queue();
        queue.add_after("a", 5 * SECOND, now);
        queue.add_after("a", 2 * SECOND, now);
        queue.add_after("a", 9 * SECOND, now);
        assert_eq!(queue.wakes_at(), Some(now + 2 * SECOND));
        assert_eq!(take(&mut queue, now + SECOND), None);
        assert_eq!(take(&mut queue, now + 2 * SECOND).as_deref(), Some("a"));
        assert_eq!(queue.wakes_at(), None);
    }

    #[test]
    fn an_event_does_not_wait_for_the_back_off() {
        let (mut queue, now) = queue();
        queue.add_after("a", 5 * SECOND, now);
        queue.add("a", now);
        assert_eq!(take(&mut queue, now).as_deref(), Some("a"));
        queue.done("a", now);
        assert_eq!(take(&mut queue, now + 5 * SECOND).as_deref(), Some("a"), "the delay stays, as upstream");
    }

    #[test]
    fn a_pause_that_was_asked_for_is_kept_exactly() {
        let (mut queue, now) = queue();
        queue.add("a", now);
        queue.take(now);
        queue.add_after("a", SECOND, now);
        queue.add("a", now);
        assert_eq!(queue.retry("a", Pause::Exactly(7 * SECOND), now, 1.0), 7 * SECOND);
        queue.done("a", now);
        assert_eq!(queue.failures("a"), 0);
        assert!(queue.is_paused("a"));
        assert!(!queue.add("a", now + SECOND), "an event does not bring it forward");
        assert_eq!(take(&mut queue, now + 6 * SECOND), None);
        assert_eq!(take(&mut queue, now + 7 * SECOND).as_deref(), Some("a"));
        queue.done("a", now + 7 * SECOND);
        assert!(queue.add("a", now + 8 * SECOND), "afterwards everything is as before");
    }

    #[test]
    fn something_else_to_do_ends_a_pause_that_was_asked_for() {
        let (mut queue, now) = queue();
        queue.add("a", now);
        queue.take(now);
        queue.retry("a", Pause::Exactly(7 * SECOND), now, 1.0);
        queue.done("a", now);
        assert!(!queue.add("a", now));
        assert!(queue.add_despite_pause("a", now + SECOND));
        assert_eq!(take(&mut queue, now + SECOND).as_deref(), Some("a"));
        queue.done("a", now + SECOND);
        assert_eq!(queue.wakes_at(), None, "the pause is over, and nothing is left of it");
    }

    #[test]
    fn a_pause_asked_for_by_work_that_is_outdated_is_none() {
        let (mut queue, now) = queue();
        queue.add("a", now);
        queue.take(now);
        assert!(queue.add_despite_pause("a", now), "while a worker has it");
        assert_eq!(queue.retry("a", Pause::Exactly(7 * SECOND), now, 1.0), Duration::ZERO);
        queue.done("a", now);
        assert_eq!(take(&mut queue, now).as_deref(), Some("a"));
        queue.retry("a", Pause::Exactly(7 * SECOND), now, 1.0);
        queue.done("a", now);
        assert_eq!(take(&mut queue, now), None, "the pause that the next run asks for counts");
    }

    #[test]
    fn failures_are_counted_until_they_are_forgotten() {
        let (mut queue, now) = queue();
        for _ in 0..3 {
            queue.retry("a", Pause::AtLeast(SECOND), now, 0.0);
        }
        assert_eq!(queue.failures("a"), 3);
        queue.forget("a");
        assert_eq!(queue.failures("a"), 0);
    }

    #[test]
    fn work_under_way_ends_no_back_off() {
        let now = Instant::now();
        let mut queue = Queue::new(Limits::per_key());
        queue.retry("a", Pause::AtLeast(SECOND), now, 0.0);
        queue.put_back("a", 2 * SECOND, now);
        assert_eq!((queue.failures("a"), queue.wakes_at()), (1, Some(now + 2 * SECOND)));
        queue.forget("a");
        assert_eq!(queue.failures("a"), 0, "it is as it should be");
    }

    #[test]
    fn adv_167_an_announcement_ends_no_back_off() {
        let now = Instant::now();
        let mut queue = Queue::new(Limits::per_key());
        queue.retry("a", Pause::AtLeast(SECOND), now, 0.0);
        queue.postpone("a", Duration::ZERO, now);
        queue.retry("a", Pause::AtLeast(SECOND), now, 0.0);
        assert_eq!(queue.failures("a"), 2, "a creation is announced before each try, and refused again");
        queue.postpone("a", SECOND, now);
        assert_eq!(queue.failures("a"), 0);
    }

    #[test]
    fn a_postponed_key_has_not_failed_and_an_event_comes_first() {
        let (mut queue, now) = queue();
        queue.add("a", now);
        queue.take(now);
        queue.retry("a", Pause::AtLeast(SECOND), now, 0.0);
        queue.postpone("a", 7 * SECOND, now);
        queue.done("a", now);
        assert_eq!((queue.failures("a"), queue.wakes_at()), (0, Some(now + 7 * SECOND)));
        assert!(queue.add("a", now + SECOND));
        assert_eq!(take(&mut queue, now + SECOND).as_deref(), Some("a"));
        queue.postpone("a", 9 * SECOND, now + SECOND);
        queue.done("a", now + SECOND);
        assert_eq!(take(&mut queue, now + 9 * SECOND), None, "the new delay takes the place of the old one");
        assert_eq!(take(&mut queue, now + 10 * SECOND).as_deref(), Some("a"));
    }

    #[test]
    fn the_oldest_work_is_known_wherever_it_is() {
        let (mut queue, now) = queue();
        assert_eq!(queue.waits_since(now), None);
        queue.add_after("a", 5 * SECOND, now);
        assert_eq!(queue.waits_since(now + 4 * SECOND), None, "a pause is no work");
        assert_eq!(queue.waits_since(now + 7 * SECOND), Some(now + 5 * SECOND), "nobody took it in time");
        queue.promote(now + 7 * SECOND);
        assert_eq!(queue.waits_since(now + 8 * SECOND), Some(now + 7 * SECOND));
        queue.take(now + 8 * SECOND);
        assert_eq!(queue.waits_since(now + 9 * SECOND), Some(now + 8 * SECOND));
        queue.add("b", now + 9 * SECOND);
        queue.done("a", now + 10 * SECOND);
        assert_eq!(queue.waits_since(now + 10 * SECOND), Some(now + 9 * SECOND));
    }

    #[test]
    fn how_long_workers_are_busy_is_known() {
        let (mut queue, now) = queue();
        queue.add("a", now);
        queue.add("b", now);
        assert_eq!(queue.take(now + SECOND), Some(TakenKey { key: "a".into(), waited: SECOND }));
        queue.take(now + 2 * SECOND);
        assert_eq!(queue.busy(now + 4 * SECOND), (5 * SECOND, 3 * SECOND));
    }
}
