//! When an object is set aside over which the provider crashes, and when the provider is left alone. No clock, no call:
//! times are arguments.
//!
//! ```text
//! a crash over one object ► the object is set aside, longer each time
//!   over five objects, and no call returned in between ► a probe ► it returns: the objects are to blame
//!                                                              └ it crashes too: quarantine
//! five crashes in a row of calls about no object ► quarantine
//! ```
//!
//! Authors of Services can make any number of them that crash. That must stop nobody else, so that objects alone
//! never lead to quarantine.

mod objects;

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

pub(crate) use self::objects::Key;
use self::objects::{LONGEST, Objects, longer};

/// Crashes in a row that are enough: of calls about no object, or over so many objects.
const CRASHES: usize = 5;
/// How long whoever comes during a probe is sent away.
const PROBE: Duration = Duration::from_secs(1);
/// A probe that has not ended after this was broken off. Longer than any call may take by default.
const LOST: Duration = Duration::from_secs(180);

/// The subject of a call: it shows whose fault a crash can be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum About<'a> {
    /// No object: a crash is the provider's own.
    Nothing,
    /// One object, which may have made it crash.
    One(&'a Key),
    /// Several objects: a crash says nothing of any of them until each was asked about alone.
    Several,
}

/// How a call ended, as far as it matters here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    /// It returned, with whatever answer.
    Returned,
    /// The guest's own doing: it trapped, or was out of CPU time or memory.
    Crashed,
    /// It says nothing about the guest: a slow cloud, a fault of the host.
    Neither,
}

/// The admission of a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Admission {
    /// It runs.
    Run,
    /// The provider is probed first. How the probe ended has to be reported, with [`Quarantine::probed`].
    Probe,
    /// The provider is in quarantine: not before this pause.
    Wait(Duration),
    /// The object is set aside: not before this pause.
    SetAside(Duration),
}

/// The consequence of a call's end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Verdict {
    /// Nothing.
    Nothing,
    /// The object is set aside. With `probe`, whoever made the call probes the provider, and reports how that ended with
    /// [`Quarantine::doubted`].
    SetAside { probe: bool },
    /// The provider is left alone for this pause.
    LeftAlone(Duration),
}

/// How far the trust in a provider goes.
#[derive(Debug)]
pub(crate) struct Quarantine {
    /// How long a provider is left alone at first. It doubles each time, until a call returns. The same holds for objects.
    first: Duration,
    state: State,
    /// Crashes of calls about no object since a call returned last.
    crashes: usize,
    /// Objects over which it crashed since a call returned last, or since it was probed because of them.
    suspects: HashSet<String>,
    objects: Objects,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// It runs. When it does not any more, it is left alone for `pause`.
    Serving { pause: Duration },
    /// It is left alone for `pause`, until then.
    Waiting { until: Instant, pause: Duration },
    /// Somebody probes it.
    Probing { since: Instant, pause: Duration },
}

impl Quarantine {
    /// A provider that is trusted, and left alone for `first` when it is no longer.
    pub(crate) fn new(first: Duration) -> Self {
        Self {
            first,
            state: State::Serving { pause: first },
            crashes: 0,
            suspects: HashSet::new(),
            objects: Objects::default(),
        }
    }

    /// The first pause, of the provider and of an object.
    pub(crate) fn first(&self) -> Duration {
        self.first
    }

    /// The longest pause, of the provider and of an object.
    pub(crate) fn longest(&self) -> Duration {
        self.first.saturating_mul(LONGEST)
    }

    /// Whether a call may run now.
    pub(crate) fn admit(&mut self, now: Instant, about: About<'_>) -> Admission {
        // Asked first: an object that is set aside must not be what the provider is probed for.
        if let About::One(key) = about
            && let Some(wait) = self.objects.wait(key, now)
        {
            return Admission::SetAside(wait);
        }
        match self.state {
            State::Serving { .. } => Admission::Run,
            State::Waiting { until, .. } if until > now => Admission::Wait(until - now),
            State::Probing { since, .. } if since + LOST > now => Admission::Wait(PROBE),
            State::Waiting { pause, .. } | State::Probing { pause, .. } => {
                self.state = State::Probing { since: now, pause };
                Admission::Probe
            }
        }
    }

