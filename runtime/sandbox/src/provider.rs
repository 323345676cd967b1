//! A provider, loaded and checked.

mod guard;
mod identity;
mod instances;
mod load;
mod load_balancers;
mod object;
mod probe;
mod quarantine;

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Cloud, Description, Error, Event, Identity, Instances, LoadBalancers, Reply, Result};
use egress::Gate;
use futures::future::BoxFuture;
use tokio::sync::watch;
use wasmtime::Store;

use self::guard::{Crashed, Guard, Subject};
pub use self::load::LoadError;
use crate::bindings::description::ProvidesDescriptionPre;
use crate::bindings::instances::ProvidesInstancesPre;
use crate::bindings::load_balancers::ProvidesLoadBalancersPre;
use crate::call::{Answer, CallLimits, Calls, Crash, Function, State};
use crate::convert::texts::{self, Texts};
use crate::engine::Sandbox;
use crate::metrics::Metrics;
use crate::source::Module;

/// What the operator says of a provider.
#[derive(Clone, Debug, Default)]
pub struct ProviderSettings {
    /// Names and values; checked against the provider's description.
    pub settings: Vec<(String, String)>,
    /// The node labels that the provider may see.
    pub node_labels: Vec<String>,
    /// The annotation keys that the provider may have written on Services, if it describes them.
    pub writes_annotations: Vec<String>,
    /// What one call may use up.
    pub limits: CallLimits,
}

/// A provider that can be called. Cloning shares it.
#[derive(Clone)]
pub struct Provider(Arc<Loaded>);

struct Loaded {
    description: Arc<Description>,
    provider: ProvidesDescriptionPre<State>,
    instances: Option<ProvidesInstancesPre<State>>,
    load_balancers: Option<ProvidesLoadBalancersPre<State>>,
    calls: Calls,
    guard: Guard,
    node_labels: Vec<String>,
    writes_annotations: Vec<String>,
    compile_time: Duration,
}

/// Why a call did not return.
struct Stopped {
    error: Error,
    /// Whether the guest itself was the reason: it trapped, or was out of CPU time or memory.
    crashed: bool,
}

impl Provider {
    /// Compiles `module`, checks what it imports and exports before any of it runs, asks it to describe itself, and
    /// checks `settings` and the gate's endpoints against that.
    ///
    /// # Errors
    ///
    /// If any of that fails. The text names the module or provider, the cause and the next step.
    pub async fn load(
        sandbox: &Sandbox,
        module: Module,
        settings: ProviderSettings,
        gate: Gate,
        metrics: Metrics,
    ) -> Result<Self, LoadError> {
        load::load(sandbox, module, settings, gate, metrics).await.map(|it| Self(Arc::new(it)))
    }

    /// What the provider can do, read off its exports.
    #[must_use]
    pub fn cloud(&self) -> Cloud {
        let Loaded { description, provider, instances, load_balancers, .. } = &*self.0;
        let identity: Arc<dyn Identity> = Arc::new(identity::Guest { pre: provider.clone(), loaded: self.0.clone() });
        let instances = instances
            .clone()
            .map(|pre| -> Arc<dyn Instances> { Arc::new(instances::Guest { pre, loaded: self.0.clone() }) });
        let load_balancers = load_balancers
            .clone()
            .map(|pre| -> Arc<dyn LoadBalancers> { Arc::new(load_balancers::Guest { pre, loaded: self.0.clone() }) });
        Cloud { description: description.clone(), identity, instances, load_balancers }
    }

    /// What the provider says of itself.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.0.description
    }

    /// Why the provider is in quarantine, and whenever that changes; `None` while it serves.
    ///
    /// A provider is left alone for a while, that doubles from 30 s to 10 min, once five calls about no object crashed in
    /// a row; or once it crashed over five objects, nothing returned in between, and a probe crashed too. Then it is
    /// probed by the next call. Until the probe returns, calls do not run: they answer when to come back.
    ///
    /// An object over which the provider crashes is set aside by itself, for as long: others are served.
    #[must_use]
    pub fn quarantine(&self) -> watch::Receiver<Option<String>> {
        self.0.guard.because()
    }

    /// How long the compilation took.
    #[must_use]
    pub fn compile_time(&self) -> Duration {
        self.0.compile_time
    }
}

impl Loaded {
    /// One call of the guest. A call that did not return is a fault of the provider, which may be gone with the next.
    async fn call<T: Answer + Texts>(
        &self,
        function: Function,
        subject: Subject<'_>,
        body: impl for<'a> FnOnce(&'a mut Store<State>) -> BoxFuture<'a, wasmtime::Result<T>> + Send,
    ) -> Reply<Result<T>> {
        let Reply { answer, events } = self.attempt(function, subject, body).await;
        Reply { answer: answer.map_err(|it| it.error), events }
    }

    /// As [`Loaded::call`], and says whether it crashed.
    async fn attempt<T: Answer + Texts>(
        &self,
        function: Function,
        subject: Subject<'_>,
        body: impl for<'a> FnOnce(&'a mut Store<State>) -> BoxFuture<'a, wasmtime::Result<T>> + Send,
    ) -> Reply<Result<T, Stopped>> {
        let permit = self.calls.permit(function).await;
        if let Err(error) = self.guard.admit(subject, self.probe(&permit)).await {
            return Err(Stopped { error, crashed: false }).into();
        }
        let Reply { answer, events } = self.calls.run(&permit, function, body).await;
        // Whatever of it is shown is shown to everybody who may read Services, nodes or events.
        let holds_secret = self.calls.gate.holds_secret(&texts::joined(&answer));
        let events = self.about_ours(events);
        let answer = match answer {
            Ok(answer) => {
                self.guard.returned(subject);
                Ok(answer)
            }
            Err(crash) => {
                let crashed = self.crashed(function, crash);
                Err(self.guard.stopped(subject, &crashed, self.probe(&permit)).await)
            }
        };
        let answer = if holds_secret {
            let error = self.unusable(function, "it holds a credential, and is withheld");
            Err(Stopped { error, crashed: answer.is_err_and(|it| it.crashed) })
        } else {
            answer
        };
        Reply { answer, events }
    }

    fn crashed(&self, function: Function, crash: Crash) -> Crashed {
        Crashed { text: self.calls.explain(function, &crash), crash }
    }

    /// The error for an answer that was not believed.
    fn unusable(&self, function: Function, because: &str) -> Error {
        self.failed(&format!("{function} gave an unusable answer: {because}"))
    }

    fn failed(&self, because: &str) -> Error {
        Error::Unavailable(format!("provider {}: {because}", self.calls.provider))
    }

    /// Leaves out what is about an object that cannot be the provider's, and what holds a secret.
    fn about_ours(&self, mut events: Vec<Event>) -> Vec<Event> {
        events.retain(|it| {
            let is_ours = it.about.as_ref().is_none_or(|id| self.description.owns(id));
            is_ours && !self.calls.gate.holds_secret(&texts::joined(it))
        });
        events
    }
}
