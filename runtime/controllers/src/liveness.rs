//! Whether a controller gets anywhere: what its health check asks.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a controller may have work and finish none of it, or not begin the next round of a loop, before it counts as
/// stuck.
///
/// A restart mends nothing that the cloud is the reason of, so that no slow cloud may come near this: one call ends
/// after 150 s, a whole list of machines after 15 minutes, and the longest work on one object, which may wait for
/// several lists and reconcile its object ten times, within an hour. Failures are finished work. Only what waits for
/// something that never comes takes longer.
pub const STUCK: Duration = Duration::from_secs(2 * 3600);

/// Whether a controller gets anywhere. Clones share it; a controller that does not run is not stuck.
#[derive(Clone, Default)]
pub struct Liveness {
    signs: Arc<Mutex<Vec<Sign>>>,
}

/// For how long a part of a controller has had work and finished none.
type Sign = Box<dyn Fn() -> Duration + Send + Sync>;

/// A loop that reports when it begins a round.
pub(crate) struct Pulse {
    last: Arc<Mutex<Instant>>,
}

impl Liveness {
    /// Whether a part of the controller has got nowhere for longer than [`STUCK`].
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.signs.lock().iter().any(|stalled| stalled() > STUCK)
    }

    /// Watches a part. `stalled` is a [`Sign`], and quick.
    pub(crate) fn watch(&self, stalled: impl Fn() -> Duration + Send + Sync + 'static) {
        self.signs.lock().push(Box::new(stalled));
    }

    /// Watches a loop that pauses for `period` between two rounds.
    pub(crate) fn pulse(&self, period: Duration) -> Pulse {
        let last = Arc::new(Mutex::new(Instant::now()));
        let seen = last.clone();
        self.watch(move || seen.lock().elapsed().saturating_sub(period));
        Pulse { last }
    }
}

impl Pulse {
    /// The loop moves.
    pub(crate) fn beat(&self) {
        *self.last.lock() = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Cases: case 254
    #[tokio::test(start_paused = true)]
    async fn a_loop_that_does_not_begin_its_next_round_is_stuck() {
        let (liveness, period) = (Liveness::default(), 300 * SECOND);
        assert!(!liveness.is_stuck(), "nothing runs yet");
        let pulse = liveness.pulse(period);
        for _ in 0..3 {
            tokio::time::advance(period + STUCK).await;
            assert!(!liveness.is_stuck(), "a slow round is none that hangs");
            pulse.beat();
        }
        tokio::time::advance(period + STUCK + SECOND).await;
        assert!(liveness.is_stuck());
        pulse.beat();
        assert!(!liveness.is_stuck());
    }

    #[tokio::test(start_paused = true)]
    async fn one_part_that_hangs_is_enough() {
        let liveness = Liveness::default();
        let (lively, _hanging) = (liveness.pulse(SECOND), liveness.pulse(SECOND));
        tokio::time::advance(STUCK + 2 * SECOND).await;
        lively.beat();
        assert!(liveness.is_stuck());
    }
}
