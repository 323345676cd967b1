//! How fast an endpoint may be used: a token bucket, a number of slots, and the cloud's word when it wants a pause.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use token_bucket::TokenBucket;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use crate::endpoint::EndpointLimits;

/// How long a request may wait for the bucket before its caller is told to come back: longer where the rate is lower, so that
/// calls which have begun come to their ends.
const PATIENCE: Duration = Duration::from_secs(1);
/// The lowest rate that an endpoint is slowed down to, in requests a second, unless its operator wrote a lower one.
const LOWEST_RATE: f64 = 2.0;
/// A rate that was lowered doubles after so long without a reason to lower it again.
const RECOVERY: Duration = Duration::from_secs(60);

/// The shortest and the longest pause that a cloud can ask for.
pub(crate) const PAUSE: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);

/// The budget of one endpoint.
pub(crate) struct EndpointBudget {
    slots: Semaphore,
    /// How long a request may wait for a slot.
    patience: Duration,
    rate: Mutex<Rate>,
}

impl EndpointBudget {
    pub(crate) fn new(limits: &EndpointLimits) -> Self {
        Self {
            slots: Semaphore::new(limits.concurrency.min(Semaphore::MAX_PERMITS)),
            patience: limits.total,
            rate: Mutex::new(Rate::new(limits.requests_per_second, Instant::now())),
        }
    }

    /// Waits for a slot and a token, a little. The request is in flight until the turn is dropped.
    ///
    /// The error is when to come back.
    pub(crate) async fn turn(&self) -> Result<SemaphorePermit<'_>, Duration> {
        // Whoever comes during a pause does not queue for its end.
        self.paused()?;
        let slot = tokio::time::timeout(self.patience, self.slots.acquire())
            .await
            .map_err(|_| PATIENCE)?
            .expect("the semaphore is never closed");
        let wait = self.rate().take(Instant::now())?;
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
            self.paused()?;
        }
        Ok(slot)
    }

    /// Whether the endpoint may be used now. The error is when to come back.
    pub(crate) fn paused(&self) -> Result<(), Duration> {
        self.rate().paused(Instant::now())
    }

    /// Stops the endpoint for `pause`. A longer pause that was asked for before stays.
    pub(crate) fn pause(&self, pause: Duration) {
        self.rate().pause(Instant::now() + pause);
    }

    /// As [`EndpointBudget::pause`], and halves the rate: the cloud does not say how many requests it takes. Answers the rate from now
    /// on, in requests a second.
    pub(crate) fn slow_down(&self, pause: Duration) -> f64 {
        let (mut rate, now) = (self.rate(), Instant::now());
        rate.slow_down(now);
        rate.pause(now + pause);
        rate.present
    }

    fn rate(&self) -> MutexGuard<'_, Rate> {
        self.rate.lock()
    }
}

/// A bucket that holds one second's worth of requests, and the pause that the cloud asked for. Its clock is an argument.
struct Rate {
    bucket: TokenBucket,
    paused_until: Option<Instant>,
    /// Requests a second, as the operator wrote them, and at present.
    configured: f64,
    present: f64,
    /// When the present rate was set.
    since: Instant,
}

impl Rate {
    fn new(rate: f64, now: Instant) -> Self {
        Self { bucket: bucket(rate, now), paused_until: None, configured: rate, present: rate, since: now }
    }

    /// Takes a token: `Ok` says how long to wait for it, `Err` that the wait is too long and none was taken.
    fn take(&mut self, now: Instant) -> Result<Duration, Duration> {
        self.paused(now)?;
        self.recover(now);
        let patience = PATIENCE.mul_f64(self.configured / self.present);
        self.bucket.reserve_within(patience, now).map_err(|wait| wait.min(*PAUSE.end()))
    }

    /// Halves the rate, unless it was lowered for the same reason: many requests are refused at a time.
    fn slow_down(&mut self, now: Instant) {
        self.recover(now);
        if self.paused(now).is_ok() {
            self.set((self.present / 2.0).max(LOWEST_RATE.min(self.configured)), now);
        }
    }

    /// Doubles a rate that was lowered, if it is time.
    fn recover(&mut self, now: Instant) {
        while self.present < self.configured && now.saturating_duration_since(self.since) >= RECOVERY {
            self.set((self.present * 2.0).min(self.configured), self.since + RECOVERY);
        }
    }

