//! The clock by which guests are interrupted: it ticks as long as there is a call, and rests otherwise.
//!
//! A thread of its own keeps it: a task would starve together with the tasks that it is there to interrupt. What counts
//! is not that a guest runs, but that there is a store in which one could: each holds a [`Ticking`], and none is made
//! without.

use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use parking_lot::{Condvar, Mutex, MutexGuard};

/// How often it ticks: the longest time that a busy guest keeps a worker thread to itself.
const TICK: Duration = Duration::from_millis(10);

/// A clock. It ends with its last clone.
#[derive(Clone)]
pub(crate) struct Ticker(Arc<ClockOwner>);

/// Keeps the clock ticking until it is dropped.
pub(crate) struct Ticking(Arc<SharedClock>);

/// Ends the thread when it is dropped.
struct ClockOwner(Arc<SharedClock>);

#[derive(Default)]
struct SharedClock {
    state: Mutex<ClockState>,
    changed: Condvar,
}

#[derive(Default)]
struct ClockState {
    /// How many want it to tick.
    ticking: usize,
    ended: bool,
}

impl Ticker {
    /// Starts the thread, which calls `tick` at every tick.
    ///
    /// # Errors
    ///
    /// If the machine gives no thread.
    pub(crate) fn start(tick: impl Fn() + Send + 'static) -> io::Result<Self> {
        let shared = Arc::<SharedClock>::default();
        let ticker = Self(Arc::new(ClockOwner(shared.clone())));
        thread::Builder::new().name("epoch".into()).spawn(move || {
            while shared.wanted() {
                pause();
                tick();
            }
        })?;
        Ok(ticker)
    }

    /// Lets it tick, the first time after no more than a tick.
    pub(crate) fn tick(&self) -> Ticking {
        let shared = self.0.0.clone();
        shared.change(|it| it.ticking += 1);
        Ticking(shared)
    }
}

impl SharedClock {
    /// Waits until somebody wants it to tick. False: it has ended.
    fn wanted(&self) -> bool {
        let idle = |it: &mut ClockState| it.ticking == 0 && !it.ended;
        let mut state = self.lock();
        self.changed.wait_while(&mut state, idle);
        !state.ended
    }

    fn change(&self, change: impl FnOnce(&mut ClockState)) {
        change(&mut self.lock());
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock()
    }
}

impl Drop for ClockOwner {
    fn drop(&mut self) {
        self.0.change(|it| it.ended = true);
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.0.change(|it| it.ticking -= 1);
    }
}

#[expect(clippy::disallowed_methods, reason = "the ticker's thread does nothing but wait")]
fn pause() {
    thread::sleep(TICK);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver, RecvTimeoutError};

    use super::*;

    /// Much longer than a tick, on a busy machine too.
    const LONG: Duration = Duration::from_secs(30);
    /// Several ticks.
    const SHORT: Duration = Duration::from_millis(200);

    fn counted() -> (Ticker, Receiver<()>) {
        let (ticks, received) = mpsc::channel();
        // The test may look away before the thread does.
        let ticker = Ticker::start(move || _ = ticks.send(())).unwrap();
        (ticker, received)
    }

    #[test]
    fn it_ticks_as_long_as_one_of_them_is_there() {
        let (ticker, ticks) = counted();
        assert_eq!(ticks.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout), "nobody wants it to");

        let first = ticker.tick();
        ticks.recv_timeout(LONG).expect("a tick for the first");
        let second = ticker.tick();
        drop(first);
        for _ in 0..3 {
            ticks.recv_timeout(LONG).expect("a tick for the second");
        }

        drop(second);
        // One may be on its way.
        let _: Result<(), _> = ticks.recv_timeout(SHORT);
        assert_eq!(ticks.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout), "nobody wants it to any more");

        let _third = ticker.tick();
        ticks.recv_timeout(LONG).expect("a tick after a rest");
    }

    #[test]
    fn its_thread_ends_with_its_last_clone() {
        let (ticker, ticks) = counted();
        let clone = ticker.clone();
        drop(ticker);
        let ticking = clone.tick();
        ticks.recv_timeout(LONG).expect("a clone keeps it");
        drop(clone);
        // Whatever still ticks: the sender goes with the thread.
        while ticks.recv_timeout(LONG).is_ok() {}
        assert_eq!(ticks.recv_timeout(SHORT), Err(RecvTimeoutError::Disconnected));
        drop(ticking);
    }
}
