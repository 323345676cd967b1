//! From the file to a provider that has said what it is.

mod memory;
mod module;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Error, Result, bail};
use cloud_provider::{Cloud, Description};
use egress::{Credentials, Demands, Endpoint, Fence, Gate, GateSettings, Reports, Resolve};
use http::Uri;
use sandbox::{Metrics, Provider, ProviderSettings, Sandbox};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{info, warn};

use self::memory::{Calls, mebibytes};
use crate::config::{CloudConfig, ClusterNetworks};
use crate::config_maps::ClusterConfigMaps;
use crate::flags::Settings;
use crate::manager::claims;

/// What a provider is put into.
pub(super) struct Outside {
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
    /// What Kubernetes asks for.
    pub(super) demands: Demands,
    /// Informs people.
    pub(super) reports: Reports,
    pub(super) egress_metrics: egress::Metrics,
    pub(super) metrics: Metrics,
}

/// A provider, ready to be called.
pub(super) struct Loaded {
    pub(super) provider: Provider,
    pub(super) cloud: Cloud,
    pub(super) gate: Gate,
    pub(super) credentials: Credentials,
    /// What the operator says of the cluster.
    pub(super) cluster_networks: ClusterNetworks,
    /// Why the provider is in quarantine, and whenever that changes; `None` while it serves.
    pub(super) quarantine: watch::Receiver<Option<String>>,
}

/// Loads the provider, and says at length what was loaded and what it may do.
pub(super) async fn load(settings: &Settings, config: CloudConfig, outside: Outside) -> Result<Loaded> {
    let CloudConfig {
        source,
        compile,
        provider: mut provider_settings,
        provider_id_prefixes,
        endpoints,
        credentials,
        cluster_networks,
    } = config;
    let ProviderSettings { settings: given, node_labels, writes_annotations, .. } = provider_settings.clone();
    let file = || format!("cannot use --cloud-config {}", settings.cloud_config.display());
    let limits = &mut provider_settings.limits;
    let wanted = Calls::new(limits.concurrency, limits.memory, &endpoints);
    let fitting = wanted.within(memory::limit(Path::new("/"))).map_err(Error::msg)?;
    say_memory(wanted, fitting);
    limits.concurrency = fitting.concurrency;
    let memory = limits.memory;

    let credentials = Credentials::load(credentials).with_context(file)?;
    let gate = GateSettings {
        endpoints,
        credentials: credentials.clone(),
        fence: outside.fence,
        demands: outside.demands,
        reports: outside.reports,
        route: outside.route,
    };
    let gate = match outside.names.clone() {
        Some(names) => Gate::with_resolver(gate, outside.egress_metrics, names),
        None => Gate::new(gate, outside.egress_metrics),
    }
    .with_context(file)?;

    let begin = Instant::now();
    let sandbox = match &outside.compiler {
        Some(program) => Sandbox::new(memory)?.compiling_with(program),
        None => Sandbox::new(memory)?,
    };
    let sandbox = sandbox.with_compile_limits(compile);
    let means = module::Means {
        config_maps: &outside.config_maps,
        cache: settings.module_cache.as_deref(),
        api_server: &outside.api_server,
        cluster_networks: &cluster_networks,
        route: outside.route,
        names: outside.names,
    };
    let module = module::fetch(source, means).await?;
    let (name, digest, size) = (module.name().to_owned(), module.digest(), module.size());
    let provider = Provider::load(&sandbox, module, provider_settings, gate.clone(), outside.metrics).await?;
    let description = provider.description();
    check_name(settings.cloud_provider.as_deref(), description, &name)?;
    claims::check_prefixes(description, &provider_id_prefixes).with_context(file)?;
    check_annotations(&writes_annotations, description).with_context(file)?;

    info!(
        "provider {} {} from {name}: {} KiB, sha256 {digest}, compiled in {}, ready in {}",
        description.name,
        description.version,
        size.div_ceil(1 << 10),
        milliseconds(provider.compile_time()),
        milliseconds(begin.elapsed()),
    );
    let allowed = claims::Config {
        prefixes: &provider_id_prefixes,
        endpoints: &gate.endpoints().collect::<Vec<_>>(),
        settings: &given,
        node_labels: &node_labels,
        writes_annotations: &writes_annotations,
    };
    say_claims(&claims::table(description, &allowed));
    for claims::Missing { endpoint, key, yaml } in claims::missing(description, allowed.endpoints) {
        warn!(
            "endpoint {endpoint} does not allow what the provider asks for; add this to its {key} in --cloud-config: {yaml}"
        );
    }
    for Endpoint { name, base_url, .. } in gate.endpoints().filter(|it| it.base_url.origin().is_loopback()) {
        warn!(
            "endpoint {name} is on this machine ({base_url}): allowed, because the config names the loopback address"
        );
    }
    let (cloud, quarantine) = (provider.cloud(), provider.quarantine());
    Ok(Loaded { provider, cloud, gate, credentials, cluster_networks, quarantine })
}

/// `--cloud-provider`, if it is given, is what the operator expects to run.
fn check_name(expected: Option<&str>, description: &Description, module: &str) -> Result<()> {
    match expected {
        Some(expected) if expected != description.name => bail!(
            "--cloud-provider is {expected}, and the {module} is the provider {}; correct the flag, leave it out, or \
             load another module",
            description.name
        ),
        Some(_) | None => Ok(()),
    }
}

/// Only annotations that the provider says it writes can be allowed.
fn check_annotations(allowed: &[String], description: &Description) -> Result<()> {
    let written = &description.writes_annotations;
    match allowed.iter().find(|it| !written.contains(it)) {
        Some(key) if written.is_empty() => bail!(
            "provider.writesAnnotations names {key}, and the provider {} writes no annotations; remove it",
            description.name
        ),
        Some(key) => bail!(
            "provider.writesAnnotations names {key}, which the provider {} does not write; it writes {}",
            description.name,
            written.join(", ")
        ),
        None => Ok(()),
    }
}

/// Guests and answers of the cloud are what can fill the memory.
fn say_memory(wanted: Calls, fitting: Calls) {
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

/// One record for each line of the table; a warning where somebody should look.
fn say_claims(rows: &[claims::Row]) {
    for (line, is_odd) in claims::lines(rows) {
        match is_odd {
            true => warn!("{line}"),
            false => info!("{line}"),
        }
    }
}

fn milliseconds(duration: Duration) -> String {
    format!("{} ms", duration.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description() -> Description {
        Description {
            name: "acme".to_owned(),
            writes_annotations: vec!["acme.example/id".to_owned()],
            ..Description::default()
        }
    }

    #[test]
    fn another_name_than_expected_is_refused_with_both() {
        assert!(check_name(None, &description(), "module file /p.wasm").is_ok());
        assert!(check_name(Some("acme"), &description(), "module file /p.wasm").is_ok());
        let error = check_name(Some("external"), &description(), "module file /p.wasm").unwrap_err().to_string();
        for part in ["--cloud-provider is external", "module file /p.wasm", "provider acme", "correct the flag"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn only_described_annotations_can_be_allowed() {
        assert!(check_annotations(&["acme.example/id".to_owned()], &description()).is_ok());
        let error = check_annotations(&["other/key".to_owned()], &description()).unwrap_err().to_string();
        assert!(error.contains("other/key") && error.contains("it writes acme.example/id"), "{error}");
        let silent = Description { writes_annotations: Vec::new(), ..description() };
        assert!(check_annotations(&["other/key".to_owned()], &silent).unwrap_err().to_string().contains("remove it"));
    }
}
