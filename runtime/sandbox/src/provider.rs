//! A provider, loaded and checked, and replaced by other versions of it while it is called.

mod batch;
mod busy;
mod candidate;
mod created;
mod describe;
mod facade;
mod gather;
mod guard;
mod identity;
mod instances;
mod judged;
mod lists;
mod load;
mod load_balancer_batches;
mod load_balancer_inventory;
mod load_balancers;
mod loaded;
mod object;
mod persistent_volumes;
mod probe;
mod quarantine;
mod routes;
mod settings;
mod versions;
mod volumes;

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Cloud, Cluster, Description};
use egress::Egress;
use sha256::Digest;
use tokio::sync::watch;
use tokio::time::Instant;

pub use self::candidate::{Candidate, ProbeError, Swapped};
use self::load::ProviderParts;
pub use self::settings::ProviderSettings;
use self::versions::{Version, Versions};
use crate::engine::Sandbox;
use crate::error::LoadError;
use crate::metrics::Metrics;
use crate::source::Module;

/// A provider that can be called, in the version of it that serves. Cloning shares it.
#[derive(Clone)]
pub struct Provider(Arc<Versions>);

impl Provider {
    /// Compiles `module`, checks what it imports and exports before any of it runs, asks it to describe itself, and
    /// checks `settings` and the egress's endpoints against that.
    ///
    /// # Errors
    ///
    /// If any of that fails. The text names the module or provider, the cause and the next step.
    pub async fn load(
        sandbox: &Sandbox,
        module: Module,
        settings: ProviderSettings,
        egress: Egress,
        metrics: Metrics,
    ) -> Result<Self, LoadError> {
        let shared = ProviderParts::new(sandbox.clone(), settings, egress, metrics);
        let version = Version::new(load::load(&shared, module).await?);
        Ok(Self(Arc::new(Versions::new(shared, version))))
    }

    /// As [`Provider::load`], without a look at `settings` and the egress's endpoints: to see what a module says of itself
    /// before anything is configured for it.
    ///
    /// # Errors
    ///
    /// If it cannot be compiled, imports what is not offered, or does not describe itself.
    pub async fn inspect(
        sandbox: &Sandbox,
        module: Module,
        settings: ProviderSettings,
        egress: Egress,
        metrics: Metrics,
    ) -> Result<Self, LoadError> {
        let shared = ProviderParts::new(sandbox.clone(), settings, egress, metrics);
        let version = Version::new(load::examine(&shared, module).await?);
        Ok(Self(Arc::new(Versions::new(shared, version))))
    }

    /// Loads another version of this provider beside the one that serves: the same checks, with the same settings, egress
    /// and places of calls.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load), and if it lacks a capability with which controllers were started.
    pub async fn load_candidate(&self, module: Module) -> Result<Candidate, LoadError> {
        let name = module.name().to_owned();
        let loaded = load::load(&self.0.shared, module).await?;
        let has = loaded.capabilities();
        if let Some(capability) = self.0.capabilities.iter().find(|it| !has.contains(it)) {
            let capability = (*capability).to_owned();
            return Err(LoadError::Capability { module: name, capability });
        }
        Ok(Candidate(Arc::new(Version::new(loaded))))
    }

    /// Lets another version serve the calls that begin from now on. Calls that are under way end with the version with which
    /// they began, and so do lists.
    ///
    /// `seen` is the version of credentials and provider under which `candidate` has named the right account; `None` if it
    /// was not asked.
    #[must_use]
    pub fn swap(&self, candidate: &Candidate, seen: Option<u64>) -> Swapped {
        let replace = || Candidate(self.0.replace(candidate.0.clone(), Instant::now()));
        let (former, approved) = self.0.shared.egress.replace_provider(seen, replace);
        Swapped { former, approved }
    }

    /// The provider's capabilities, read off the exports of the version that was loaded first.
    #[must_use]
    pub fn cloud(&self) -> Cloud {
        facade::cloud(&self.0)
    }

    /// The interfaces that the version exports that serves, beside `provider`.
    #[must_use]
    pub fn capabilities(&self) -> Vec<&'static str> {
        self.0.serving().loaded.capabilities()
    }

    /// The interfaces of the version that was loaded first: what [`cloud`](Self::cloud) has. Every later version exports them,
    /// and what it exports beside is not called.
    #[must_use]
    pub fn capabilities_in_use(&self) -> Vec<&'static str> {
        self.0.capabilities.clone()
    }

    /// Says which cluster the provider works for: before it is asked anything about it, and once. What is said later has no
    /// effect.
    pub fn set_cluster(&self, cluster: Cluster) {
        let _ = self.0.shared.cluster.set(Arc::new(cluster));
    }

    /// The description that the version that serves gives of itself.
    #[must_use]
    pub fn description(&self) -> Arc<Description> {
        self.0.serving().loaded.description.clone()
    }

    /// The SHA-256 of the bytes of the version that serves.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.0.serving().loaded.calls.digest
    }

    /// Why the version that serves is in quarantine, and whenever that changes; `None` while it answers.
    ///
    /// A provider is left alone for a while, that doubles from 30 s to 10 min, once five calls about no object crashed in
    /// a row; or once it crashed over five objects, nothing returned in between, and a probe crashed too. Then it is
    /// probed by the next call. Until the probe returns, calls do not run: they answer when to come back.
    ///
    /// An object over which the provider crashes is set aside by itself, for as long: others are served.
    #[must_use]
    pub fn quarantine(&self) -> watch::Receiver<Option<String>> {
        self.0.shared.serving_quarantine.because()
    }

    /// How long the compilation of the version took that serves.
    #[must_use]
    pub fn compile_time(&self) -> Duration {
        self.0.serving().loaded.compile_time
    }
}
