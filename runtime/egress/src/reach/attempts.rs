//! The decision whether a place counts as not reached: from what became of requests to it. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::cause::{CauseKind, Stop, WayCause};

/// How long nothing has to succeed. With a look each second and an event's way it stays well below half a minute.
const LONG: Duration = Duration::from_secs(15);
/// How far the first failure and the last one are apart at least: one that nobody repeats is no outage.
const APART: Duration = Duration::from_secs(8);
/// A request without a connection counts as failing after so long, before it ends: a name may have many addresses.
const PENDING: Duration = Duration::from_secs(10);
/// A failure that is so old says nothing any more.
const FORGOTTEN: Duration = Duration::from_secs(900);

/// The requests to one place.
#[derive(Default)]
pub(super) struct Attempts {
    number: u64,
    /// Those without a connection, by their number, and when they began.
    pending: BTreeMap<u64, Instant>,
    /// Since the last success.
    failures: Option<FailedSpan>,
}

struct FailedSpan {
    /// The beginning of the first one.
    since: Instant,
    /// The end of the last one.
    last: Instant,
    cause: WayCause,
    text: String,
}

/// A place that counts as not reached: the cause, and how the last request ended, if one has.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct OutOfReach {
    pub(super) cause: WayCause,
    pub(super) last: Option<String>,
}

impl Attempts {
    /// The number of a request that begins.
    pub(super) fn begin(&mut self, now: Instant) -> u64 {
        self.number += 1;
        self.pending.insert(self.number, now);
        self.number
    }

    /// A request has a connection, or has ended.
    pub(super) fn connected(&mut self, number: u64) {
        self.pending.remove(&number);
    }

    pub(super) fn reached(&mut self) {
        self.failures = None;
    }

    /// A request that began then has failed.
    pub(super) fn failed(&mut self, began: Instant, now: Instant, cause: WayCause, text: String) {
        let since = self.failures.as_ref().map_or(began, |it| it.since.min(began));
        self.failures = Some(FailedSpan { since, last: now, cause, text });
    }

    /// Whether the place counts as not reached; `first` is the first stop on the way.
    pub(super) fn verdict(&self, first: Stop, now: Instant) -> Option<OutOfReach> {
        let pending = self.pending.values().next().filter(|it| now.duration_since(**it) >= PENDING);
        let (failed, last) = match (&self.failures, pending) {
            (Some(it), None) => (it.since, it.last),
            (Some(it), Some(pending)) => (it.since.min(*pending), now),
            (None, pending) => (*pending?, now),
        };
        let is_out = now.duration_since(failed) >= LONG
            && last.duration_since(failed) >= APART
            && now.duration_since(last) < FORGOTTEN;
        is_out.then(|| match &self.failures {
            Some(it) => OutOfReach { cause: it.cause.clone(), last: Some(it.text.clone()) },
            None => OutOfReach { cause: WayCause::new(first, CauseKind::Dropped), last: None },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> WayCause {
        WayCause::new(Stop::Place, CauseKind::Refused)
    }

    /// Seconds after a beginning.
    fn at(seconds: u64) -> Instant {
        static BEGIN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
        *BEGIN + Duration::from_secs(seconds)
    }

    /// Whether the place counts as not reached then, after failures that began and ended at these seconds.
    fn is_out(failures: &[(u64, u64)], then: u64) -> bool {
        let mut attempts = Attempts::default();
        for &(began, ended) in failures {
            let number = attempts.begin(at(began));
            attempts.connected(number);
            attempts.failed(at(began), at(ended), refused(), "refused".to_owned());
        }
        attempts.verdict(Stop::Place, at(then)).is_some()
    }

    #[test]
    fn failures_that_go_on_for_a_while_are_an_outage() {
        assert!(!is_out(&[], 100));
        assert!(!is_out(&[(0, 0), (5, 5), (10, 10)], 14));
        assert!(is_out(&[(0, 0), (5, 5), (10, 10)], 15), "the next attempt may be long in coming");
        assert!(is_out(&[(0, 5), (5, 10), (10, 15)], 15), "a firewall that drops");
        assert!(!is_out(&[(0, 5)], 100), "one that nobody repeats");
        assert!(is_out(&[(0, 20)], 20), "one without an answer for long enough");
        assert!(!is_out(&[(0, 0), (10, 10)], 10 + 900), "long ago");
    }

    #[test]
    fn an_answer_ends_an_outage() {
        let mut attempts = Attempts::default();
        attempts.failed(at(0), at(20), refused(), "refused".to_owned());
        let verdict = OutOfReach { cause: refused(), last: Some("refused".to_owned()) };
        assert_eq!(attempts.verdict(Stop::Place, at(20)), Some(verdict));
        attempts.reached();
        assert_eq!(attempts.verdict(Stop::Place, at(20)), None);
        attempts.failed(at(21), at(21), refused(), "refused".to_owned());
        assert_eq!(attempts.verdict(Stop::Place, at(30)), None, "the time begins again");
    }

    #[test]
    fn a_request_without_a_connection_counts_before_it_ends() {
        let mut attempts = Attempts::default();
        let number = attempts.begin(at(0));
        assert_eq!(attempts.verdict(Stop::Place, at(14)), None);
        let dropped = OutOfReach { cause: WayCause::new(Stop::Proxy, CauseKind::Dropped), last: None };
        assert_eq!(attempts.verdict(Stop::Proxy, at(15)), Some(dropped));
        attempts.connected(number);
        assert_eq!(attempts.verdict(Stop::Place, at(100)), None, "with a connection the place may take its time");
    }

    #[test]
    fn the_last_failure_says_what_is_in_the_way() {
        let mut attempts = Attempts::default();
        attempts.failed(at(0), at(0), refused(), "refused".to_owned());
        let unknown = WayCause::new(Stop::Place, CauseKind::UnknownName);
        attempts.failed(at(9), at(9), unknown.clone(), "unknown".to_owned());
        attempts.begin(at(12));
        let verdict = OutOfReach { cause: unknown, last: Some("unknown".to_owned()) };
        assert_eq!(attempts.verdict(Stop::Place, at(300)), Some(verdict));
    }
}
