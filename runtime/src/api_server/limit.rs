//! A token bucket over instants that are handed in.

use std::time::{Duration, Instant};

use crate::flags::RateLimit;

/// Says how long a request has to wait, so that no more than a rate is exceeded.
pub(crate) struct Bucket {
    limit: RateLimit,
    /// Below zero, requests wait.
    tokens: f64,
    at: Instant,
}

impl Bucket {
    /// A full bucket.
    pub(crate) fn new(limit: RateLimit, now: Instant) -> Self {
        Self { limit, tokens: f64::from(limit.burst), at: now }
    }

    /// Takes a token, and returns how long it takes to be there.
    pub(super) fn take(&mut self, now: Instant) -> Duration {
        self.refill(now);
        self.tokens -= 1.0;
        self.until(0.0)
    }

    /// Takes a token if there is one. The error is how long it takes until there is.
    pub(crate) fn try_take(&mut self, now: Instant) -> Result<(), Duration> {
        self.refill(now);
        if self.tokens < 1.0 {
            return Err(self.until(1.0));
        }
        self.tokens -= 1.0;
        Ok(())
    }

    fn refill(&mut self, now: Instant) {
        let refilled =
            self.tokens + now.saturating_duration_since(self.at).as_secs_f64() * f64::from(self.limit.per_second);
        self.tokens = refilled.min(f64::from(self.limit.burst));
        self.at = now;
    }

    /// How long it takes to hold so many tokens.
    fn until(&self, tokens: f64) -> Duration {
        Duration::from_secs_f64(((tokens - self.tokens) / f64::from(self.limit.per_second)).max(0.0))
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

    #[test]
    fn a_token_that_is_not_there_is_not_taken() {
        let begin = Instant::now();
        let mut bucket = Bucket::new(RateLimit { per_second: 10.0, burst: 2 }, begin);
        let millis: Vec<_> = (0..4).map(|_| bucket.try_take(begin).map_err(|it| it.as_millis())).collect();
        assert_eq!(millis, [Ok(()), Ok(()), Err(100), Err(100)]);
        assert_eq!(bucket.try_take(begin + Duration::from_millis(100)), Ok(()));
        assert_eq!(bucket.try_take(begin + Duration::from_millis(150)), Err(Duration::from_millis(50)));
    }
}
