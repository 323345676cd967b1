//! From bytes to a provider: each check before the step that relies on it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use cloud_provider::{Cluster, Description};
use egress::Egress;
use wasmtime::Engine;
use wasmtime::component::Component;

use super::created::CreatedBalancers;
use super::guard::{CallGuard, ServingQuarantine};
use super::lists::OpenLists;
use super::loaded::Loaded;
use super::settings::ProviderSettings;
use super::{load_balancer_batches, load_balancer_inventory, persistent_volumes, routes, volumes};
use crate::bindings::description::ProvidesDescriptionPre;
use crate::bindings::description::exports::aerostat::cloud::provider as wit;
use crate::bindings::host::aerostat::cloud::types::Error;
use crate::bindings::instances::ProvidesInstancesPre;
use crate::bindings::load_balancer_batches::ProvidesLoadBalancerBatchesPre;
use crate::bindings::load_balancer_inventory::ProvidesLoadBalancerInventoryPre;
use crate::bindings::load_balancers::ProvidesLoadBalancersPre;
use crate::bindings::persistent_volumes::ProvidesPersistentVolumesPre;
use crate::bindings::routes::ProvidesRoutesPre;
use crate::bindings::volumes::ProvidesVolumesPre;
use crate::call::{
    CallPlaces, Calls, Capability, Crash, Earlier, Function, Permit, Share, StoreState, Success, is_inert, linker,
};
use crate::compile::compile;
use crate::convert;
use crate::engine::Sandbox;
use crate::error::LoadError;
use crate::metrics::Metrics;
use crate::source::Module;
use crate::untrusted::printable;

const PROVIDER: &str = "aerostat:cloud/provider";
const INSTANCES: &str = "aerostat:cloud/instances";
const LOAD_BALANCERS: &str = "aerostat:cloud/load-balancers";
const BATCHES: &str = "aerostat:cloud/load-balancer-batches";
const INVENTORY: &str = "aerostat:cloud/load-balancer-inventory";
const ROUTES: &str = "aerostat:cloud/routes";
const TOPOLOGIES: &str = "aerostat:cloud/persistent-volumes";
const VOLUMES: &str = "aerostat:cloud/volumes";

/// The interfaces of ours that a guest may import.
const OFFERED: [&str; 5] = [
    "aerostat:cloud/config",
    "aerostat:cloud/http",
    "aerostat:cloud/log",
    "aerostat:cloud/events",
    "aerostat:cloud/types",
];

/// The versions that 0.1.0 can link: on 0.x, 0.1.y only adds.
const VERSION: &str = "0.1.";

/// The parts that all versions of a provider share.
pub(super) struct ProviderParts {
    sandbox: Sandbox,
    settings: ProviderSettings,
    pub(super) egress: Egress,
    metrics: Metrics,
    /// Known after the first version is described.
    pub(super) cluster: Arc<OnceLock<Arc<Cluster>>>,
    /// Made for the capabilities of the first version.
    places: OnceLock<Arc<CallPlaces>>,
    pub(super) serving_quarantine: Arc<ServingQuarantine>,
    /// How many versions were loaded.
    versions: AtomicU64,
}

impl ProviderParts {
    pub(super) fn new(sandbox: Sandbox, settings: ProviderSettings, egress: Egress, metrics: Metrics) -> Self {
        let serving_quarantine = Arc::new(ServingQuarantine::new(metrics.quarantined.clone()));
        let (cluster, places, versions) = (Arc::default(), OnceLock::new(), AtomicU64::new(0));
        Self { sandbox, settings, egress, metrics, cluster, places, serving_quarantine, versions }
    }
}

/// Loads one version of a provider that fits what the operator has configured.
pub(super) async fn load(shared: &ProviderParts, module: Module) -> Result<Loaded, LoadError> {
    let loaded = examine(shared, module).await?;
    check_settings(&loaded.description, &shared.settings.settings)?;
    check_endpoints(&loaded.description, &shared.egress)?;
    Ok(loaded)
}