    fn set(&mut self, rate: f64, since: Instant) {
        (self.present, self.since, self.bucket) = (rate, since, bucket(rate, since));
    }

    fn paused(&self, now: Instant) -> Result<(), Duration> {
        match self.paused_until {
            Some(until) if until > now => Err(until - now),
            Some(_) | None => Ok(()),
        }
    }

    fn pause(&mut self, until: Instant) {
        self.paused_until = self.paused_until.max(Some(until));
    }
}

/// A bucket that holds one second's worth of requests.
fn bucket(rate: f64, now: Instant) -> TokenBucket {
    TokenBucket::per_second(rate, rate as u32, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn milliseconds(it: u64) -> Duration {
        Duration::from_millis(it)
    }

    #[test]
    fn a_burst_passes_and_then_requests_are_spaced_or_refused() {
        let now = Instant::now();
        let mut rate = Rate::new(4.0, now);
        let waits: Vec<_> = (0..9).map(|_| rate.take(now)).collect();
        let spaced = [0, 0, 0, 0, 250, 500, 750, 1000].map(|it| Ok(milliseconds(it)));
        assert_eq!(waits[..8], spaced);
        assert_eq!(waits[8], Err(milliseconds(1250)));
        assert_eq!(rate.take(now + milliseconds(500)), Ok(milliseconds(750)), "whoever was sent away took nothing");
    }

    #[test]
    fn idle_time_fills_the_bucket_no_higher_than_a_second() {
        let start = Instant::now();
        let mut rate = Rate::new(2.0, start);
        let later = start + Duration::from_secs(3600);
        assert_eq!([0; 3].map(|_| rate.take(later)), [0, 0, 500].map(|it| Ok(milliseconds(it))));
    }

    #[test]
    fn a_slow_endpoint_has_a_bucket_of_one() {
        let now = Instant::now();
        let mut rate = Rate::new(0.1, now);
        assert_eq!(rate.take(now), Ok(Duration::ZERO));
        assert_eq!(rate.take(now), Err(Duration::from_secs(10)));
        let mut slowest = Rate::new(1e-300, now);
        assert_eq!(slowest.take(now), Ok(Duration::ZERO));
        assert_eq!(slowest.take(now), Err(Duration::from_secs(3600)));
    }

    #[test]
    fn a_rate_halves_with_each_pause_and_doubles_after_a_minute() {
        let (mut now, mut rate) = (Instant::now(), Rate::new(20.0, Instant::now()));
        for present in [10.0, 5.0, 2.5, 2.0, 2.0] {
            rate.slow_down(now);
            rate.pause(now + milliseconds(5000));
            rate.slow_down(now + milliseconds(100));
            assert_eq!(rate.present, present, "requests that are refused together slow it down once");
            now += milliseconds(5000);
        }
        let recovered = [60, 120, 180, 3600].map(|seconds| {
            let _ = rate.take(now + Duration::from_secs(seconds));
            rate.present
        });
        assert_eq!(recovered, [4.0, 8.0, 16.0, 20.0]);
        let mut slow = Rate::new(0.5, now);
        slow.slow_down(now);
        assert_eq!(slow.present, 0.5, "what the operator wrote is lower already");
    }

    #[test]
    fn calls_that_have_begun_end_at_a_lower_rate_too() {
        let now = Instant::now();
        let mut rate = Rate::new(20.0, now);
        for _ in 0..3 {
            rate.slow_down(now);
        }
        let waits: Vec<_> = (0..8).map(|_| rate.take(now)).collect();
        let spaced = [0, 0, 400, 800, 1200, 1600, 2000, 2400].map(|it| Ok(milliseconds(it)));
        assert_eq!(waits, spaced, "as many as there are calls at a time");
    }

    #[test]
    fn a_pause_sends_everyone_away_until_its_end() {
        let now = Instant::now();
        let mut rate = Rate::new(20.0, now);
        rate.pause(now + milliseconds(3000));
        rate.pause(now + milliseconds(1000));
        assert_eq!(rate.take(now + milliseconds(1000)), Err(milliseconds(2000)), "the longer pause stays");
        assert_eq!(rate.take(now + milliseconds(3000)), Ok(Duration::ZERO));
    }
}
