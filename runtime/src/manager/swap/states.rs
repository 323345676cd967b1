//! The states of another `provider.module`: which step comes next, and when. No clock, no call: times are arguments.
//!
//! ```text
//! named ─ fetched and verified ─► verified ─ compiled, described, compared ─► described ─ named the account ─► on trial
//!   ▲ │                              │                                          ▲ │                              │   │
//!   └─┘ later: 1 to 60 min           ▼                                          └─┘ later                        │   ▼
//!                                 refused, until the config changes                     serving ◄── 10 min leading  rolled back
//! ```
//!
//! Until a candidate is on trial, nothing is touched: the version that serves goes on.

use std::time::Duration;

use sandbox::Digest;
use tokio::time::Instant;

/// The first pause before what may be over later is tried again, and the longest: each doubles.
const PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// An event in the life of a module.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ModuleEvent {
    /// The config has another `provider.module` than before; its digest.
    Configured(Digest),
    /// The config has another `provider.module`, which cannot be put in place: a sentence.
    Unfit(Digest, String),
    /// The module was fetched and verified.
    Fetched,
    /// The module was compiled, has described itself, and fits the config as well as the version that serves.
    Loaded,
    /// It has named the cluster's account.
    Probed,
    /// The step has failed, and may succeed later: a sentence.
    Unavailable(String),
    /// The step has failed for good: a sentence.
    Refused(String),
    /// The version that serves is in quarantine, and this process leads: a sentence.
    Quarantined(String),
    /// The module that the Lease refuses.
    OnLease(Option<Digest>),
    /// Time has passed.
    Tick {
        /// Whether this process leads.
        leads: bool,
    },
}

/// An action that has to be taken.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum SwapAction {
    /// Fetch and verify the module of the config.
    Fetch,
    /// Compile what was fetched, let it describe itself, and compare.
    Load,
    /// Let what was loaded name its account.
    Probe,
    /// End the step that is under way: nobody wants its result.
    Abandon,
    /// Let what was probed serve.
    Swap,
    /// Let the version serve that served before.
    SwapBack,
    /// Drop the version that served before.
    Forget,
    /// Write on the Lease that this module was rolled back.
    Note(Digest),
    /// Say why a module is not put in place: a sentence.
    SayRefused(String),
    /// Say why a module was rolled back: a sentence.
    SayRolledBack(String),
    /// Say that the version that serves has been rolled back before.
    SayServesRefused(Digest),
}

/// How far a candidate is, or what serves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SwapState {
    /// No other module is configured.
    Serving,
    /// It is fetched and verified, or will be.
    Named,
    /// Its bytes are in memory; it is compiled.
    Verified,
    /// It is asked for its account, or will be.
    Described,
    /// It serves, and the version before is kept.
    OnTrial,
    /// It is not put in place.
    Refused,
    /// It served, and the version before serves again.
    RolledBack,
}

impl SwapState {
    pub(super) const ALL: [Self; 7] =
        [Self::Serving, Self::Named, Self::Verified, Self::Described, Self::OnTrial, Self::Refused, Self::RolledBack];

    /// The value of the label `state`.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Serving => "serving",
            Self::Named => "named",
            Self::Verified => "verified",
            Self::Described => "described",
            Self::OnTrial => "on-trial",
            Self::Refused => "refused",
            Self::RolledBack => "rolled-back",
        }
    }
}

/// The modules: the one that serves, and the one that is to serve.
#[derive(Debug)]
pub(super) struct Modules {
    /// The digest in the config of what serves.
    serving: Digest,
    candidate: Option<NamedModule>,
    trial: Option<Trial>,
    /// The module that was rolled back in this cluster.
    refused: Option<Digest>,
    /// Whether the Lease has said so.
    is_on_lease: bool,
    /// How long a trial takes.
    trial_length: Duration,
}

/// Another module than the one that serves.
#[derive(Debug)]
struct NamedModule {
    digest: Digest,
    state: SwapState,
    /// When the step is tried again; `None` while it is under way, and where none comes.
    due: Option<Instant>,
    pause: Duration,
    /// Why it waits, or is refused.
    because: Option<String>,
}

