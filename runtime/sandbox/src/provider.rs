//! A provider, loaded and checked.

mod guard;
mod identity;
mod instances;
mod load;
mod load_balancers;
mod quarantine;

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Cloud, Description, Error, Identity, Instances, LoadBalancers, Notice, Reply, Result};
use futures::future::BoxFuture;
use tokio::sync::watch;
use wasmtime::Store;

use self::guard::{Crashed, Guard};
pub use self::load::LoadError;
use crate::bindings::description::ProvidesDescriptionPre;
use crate::bindings::instances::ProvidesInstancesPre;
use crate::bindings::load_balancers::ProvidesLoadBalancersPre;
use crate::call::{Answer, CallLimits, Calls, Crash, Function, State};
use crate::engine::Sandbox;
use crate::gate::Gate;
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
    /// A provider whose calls crash five times in a row is left alone for a while that doubles from 30 s to 10 min, and
    /// is then probed by the next call. Until it answers, calls do not run: they answer when to come back.
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
    async fn call<T: Answer>(
        &self,
        function: Function,
        body: impl for<'a> FnOnce(&'a mut Store<State>) -> BoxFuture<'a, wasmtime::Result<T>> + Send,
    ) -> Reply<Result<T>> {
        let permit = self.calls.permit().await;
        let probe = async {
            let probed = load::describe(&self.calls, &permit, &self.provider).await;
            probed.map(drop).map_err(|crash| self.crashed(Function::Describe, crash))
        };
        if let Err(error) = self.guard.admit(probe).await {
            return Err(error).into();
        }
        let Reply { answer, notices } = self.calls.run(&permit, function, body).await;
        // Whatever of it is shown is shown to everybody who may read Services, nodes or events.
        let holds_secret = self.calls.gate.holds_secret(&format!("{answer:?}"));
        let answer = answer.map_err(|crash| self.crashed(function, crash));
        self.guard.ended(answer.as_ref().map(drop));
        let answer = match answer {
            _ if holds_secret => Err(self.unusable(function, "it holds a credential, and is withheld")),
            answer => answer.map_err(|it| self.failed(&it.text)),
        };
        Reply { answer, notices: self.about_ours(notices) }
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
    fn about_ours(&self, mut notices: Vec<Notice>) -> Vec<Notice> {
        notices.retain(|it| {
            let is_ours = it.about.as_ref().is_none_or(|id| self.description.owns(id));
            is_ours && !self.calls.gate.holds_secret(&format!("{it:?}"))
        });
        notices
    }
}
