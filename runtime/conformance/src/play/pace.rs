//! How often a provider is called, and how soon again.

use std::time::{Duration, Instant};

use tokio::time::sleep;

/// How many calls a part of a story may take: each is answered within milliseconds here.
const MOST_CALLS: usize = 400;
/// So many calls are made however long they take: on a slow machine it is not the provider that is late.
const LEAST_CALLS: usize = 60;
/// How many calls lists lag for after something was made.
pub(super) const LAGGING_CALLS: usize = 5;
/// How much longer is waited after each call than after the one before it: an earlier call is always safe, and most clouds here count
/// reads, and no time. Where one takes seconds, the longest pause comes before all calls are used up.
const PAUSE_STEP: Duration = Duration::from_millis(1);
/// How long is waited between two calls at most.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// After so many errors that are equal, over this part of the patience, nothing else is waited for.
const EQUAL_CALLS: usize = 10;
const STILL: u32 = 20;

/// The patience with which a part of a story is waited for, from its beginning.
pub(super) struct BegunWait {
    since: Instant,
    patience: Duration,
}

impl BegunWait {
    pub(super) fn new(patience: Duration) -> Self {
        Self { since: Instant::now(), patience }
    }

    /// Whether another call is made after so many.
    pub(super) fn goes_on(&self, calls: usize) -> bool {
        calls < LEAST_CALLS || calls < MOST_CALLS && self.since.elapsed() < self.patience
    }
}

/// Whether nothing happens any more but one error: each call asks the same, and ends in the same.
pub(super) struct Standstill<T> {
    patience: Duration,
    since: Instant,
    last: Option<T>,
    equal: usize,
}

impl<T: PartialEq> Standstill<T> {
    pub(super) fn new(patience: Duration) -> Self {
        Self { patience: patience / STILL, since: Instant::now(), last: None, equal: 0 }
    }

    /// Takes one more call into account: all that it came to if that is an error, nothing otherwise.
    pub(super) fn is_reached(&mut self, error: Option<T>) -> bool {
        if error.is_none() || error != self.last {
            (self.since, self.last, self.equal) = (Instant::now(), error, 0);
            return false;
        }
        self.equal += 1;
        self.equal >= EQUAL_CALLS && self.since.elapsed() >= self.patience
    }
}

/// Waits as long as the provider asked for after so many calls, and not for long.
pub(super) async fn rest(pause: Duration, calls: usize) {
    let longest = PAUSE_STEP.saturating_mul(u32::try_from(calls).unwrap_or(u32::MAX)).min(LONGEST_PAUSE);
    sleep(pause.min(longest)).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many calls all stands still.
    fn reached(error: impl Fn(usize) -> Option<usize>) -> Option<usize> {
        let mut standstill = Standstill::new(Duration::ZERO);
        (1..=50).find(|at| standstill.is_reached(error(*at)))
    }

    #[test]
    fn calls_that_take_long_are_waited_for() {
        let [slow, fast] = [Duration::ZERO, Duration::from_secs(3_600)].map(BegunWait::new);
        assert!(slow.goes_on(LEAST_CALLS - 1) && !slow.goes_on(LEAST_CALLS));
        assert!(fast.goes_on(MOST_CALLS - 1) && !fast.goes_on(MOST_CALLS));
    }

    #[test]
    fn only_equal_errors_are_a_standstill() {
        assert_eq!(reached(|_| Some(7)), Some(11));
        assert_eq!(reached(|_| None), None, "a cloud may take its time");
        assert_eq!(reached(Some), None);
        assert_eq!(
            reached(|at| (at != 8).then_some(7)),
            Some(19),
            "what was equal before something happened does not count"
        );
    }
}
