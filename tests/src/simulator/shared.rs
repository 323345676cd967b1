//! The state of a simulated account: one for many requests, with a clock that tests can put ahead.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// A state in which changes end by themselves.
pub trait Settles {
    /// Ends what ends by now.
    fn settle(&mut self);
}

/// A state that many requests read and change, one after the other.
#[derive(Debug)]
pub struct Shared<W>(Arc<Mutex<W>>);

// Derived, it would ask for a state that can be cloned.
impl<W> Clone for Shared<W> {
    fn clone(&self) -> Shared<W> {
        Shared(Arc::clone(&self.0))
    }
}

impl<W: Settles> Shared<W> {
    /// Shares a state.
    pub fn new(state: W) -> Shared<W> {
        Shared(Arc::new(Mutex::new(state)))
    }

    /// The state as it is now: changes whose time has come have ended.
    pub fn now(&self) -> MutexGuard<'_, W> {
        // Whatever panics under this lock fails its test.
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.settle();
        state
    }
}

/// The clock of a cloud.
#[derive(Clone, Copy, Debug, Default)]
pub struct CloudClock {
    /// How far it is ahead of the machine's.
    ahead: Duration,
}

impl CloudClock {
    /// The cloud's time.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        SystemTime::now() + self.ahead
    }

    /// Lets time pass for the cloud.
    pub fn advance(&mut self, time: Duration) {
        self.ahead += time;
    }

    /// The cloud's time as it writes it, in the signs of `strftime`.
    ///
    /// # Panics
    ///
    /// Panics if a test has put the clock ahead by more than the rest of this era.
    #[must_use]
    pub fn stamp(&self, format: &str) -> String {
        let time = jiff::Timestamp::try_from(self.now()).expect("the simulator's time is in this era");
        time.strftime(format).to_string()
    }
}
