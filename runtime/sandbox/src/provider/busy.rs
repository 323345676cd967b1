//! The Services whose load balancers a cloud is busy with: their next calls see nothing that was read before the last ones
//! ended.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// For how long that is remembered: longer than the egress keeps any answer.
const REMEMBERED: Duration = Duration::from_secs(10);

/// When the last call about each Service ended, if it said that the cloud is busy: by the Service's UID.
#[derive(Default)]
pub(super) struct Busy(Mutex<HashMap<String, Instant>>);

impl Busy {
    /// When the last call about a Service ended, if it was a moment ago and the cloud was busy.
    pub(super) fn since(&self, uid: &str) -> Option<Instant> {
        self.0.lock().get(uid).copied()
    }

    /// A call about a Service has ended, and the cloud is busy with it or not.
    pub(super) fn ended(&self, uid: &str, is_busy: bool, now: Instant) {
        let mut ended = self.0.lock();
        ended.retain(|it, at| it != uid && now.saturating_duration_since(*at) < REMEMBERED);
        if is_busy {
            ended.insert(uid.to_owned(), now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_remembered_while_the_cloud_is_busy() {
        let (busy, now) = (Busy::default(), Instant::now());
        busy.ended("a", true, now);
        busy.ended("b", true, now);
        assert_eq!((busy.since("a"), busy.since("c")), (Some(now), None));
        let later = now + Duration::from_millis(500);
        busy.ended("a", true, later);
        busy.ended("b", false, later);
        assert_eq!((busy.since("a"), busy.since("b")), (Some(later), None));
        busy.ended("c", false, later + REMEMBERED);
        assert_eq!(busy.since("a"), None, "no answer is kept for so long");
        assert!(busy.0.lock().is_empty());
    }
}
