//! How fast an endpoint may be used: a token bucket, a number of slots, and the cloud's word when it wants a pause.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use token_bucket::TokenBucket;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use crate::endpoint::EndpointLimits;

/// How long a request may wait for the bucket before its caller is told to come back.
const PATIENCE: Duration = Duration::from_secs(1);

/// The shortest and the longest pause that a cloud can ask for.
pub(crate) const PAUSE: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);

/// The budget of one endpoint.
pub(crate) struct Budget {
    slots: Semaphore,
    /// How long a request may wait for a slot.
    patience: Duration,
    rate: Mutex<Rate>,
}

impl Budget {
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

    fn rate(&self) -> MutexGuard<'_, Rate> {
        self.rate.lock()
    }
}

/// A bucket that holds one second's worth of requests, and the pause that the cloud asked for. Its clock is an argument.
struct Rate {
    bucket: TokenBucket,
    paused_until: Option<Instant>,
}

impl Rate {
    fn new(rate: f64, now: Instant) -> Self {
        Self { bucket: TokenBucket::per_second(rate, rate as u32, now), paused_until: None }
    }

    /// Takes a token: `Ok` says how long to wait for it, `Err` that the wait is too long and none was taken.
    fn take(&mut self, now: Instant) -> Result<Duration, Duration> {
        self.paused(now)?;
        self.bucket.reserve_within(PATIENCE, now).map_err(|wait| wait.min(*PAUSE.end()))
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
    fn a_pause_sends_everyone_away_until_its_end() {
        let now = Instant::now();
        let mut rate = Rate::new(20.0, now);
        rate.pause(now + milliseconds(3000));
        rate.pause(now + milliseconds(1000));
        assert_eq!(rate.take(now + milliseconds(1000)), Err(milliseconds(2000)), "the longer pause stays");
        assert_eq!(rate.take(now + milliseconds(3000)), Ok(Duration::ZERO));
    }
}
