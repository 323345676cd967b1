//! Keeps what crashed from running: one object that is set aside, or the whole provider in quarantine. Probes the provider
//! when it is time, and says why to whoever asks.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::Error;
use parking_lot::{Mutex, MutexGuard};
use prometheus::IntGauge;
use tokio::sync::watch;
use tokio::time::Instant;

use super::object::{Object, Subject};
use super::quarantine::{CallAdmission, CallVerdict, End, Quarantine};
use crate::call::Crash;

/// Stands before the calls of one provider.
pub(super) struct CallGuard {
    provider: Arc<str>,
    /// The number of this version of the provider.
    version: u64,
    quarantine: Mutex<Quarantine>,
    /// Why this version is in quarantine; `None` while it answers.
    because: Mutex<Option<String>>,
    serving_quarantine: Arc<ServingQuarantine>,
}

/// Where it is said whether the version that serves is in quarantine. Of other versions nothing is said.
pub(super) struct ServingQuarantine {
    /// The number of the version that serves.
    serving: Mutex<u64>,
    /// Why it is in quarantine; `None` while it answers.
    because: watch::Sender<Option<String>>,
    /// 1 while it is in quarantine.
    gauge: IntGauge,
}

impl ServingQuarantine {
    /// The version 0 serves first.
    pub(super) fn new(gauge: IntGauge) -> Self {
        Self { serving: Mutex::new(0), because: watch::Sender::new(None), gauge }
    }

    /// Why the version that serves is in quarantine, and whenever that changes.
    pub(super) fn because(&self) -> watch::Receiver<Option<String>> {
        self.because.subscribe()
    }

    fn tell(&self, because: Option<String>) {
        self.gauge.set(because.is_some().into());
        self.because.send_replace(because);
    }
}

impl CallGuard {
    pub(super) fn new(
        provider: Arc<str>,
        version: u64,
        first: Duration,
        serving_quarantine: Arc<ServingQuarantine>,
    ) -> Self {
        let quarantine = Mutex::new(Quarantine::new(first));
        Self { provider, version, quarantine, because: Mutex::default(), serving_quarantine }
    }

    /// The number of this version of the provider.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// This version serves from now on: what is said of a quarantine is said of it.
    pub(super) fn serves(&self) {
        let mut serving = self.serving_quarantine.serving.lock();
        *serving = self.version;
        self.serving_quarantine.tell(self.because.lock().clone());
    }

    /// Lets a call pass, if need be after a probe. The error is for the caller: nothing ran.
    pub(super) async fn admit(
        &self,
        subject: Subject<'_>,
        probe: impl Future<Output = Result<(), Crashed>>,
    ) -> Result<(), Error> {
        let admission = self.lock().admit(Instant::now(), subject);
        let wait = match (admission, subject) {
            (CallAdmission::Run, _) => return Ok(()),
            (CallAdmission::SetAside(_), Subject::One(object)) => return Err(self.set_aside(object)),
            (CallAdmission::Wait(wait) | CallAdmission::SetAside(wait), _) => wait,
            (CallAdmission::Probe, _) => {
                let probed = probe.await;
                let left_alone = self.lock().probed(Instant::now(), end(&probed));
                let Some(pause) = left_alone else {
                    tracing::info!(provider = &*self.provider, "the provider answers again, and may serve");
                    self.tell(None);
                    return Ok(());
                };
                if let Err(Crashed { text, .. }) = &probed {
                    self.quarantined(pause, text);
                }
                pause
            }
        };
        let because = self.because.lock().clone().unwrap_or_else(|| "it is being probed".to_owned());
        Err(Error::RetryAfter { after: wait, reason: format!("provider {}: {because}", self.provider) })
    }

    /// A call that passed has returned.
    pub(super) fn returned(&self, subject: Subject<'_>) {
        self.lock().ended(Instant::now(), subject, End::Returned);
    }

