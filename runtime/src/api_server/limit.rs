//! A token bucket over instants that are handed in.

use std::time::{Duration, Instant};

use crate::flags::RateLimit;

/// Says how long a request has to wait, so that no more than a rate is exceeded.
pub(super) struct Bucket {
    limit: RateLimit,
    /// Below zero, requests wait.
    tokens: f64,
    at: Instant,
}

impl Bucket {
    /// A full bucket.
    pub(super) fn new(limit: RateLimit, now: Instant) -> Self {
        Self { limit, tokens: f64::from(limit.burst), at: now }
    }

    /// Takes a token, and returns how long it takes to be there.
    pub(super) fn take(&mut self, now: Instant) -> Duration {
        let rate = f64::from(self.limit.per_second);
        let refilled = self.tokens + now.saturating_duration_since(self.at).as_secs_f64() * rate;
        self.tokens = refilled.min(f64::from(self.limit.burst)) - 1.0;
        self.at = now;
        Duration::from_secs_f64((-self.tokens / rate).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_then_the_rate_holds() {
        let begin = Instant::now();
        let mut bucket = Bucket::new(RateLimit { per_second: 10.0, burst: 2 }, begin);
        let millis: Vec<_> = (0..4).map(|_| bucket.take(begin).as_millis()).collect();
        assert_eq!(millis, [0, 0, 100, 200]);
        assert_eq!(bucket.take(begin + Duration::from_millis(300)).as_millis(), 0);
        // However long it rests, it holds no more than a burst.
        let later = begin + Duration::from_secs(3600);
        let millis: Vec<_> = (0..3).map(|_| bucket.take(later).as_millis()).collect();
        assert_eq!(millis, [0, 0, 100]);
    }
}
