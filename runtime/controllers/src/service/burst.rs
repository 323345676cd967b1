//! How often one Service may have its load balancer changed: its author must not eat up the account's quota.

use std::time::Duration;

use tokio::time::Instant;

/// Changes at once.
const BURST: f64 = 10.0;
/// The pause between further ones.
const PAUSE: Duration = Duration::from_secs(10);

/// What one Service may still do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    tokens: f64,
    filled: Instant,
}

impl Burst {
    pub(super) fn new(now: Instant) -> Self {
        Self { tokens: BURST, filled: now }
    }

    /// Takes one change, or says how long it takes until there is one.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let gained = now.saturating_duration_since(self.filled).as_secs_f64() / PAUSE.as_secs_f64();
        self.tokens = (self.tokens + gained).min(BURST);
        self.filled = now;
        if self.tokens < 1.0 {
            return Err(PAUSE.mul_f64(1.0 - self.tokens).max(Duration::from_millis(1)));
        }
        self.tokens -= 1.0;
        Ok(())
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
            let pause = burst.take(now).unwrap_err();
            assert!(pause.abs_diff(PAUSE) < Duration::from_millis(2), "{pause:?}");
            assert!(burst.take(now + PAUSE / 2).is_err(), "to ask is free");
            now += PAUSE + Duration::from_millis(1);
            assert!(burst.take(now).is_ok());
        }
        now += 100 * PAUSE;
        assert_eq!((0..20).filter(|_| burst.take(now).is_ok()).count(), 10, "it fills up again, and not further");
    }
}
