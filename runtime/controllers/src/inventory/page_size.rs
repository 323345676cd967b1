//! How many machines are asked for at once: as many as the provider can give, unless the cloud could not lately.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long a smaller size is used that worked where a larger one did not.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// The page size of the next sweep.
#[derive(Debug)]
pub(super) struct PageSize {
    whole: u32,
    /// A size that worked, and since when it is used.
    smaller: Mutex<Option<(u32, Instant)>>,
}

impl PageSize {
    pub(super) fn new(whole: u32) -> Self {
        Self { whole: whole.max(1), smaller: Mutex::default() }
    }

    /// The size to begin with.
    pub(super) fn at(&self, now: Instant) -> u32 {
        match *self.smaller() {
            Some((size, since)) if now.saturating_duration_since(since) < REMEMBERED => size,
            Some(_) | None => self.whole,
        }
    }

    /// Remembers the size with which a sweep ended. One that failed says nothing about sizes.
    pub(super) fn ended(&self, size: u32, succeeded: bool, now: Instant) {
        let mut smaller = self.smaller();
        *smaller = match *smaller {
            Some((known, since)) if succeeded && known == size && now.saturating_duration_since(since) < REMEMBERED => {
                Some((known, since))
            }
            Some(_) | None => (succeeded && size < self.whole).then_some((size, now)),
        };
    }

    fn smaller(&self) -> MutexGuard<'_, Option<(u32, Instant)>> {
        // Its operations do not panic half way.
        self.smaller.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_worked_is_used_for_an_hour_and_an_outage_says_nothing() {
        let (size, start) = (PageSize::new(200), Instant::now());
        let minute = |it: u64| start + Duration::from_secs(60 * it);
        assert_eq!(size.at(start), 200);
        size.ended(25, false, start);
        assert_eq!(size.at(start), 200, "no size worked");
        size.ended(50, true, start);
        size.ended(50, true, minute(30));
        assert_eq!((size.at(minute(59)), size.at(minute(60))), (50, 200));
        size.ended(200, true, minute(60));
        assert_eq!(size.at(minute(60)), 200);
        size.ended(50, true, minute(61));
        size.ended(6, false, minute(62));
        assert_eq!(size.at(minute(62)), 200);
        assert_eq!(PageSize::new(0).at(start), 1);
    }
}