    /// Notes how it crashed over an object that is set aside.
    pub(crate) fn note(&mut self, key: &Key, text: &str) {
        self.objects.note(key, text);
    }

    /// How long an object is still set aside, and how the provider crashed over it.
    pub(crate) fn set_aside(&self, now: Instant, key: &Key) -> (Duration, &str) {
        (self.objects.wait(key, now).unwrap_or_default(), self.objects.text(key))
    }

    /// A call that was admitted has ended.
    pub(crate) fn ended(&mut self, now: Instant, about: About<'_>, end: End) -> Verdict {
        match (about, end) {
            (_, End::Neither) | (About::Several, End::Crashed) => Verdict::Nothing,
            (About::One(key), End::Returned) => {
                self.objects.returned(key);
                self.returned();
                Verdict::Nothing
            }
            (About::Nothing | About::Several, End::Returned) => {
                self.returned();
                Verdict::Nothing
            }
            (About::One(key), End::Crashed) => {
                self.objects.crashed(key, self.first, now);
                Verdict::SetAside { probe: self.suspect(&key.1) }
            }
            (About::Nothing, End::Crashed) => match self.state {
                State::Serving { pause } => {
                    self.crashes += 1;
                    if self.crashes < CRASHES { Verdict::Nothing } else { self.leave_alone(now, pause) }
                }
                // A call that began before says nothing new.
                State::Waiting { .. } | State::Probing { .. } => Verdict::Nothing,
            },
        }
    }

    /// The probe that an [`Admission`] asked for has ended. Answers how long the provider is left alone once more, if it
    /// is.
    pub(crate) fn probed(&mut self, now: Instant, end: End) -> Option<Duration> {
        match (self.state, end) {
            // What comes next may crash as before: until a call returns, the pause grows.
            (State::Probing { pause, .. }, End::Returned) => {
                self.forget();
                self.state = State::Serving { pause: longer(pause, self.first) };
                None
            }
            (State::Probing { pause, .. }, End::Crashed | End::Neither) => {
                let pause = longer(pause, self.first);
                self.state = State::Waiting { until: now + pause, pause };
                Some(pause)
            }
            (State::Serving { .. } | State::Waiting { .. }, _) => None,
        }
    }

    /// The probe that a [`Verdict`] asked for has ended: a provider that crashes there too is not stopped by objects.
    pub(crate) fn doubted(&mut self, now: Instant, end: End) -> Verdict {
        match (self.state, end) {
            (State::Serving { pause }, End::Crashed) => self.leave_alone(now, pause),
            (State::Serving { .. }, End::Returned | End::Neither)
            | (State::Waiting { .. } | State::Probing { .. }, _) => Verdict::Nothing,
        }
    }

    /// Takes note of an object over which it crashed. Returns whether these are so many that it has to be probed.
    fn suspect(&mut self, object: &str) -> bool {
        match self.state {
            State::Serving { .. } => {
                self.suspects.insert(object.to_owned());
                let many = self.suspects.len() >= CRASHES;
                if many {
                    self.suspects.clear();
                }
                many
            }
            State::Waiting { .. } | State::Probing { .. } => false,
        }
    }

    fn returned(&mut self) {
        match self.state {
            State::Serving { .. } => {
                self.forget();
                self.state = State::Serving { pause: self.first };
            }
            // A call that began before says nothing new.
            State::Waiting { .. } | State::Probing { .. } => {}
        }
    }

    fn leave_alone(&mut self, now: Instant, pause: Duration) -> Verdict {
        self.forget();
        self.state = State::Waiting { until: now + pause, pause };
        Verdict::LeftAlone(pause)
    }

    fn forget(&mut self) {
        self.crashes = 0;
        self.suspects.clear();
    }
}

#[cfg(test)]
mod tests;
