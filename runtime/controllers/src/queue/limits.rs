//! How often keys may fail: a count for each key, and where many keys fail fast, one token bucket for all of them
//! together.

use std::collections::HashMap;
use std::time::Duration;

use token_bucket::TokenBucket;
use tokio::time::Instant;

/// Retries a second, for all keys together.
const RATE: f64 = 10.0;
/// Retries at once, for all keys together.
const BURST: u32 = 100;
/// The most by which jitter lengthens a pause, as a part of it.
const JITTER: f64 = 0.1;

/// Failures of each key, and the bucket that all retries are taken from, where there is one.
#[derive(Debug)]
pub(crate) struct Limits {
    failures: HashMap<String, u32>,
    bucket: Option<TokenBucket>,
}

impl Limits {
    /// Each key has its own pauses, and all of them share a bucket.
    pub(crate) fn shared(now: Instant) -> Self {
        Self { failures: HashMap::new(), bucket: Some(TokenBucket::per_second(RATE, BURST, now)) }
    }

    /// Each key has its own pauses, and nothing else.
    pub(crate) fn per_key() -> Self {
        Self { failures: HashMap::new(), bucket: None }
    }

    pub(super) fn failures(&self, key: &str) -> u32 {
        self.failures.get(key).copied().unwrap_or(0)
    }

    /// Counts a failure. Returns how long its key has to wait: the longer of its own pause and of the bucket's, and
    /// up to a tenth more.
    pub(super) fn failed(&mut self, key: &str, pause: Duration, now: Instant, jitter: f64) -> Duration {
        let failures = self.failures.entry(key.to_owned()).or_default();
        *failures = failures.saturating_add(1);
        let reserved = self.bucket.as_mut().map_or(Duration::ZERO, |it| it.reserve(now));
        pause.max(reserved).mul_f64(1.0 + JITTER * jitter.clamp(0.0, 1.0))
    }

    pub(super) fn forget(&mut self, key: &str) {
        self.failures.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_retries_are_free_and_then_ten_a_second() {
        let now = Instant::now();
        let mut limits = Limits::shared(now);
        let delays: Vec<_> = (0..120).map(|it| limits.failed(&it.to_string(), Duration::ZERO, now, 0.0)).collect();
        assert!(delays[..100].iter().all(Duration::is_zero));
        for (nth, delay) in delays[100..].iter().enumerate() {
            let expected = Duration::from_millis(100 * (nth as u64 + 1));
            assert!(delay.abs_diff(expected) < Duration::from_micros(1), "{nth}: {delay:?}");
        }
        let later = now + Duration::from_secs(3600);
        assert_eq!(limits.failed("a", Duration::ZERO, later, 0.0), Duration::ZERO, "the bucket fills up again");
    }

    #[test]
    fn without_a_bucket_each_key_waits_for_itself_alone() {
        let now = Instant::now();
        let mut limits = Limits::per_key();
        let second = Duration::from_secs(1);
        assert!((0..500).all(|it| limits.failed(&it.to_string(), second, now, 0.0) == second));
    }

    #[test]
    fn the_longer_of_both_pauses_counts_and_jitter_only_lengthens() {
        let now = Instant::now();
        let second = Duration::from_secs(1);
        for (jitter, expected) in [(-1.0, 1.0), (0.0, 1.0), (0.5, 1.05), (1.0, 1.1), (9.0, 1.1)] {
            let mut limits = Limits::shared(now);
            assert_eq!(limits.failed("a", second, now, jitter), Duration::from_secs_f64(expected), "{jitter}");
        }
    }
}
