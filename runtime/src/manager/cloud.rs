//! From the file to a provider that has said what it is.

mod memory;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Error, Result};
use cloud_provider::Cloud;
use egress::{Credentials, Demands, Egress, EgressSettings, Endpoint, Fence, Reports, Resolve};
use http::Uri;
use sandbox::{Digest, Metrics, Provider, ProviderSettings, Sandbox};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{info, warn};

use self::memory::{CallNumbers, mebibytes};
use crate::config::{AllowedAnswers, CloudConfig, ClusterNetworks, ConfigMapName, ModuleSource, WrittenConfig};
use crate::config_maps::ClusterConfigMaps;
use crate::flags::RunSettings;
use crate::leader;
use crate::manager::fit::Fit;
use crate::manager::module::{self, Fetched, Means};

/// The means that a provider is loaded with, and the receivers of its reports.
pub(super) struct ProviderInputs {
    /// Reads the module, if it is in a ConfigMap.
    pub(super) config_maps: ClusterConfigMaps,
    /// Where the API server is.
    pub(super) api_server: Uri,
    /// See [`crate::Overrides`].
    pub(super) route: fn(SocketAddr) -> SocketAddr,
    /// See [`crate::Overrides`].
    pub(super) names: Option<Arc<dyn Resolve>>,
    /// See [`crate::Overrides`].
    pub(super) compiler: Option<PathBuf>,
    /// Whether this process leads.
    pub(super) fence: Fence,
    /// The changes that Kubernetes asks for.
    pub(super) demands: Demands,
    /// Informs people.
    pub(super) reports: Reports,
    pub(super) egress_metrics: egress::Metrics,
    pub(super) metrics: Metrics,
}

/// A provider, ready to be called.
pub(super) struct LoadedProvider {
    pub(super) provider: Provider,
    pub(super) cloud: Cloud,
    pub(super) egress: Egress,
    pub(super) credentials: Credentials,
    /// The ConfigMaps of which the provider may read what it describes.
    pub(super) config_maps: Vec<ConfigMapName>,
    /// Those of them that are made where they are missing.
    pub(super) creates_config_maps: Vec<ConfigMapName>,
    /// The cluster's networks as the operator tells them.
    pub(super) cluster_networks: ClusterNetworks,
    /// The addresses and labels that its answers may name.
    pub(super) answers: AllowedAnswers,
    /// Why the provider is in quarantine, and whenever that changes; `None` while it serves.
    pub(super) quarantine: watch::Receiver<Option<String>>,
    pub(super) start: Start,
}

impl LoadedProvider {
    /// The ConfigMaps that the provider may read, each with the keys of the cluster's ids in it, if it may be made.
    pub(super) fn config_maps_and_ids(&self) -> Vec<(ConfigMapName, Vec<String>)> {
        let ids = &self.provider.description().cluster_ids;
        let keys = |config_map: &ConfigMapName| {
            let name = config_map.to_string();
            let is_made = self.creates_config_maps.contains(config_map);
            ids.iter().filter(|it| is_made && it.config_map == name).map(|it| it.key.clone()).collect()
        };
        self.config_maps.iter().map(|it| (it.clone(), keys(it))).collect()
    }
}

/// The parts from which the provider was started, for the task that replaces its module.
#[derive(Clone)]
pub(super) struct Start {
    /// The module that the config names.
    pub(super) source: ModuleSource,
    /// The rest of the config.
    pub(super) written: WrittenConfig,
    /// The digest of the module that was loaded: the one that the config names, or `oci.previous`.
    pub(super) digest: Digest,
    /// How messages call that module.
    pub(super) name: String,
    /// The signer; `None` if no signature is needed.
    pub(super) signer: Option<String>,
    pub(super) fit: Fit,
    pub(super) means: Means,
}