#[derive(Debug)]
struct Trial {
    former: Digest,
    /// How long this process has to lead yet.
    left: Duration,
    last: Instant,
}

impl Modules {
    /// `serving` is the digest in the config of what serves.
    pub(super) fn new(serving: Digest, trial_length: Duration) -> Self {
        Self { serving, candidate: None, trial: None, refused: None, is_on_lease: false, trial_length }
    }

    /// The digest in the config of what serves.
    pub(super) fn serving(&self) -> Digest {
        self.serving
    }

    /// How far the candidate is, its digest, and why it waits or is refused; without one, what serves.
    pub(super) fn state(&self) -> (SwapState, Digest, Option<&str>) {
        match (&self.candidate, &self.trial) {
            (Some(it), _) => (it.state, it.digest, it.because.as_deref()),
            (None, Some(_)) => (SwapState::OnTrial, self.serving, None),
            (None, None) => (SwapState::Serving, self.serving, None),
        }
    }

    /// How long this process has to lead until the trial is over; `None` without one.
    pub(super) fn trial(&self) -> Option<Duration> {
        self.trial.as_ref().map(|it| it.left)
    }

    /// The actions that follow from an event, in this order.
    pub(super) fn on(&mut self, event: ModuleEvent, now: Instant) -> Vec<SwapAction> {
        match event {
            ModuleEvent::Configured(digest) => self.configured(digest),
            ModuleEvent::Unfit(digest, because) => {
                let mut actions = self.drop_candidate();
                actions.extend(self.refuse(digest, because));
                actions
            }
            ModuleEvent::Fetched => self.step(SwapState::Named, SwapState::Verified, SwapAction::Load),
            ModuleEvent::Loaded => self.step(SwapState::Verified, SwapState::Described, SwapAction::Probe),
            ModuleEvent::Probed => self.probed(now),
            ModuleEvent::Unavailable(because) => {
                if let Some(it) = &mut self.candidate {
                    it.because = Some(because);
                    it.due = Some(now + it.pause);
                    it.pause = (it.pause * 2).min(LONGEST_PAUSE);
                }
                Vec::new()
            }
            ModuleEvent::Refused(because) => match self.candidate.take() {
                Some(it) => self.refuse(it.digest, because),
                None => Vec::new(),
            },
            ModuleEvent::Quarantined(because) => self.quarantined(because),
            ModuleEvent::OnLease(digest) => self.on_lease(digest),
            ModuleEvent::Tick { leads } => self.tick(leads, now),
        }
    }

    fn configured(&mut self, digest: Digest) -> Vec<SwapAction> {
        let mut actions = self.drop_candidate();
        if digest == self.serving {
            return actions;
        }
        if self.refused == Some(digest) {
            actions.extend(self.refuse(digest, refused_by_lease(digest)));
            return actions;
        }
        self.candidate = Some(NamedModule::new(digest));
        actions.push(SwapAction::Fetch);
        actions
    }

    /// One step is done, and the next begins.
    fn step(&mut self, from: SwapState, to: SwapState, next: SwapAction) -> Vec<SwapAction> {
        match &mut self.candidate {
            Some(it) if it.state == from => {
                *it = NamedModule { state: to, ..NamedModule::new(it.digest) };
                vec![next]
            }
            Some(_) | None => Vec::new(),
        }
    }

    fn probed(&mut self, now: Instant) -> Vec<SwapAction> {
        let Some(NamedModule { digest, .. }) = self.candidate.take_if(|it| it.state == SwapState::Described) else {
            return Vec::new();
        };
        let former = std::mem::replace(&mut self.serving, digest);
        self.trial = Some(Trial { former, left: self.trial_length, last: now });
        vec![SwapAction::Swap]
    }

    fn quarantined(&mut self, because: String) -> Vec<SwapAction> {
        let Some(Trial { former, .. }) = self.trial.take() else { return Vec::new() };
        let bad = std::mem::replace(&mut self.serving, former);
        let text = format!(
            "module sha256:{bad} was rolled back to sha256:{former} during its trial: the provider is {because}. It is not \
             tried again in this cluster until provider.module has another digest, or the annotation {ANNOTATION} is removed \
             from the Lease"
        );
        self.refused = Some(bad);
        self.is_on_lease = false;
        // Another module that is on its way goes on.
        if self.candidate.is_none() {
            let rolled_back =
                NamedModule { state: SwapState::RolledBack, because: Some(text.clone()), ..NamedModule::new(bad) };
            self.candidate = Some(rolled_back);
        }
        vec![SwapAction::SwapBack, SwapAction::Note(bad), SwapAction::SayRolledBack(text)]
    }