    /// A call that passed did not return. Where that may be the provider's fault and not an object's, `probe` is made.
    /// Answers the error for the caller.
    pub(super) async fn stopped(
        &self,
        subject: Subject<'_>,
        crashed: &Crashed,
        probe: impl Future<Output = Result<(), Crashed>>,
    ) -> Stopped {
        let end = crashed.end();
        let verdict = {
            let mut quarantine = self.lock();
            let verdict = quarantine.ended(Instant::now(), subject, end);
            if let (CallVerdict::SetAside { .. }, Subject::One(object)) = (verdict, subject) {
                quarantine.note(&object.key, &crashed.text);
            }
            verdict
        };
        let error = match (verdict, subject) {
            (CallVerdict::SetAside { .. }, Subject::One(object)) => self.set_aside(object),
            _ => Error::Unavailable(format!("provider {}: {}", self.provider, crashed.text)),
        };
        match verdict {
            CallVerdict::Nothing | CallVerdict::SetAside { probe: false } => {}
            CallVerdict::SetAside { probe: true } => self.doubt(probe).await,
            CallVerdict::LeftAlone(pause) => self.quarantined(pause, &crashed.text),
        }
        Stopped { error, crashed: end == End::Crashed, is_late: matches!(crashed.crash, Crash::Wall) }
    }

    /// The error about an object that is set aside now; `None` if a call about it may run.
    pub(super) fn is_set_aside(&self, object: &Object) -> Option<Error> {
        let waits = !self.lock().set_aside(Instant::now(), &object.key).0.is_zero();
        waits.then(|| self.set_aside(object))
    }

    /// It crashed over several objects, and nothing returned in between.
    async fn doubt(&self, probe: impl Future<Output = Result<(), Crashed>>) {
        tracing::warn!(provider = &*self.provider, "the provider crashes over several objects, and is probed");
        let probed = probe.await;
        let verdict = self.lock().doubted(Instant::now(), end(&probed));
        if let (CallVerdict::LeftAlone(pause), Err(Crashed { text, .. })) = (verdict, &probed) {
            self.quarantined(pause, text);
        }
    }

    /// The error about an object that is set aside. Its text is the same each time, so that it becomes one event.
    fn set_aside(&self, object: &Object) -> Error {
        let quarantine = self.lock();
        let (after, text) = quarantine.set_aside(Instant::now(), &object.key);
        let (first, longest) = (quarantine.first().as_secs_f64(), quarantine.longest().as_secs_f64());
        let Object { name, next, .. } = object;
        let reason = format!(
            "provider {}: {text}. Only {name} is set aside: tried again after {first} s, and if it crashes again after \
             longer pauses of up to {longest} s. Next step: {next}",
            self.provider
        );
        Error::Crashed { after, reason }
    }

    fn quarantined(&self, pause: Duration, last: &str) {
        let because = format!("in quarantine, because its calls crash in a row; the last: {last}");
        tracing::error!(
            provider = &*self.provider,
            pause_s = pause.as_secs(),
            "the provider is {because}; it is probed after the pause, and nothing is deleted meanwhile. Another version that \
             provider.module names by its digest takes its place without a restart"
        );
        self.tell(Some(because));
    }

    fn tell(&self, because: Option<String>) {
        let serving = self.serving_quarantine.serving.lock();
        self.because.lock().clone_from(&because);
        if *serving == self.version {
            self.serving_quarantine.tell(because);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Quarantine> {
        self.quarantine.lock()
    }
}

/// Why a call did not return.
pub(super) struct Stopped {
    pub(super) error: Error,
    /// Whether the guest itself was the reason: it trapped, or was out of CPU time or memory.
    pub(super) crashed: bool,
    /// Whether its time was over.
    pub(super) is_late: bool,
}

/// A call that crashed, or was stopped.
pub(super) struct Crashed {
    pub(super) crash: Crash,
    /// The text for a person.
    pub(super) text: String,
}

impl Crashed {
    fn end(&self) -> End {
        match self.crash {
            Crash::Trap { .. } | Crash::Cpu | Crash::Memory => End::Crashed,
            Crash::Wall | Crash::Panic => End::Neither,
        }
    }
}

fn end(probe: &Result<(), Crashed>) -> End {
    probe.as_ref().map_or_else(Crashed::end, |()| End::Returned)
}
