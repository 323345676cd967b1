//! How often one Service may have its load balancer changed: its author must not eat up the account's quota.

use std::time::Duration;

use tokio::time::Instant;

/// Changes at once.
const BURST: u32 = 10;
/// The pause between further ones.
const PAUSE: Duration = Duration::from_secs(10);

/// What one Service may still do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    /// When all changes that were made would have been made without a burst.
    made: Instant,
}

impl Burst {
    pub(super) fn new(now: Instant) -> Self {
        Self { made: now }
    }

    /// Takes one change, or says how long it takes until there is one.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let made = self.made.max(now);
        match (made - now).checked_sub(PAUSE * (BURST - 1)) {
            None | Some(Duration::ZERO) => {
                self.made = made + PAUSE;
                Ok(())
            }
            Some(pause) => Err(pause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_changes_are_free_and_then_one_each_ten_seconds() {
        let mut now = Instant::now();
        let mut burst = Burst::new(now);
        assert!((0..10).all(|_| burst.take(now).is_ok()));
        for _ in 0..3 {
            assert_eq!(burst.take(now), Err(PAUSE));
            assert_eq!(burst.take(now + PAUSE / 2), Err(PAUSE / 2), "to ask is free");
            now += PAUSE;
            assert_eq!(burst.take(now), Ok(()));
        }
        now += 100 * PAUSE;
        assert_eq!((0..20).filter(|_| burst.take(now).is_ok()).count(), 10, "it fills up again, and not further");
    }
}
