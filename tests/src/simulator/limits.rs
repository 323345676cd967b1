//! A cloud's own limits on the number of requests, and what its answers say about them.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);

/// How many requests a token has.
#[derive(Clone, Copy, Debug)]
pub enum Limits {
    /// Each request counts for as long as it is younger than an hour, and than a minute.
    Windows {
        /// In the last 3,600 seconds.
        per_hour: usize,
        /// In the last 60 seconds: the burst limit.
        per_minute: usize,
    },
    /// A bucket that is full at the start, and from which each request takes one.
    Bucket {
        /// How many requests a full bucket has.
        size: usize,
        /// After how long one request comes back.
        refill: Duration,
    },
}

impl Limits {
    /// How many requests there are at most.
    fn most(self) -> usize {
        match self {
            Limits::Windows { per_hour, .. } => per_hour,
            Limits::Bucket { size, .. } => size,
        }
    }
}

/// Counts requests, and knows which one is too many.
#[derive(Debug)]
pub(super) enum Window {
    /// Nothing is too many, and the quota is always whole.
    Unlimited { shown: usize },
    Windows {
        per_hour: usize,
        per_minute: usize,
        /// When the requests of the last hour were admitted, the oldest first.
        admitted: VecDeque<SystemTime>,
    },
    Bucket {
        size: usize,
        refill: Duration,
        /// When the bucket is full again.
        full: SystemTime,
    },
}

/// The limits as an answer tells them.
#[derive(Debug, PartialEq, Eq)]
pub struct Quota {
    /// The most requests.
    pub limit: usize,
    /// How many of them are left. Zero in an answer to one too many.
    pub remaining: usize,
    /// Unix time in seconds at which the oldest request expires, or the bucket is full again.
    pub reset: u64,
    /// Whether the request is one too many.
    pub exceeded: bool,
    /// Seconds until the next request, only where the burst limit is the one that was exceeded.
    pub retry_after: Option<u64>,
}

impl Window {
    /// Counts by `limits`. Without them, answers show those that the cloud publishes.
    pub(super) fn new(limits: Option<Limits>, published: Limits) -> Window {
        match limits {
            None => Window::Unlimited { shown: published.most() },
            Some(Limits::Windows { per_hour, per_minute }) => {
                Window::Windows { per_hour, per_minute, admitted: VecDeque::new() }
            }
            Some(Limits::Bucket { size, refill }) => Window::Bucket { size, refill, full: UNIX_EPOCH },
        }
    }

    /// Counts a request that arrives `now`.
    pub(super) fn admit(&mut self, now: SystemTime) -> Quota {
        match self {
            Window::Unlimited { shown } => {
                let limit = *shown;
                Quota { limit, remaining: limit, reset: unix(now + HOUR), exceeded: false, retry_after: None }
            }
            Window::Windows { per_hour, per_minute, admitted } => windows(*per_hour, *per_minute, admitted, now),
            Window::Bucket { size, refill, full } => bucket(*size, *refill, full, now),
        }
    }
}

fn windows(per_hour: usize, per_minute: usize, admitted: &mut VecDeque<SystemTime>, now: SystemTime) -> Quota {
    while admitted.front().is_some_and(|&it| it + HOUR <= now) {
        admitted.pop_front();
    }
    let in_minute = admitted.iter().rev().take_while(|&&it| it + MINUTE > now).count();
    let burst = in_minute >= per_minute;
    let exceeded = burst || admitted.len() >= per_hour;
    if !exceeded {
        admitted.push_back(now);
    }
    let oldest = admitted.front().copied().unwrap_or(now);
    Quota {
        limit: per_hour,
        remaining: if exceeded { 0 } else { per_hour - admitted.len() },
        reset: unix(oldest + HOUR),
        exceeded,
        retry_after: burst.then(|| {
            let first = admitted.len().saturating_sub(in_minute);
            let expires = admitted.get(first).map_or(now, |&it| it + MINUTE);
            // A whole number of seconds, and not one too few.
            expires.duration_since(now).unwrap_or_default().as_secs() + 1
        }),
    }
}

fn bucket(size: usize, refill: Duration, full: &mut SystemTime, now: SystemTime) -> Quota {
    let missing = full.duration_since(now).unwrap_or_default().as_nanos().div_ceil(refill.as_nanos().max(1));
    let missing = usize::try_from(missing).unwrap_or(usize::MAX);
    let exceeded = missing >= size;
    if !exceeded {
        *full = now.max(*full) + refill;
    }
    Quota {
        limit: size,
        remaining: if exceeded { 0 } else { size - missing - 1 },
        reset: unix(*full),
        exceeded,
        retry_after: None,
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

    fn window(per_hour: usize, per_minute: usize) -> Window {
        let limits = Limits::Windows { per_hour, per_minute };
        Window::new(Some(limits), limits)
    }

    #[test]
    fn the_burst_limit_says_when_to_come_back() {
        let mut window = window(10, 2);
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
        let mut window = window(2, 2);
        window.admit(at(0));
        window.admit(at(100));
        let refused = window.admit(at(200));
        assert_eq!(refused, Quota { limit: 2, remaining: 0, reset: 1_003_600, exceeded: true, retry_after: None });
        let admitted = window.admit(at(3_600));
        assert_eq!((admitted.exceeded, admitted.remaining, admitted.reset), (false, 0, 1_003_700));
    }

    #[test]
    fn a_bucket_gives_one_request_back_at_a_time() {
        let limits = Limits::Bucket { size: 2, refill: Duration::from_secs(10) };
        let mut window = Window::new(Some(limits), limits);
        let first = window.admit(at(0));
        assert_eq!(first, Quota { limit: 2, remaining: 1, reset: 1_000_010, exceeded: false, retry_after: None });
        assert_eq!((window.admit(at(1)).remaining, window.admit(at(2)).exceeded), (0, true));
        let second = window.admit(at(10));
        assert_eq!((second.exceeded, second.remaining, second.reset), (false, 0, 1_000_030));
        assert_eq!(window.admit(at(100)).remaining, 1);
    }

    #[test]
    fn without_limits_nothing_is_too_many() {
        let mut window = Window::new(None, Limits::Windows { per_hour: 5, per_minute: 5 });
        for second in 0..6_000 {
            assert!(!window.admit(at(second / 100)).exceeded);
        }
    }
}
