//! When a provider that crashes again and again is left alone. No clock, no call: times are arguments.

use std::time::Duration;

use tokio::time::Instant;

/// Crashes in a row that are enough.
const CRASHES: u32 = 5;
/// The longest pause, in first pauses: with the usual 30 s it is ten minutes.
const LONGEST: u32 = 20;
/// How long whoever comes during a probe is sent away.
const PROBE: Duration = Duration::from_secs(1);
/// A probe that has told nothing after this was broken off. Longer than any call may take by default.
const LOST: Duration = Duration::from_secs(180);

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

/// What becomes of a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Admission {
    /// It runs.
    Run,
    /// The provider is probed first. How the probe ended has to be told, with [`Quarantine::probed`].
    Probe,
    /// Not before this pause.
    Wait(Duration),
}

/// How far the trust in a provider goes.
#[derive(Debug)]
pub(crate) struct Quarantine {
    /// How long a provider is left alone at first. It doubles each time, until a call returns.
    first: Duration,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// It runs. So many calls in a row have crashed; with too many it is left alone for `pause`.
    Serving { crashes: u32, pause: Duration },
    /// It is left alone for `pause`, until then.
    Waiting { until: Instant, pause: Duration },
    /// Somebody probes it.
    Probing { since: Instant, pause: Duration },
}

impl Quarantine {
    /// A provider that is trusted, and left alone for `first` when it is no longer.
    pub(crate) fn new(first: Duration) -> Self {
        Self { first, state: State::Serving { crashes: 0, pause: first } }
    }

