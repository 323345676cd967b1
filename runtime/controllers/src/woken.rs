//! Objects that others change as often as they like: a change is reason for work at once, but not twice in five seconds.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How often a change of one object is reason for work at once.
const AGAIN: Duration = Duration::from_secs(5);

/// The objects that were woken by a change, and when.
#[derive(Debug, Default)]
pub(crate) struct WokenKeys {
    woken: HashMap<String, Instant>,
    /// Those that have changed once more since.
    late: BTreeSet<String>,
}

impl WokenKeys {
    /// An object has changed. Whether it is looked at at once, and not when its own pause ends.
    pub(crate) fn wake(&mut self, key: &str, now: Instant) -> bool {
        self.woken.retain(|_, it| *it + AGAIN > now);
        let is_due = !self.woken.contains_key(key);
        if is_due {
            self.woken.insert(key.to_owned(), now);
        }
        is_due
    }

    /// As [`wake`](Self::wake). One that is not looked at at once is among those that are [`due`](Self::due) later.
    fn wake_or_keep(&mut self, key: &str, now: Instant) -> bool {
        let is_due = self.wake(key, now);
        if is_due {
            self.late.remove(key);
        } else {
            self.late.insert(key.to_owned());
        }
        is_due
    }

    /// Those that have changed once more, and may be looked at again.
    fn due(&mut self, now: Instant) -> Vec<String> {
        let late: Vec<_> = self.late.iter().cloned().collect();
        late.into_iter().filter(|it| self.wake_or_keep(it, now)).collect()
    }
}

/// The same with a clock. No change is lost: the last one of many is looked at after the five seconds.
#[derive(Debug, Default)]
pub(crate) struct FrequentChanges {
    keys: Mutex<WokenKeys>,
    /// A change is kept for later.
    is_kept: Notify,
}

impl FrequentChanges {
    /// An object has changed. Whether it is looked at at once; if not, [`follow`](Self::follow) names it later.
    pub(crate) fn wake(&self, key: &str) -> bool {
        let is_due = self.keys.lock().wake_or_keep(key, Instant::now());
        if !is_due {
            self.is_kept.notify_one();
        }
        is_due
    }

    /// Names the objects whose changes were kept, once it is time.
    pub(crate) async fn follow(&self, wake: impl Fn(&str) + Send + Sync) {
        loop {
            self.is_kept.notified().await;
            tokio::time::sleep(AGAIN).await;
            let due = self.keys.lock().due(Instant::now());
            due.iter().for_each(|it| wake(it));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_that_change_all_the_time_wake_nobody() {
        let (mut keys, begin) = (WokenKeys::default(), Instant::now());
        assert!(keys.wake("n1", begin) && keys.wake("n2", begin), "they come");
        let times = (1..100).filter(|it| keys.wake("n1", begin + AGAIN * *it / 10)).count();
        assert_eq!(times, 9, "once in five seconds");
        assert_eq!(keys.woken.len(), 1, "the other one is forgotten");
        assert!(keys.late.is_empty());
    }

    #[test]
    fn changes_that_come_too_early_are_kept_and_not_lost() {
        let (mut keys, begin) = (WokenKeys::default(), Instant::now());
        assert!(keys.wake_or_keep("a", begin));
        assert!(!keys.wake_or_keep("a", begin + AGAIN / 2) && !keys.wake_or_keep("a", begin + AGAIN / 2));
        assert_eq!(keys.due(begin + AGAIN / 2), [""; 0], "it is too early");
        assert_eq!(keys.due(begin + AGAIN), ["a"]);
        assert_eq!(keys.due(begin + AGAIN * 2), [""; 0], "once");
        assert!(keys.wake_or_keep("a", begin + AGAIN * 2) && !keys.wake_or_keep("a", begin + AGAIN * 2));
        assert!(keys.wake_or_keep("a", begin + AGAIN * 3), "the next change says it, too");
        assert_eq!(keys.due(begin + AGAIN * 4), [""; 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_that_was_kept_is_named_after_five_seconds() {
        let (changes, begin) = (FrequentChanges::default(), Instant::now());
        let named = Mutex::new(Vec::new());
        assert!(changes.wake("a") && !changes.wake("a"));
        let follow = changes.follow(|key| named.lock().push((key.to_owned(), begin.elapsed().as_secs())));
        assert!(tokio::time::timeout(AGAIN * 4, follow).await.is_err());
        assert_eq!(*named.lock(), [("a".to_owned(), AGAIN.as_secs())]);
    }
}
