//! Stopping the cloud at one request, so that a test can end or change something exactly there.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::answer::Answer;
use super::record::Recorded;

/// On which side of the request the cloud stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The request has arrived, and nothing was done.
    Before,
    /// The request is carried out, and not answered.
    After,
}

/// A place at which the cloud stops, once a request gets there. From then on no request is carried out or answered until this is let go,
/// so that nothing happens in between. Dropping it resumes.
pub struct Hold {
    phase: watch::Sender<Phase>,
    cuts: watch::Sender<u64>,
}

#[derive(Clone, Debug)]
enum Phase {
    /// No request got there yet.
    Ahead,
    /// This one did.
    Reached(Box<Recorded>),
    /// All that wait go on.
    Resumed,
    /// The connections of that time have ended, and with them all that wait.
    Cut,
}

impl Hold {
    /// Waits until a request is there, however long it takes, and returns it.
    pub async fn reached(&self) -> Recorded {
        let mut phase = self.phase.subscribe();
        let reached = phase.wait_for(|it| matches!(it, Phase::Reached(_))).await.expect("the sender lives in self");
        match &*reached {
            Phase::Reached(request) => (**request).clone(),
            other => unreachable!("waited for a request, not for {other:?}"),
        }
    }

    /// Lets all requests go on.
    pub fn resume(self) {
        drop(self);
    }

    /// Ends all connections, and every request that has come over them without an answer. What was not done by now is never done, so that
    /// a client that has ended has no effect later.
    pub fn cut(self) {
        // First, so that no request takes the end of the hold for permission to go on.
        self.cuts.send_modify(|count| *count += 1);
        self.phase.send_replace(Phase::Cut);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.phase.send_if_modified(|phase| {
            let open = !matches!(phase, Phase::Cut);
            if open {
                *phase = Phase::Resumed;
            }
            open
        });
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold").field("phase", &*self.phase.borrow()).finish()
    }
}

/// The turnstile that all requests pass, one at a time.
pub(super) struct Turnstile {
    armed: Mutex<Option<Armed>>,
    /// How often all connections were ended.
    cuts: watch::Sender<u64>,
}

/// The lifetime of a connection: until all connections are ended.
#[derive(Clone)]
pub(super) struct Life {
    born: u64,
    cuts: watch::Receiver<u64>,
}

struct Armed {
    which: Box<dyn Fn(&Recorded) -> bool + Send + Sync>,
    /// How many requests are still to come, the one that stops included.
    left: usize,
    side: Side,
    phase: watch::Sender<Phase>,
}

/// The fate of a request.
enum Passage {
    /// Its connection has ended.
    Dead,
    Through(Answer),
    /// It waits, with the answer if it was carried out.
    Stopped(Option<Answer>, watch::Receiver<Phase>),
}

impl Default for Turnstile {
    fn default() -> Turnstile {
        Turnstile { armed: Mutex::default(), cuts: watch::Sender::new(0) }
    }
}

impl Life {
    /// Waits until the connection has to end.
    pub(super) async fn end(&mut self) {
        let born = self.born;
        if self.cuts.wait_for(|it| *it > born).await.is_err() {
            // The simulator is dropped, and its connections with it.
            std::future::pending::<()>().await;
        }
    }

    fn has_ended(&self) -> bool {
        *self.cuts.borrow() > self.born
    }
}

impl Turnstile {
    /// The lifetime of a connection that begins now.
    pub(super) fn live(&self) -> Life {
        let cuts = self.cuts.subscribe();
        let born = *cuts.borrow();
        Life { born, cuts }
    }

    /// Stops at the request that is the `nth` of these from now on, counted from one.
    ///
    /// # Panics
    ///
    /// Panics if there is such a place already, or at a request before the first.
    pub(super) fn hold(
        &self,
        nth: usize,
        side: Side,
        which: impl Fn(&Recorded) -> bool + Send + Sync + 'static,
    ) -> Hold {
        assert!(nth > 0, "requests are counted from one");
        let mut armed = self.lock();
        let taken = armed.as_ref().is_some_and(|it| !it.released());
        assert!(!taken, "the cloud stops at one place at a time");
        let phase = watch::Sender::new(Phase::Ahead);
        *armed = Some(Armed { which: Box::new(which), left: nth, side, phase: phase.clone() });
        Hold { phase, cuts: self.cuts.clone() }
    }

    /// Carries a request out when it is its turn. Returns `None` if it must not be answered.
    pub(super) async fn pass(&self, life: &Life, request: &Recorded, act: impl Fn() -> Answer) -> Option<Answer> {
        loop {
            let (answer, mut phase) = match self.enter(life, request, &act) {
                Passage::Dead => return None,
                Passage::Through(answer) => return Some(answer),
                Passage::Stopped(answer, phase) => (answer, phase),
            };
            // The sender is dropped only after all requests may go on.
            let _ = phase.wait_for(|it| matches!(it, Phase::Resumed | Phase::Cut)).await;
            if answer.is_some() && !life.has_ended() {
                return answer;
            }
        }
    }

    /// Acts under the lock, so that nothing is done after the cloud has stopped.
    fn enter(&self, life: &Life, request: &Recorded, act: impl Fn() -> Answer) -> Passage {
        let mut armed = self.lock();
        if armed.as_ref().is_some_and(Armed::released) {
            *armed = None;
        }
        if life.has_ended() {
            return Passage::Dead;
        }
        let Some(armed) = &mut *armed else { return Passage::Through(act()) };
        if armed.left == 0 {
            return Passage::Stopped(None, armed.phase.subscribe());
        }
        if !(armed.which)(request) {
            return Passage::Through(act());
        }
        armed.left -= 1;
        if armed.left > 0 {
            return Passage::Through(act());
        }
        let answer = (armed.side == Side::After).then(act);
        armed.phase.send_replace(Phase::Reached(Box::new(request.clone())));
        Passage::Stopped(answer, armed.phase.subscribe())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Armed>> {
        // Only the simulator or the test's own closure can panic under this lock, and both fail the test.
        self.armed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Armed {
    fn released(&self) -> bool {
        matches!(*self.phase.borrow(), Phase::Resumed | Phase::Cut)
    }
}
