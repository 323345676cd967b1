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

use self::objects::{LONGEST, Objects, longer};
use super::object::{ObjectKey, Subject};

/// Crashes in a row that are enough: of calls about no object, or over so many objects.
const CRASHES: usize = 5;
/// How long whoever comes during a probe is sent away.
const PROBE: Duration = Duration::from_secs(1);
/// A probe that has not ended after this was broken off. Longer than any call may take by default.
const LOST: Duration = Duration::from_secs(180);

/// How a call ended, as far as it matters here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum End {
    /// It returned, with whatever answer.
    Returned,
    /// The guest's own doing: it trapped, or was out of CPU time or memory.
    Crashed,
    /// It says nothing about the guest: a slow cloud, a fault of the host.
    Neither,
}

/// The admission of a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum CallAdmission {
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
pub(super) enum CallVerdict {
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
pub(super) struct Quarantine {
    /// How long a provider is left alone at first. It doubles each time, until a call returns. The same holds for objects.
    first: Duration,
    state: QuarantineState,
    /// Crashes of calls about no object since a call returned last.
    crashes: usize,
    /// Objects over which it crashed since a call returned last, or since it was probed because of them.
    suspects: HashSet<String>,
    objects: Objects,
}

#[derive(Clone, Copy, Debug)]
enum QuarantineState {
    /// It runs. When it does not any more, it is left alone for `pause`.
    Serving { pause: Duration },
    /// It is left alone for `pause`, until then.
    Waiting { until: Instant, pause: Duration },
    /// Somebody probes it.
    Probing { since: Instant, pause: Duration },
}

impl Quarantine {
    /// A provider that is trusted, and left alone for `first` when it is no longer.
    pub(super) fn new(first: Duration) -> Self {
        Self {
            first,
            state: QuarantineState::Serving { pause: first },
            crashes: 0,
            suspects: HashSet::new(),
            objects: Objects::default(),
        }
    }

    /// The first pause, of the provider and of an object.
    pub(super) fn first(&self) -> Duration {
        self.first
    }

    /// The longest pause, of the provider and of an object.
    pub(super) fn longest(&self) -> Duration {
        self.first.saturating_mul(LONGEST)
    }

    /// Whether a call may run now.
    pub(super) fn admit(&mut self, now: Instant, subject: Subject<'_>) -> CallAdmission {
        // Asked first: an object that is set aside must not be what the provider is probed for.
        if let Subject::One(object) = subject
            && let Some(wait) = self.objects.wait(&object.key, now)
        {
            return CallAdmission::SetAside(wait);
        }
        match self.state {
            QuarantineState::Serving { .. } => CallAdmission::Run,
            QuarantineState::Waiting { until, .. } if until > now => CallAdmission::Wait(until - now),
            QuarantineState::Probing { since, .. } if since + LOST > now => CallAdmission::Wait(PROBE),
            QuarantineState::Waiting { pause, .. } | QuarantineState::Probing { pause, .. } => {
                self.state = QuarantineState::Probing { since: now, pause };
                CallAdmission::Probe
            }
        }
    }

    /// Notes how it crashed over an object that is set aside.
    pub(super) fn note(&mut self, key: &ObjectKey, text: &str) {
        self.objects.note(key, text);
    }

    /// How long an object is still set aside, and how the provider crashed over it.
    pub(super) fn set_aside(&self, now: Instant, key: &ObjectKey) -> (Duration, &str) {
        (self.objects.wait(key, now).unwrap_or_default(), self.objects.text(key))
    }

    /// A call that was admitted has ended.
    pub(super) fn ended(&mut self, now: Instant, subject: Subject<'_>, end: End) -> CallVerdict {
        match (subject, end) {
            (_, End::Neither) | (Subject::Several, End::Crashed) => CallVerdict::Nothing,
            (Subject::One(object), End::Returned) => {
                self.objects.returned(&object.key);
                self.returned();
                CallVerdict::Nothing
            }
            (Subject::Nothing | Subject::Several, End::Returned) => {
                self.returned();
                CallVerdict::Nothing
            }
            (Subject::One(object), End::Crashed) => {
                self.objects.crashed(&object.key, self.first, now);
                CallVerdict::SetAside { probe: self.suspect(&object.key.1) }
            }
            (Subject::Nothing, End::Crashed) => match self.state {
                QuarantineState::Serving { pause } => {
                    self.crashes += 1;
                    if self.crashes < CRASHES { CallVerdict::Nothing } else { self.leave_alone(now, pause) }
                }
                // A call that began before says nothing new.
                QuarantineState::Waiting { .. } | QuarantineState::Probing { .. } => CallVerdict::Nothing,
            },
        }
    }

    /// The probe that an [`CallAdmission`] asked for has ended. Answers how long the provider is left alone once more, if it
    /// is.
    pub(super) fn probed(&mut self, now: Instant, end: End) -> Option<Duration> {
        match (self.state, end) {
            // What comes next may crash as before: until a call returns, the pause grows.
            (QuarantineState::Probing { pause, .. }, End::Returned) => {
                self.forget();
                self.state = QuarantineState::Serving { pause: longer(pause, self.first) };
                None
            }
            (QuarantineState::Probing { pause, .. }, End::Crashed | End::Neither) => {
                let pause = longer(pause, self.first);
                self.state = QuarantineState::Waiting { until: now + pause, pause };
                Some(pause)
            }
            (QuarantineState::Serving { .. } | QuarantineState::Waiting { .. }, _) => None,
        }
    }

    /// The probe that a [`CallVerdict`] asked for has ended: a provider that crashes there too is not stopped by objects.
    pub(super) fn doubted(&mut self, now: Instant, end: End) -> CallVerdict {
        match (self.state, end) {
            (QuarantineState::Serving { pause }, End::Crashed) => self.leave_alone(now, pause),
            (QuarantineState::Serving { .. }, End::Returned | End::Neither)
            | (QuarantineState::Waiting { .. } | QuarantineState::Probing { .. }, _) => CallVerdict::Nothing,
        }
    }

    /// Takes note of an object over which it crashed. Returns whether these are so many that it has to be probed.
    fn suspect(&mut self, object: &str) -> bool {
        match self.state {
            QuarantineState::Serving { .. } => {
                self.suspects.insert(object.to_owned());
                let many = self.suspects.len() >= CRASHES;
                if many {
                    self.suspects.clear();
                }
                many
            }
            QuarantineState::Waiting { .. } | QuarantineState::Probing { .. } => false,
        }
    }

    fn returned(&mut self) {
        match self.state {
            QuarantineState::Serving { .. } => {
                self.forget();
                self.state = QuarantineState::Serving { pause: self.first };
            }
            // A call that began before says nothing new.
            QuarantineState::Waiting { .. } | QuarantineState::Probing { .. } => {}
        }
    }

    fn leave_alone(&mut self, now: Instant, pause: Duration) -> CallVerdict {
        self.forget();
        self.state = QuarantineState::Waiting { until: now + pause, pause };
        CallVerdict::LeftAlone(pause)
    }

    fn forget(&mut self) {
        self.crashes = 0;
        self.suspects.clear();
    }
}

#[cfg(test)]
mod tests;