    /// Whether a call may run now.
    pub(crate) fn admit(&mut self, now: Instant) -> Admission {
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

    /// A call that was admitted has ended. Answers how long the provider is left alone from now on, if it is.
    pub(crate) fn ended(&mut self, now: Instant, end: End) -> Option<Duration> {
        match (self.state, end) {
            (State::Serving { crashes, pause }, End::Crashed) if crashes + 1 < CRASHES => {
                self.state = State::Serving { crashes: crashes + 1, pause };
                None
            }
            (State::Serving { pause, .. }, End::Crashed) => Some(self.leave_alone(now, pause)),
            (State::Serving { .. }, End::Returned) => {
                self.state = State::Serving { crashes: 0, pause: self.first };
                None
            }
            // A call that began before says nothing new.
            (State::Waiting { .. } | State::Probing { .. }, _) | (_, End::Neither) => None,
        }
    }

    /// The probe has ended. Answers how long the provider is left alone once more, if it is.
    pub(crate) fn probed(&mut self, now: Instant, end: End) -> Option<Duration> {
        match (self.state, end) {
            // One object that makes it crash must not be all that it gets to see after each pause.
            (State::Probing { pause, .. }, End::Returned) => {
                self.state = State::Serving { crashes: 0, pause: self.longer(pause) };
                None
            }
            (State::Probing { pause, .. }, End::Crashed | End::Neither) => {
                Some(self.leave_alone(now, self.longer(pause)))
            }
            (State::Serving { .. } | State::Waiting { .. }, _) => None,
        }
    }

    fn leave_alone(&mut self, now: Instant, pause: Duration) -> Duration {
        self.state = State::Waiting { until: now + pause, pause };
        pause
    }

    fn longer(&self, pause: Duration) -> Duration {
        pause.saturating_mul(2).min(self.first.saturating_mul(LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(it: u64) -> Duration {
        Duration::from_secs(it)
    }

    /// A provider that has just been quarantined.
    fn quarantined(now: Instant) -> Quarantine {
        let mut quarantine = Quarantine::new(seconds(30));
        for _ in 1..CRASHES {
            assert_eq!(quarantine.admit(now), Admission::Run);
            assert_eq!(quarantine.ended(now, End::Crashed), None);
        }
        assert_eq!(quarantine.ended(now, End::Crashed), Some(seconds(30)));
        quarantine
    }

    #[test]
    fn only_crashes_in_a_row_count() {
        let now = Instant::now();
        let mut quarantine = Quarantine::new(seconds(30));
        for _ in 0..100 {
            for end in [End::Crashed, End::Crashed, End::Crashed, End::Crashed, End::Returned] {
                assert_eq!(quarantine.ended(now, end), None);
            }
        }
        for _ in 0..100 {
            assert_eq!(quarantine.ended(now, End::Neither), None, "a slow cloud is no crash");
        }
        assert_eq!(quarantine.admit(now), Admission::Run);
        for end in [End::Crashed, End::Neither, End::Crashed, End::Crashed, End::Neither, End::Crashed] {
            assert_eq!(quarantine.ended(now, end), None);
        }
        assert_eq!(quarantine.ended(now, End::Crashed), Some(seconds(30)), "and a slow cloud breaks no row");
    }

    #[test]
    fn nobody_runs_until_one_has_probed() {
        let start = Instant::now();
        let mut quarantine = quarantined(start);
        assert_eq!(quarantine.admit(start), Admission::Wait(seconds(30)));
        assert_eq!(quarantine.admit(start + seconds(29)), Admission::Wait(seconds(1)));
        let due = start + seconds(30);
        assert_eq!(quarantine.admit(due), Admission::Probe);
        assert_eq!(quarantine.admit(due), Admission::Wait(seconds(1)), "one probe at a time");
        assert_eq!(quarantine.probed(due, End::Returned), None);
        assert_eq!(quarantine.admit(due), Admission::Run);
        assert_eq!(quarantine.ended(due, End::Returned), None);
        assert_eq!(quarantine.ended(due, End::Crashed), None, "the row was broken, and begins anew");
        assert_eq!(quarantine.admit(due), Admission::Run);
    }

    #[test]
    fn calls_that_end_in_quarantine_change_nothing() {
        let start = Instant::now();
        let mut quarantine = quarantined(start);
        for end in [End::Returned, End::Crashed, End::Neither] {
            assert_eq!(quarantine.ended(start, end), None);
            assert_eq!(quarantine.admit(start), Admission::Wait(seconds(30)));
        }
    }

    #[test]
    fn the_pause_doubles_from_thirty_seconds_to_ten_minutes() {
        for answers_probes in [true, false] {
            let mut now = Instant::now();
            let mut quarantine = quarantined(now);
            let mut pauses = Vec::new();
            let mut pause = seconds(30);
            for _ in 0..7 {
                now += pause;
                assert_eq!(quarantine.admit(now), Admission::Probe);
                let next = if answers_probes {
                    assert_eq!(quarantine.probed(now, End::Returned), None);
                    (0..CRASHES).find_map(|_| quarantine.ended(now, End::Crashed))
                } else {
                    quarantine.probed(now, End::Crashed)
                };
                pause = next.expect("it crashed again");
                pauses.push(pause.as_secs());
            }
            assert_eq!(pauses, [60, 120, 240, 480, 600, 600, 600]);
        }
    }

    #[test]
    fn a_probe_that_was_broken_off_is_made_again() {
        let start = Instant::now();
        let mut quarantine = quarantined(start);
        let due = start + seconds(30);
        assert_eq!(quarantine.admit(due), Admission::Probe);
        assert_eq!(quarantine.admit(due + LOST - seconds(1)), Admission::Wait(seconds(1)));
        assert_eq!(quarantine.admit(due + LOST), Admission::Probe);
    }

    #[test]
    fn adv_67_a_provider_that_always_traps_runs_a_few_times_an_hour() {
        // Eight workers that come back as soon as they may, and after a crash every 100 ms.
        for answers_probes in [true, false] {
            let start = Instant::now();
            let mut quarantine = Quarantine::new(seconds(30));
            let mut runs = Vec::new();
            let mut next = [start; 8];
            while let Some(worker) = (0..8).min_by_key(|&it| next[it]).filter(|&it| next[it] < start + seconds(3600)) {
                let now = next[worker];
                match quarantine.admit(now) {
                    Admission::Wait(pause) => next[worker] += pause,
                    Admission::Run => {
                        runs.push(now - start);
                        quarantine.ended(now, End::Crashed);
                        next[worker] += Duration::from_millis(100);
                    }
                    Admission::Probe => {
                        runs.push(now - start);
                        quarantine.probed(now, if answers_probes { End::Returned } else { End::Crashed });
                    }
                }
            }
            let within = |from: u64, to: u64| runs.iter().filter(|it| (from..to).contains(&it.as_secs())).count();
            assert!(within(0, 60) <= 12, "{} runs in the first minute", within(0, 60));
            for minute in 1..60 {
                let runs = within(minute * 60, minute * 60 + 60);
                assert!(runs <= 8, "{runs} runs in minute {minute}");
            }
            assert!((10..=80).contains(&runs.len()), "{} runs in an hour", runs.len());
        }
    }
}
