//! A provider with the endpoints and credentials of a config, whose requests somebody watches.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use cloud_provider::{Cluster, Demand};
use egress::{Credentials, Egress, EgressSettings, RequestWatcher};
use sandbox::{Metrics, Module, Provider, Sandbox};

use crate::config::CloudConfig;

/// A provider, its egress, and whoever watches.
pub(super) struct LoadedCall<W> {
    pub(super) provider: Provider,
    pub(super) egress: Egress,
    pub(super) watcher: Arc<W>,
}

/// The cluster that a provider works for.
pub(super) fn cluster(name: &str, uid: &str) -> Cluster {
    Cluster { name: name.to_owned(), uid: uid.to_owned(), ..Cluster::default() }
}

/// Loads a module with a config. `in_config` begins the sentence about a config that cannot be used.
///
/// # Errors
///
/// If a credential cannot be read, or the module is none that runs.
pub(super) async fn load<W: RequestWatcher + 'static>(
    config: CloudConfig,
    in_config: &str,
    module: Module,
    compiler: Option<&Path>,
    cluster: Cluster,
    watch: impl FnOnce(&Egress) -> Arc<W>,
) -> Result<LoadedCall<W>> {
    let in_config = || in_config.to_owned();
    let registry = prometheus::Registry::new();
    let settings = EgressSettings {
        endpoints: config.endpoints,
        credentials: Credentials::load(config.credentials).with_context(in_config)?,
        fence: Arc::new(|| true),
        demands: Arc::new(|_| Demand::default()),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    let egress = Egress::new(settings, egress::Metrics::register(&registry)?).with_context(in_config)?;
    let watcher = watch(&egress);
    let sandbox = Sandbox::new(config.provider.limits.memory)?;
    let sandbox = compiler.map_or(sandbox.clone(), |program| sandbox.compiling_with(program));
    let sandbox = sandbox.with_compile_limits(config.compile);
    let watched = egress.clone().watched_by(watcher.clone());
    let metrics = Metrics::register(&registry)?;
    let provider = Provider::load(&sandbox, module, config.provider, watched, metrics).await?;
    provider.set_cluster(cluster);
    Ok(LoadedCall { provider, egress, watcher })
}
