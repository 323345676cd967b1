//! Changes that come together become one pass: a moment after the last of them, and not long after the first. Only one
//! that comes after a long rest makes a pass at once. No clock: times are arguments.

use std::time::Duration;

use tokio::time::Instant;

/// How long it has to be quiet before a pass.
const QUIET: Duration = Duration::from_secs(1);
/// How long the first change waits at most.
const LONGEST: Duration = Duration::from_secs(5);
/// The same where more changes are known to come.
const LONGEST_OF_MANY: Duration = Duration::from_secs(10);

/// After so long without work the first change does not wait for others.
const REST: Duration = Duration::from_secs(10);

/// Changes that wait for a pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Debounce {
    first: Instant,
    last: Instant,
    longest: Duration,
    is_urgent: bool,
}

impl Debounce {
    /// A change now, after those that wait already. `worked` is when a pass last had something to do.
    pub(crate) fn noted(before: Option<Self>, worked: Option<Instant>, now: Instant) -> Self {
        let rested = || worked.is_none_or(|it| now.saturating_duration_since(it) >= REST);
        Self {
            first: before.map_or(now, |it| it.first),
            last: now,
            longest: before.map_or(LONGEST, |it| it.longest),
            is_urgent: before.map_or_else(rested, |it| it.is_urgent),
        }
    }

    /// The same, where more changes are known to come: the first waits for them, and longer.
    pub(crate) fn of_many(self) -> Self {
        Self { longest: LONGEST_OF_MANY, is_urgent: false, ..self }
    }

    /// When the first of them came.
    pub(crate) fn first(&self) -> Instant {
        self.first
    }

    /// When a pass begins, unless more changes.
    pub(crate) fn due(&self) -> Instant {
        if self.is_urgent { self.first } else { (self.last + QUIET).min(self.first + self.longest) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_waits_for_quiet_and_not_for_long() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let worked = Some(start);
        let mut debounce = Debounce::noted(None, worked, start);
        assert_eq!(debounce.due(), at(1000));
        for milliseconds in (500..10_000).step_by(500) {
            debounce = Debounce::noted(Some(debounce), worked, at(milliseconds));
            assert_eq!(debounce.due(), at((milliseconds + 1000).min(5000)));
        }
    }

    #[test]
    fn a_pass_waits_longer_for_many_that_are_known_to_come() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let first = Debounce::noted(None, None, start).of_many();
        assert_eq!(first.due(), at(1_000));
        let others = (500..=9_500).step_by(500).fold(first, |it, now| Debounce::noted(Some(it), None, at(now)));
        assert_eq!(others.due(), at(10_000));
    }

    #[test]
    fn case_197_after_a_rest_the_first_change_waits_for_nothing() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let due = |worked, now| Debounce::noted(None, worked, now).due();
        assert_eq!(due(None, at(0)), at(0), "nothing was ever done");
        assert_eq!(due(Some(start), at(9_999)), at(10_999));
        assert_eq!(due(Some(start), at(10_000)), at(10_000));
        let first = Debounce::noted(None, Some(start), at(30_000));
        assert_eq!(Debounce::noted(Some(first), Some(start), at(30_001)).due(), at(30_000), "nor because of others");
    }
}
