//! The service's own limits: so many requests in an hour, so many in a minute. Each request counts for as long as it is younger than that.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);

/// How many requests a token has.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// In the last 3,600 seconds.
    pub per_hour: usize,
    /// In the last 60 seconds: the burst limit.
    pub per_minute: usize,
}

/// The limits of the real service.
impl Default for Limits {
    fn default() -> Limits {
        Limits { per_hour: 5_000, per_minute: 250 }
    }
}

/// Counts requests, and knows which one is too many.
#[derive(Debug)]
pub(super) struct Window {
    /// Absent: nothing is too many, and the quota is always whole.
    limits: Option<Limits>,
    /// When the requests of the last hour were admitted, the oldest first.
    admitted: VecDeque<SystemTime>,
}

/// What the rate limit headers of an answer say.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Quota {
    /// `ratelimit-limit`: requests in an hour.
    pub(super) limit: usize,
    /// `ratelimit-remaining`: how many of them are left. Zero in an answer to one too many.
    pub(super) remaining: usize,
    /// `ratelimit-reset`: Unix time in seconds at which the oldest request expires.
    pub(super) reset: u64,
    /// Whether the request is one too many.
    pub(super) exceeded: bool,
    /// `retry-after`: seconds, only where the burst limit is the one that was exceeded.
    pub(super) retry_after: Option<u64>,
}

impl Window {
    pub(super) fn new(limits: Option<Limits>) -> Window {
        Window { limits, admitted: VecDeque::new() }
    }

    /// Counts a request that arrives `now`.
    pub(super) fn admit(&mut self, now: SystemTime) -> Quota {
        let Some(limits) = self.limits else {
            let limit = Limits::default().per_hour;
            return Quota { limit, remaining: limit, reset: unix(now + HOUR), exceeded: false, retry_after: None };
        };
        while self.admitted.front().is_some_and(|&it| it + HOUR <= now) {
            self.admitted.pop_front();
        }
        let in_minute = self.admitted.iter().rev().take_while(|&&it| it + MINUTE > now).count();
        let burst = in_minute >= limits.per_minute;
        let exceeded = burst || self.admitted.len() >= limits.per_hour;
        if !exceeded {
            self.admitted.push_back(now);
        }
        let oldest = self.admitted.front().copied().unwrap_or(now);
        Quota {
            limit: limits.per_hour,
            remaining: if exceeded { 0 } else { limits.per_hour - self.admitted.len() },
            reset: unix(oldest + HOUR),
            exceeded,
            retry_after: burst.then(|| {
                let first = self.admitted.len().saturating_sub(in_minute);
                let expires = self.admitted.get(first).map_or(now, |&it| it + MINUTE);
                // A whole number of seconds, and not one too few.
                expires.duration_since(now).unwrap_or_default().as_secs() + 1
            }),
        }
    }
}

fn unix(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds)
    }

    #[test]
    fn the_burst_limit_says_when_to_come_back() {
        let mut window = Window::new(Some(Limits { per_hour: 10, per_minute: 2 }));
        assert_eq!(window.admit(at(0)).remaining, 9);
        assert_eq!(window.admit(at(10)).remaining, 8);
        let refused = window.admit(at(20));
        assert!(refused.exceeded);
        assert_eq!((refused.remaining, refused.retry_after), (0, Some(41)));
        // The first request is a minute old, the second is not.
        assert!(!window.admit(at(61)).exceeded);
        assert!(window.admit(at(62)).exceeded);
    }

    #[test]
    fn the_hourly_limit_says_only_when_the_oldest_request_expires() {
        let mut window = Window::new(Some(Limits { per_hour: 2, per_minute: 2 }));
        window.admit(at(0));
        window.admit(at(100));
        let refused = window.admit(at(200));
        assert_eq!(refused, Quota { limit: 2, remaining: 0, reset: 1_003_600, exceeded: true, retry_after: None });
        let admitted = window.admit(at(3_600));
        assert_eq!((admitted.exceeded, admitted.remaining, admitted.reset), (false, 0, 1_003_700));
    }

    #[test]
    fn without_limits_nothing_is_too_many() {
        let mut window = Window::new(None);
        for second in 0..6_000 {
            assert!(!window.admit(at(second / 100)).exceeded);
        }
    }
}