/// Loads one version of a provider, whatever it says of the settings and endpoints that it needs.
pub(super) async fn examine(shared: &ProviderParts, module: Module) -> Result<Loaded, LoadError> {
    let ProviderParts { sandbox, egress, metrics, .. } = shared;
    let settings = shared.settings.clone();
    let engine = sandbox.engine().clone();
    let name = module.name().to_owned();
    let digest = module.digest();
    let start = Instant::now();
    let component = compile(sandbox, module).await?;
    let compile_time = start.elapsed();

    check_imports(&engine, &component, &name)?;
    let exports = Exports::of(&engine, &component, &name)?;
    let contract = |source| LoadError::Contract { module: name.clone(), source };
    let pre = linker(&engine).and_then(|it| it.instantiate_pre(&component)).map_err(contract)?;
    let provider = ProvidesDescriptionPre::new(pre.clone()).map_err(contract)?;
    let instances = exports.instances.then(|| ProvidesInstancesPre::new(pre.clone())).transpose().map_err(contract)?;
    let load_balancers =
        exports.load_balancers.then(|| ProvidesLoadBalancersPre::new(pre.clone())).transpose().map_err(contract)?;
    // Without `load-balancers` it would be another contract.
    let has_batches = exports.batches && exports.load_balancers;
    let batches =
        has_batches.then(|| ProvidesLoadBalancerBatchesPre::new(pre.clone())).transpose().map_err(contract)?;
    let inventory =
        exports.inventory.then(|| ProvidesLoadBalancerInventoryPre::new(pre.clone())).transpose().map_err(contract)?;
    let routes = exports.routes.then(|| ProvidesRoutesPre::new(pre.clone())).transpose().map_err(contract)?;
    let topologies =
        exports.topologies.then(|| ProvidesPersistentVolumesPre::new(pre.clone())).transpose().map_err(contract)?;
    let volumes = exports.volumes.then(|| ProvidesVolumesPre::new(pre)).transpose().map_err(contract)?;

    let capabilities = exports.capabilities();
    let places = shared.places.get_or_init(|| Arc::new(CallPlaces::new(settings.limits.concurrency, &capabilities)));
    let given: Arc<[(String, String)]> = settings.settings.into();
    let mut calls = Calls::new(
        sandbox.clone(),
        name.as_str().into(),
        digest,
        given.clone(),
        shared.cluster.clone(),
        settings.limits,
        places.clone(),
        egress.clone(),
        metrics.clone(),
    );
    let described = async {
        let answer = describe(&calls, &calls.permit(Function::Describe).await, &provider).await;
        let answer = answer.map_err(|crash| calls.explain(Function::Describe, &crash))?;
        let answer = answer.map_err(|error| convert::error(error).to_string())?;
        convert::description::description(answer).map_err(|it| format!("its description is unusable: {it}"))
    };
    let refused = |because| LoadError::Describe { module: name.clone(), because };
    let mut description = described.await.map_err(refused)?;
    description.node_selector = node_selector(&description, &given);
    let allowed = settings.takes_finalizers;
    description.takes_finalizers = description.finalizers.iter().filter(|it| allowed.contains(it)).cloned().collect();
    let is_described = |label: &String| description.node_labels.iter().any(|it| it == "*" || it == label);
    description.shown_labels = settings.node_labels.into_iter().filter(is_described).collect();
    calls.config_maps = description.config_maps.as_slice().into();
    let mut batches = load_balancer_batches::described(&calls, batches).await.map_err(refused)?;
    if settings.is_asked_in_turn {
        batches.iter_mut().for_each(|(_, it)| it.gather = Duration::ZERO);
    }
    description.load_balancer_batches = batches.as_ref().map(|(_, it)| it.all());
    description.load_balancers_are_one = batches.as_ref().is_some_and(|(_, it)| it.concurrency == 1);
    let inventory = load_balancer_inventory::described(&calls, inventory).await.map_err(refused)?;
    let routes = routes::described(&calls, routes).await.map_err(refused)?;
    let topologies = persistent_volumes::described(&calls, topologies).await.map_err(refused)?;
    let volumes = volumes::described(&calls, volumes).await.map_err(refused)?;
    calls.provider = description.name.as_str().into();
    let batch_concurrency = batches.as_ref().map(|(_, it)| it.concurrency);
    calls.share = Share::of(batch_concurrency.or(description.load_balancer_concurrency));
    let version = shared.versions.fetch_add(1, Ordering::Relaxed);
    let guard =
        CallGuard::new(calls.provider.clone(), version, settings.limits.quarantine, shared.serving_quarantine.clone());
    Ok(Loaded {
        description: Arc::new(description),
        provider,
        instances,
        load_balancers,
        batches,
        inventory,
        routes,
        topologies,
        volumes,
        load_balancer_lists: OpenLists::default(),
        created: CreatedBalancers::default(),
        calls,
        guard,
        writes_annotations: settings.writes_annotations,
        compile_time,
    })
}