/// Loads the provider, and says at length what was loaded and what it may do. `refused` reads off the Lease which module was
/// rolled back in this cluster.
pub(super) async fn load(
    settings: &RunSettings,
    config: CloudConfig,
    outside: ProviderInputs,
    refused: impl Future<Output = Option<Digest>>,
) -> Result<LoadedProvider> {
    let CloudConfig {
        source,
        written,
        compile,
        provider: mut provider_settings,
        config_maps,
        creates_config_maps,
        provider_id_prefixes,
        endpoints,
        credentials,
        cluster_networks,
        answers,
    } = config;
    let ProviderSettings { settings: given, node_labels, writes_annotations, takes_finalizers, .. } =
        provider_settings.clone();
    let file = || format!("cannot use --cloud-config {}", settings.cloud_config.display());
    let limits = &mut provider_settings.limits;
    let wanted = CallNumbers::new(limits.concurrency, limits.memory, &endpoints);
    let fitting = wanted.within(memory::limit(Path::new("/"))).map_err(Error::msg)?;
    say_memory(wanted, fitting);
    limits.concurrency = fitting.concurrency;
    let memory = limits.memory;

    let credentials = Credentials::load(credentials).with_context(file)?;
    let egress = EgressSettings {
        endpoints,
        credentials: credentials.clone(),
        fence: outside.fence,
        demands: outside.demands,
        reports: outside.reports,
        route: outside.route,
    };
    let egress = match outside.names.clone() {
        Some(names) => Egress::with_resolver(egress, outside.egress_metrics, names),
        None => Egress::new(egress, outside.egress_metrics),
    }
    .with_context(file)?;

    let begin = Instant::now();
    let sandbox = match &outside.compiler {
        Some(program) => Sandbox::new(memory)?.compiling_with(program),
        None => Sandbox::new(memory)?,
    };
    let sandbox = sandbox.with_compile_limits(compile);
    let means = Means {
        config_maps: outside.config_maps,
        cache: settings.module_cache.clone(),
        api_server: outside.api_server,
        cluster_networks: cluster_networks.clone(),
        route: outside.route,
        names: outside.names,
    };
    let chosen = choose(&source, refused).await;
    let Fetched { module, digest: configured, signer } = module::fetch(&chosen, &means).await?;
    let (name, digest, size) = (module.name().to_owned(), module.digest(), module.size());
    let provider = Provider::load(&sandbox, module, provider_settings, egress.clone(), outside.metrics).await?;
    let description = provider.description();
    let fit = Fit {
        name: settings.cloud_provider.clone(),
        file: file(),
        provider_id_prefixes,
        settings: given,
        node_labels,
        writes_annotations,
        finalizers: takes_finalizers,
        config_maps: config_maps.iter().map(ToString::to_string).collect(),
        creates_config_maps: creates_config_maps.iter().map(ToString::to_string).collect(),
        egress: egress.clone(),
    };
    fit.check(&description, &name)?;

    info!(
        "provider {} {} from {name}: {} KiB, sha256 {digest}, compiled in {}, ready in {}",
        description.name,
        description.version,
        size.div_ceil(1 << 10),
        milliseconds(provider.compile_time()),
        milliseconds(begin.elapsed()),
    );
    fit.say(&description);
    for Endpoint { name, place, .. } in egress.endpoints() {
        if place.origins().iter().any(egress::Origin::is_loopback) {
            warn!(
                "endpoint {name} is on this machine ({place}): allowed, because the config names the loopback address"
            );
        }
    }
    let (cloud, quarantine) = (provider.cloud(), provider.quarantine());
    let start = Start { source, written, digest: configured, name, signer, fit, means };
    Ok(LoadedProvider {
        provider,
        cloud,
        egress,
        credentials,
        config_maps,
        creates_config_maps,
        cluster_networks,
        answers,
        quarantine,
        start,
    })
}

/// The module to load: not what was rolled back in this cluster, if the config names another one for that.
async fn choose(source: &ModuleSource, refused: impl Future<Output = Option<Digest>>) -> ModuleSource {
    let Some(previous) = source.previous() else { return source.clone() };
    if refused.await != Some(source.digest()) {
        return source.clone();
    }
    warn!(
        "module sha256:{} was rolled back in this cluster, as the annotation {} of the Lease says: \
         provider.module.oci.previous is loaded instead. Configure another digest, or remove the annotation",
        source.digest(),
        leader::REFUSED
    );
    previous
}

/// Guests and answers of the cloud are what can fill the memory.
fn say_memory(wanted: CallNumbers, fitting: CallNumbers) {
    if fitting.concurrency < wanted.concurrency {
        warn!(
            "{} calls of the provider run at once, and not {} as provider.limits.concurrency says: more could take more \
             than the memory limit of this container; raise the limit, or lower provider.limits.memory",
            fitting.concurrency, wanted.concurrency,
        );
    }
    info!(
        "calls of the provider take at most {} MiB of memory: {} at once, each {} MiB, an answer of {} MiB and {} MiB beside",
        mebibytes(fitting.all()),
        fitting.concurrency,
        mebibytes(fitting.guest),
        mebibytes(fitting.answer),
        mebibytes(fitting.one() - fitting.guest - fitting.answer),
    );
}

fn milliseconds(duration: Duration) -> String {
    format!("{} ms", duration.as_millis())
}