    fn on_lease(&mut self, digest: Option<Digest>) -> Vec<SwapAction> {
        let Some(digest) = digest else {
            // Whoever removes the annotation allows another attempt. Before it was there, nobody has removed it.
            if !std::mem::take(&mut self.is_on_lease) {
                return Vec::new();
            }
            let allowed = self.refused.take();
            let waits = |candidate: &mut NamedModule| {
                Some(candidate.digest) == allowed
                    && matches!(candidate.state, SwapState::Refused | SwapState::RolledBack)
            };
            return match self.candidate.take_if(waits) {
                Some(it) => self.configured(it.digest),
                None => Vec::new(),
            };
        };
        if self.is_on_lease && self.refused == Some(digest) {
            return Vec::new();
        }
        self.refused = Some(digest);
        self.is_on_lease = true;
        if self.serving == digest {
            let Some(Trial { former, .. }) = self.trial.take() else {
                return vec![SwapAction::SayServesRefused(digest)];
            };
            // The replica that leads has rolled it back.
            self.serving = former;
            let mut actions = vec![SwapAction::SwapBack];
            if self.candidate.is_none() {
                actions.extend(self.refuse(digest, refused_by_lease(digest)));
            }
            return actions;
        }
        let is_under_way = |candidate: &mut NamedModule| {
            candidate.digest == digest
                && matches!(candidate.state, SwapState::Named | SwapState::Verified | SwapState::Described)
        };
        match self.candidate.take_if(is_under_way) {
            Some(_) => [vec![SwapAction::Abandon], self.refuse(digest, refused_by_lease(digest))].concat(),
            None => Vec::new(),
        }
    }

    fn tick(&mut self, leads: bool, now: Instant) -> Vec<SwapAction> {
        let mut actions = Vec::new();
        if let Some(trial) = &mut self.trial {
            if leads {
                trial.left = trial.left.saturating_sub(now.saturating_duration_since(trial.last));
            }
            trial.last = now;
        }
        if self.trial.take_if(|it| it.left.is_zero()).is_some() {
            actions.push(SwapAction::Forget);
        }
        if let Some(it) = self.candidate.as_mut().filter(|it| it.due.is_some_and(|due| due <= now)) {
            it.due = None;
            actions.push(if it.state == SwapState::Described { SwapAction::Probe } else { SwapAction::Fetch });
        }
        actions
    }

    /// No candidate any more. One of which a step is under way is abandoned.
    fn drop_candidate(&mut self) -> Vec<SwapAction> {
        match self.candidate.take() {
            Some(it) if it.is_under_way() => vec![SwapAction::Abandon],
            Some(_) | None => Vec::new(),
        }
    }

    fn refuse(&mut self, digest: Digest, because: String) -> Vec<SwapAction> {
        let refused =
            NamedModule { state: SwapState::Refused, because: Some(because.clone()), ..NamedModule::new(digest) };
        self.candidate = Some(refused);
        vec![SwapAction::SayRefused(because)]
    }
}

impl NamedModule {
    fn new(digest: Digest) -> Self {
        Self { digest, state: SwapState::Named, due: None, pause: PAUSE, because: None }
    }

    fn is_under_way(&self) -> bool {
        self.due.is_none() && matches!(self.state, SwapState::Named | SwapState::Verified | SwapState::Described)
    }
}

/// The annotation of the Lease that holds the digest of a module that was rolled back.
pub(super) const ANNOTATION: &str = crate::leader::REFUSED;

fn refused_by_lease(digest: Digest) -> String {
    format!(
        "module sha256:{digest} was rolled back in this cluster, as the annotation {ANNOTATION} of the Lease says. Configure \
         another digest, or remove the annotation to try it again"
    )
}

#[cfg(test)]
mod tests;