fn check_imports(engine: &Engine, component: &Component, module: &str) -> Result<(), LoadError> {
    for (import, _) in component.component_type().imports(engine) {
        let (interface, version) = import.split_once('@').unwrap_or((import, ""));
        if OFFERED.contains(&interface) {
            check_version(import, version, module)?;
        } else if !is_inert(import) {
            return Err(LoadError::Import { module: module.into(), import: printable(import, 256) });
        }
    }
    Ok(())
}

fn check_version(interface: &str, version: &str, module: &str) -> Result<(), LoadError> {
    if version.starts_with(VERSION) {
        Ok(())
    } else {
        Err(LoadError::Version { module: module.into(), interface: printable(interface, 256) })
    }
}

/// The capabilities that a component exports. Exports that are no capabilities are ignored.
#[derive(Default)]
struct Exports {
    instances: bool,
    load_balancers: bool,
    batches: bool,
    inventory: bool,
    routes: bool,
    topologies: bool,
    volumes: bool,
}

impl Exports {
    fn of(engine: &Engine, component: &Component, module: &str) -> Result<Self, LoadError> {
        let mut provider = false;
        let mut found = Self::default();
        for (export, _) in component.component_type().exports(engine) {
            let (interface, version) = export.split_once('@').unwrap_or((export, ""));
            match interface {
                PROVIDER => provider = true,
                INSTANCES => found.instances = true,
                LOAD_BALANCERS => found.load_balancers = true,
                BATCHES => found.batches = true,
                INVENTORY => found.inventory = true,
                ROUTES => found.routes = true,
                TOPOLOGIES => found.topologies = true,
                VOLUMES => found.volumes = true,
                _ => continue,
            }
            check_version(export, version, module)?;
        }
        if provider { Ok(found) } else { Err(LoadError::NoProvider { module: module.into() }) }
    }

    fn capabilities(&self) -> Vec<Capability> {
        let Self { instances, load_balancers, batches: _, inventory, routes, topologies, volumes } = *self;
        let found = [
            (instances, Capability::Instances),
            (load_balancers || inventory, Capability::LoadBalancers),
            (routes, Capability::Routes),
            (topologies, Capability::PersistentVolumes),
            (volumes, Capability::Volumes),
        ];
        found.into_iter().filter_map(|(is_there, it)| is_there.then_some(it)).collect()
    }
}

impl Success for wit::Description {}

/// One call of `describe`, as it answered.
pub(super) async fn describe(
    calls: &Calls,
    permit: &Permit<'_>,
    provider: &ProvidesDescriptionPre<StoreState>,
) -> Result<Result<wit::Description, Error>, Crash> {
    let provider = provider.clone();
    let (reply, _) = calls
        .run(permit, Function::Describe, Earlier::default(), &[], |store| {
            Box::pin(async move {
                let guest = provider.instantiate_async(&mut *store).await?;
                guest.aerostat_cloud_provider().call_describe(store).await
            })
        })
        .await;
    reply.answer
}

/// The setting that selects nodes, if the operator has written it.
fn node_selector(description: &Description, given: &[(String, String)]) -> Option<(String, String)> {
    let selector = description.settings.iter().find(|it| it.selects_nodes)?;
    given.iter().find(|(name, _)| selector.matches(name)).cloned()
}

fn check_settings(description: &Description, given: &[(String, String)]) -> Result<(), LoadError> {
    let provider = || description.name.clone();
    for (name, _) in given {
        if !description.settings.iter().any(|it| it.matches(name)) {
            let known: Vec<_> = description.settings.iter().map(|it| printable(&it.name, 128)).collect();
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            return Err(LoadError::UnknownSetting { provider: provider(), setting: name.clone(), known });
        }
    }
    for setting in description.settings.iter().filter(|it| it.required) {
        if !given.iter().any(|(name, _)| setting.matches(name)) {
            return Err(LoadError::MissingSetting {
                provider: provider(),
                setting: setting.name.clone(),
                doc: printable(&setting.doc, 256),
            });
        }
    }
    Ok(())
}

fn check_endpoints(description: &Description, egress: &Egress) -> Result<(), LoadError> {
    match description.endpoints.iter().find(|it| !egress.endpoints().any(|known| known.name == it.name)) {
        None => Ok(()),
        Some(missing) => Err(LoadError::MissingEndpoint {
            provider: description.name.clone(),
            endpoint: missing.name.clone(),
            purpose: printable(&missing.purpose, 256),
            example: printable(&missing.example_base_url, 256),
            allow: printable(&missing.allow.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "), 4 << 10),
        }),
    }
}
