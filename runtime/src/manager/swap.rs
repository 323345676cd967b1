//! Replaces the module of the provider while it serves, and puts the one before back.
//!
//! ```text
//! --cloud-config, the Lease, a quarantine ► ■ states ► fetch, load, probe: in the background, one at a time
//!                                                    ► swap, swap back: for the calls that begin from then on
//! ```
//!
//! `swap/README.md` tells the whole.

mod comparison;
mod config_file;
mod lease;
mod metrics;
mod page;
mod states;
mod steps;

use std::sync::Arc;
use std::time::Duration;

use ::controllers::{Account, EventKind};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use sandbox::{Candidate, Digest, Module, Provider, Swapped};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tracing::{info, warn};

use self::config_file::ConfigFile;
pub(super) use self::lease::OnLease;
pub(super) use self::metrics::Metrics;
use self::page::ModulePage;
use self::states::{ModuleEvent, Modules, SwapAction};
use self::steps::{Done, StepFailed};
use super::cloud::{LoadedProvider, Start};
use crate::failure::Failure;
use crate::flags::RunSettings;
use crate::leader::{self, RefusedModule};
use crate::telemetry::ProviderPage;

/// How often it is looked whether something is due.
const TICK: Duration = Duration::from_secs(1);

/// The task that replaces the module.
pub(super) struct Swap {
    provider: Provider,
    start: Start,
    config: ConfigFile,
    /// How often the config is looked at.
    look: Duration,
    modules: Modules,
    /// `None` until the cluster is known: before, no provider is asked anything.
    account: watch::Receiver<Option<Account>>,
    /// `None` without leader election: this process leads, and only the log is told.
    on_lease: Option<OnLease>,
    metrics: Metrics,
    page: watch::Sender<Option<ProviderPage>>,
    /// The module that is being put in place, as far as it has come.
    next: NextModule,
    /// How messages call the module that serves, and who has signed it.
    serving: Label,
    /// The version that served before, for as long as it may be put back.
    former: Option<(Candidate, Label)>,
}

/// How messages call a module, and who has signed it.
#[derive(Clone)]
struct Label {
    name: String,
    signer: Option<String>,
}

/// A candidate on its way: each part is there once its step is done.
#[derive(Default)]
struct NextModule {
    work: Option<BoxFuture<'static, Result<Done, StepFailed>>>,
    module: Option<Module>,
    label: Option<Label>,
    candidate: Option<Arc<Candidate>>,
    /// Under which version of credentials and provider it has named the account; `None` if the account has to be asked about
    /// again before anything is written.
    seen: Option<u64>,
}

impl Swap {
    pub(super) fn new(
        settings: &RunSettings,
        loaded: &LoadedProvider,
        account: watch::Receiver<Option<Account>>,
        on_lease: Option<OnLease>,
        metrics: Metrics,
        page: watch::Sender<Option<ProviderPage>>,
    ) -> Self {
        let (provider, start) = (loaded.provider.clone(), loaded.start.clone());
        let modules = Modules::new(start.digest, settings.module_trial);
        let config = ConfigFile::new(settings.cloud_config.clone(), start.source.clone(), start.written.clone());
        let serving = Label { name: start.name.clone(), signer: start.signer.clone() };
        let next = NextModule::default();
        let look = settings.module_look;
        Self { provider, start, config, look, modules, account, on_lease, metrics, page, next, serving, former: None }
    }

