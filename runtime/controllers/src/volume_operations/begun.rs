//! Operations that were begun, and are not over. No client, no clock.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::method::CsiMethod;

/// An operation without a call for so long is forgotten: no answer of a cloud asks for a longer pause.
const STALE: Duration = Duration::from_secs(3_600);

/// Their times, by what is done and the object's name.
#[derive(Debug, Default)]
pub(super) struct BegunOperations(HashMap<(CsiMethod, String), OperationTimes>);

#[derive(Debug)]
struct OperationTimes {
    since: Instant,
    last: Instant,
}

impl BegunOperations {
    /// One call of an operation begins. Returns when its first one began.
    pub(super) fn begin(&mut self, method: CsiMethod, object: &str, now: Instant) -> Instant {
        let times = self.0.entry((method, object.to_owned())).or_insert(OperationTimes { since: now, last: now });
        times.last = now;
        times.since
    }

    /// It is over.
    pub(super) fn end(&mut self, method: CsiMethod, object: &str) {
        self.0.remove(&(method, object.to_owned()));
    }

    /// For how long the one has gone on that has done so longest; zero where there is none.
    pub(super) fn longest(&self, method: CsiMethod, now: Instant) -> Duration {
        let ages = self.0.iter().filter(|((it, _), _)| *it == method);
        ages.map(|(_, it)| now.saturating_duration_since(it.since)).max().unwrap_or_default()
    }

    /// Forgets those with which nobody goes on.
    pub(super) fn tidy(&mut self, now: Instant) {
        self.0.retain(|_, it| now.saturating_duration_since(it.last) < STALE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases: csi 77
    #[test]
    fn the_oldest_operation_is_known_until_it_ends() {
        let (mut all, now) = (BegunOperations::default(), Instant::now());
        let second = Duration::from_secs(1);
        assert_eq!(all.longest(CsiMethod::Attach, now), Duration::ZERO);
        assert_eq!(all.begin(CsiMethod::Attach, "a", now), now);
        assert_eq!(all.begin(CsiMethod::Attach, "b", now + second), now + second);
        assert_eq!(all.begin(CsiMethod::Attach, "a", now + 5 * second), now, "its first call counts");
        assert_eq!(all.longest(CsiMethod::Attach, now + 6 * second), 6 * second);
        assert_eq!(all.longest(CsiMethod::Detach, now + 6 * second), Duration::ZERO);
        all.end(CsiMethod::Attach, "a");
        assert_eq!(all.longest(CsiMethod::Attach, now + 6 * second), 5 * second);
        all.tidy(now + second + STALE);
        assert!(all.0.is_empty(), "nobody went on with it");
    }
}
