//! Keeps a provider in quarantine from running, probes it when it is time, and tells whoever wants to know.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cloud_provider::Error;
use prometheus::IntGauge;
use tokio::sync::watch;
use tokio::time::Instant;

use super::quarantine::{Admission, End, Quarantine};
use crate::call::Crash;

/// Stands before the calls of one provider.
pub(super) struct Guard {
    provider: Arc<str>,
    quarantine: Mutex<Quarantine>,
    /// Why the provider is in quarantine; `None` while it serves.
    because: watch::Sender<Option<String>>,
    /// 1 while the provider is in quarantine.
    gauge: IntGauge,
}

impl Guard {
    pub(super) fn new(provider: Arc<str>, first: Duration, gauge: IntGauge) -> Self {
        let quarantine = Mutex::new(Quarantine::new(first));
        Self { provider, quarantine, because: watch::Sender::new(None), gauge }
    }

    /// Why the provider is in quarantine, and whenever that changes.
    pub(super) fn because(&self) -> watch::Receiver<Option<String>> {
        self.because.subscribe()
    }

    /// Lets a call pass, if need be after a probe. The error is for the caller: nothing ran.
    pub(super) async fn admit(&self, probe: impl Future<Output = Result<(), Crashed>>) -> Result<(), Error> {
        let admission = self.lock().admit(Instant::now());
        let wait = match admission {
            Admission::Run => return Ok(()),
            Admission::Wait(wait) => wait,
            Admission::Probe => {
                let probed = probe.await;
                let left_alone = self.lock().probed(Instant::now(), end(probed.as_ref().copied()));
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
        let because = self.because.borrow().clone().unwrap_or_else(|| "it is being probed".to_owned());
        Err(Error::RetryAfter { after: wait, because: format!("provider {}: {because}", self.provider) })
    }

    /// A call that passed has ended.
    pub(super) fn ended(&self, call: Result<(), &Crashed>) {
        let left_alone = self.lock().ended(Instant::now(), end(call));
        if let (Some(pause), Err(Crashed { text, .. })) = (left_alone, call) {
            self.quarantined(pause, text);
        }
    }

    fn quarantined(&self, pause: Duration, last: &str) {
        let because = format!("in quarantine, because its calls crash in a row; the last: {last}");
        tracing::error!(
            provider = &*self.provider,
            pause_s = pause.as_secs(),
            "the provider is {because}; it is probed after the pause, and nothing is deleted meanwhile"
        );
        self.tell(Some(because));
    }

    fn tell(&self, because: Option<String>) {
        self.gauge.set(because.is_some().into());
        self.because.send_replace(because);
    }

    fn lock(&self) -> MutexGuard<'_, Quarantine> {
        self.quarantine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that did not return.
pub(super) struct Crashed {
    pub(super) crash: Crash,
    /// What to tell a person.
    pub(super) text: String,
}

fn end(call: Result<(), &Crashed>) -> End {
    match call {
        Ok(()) => End::Returned,
        Err(Crashed { crash: Crash::Trap(_) | Crash::Cpu | Crash::Memory, .. }) => End::Crashed,
        Err(Crashed { crash: Crash::Wall | Crash::Panic, .. }) => End::Neither,
    }
}