    /// Replaces modules until it is asked to stop.
    pub(super) async fn run(self, stopped: impl Future<Output = ()>) -> Result<&'static str, Failure> {
        tokio::select! {
            () = stopped => {}
            () = self.replace_modules() => {}
        }
        Ok("the replacement of modules")
    }

    /// Replaces modules, for as long as it is polled.
    async fn replace_modules(mut self) {
        let quarantine = self.provider.quarantine();
        let (mut looks, mut ticks) = (interval(self.look), interval(TICK));
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // What was rolled back before is known before another module is looked for.
        let mut refused = self.on_lease.as_ref().map(OnLease::refused);
        if self.start.digest != self.start.source.digest() {
            self.handle(ModuleEvent::OnLease(Some(self.start.source.digest()))).await;
            self.handle(ModuleEvent::Configured(self.start.source.digest())).await;
        }
        loop {
            self.show();
            let events = tokio::select! {
                done = working(&mut self.next.work) => vec![self.done(done)],
                _ = looks.tick() => self.config.look(self.modules.serving()).await,
                _ = ticks.tick() => {
                    let leads = self.leads();
                    let because = quarantine.borrow().clone().filter(|_| leads);
                    because.map(ModuleEvent::Quarantined).into_iter().chain([ModuleEvent::Tick { leads }]).collect()
                }
                refused = changed(&mut refused) => self.read(refused),
            };
            for event in events {
                self.handle(event).await;
            }
        }
    }

    /// Whether this process leads.
    fn leads(&self) -> bool {
        self.on_lease.as_ref().is_none_or(OnLease::leads)
    }

    /// Takes note of what the Lease says.
    fn read(&mut self, refused: RefusedModule) -> Vec<ModuleEvent> {
        let RefusedModule::Read { digest, uid } = refused else { return Vec::new() };
        if let Some(on_lease) = &mut self.on_lease {
            on_lease.has_uid(uid);
        }
        vec![ModuleEvent::OnLease(digest)]
    }

    /// Takes note of what a step has come to.
    fn done(&mut self, done: Result<Done, StepFailed>) -> ModuleEvent {
        self.next.work = None;
        match done {
            Ok(Done::Fetched(fetched)) => {
                self.next.label = Some(Label { name: fetched.module.name().to_owned(), signer: fetched.signer });
                self.next.module = Some(fetched.module);
                ModuleEvent::Fetched
            }
            Ok(Done::Loaded(candidate)) => {
                self.next.candidate = Some(candidate);
                ModuleEvent::Loaded
            }
            Ok(Done::Probed { seen }) => {
                self.next.seen = seen;
                ModuleEvent::Probed
            }
            Err(StepFailed::Later(because)) => {
                warn!("another provider.module is not put in place yet: {because}. It is tried again later");
                ModuleEvent::Unavailable(because)
            }
            Err(StepFailed::Refused(because)) => ModuleEvent::Refused(because),
        }
    }

    async fn handle(&mut self, event: ModuleEvent) {
        for action in self.modules.on(event, Instant::now()) {
            match action {
                SwapAction::Fetch => {
                    let (source, means) = (self.config.source().clone(), self.start.means.clone());
                    info!("--cloud-config names another module: sha256:{}", source.digest());
                    let work = steps::fetch(source, means, self.modules.serving());
                    self.next = NextModule { work: Some(work.boxed()), ..NextModule::default() };
                }
                SwapAction::Load => {
                    let Some(module) = self.next.module.take() else { continue };
                    let (provider, fit) = (self.provider.clone(), self.start.fit.clone());
                    self.next.work = Some(steps::load(provider, module, fit).boxed());
                }
                SwapAction::Probe => {
                    let Some(candidate) = self.next.candidate.clone() else { continue };
                    self.next.work = Some(steps::probe(candidate, self.account.clone()).boxed());
                }
                SwapAction::Abandon => self.next = NextModule::default(),
                SwapAction::Swap => self.swap().await,
                SwapAction::SwapBack => self.swap_back().await,
                SwapAction::Forget => {
                    self.former = None;
                    info!("the trial of {} is over: what served before is dropped", self.serving.name);
                }
                SwapAction::Note(digest) => self.note(digest).await,
                SwapAction::SayRefused(because) => {
                    let serving = self.called();
                    let message = format!("another provider.module is not put in place: {because}. {serving} goes on");
                    self.say(EventKind::Warning, "ModuleRefused", &message);
                }
                SwapAction::SayRolledBack(message) => self.say(EventKind::Warning, "ModuleRolledBack", &message),
                SwapAction::SayServesRefused(digest) => warn!(
                    "module sha256:{digest} serves, and was rolled back in this cluster, as the annotation {} of the Lease \
                     says: provider.module.oci.previous would name what is loaded instead. Configure another digest, or remove \
                     the annotation",
                    leader::REFUSED
                ),
            }
        }
    }

    /// Lets the candidate serve.
    async fn swap(&mut self) {
        let NextModule { candidate, label, seen, .. } = std::mem::take(&mut self.next);
        let (Some(candidate), Some(label)) = (candidate, label) else { return };
        let former = self.replace(&candidate, seen).await;
        self.former = Some((former, std::mem::replace(&mut self.serving, label)));
        let description = self.provider.description();
        self.start.fit.say(&description);
        let message = format!(
            "{} serves from now on: {}, compiled in {} ms. It is on trial for {:?} of leading",
            self.called(),
            self.serving.name,
            candidate.compile_time().as_millis(),
            self.modules.trial().unwrap_or_default(),
        );
        self.say(EventKind::Normal, "ModuleSwapped", &message);
    }

    /// Lets the version serve that served before.
    async fn swap_back(&mut self) {
        let Some((former, label)) = self.former.take() else { return };
        // The account is asked about again before anything is written.
        let bad = self.replace(&former, None).await;
        drop(bad);
        self.serving = label;
        info!("{} serves again: {}", self.called(), self.serving.name);
    }

    /// Another version serves. Answers the one before.
    async fn replace(&mut self, candidate: &Candidate, seen: Option<u64>) -> Candidate {
        let swap = || {
            let Swapped { former, approved } = self.provider.swap(candidate, seen);
            (former, approved)
        };
        let account = self.account.borrow().clone();
        match account {
            Some(account) => account.while_nobody_asks(swap).await,
            None => swap().0,
        }
    }

    /// Writes on the Lease that a module was rolled back.
    async fn note(&mut self, digest: Digest) {
        match &self.on_lease {
            Some(on_lease) => on_lease.note(digest).await,
            None => warn!(
                "without leader election there is no Lease on which to note that module sha256:{digest} was rolled back: \
                 a restart loads it again. Configure another digest"
            ),
        }
    }

    /// The version that serves, as in "acme 1.2.0".
    fn called(&self) -> String {
        let description = self.provider.description();
        format!("{} {}", description.name, description.version)
    }

    /// Says it in the log, and with an event on the Lease.
    fn say(&self, kind: EventKind, reason: &str, message: &str) {
        match kind {
            EventKind::Normal => info!("{message}"),
            EventKind::Warning => warn!("{message}"),
        }
        if let Some(on_lease) = &self.on_lease {
            on_lease.record(kind, reason, message);
        }
    }

    /// Shows how far it is.
    fn show(&self) {
        let (state, digest, because) = self.modules.state();
        self.metrics.set(state);
        let page = ModulePage {
            digest: self.modules.serving(),
            module: self.serving.name.clone(),
            signer: self.serving.signer.clone(),
            provider: self.provider.clone(),
            fit: self.start.fit.clone(),
            state: state.as_str(),
            candidate: (digest != self.modules.serving()).then_some(digest),
            because: because.map(str::to_owned),
            trial: self.modules.trial(),
        };
        self.page.send_replace(Some(Arc::new(move || page.json())));
    }
}

/// The outcome of the step that is under way; never, if none is.
async fn working(work: &mut Option<BoxFuture<'static, Result<Done, StepFailed>>>) -> Result<Done, StepFailed> {
    match work {
        Some(work) => work.await,
        None => std::future::pending().await,
    }
}

/// The Lease's word on modules, once that has changed.
async fn changed(refused: &mut Option<watch::Receiver<RefusedModule>>) -> RefusedModule {
    let Some(refused) = refused else { return std::future::pending().await };
    match refused.changed().await {
        Ok(()) => refused.borrow_and_update().clone(),
        // The candidate for the Lease is gone, and with it the process.
        Err(_) => std::future::pending().await,
    }
}
