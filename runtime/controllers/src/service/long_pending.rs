//! Load balancers that are pending for long: when that is recorded. No client, no clock, no log.

use std::time::Duration;

use tokio::time::Instant;

/// How long a load balancer may be pending without an event.
const QUIET: Duration = Duration::from_secs(120);
/// How often an event says that it still is.
const AGAIN: Duration = Duration::from_secs(600);

/// That a provider said `pending`, and has said nothing else since.
#[derive(Clone, Debug)]
pub(super) struct LongPending {
    since: Instant,
    reported: Option<Instant>,
    /// The reason that it said last, and since when it has said no other.
    because: String,
    because_since: Instant,
}

impl LongPending {
    pub(super) fn new(now: Instant) -> Self {
        Self { since: now, reported: None, because: String::new(), because_since: now }
    }

    /// It said `pending` once more, for this reason. Returns how long it has said so.
    pub(super) fn says(&mut self, because: &str, now: Instant) -> Duration {
        if self.because != because {
            because.clone_into(&mut self.because);
            self.because_since = now;
        }
        now.saturating_duration_since(self.because_since)
    }

    pub(super) fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.since)
    }

    /// What is to be recorded now: after two minutes, and then every ten. The text stays the same while the reason
    /// does, so that the event is one with a count.
    pub(super) fn message_due(&mut self, now: Instant) -> Option<String> {
        let is_due = match self.reported {
            None => self.age(now) >= QUIET,
            Some(reported) => now.saturating_duration_since(reported) >= AGAIN,
        };
        is_due.then(|| {
            self.reported = Some(now);
            format!("Still waiting for the cloud, for more than two minutes: {}", self.because)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_wait_is_recorded_after_two_minutes_and_rarely_again() {
        let start = Instant::now();
        let mut wait = LongPending::new(start);
        wait.says("it is being built", start);
        let reported: Vec<_> =
            (0..=1_400).filter(|it| wait.message_due(start + Duration::from_secs(*it)).is_some()).collect();
        assert_eq!(reported, [120, 720, 1_320]);
        wait.says("it is still being built", start + AGAIN);
        let message = wait.message_due(start + Duration::from_secs(1_920)).unwrap();
        assert_eq!(message, "Still waiting for the cloud, for more than two minutes: it is still being built");
        assert_eq!(wait.age(start + QUIET), QUIET);
    }

    #[test]
    fn each_reason_has_a_time_of_its_own() {
        let start = Instant::now();
        let mut wait = LongPending::new(start);
        let said = [("a", 0), ("a", 1), ("a", 5), ("b", 6), ("b", 9), ("a", 10)];
        let waited = said.map(|(because, at)| wait.says(because, start + Duration::from_secs(at)).as_secs());
        assert_eq!(waited, [0, 1, 5, 0, 3, 0]);
    }
}
