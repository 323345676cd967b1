//! A provider, loaded and checked.

mod batch;
mod describe;
mod guard;
mod identity;
mod instances;
mod lists;
mod load;
mod load_balancer_inventory;
mod load_balancers;
mod loaded;
mod object;
mod persistent_volumes;
mod probe;
mod quarantine;
mod routes;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{
    Cloud, Cluster, Description, Identity, Instances, LoadBalancerInventory, LoadBalancers, PersistentVolumes, Result,
    Routes,
};
use egress::Gate;
use tokio::sync::watch;

use self::loaded::Loaded;
pub use self::settings::ProviderSettings;
use crate::engine::Sandbox;
use crate::error::LoadError;
use crate::metrics::Metrics;
use crate::source::Module;

/// A provider that can be called. Cloning shares it.
#[derive(Clone)]
pub struct Provider(Arc<Loaded>);

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
        let Loaded { description, provider, instances, load_balancers, inventory, routes, volumes, .. } = &*self.0;
        let loaded = || self.0.clone();
        let identity: Arc<dyn Identity> = Arc::new(identity::Guest { pre: provider.clone(), loaded: loaded() });
        Cloud {
            instances: instances.clone().map(|pre| -> Arc<dyn Instances> {
                Arc::new(instances::Guest { pre, loaded: loaded(), lists: Arc::default() })
            }),
            load_balancers: load_balancers
                .clone()
                .map(|pre| -> Arc<dyn LoadBalancers> { Arc::new(load_balancers::Guest { pre, loaded: loaded() }) }),
            routes: routes.clone().map(|(pre, description)| -> Arc<dyn Routes> {
                Arc::new(routes::Guest { pre, description, loaded: loaded(), lists: Arc::default() })
            }),
            load_balancer_inventory: inventory.clone().map(|(pre, description)| -> Arc<dyn LoadBalancerInventory> {
                Arc::new(load_balancer_inventory::Guest { pre, description, loaded: loaded(), lists: Arc::default() })
            }),
            persistent_volumes: volumes.clone().map(|(pre, description)| -> Arc<dyn PersistentVolumes> {
                Arc::new(persistent_volumes::Guest { pre, description, loaded: loaded() })
            }),
            ..Cloud::new(description.clone(), identity)
        }
    }

    /// Says which cluster the provider works for: before it is asked anything about it, and once. What is said later has no
    /// effect.
    pub fn set_cluster(&self, cluster: Cluster) {
        let _ = self.0.calls.cluster.set(Arc::new(cluster));
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
