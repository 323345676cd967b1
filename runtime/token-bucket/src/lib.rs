//! How often something may be done: so many times at once, and then at a rate. No clock: times are arguments.
//!
//! A crate of its own because the way out to clouds, the sandbox, the controllers and the binary all need it and may not
//! import each other.

#![forbid(unsafe_code)]

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// The longest time between two tokens. A rate that is lower counts as this one.
const LONGEST_INTERVAL: Duration = Duration::from_secs(86_400);

/// A token bucket. It starts full.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket<T = Instant> {
    /// How long one token takes to come back.
    interval: Duration,
    /// How long all tokens but one take.
    burst: Duration,
    /// When all tokens that were taken will have come back.
    full: T,
}

/// A point in time.
pub trait Moment: Copy + Ord {
    /// The time from `earlier` to this.
    fn since(self, earlier: Self) -> Duration;
    /// This time, so much later.
    fn plus(self, time: Duration) -> Self;
}

impl<T: Moment> TokenBucket<T> {
    /// A full bucket of `burst` tokens, at least one, each of which takes `interval` to come back.
    pub fn new(interval: Duration, burst: u32, now: T) -> Self {
        let interval = interval.min(LONGEST_INTERVAL);
        Self { interval, burst: interval.saturating_mul(burst.saturating_sub(1)), full: now }
    }

    /// As [`new`](Self::new), with so many tokens a second.
    pub fn per_second(rate: f64, burst: u32, now: T) -> Self {
        Self::new(Duration::try_from_secs_f64(rate.recip()).unwrap_or(LONGEST_INTERVAL), burst, now)
    }

    /// Takes a token, and returns how long it takes until it is there: tokens that come back later can be taken ahead.
    pub fn reserve(&mut self, now: T) -> Duration {
        let wait = self.wait(now);
        self.full = self.full.max(now).plus(self.interval);
        wait
    }

    /// As [`reserve`](Self::reserve), if the token is there within `patience`.
    ///
    /// # Errors
    ///
    /// How long it takes until it is there. Nothing is taken then.
    pub fn reserve_within(&mut self, patience: Duration, now: T) -> Result<Duration, Duration> {
        match self.wait(now) {
            wait if wait > patience => Err(wait),
            _ => Ok(self.reserve(now)),
        }
    }

    /// Takes a token if there is one.
    ///
    /// # Errors
    ///
    /// How long it takes until there is one.
    pub fn try_take(&mut self, now: T) -> Result<(), Duration> {
        self.reserve_within(Duration::ZERO, now).map(drop)
    }

    /// Whether all tokens have come back.
    pub fn is_full(&self, now: T) -> bool {
        self.full <= now
    }

    fn wait(&self, now: T) -> Duration {
        self.full.max(now).since(now).saturating_sub(self.burst)
    }
}

impl Moment for Instant {
    fn since(self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }

    fn plus(self, time: Duration) -> Self {
        self.checked_add(time).unwrap_or(self)
    }
}

impl Moment for Timestamp {
    fn since(self, earlier: Self) -> Duration {
        self.duration_since(earlier).try_into().unwrap_or_default()
    }

    fn plus(self, time: Duration) -> Self {
        let time = SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
        self.checked_add(time).unwrap_or(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(10);

    #[test]
    fn a_burst_is_free_and_then_the_rate_holds() {
        let begin = Instant::now();
        let mut bucket = TokenBucket::per_second(10.0, 2, begin);
        let mut reserve = |at| [0; 4].map(|_| bucket.reserve(at).as_millis());
        assert_eq!(reserve(begin), [0, 0, 100, 200]);
        let later = begin + Duration::from_secs(3600);
        assert_eq!(reserve(later), [0, 0, 100, 200], "however long it rests, it holds no more than a burst");
    }

    #[test]
    fn a_token_that_is_not_there_is_not_taken() {
        let mut now = Instant::now();
        let mut bucket = TokenBucket::new(PAUSE, 10, now);
        assert!((0..10).all(|_| bucket.try_take(now).is_ok()));
        for _ in 0..3 {
            assert_eq!(bucket.try_take(now), Err(PAUSE));
            assert_eq!(bucket.try_take(now + PAUSE / 2), Err(PAUSE / 2), "to ask is free");
            now += PAUSE;
            assert_eq!(bucket.try_take(now), Ok(()));
        }
        now += 100 * PAUSE;
        assert_eq!((0..20).filter(|_| bucket.try_take(now).is_ok()).count(), 10, "it fills up again, and no further");
    }

    #[test]
    fn a_token_that_comes_too_late_is_not_taken() {
        let now = Instant::now();
        let mut bucket = TokenBucket::new(PAUSE, 1, now);
        let mut take = |at| bucket.reserve_within(PAUSE, at);
        assert_eq!([take(now), take(now), take(now)], [Ok(Duration::ZERO), Ok(PAUSE), Err(2 * PAUSE)]);
        assert_eq!(take(now + PAUSE), Ok(PAUSE), "whoever was sent away took nothing");
    }

    #[test]
    fn a_rate_of_next_to_nothing_is_one_token_a_day() {
        let now = Instant::now();
        for rate in [0.0, f64::from(f32::MIN_POSITIVE), f64::NAN] {
            let mut bucket = TokenBucket::per_second(rate, 1, now);
            assert_eq!([0; 2].map(|_| bucket.reserve(now)), [Duration::ZERO, LONGEST_INTERVAL], "{rate}");
        }
    }
}
