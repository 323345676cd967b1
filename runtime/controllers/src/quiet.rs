//! Changes that come together become one pass: a moment after the last of them, and not long after the first. No clock:
//! times are arguments.

use std::time::Duration;

use tokio::time::Instant;

/// How long it has to be quiet before a pass.
const QUIET: Duration = Duration::from_secs(1);
/// How long the first change waits at most.
const LONGEST: Duration = Duration::from_secs(5);

/// Changes that wait for a pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quiet {
    first: Instant,
    last: Instant,
}

impl Quiet {
    /// A change now, after those that wait already.
    pub(crate) fn noted(before: Option<Self>, now: Instant) -> Self {
        Self { first: before.map_or(now, |it| it.first), last: now }
    }

    /// When a pass begins, unless more changes.
    pub(crate) fn due(&self) -> Instant {
        (self.last + QUIET).min(self.first + LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_waits_for_quiet_and_not_for_long() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut quiet = Quiet::noted(None, start);
        assert_eq!(quiet.due(), at(1000));
        for milliseconds in (500..10_000).step_by(500) {
            quiet = Quiet::noted(Some(quiet), at(milliseconds));
            assert_eq!(quiet.due(), at((milliseconds + 1000).min(5000)));
        }
    }
}
