//! The cloud's clock.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

/// A smaller difference is nobody's reason to refuse: AWS takes signatures that are five minutes old or more, and Google tokens.
const TOLERATED: i64 = 60;
/// A larger difference is not corrected: a signature for a time that is far away would be good for whoever keeps it until then.
const CORRECTED: i64 = 24 * 3600;

/// The cloud's clock, as a difference in seconds from this machine's.
#[derive(Default)]
pub(super) struct Clock {
    ahead: AtomicI64,
}

impl Clock {
    /// The cloud's time at this machine's time `local`.
    pub(super) fn at(&self, local: SystemTime) -> SystemTime {
        let ahead = self.ahead.load(Relaxed);
        let difference = Duration::from_secs(ahead.unsigned_abs());
        if ahead < 0 { local - difference } else { local + difference }
    }

    /// The cloud has answered at its time `date`, and this machine's is `local`. Answers whether the difference had been taken for
    /// another one, by more than a signature bears.
    pub(super) fn correct(&self, date: SystemTime, local: SystemTime, credential: &str) -> bool {
        let ahead = match date.duration_since(local) {
            Ok(ahead) => ahead.as_secs().try_into().unwrap_or(i64::MAX),
            Err(behind) => -behind.duration().as_secs().try_into().unwrap_or(i64::MAX),
        };
        if (ahead - self.ahead.load(Relaxed)).abs() <= TOLERATED {
            return false;
        }
        if ahead.abs() > CORRECTED {
            tracing::warn!(
                credential,
                "the cloud's clock differs by {ahead} s, which is too much to correct; set this machine's"
            );
            return false;
        }
        tracing::warn!(credential, "the cloud's clock differs by {ahead} s; what is signed has its time from now on");
        self.ahead.store(ahead, Relaxed);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds)
    }

    #[test]
    fn a_clock_is_corrected_once_in_either_direction() {
        for (local, cloud) in [(10_000, 3_000), (3_000, 10_000)] {
            let clock = Clock::default();
            assert_eq!(clock.at(time(local)), time(local));
            assert!(clock.correct(time(cloud), time(local), "aws"));
            assert_eq!(clock.at(time(local)), time(cloud));
            assert!(!clock.correct(time(cloud + 50), time(local), "aws"), "it is the same difference");
            assert!(clock.correct(time(local), time(local), "aws"), "this machine's was set");
            assert_eq!(clock.at(time(local)), time(local));
        }
    }

    #[test]
    fn a_small_or_a_huge_difference_changes_nothing() {
        let clock = Clock::default();
        for cloud in [60, 0, 200_000] {
            assert!(!clock.correct(time(cloud), time(0), "aws"), "{cloud}");
            assert_eq!(clock.at(time(0)), time(0));
        }
    }
}
