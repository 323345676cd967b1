//! A sandbox with one guest in it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use cloud_provider::{Demand, Error, Identity, Instance, Instances, LoadBalancer, LoadBalancers, Reply};
use egress::{
    BaseUrl, CredentialKind, CredentialSettings, Credentials, Egress, EgressSettings, Endpoint, Method, PathPattern,
    Rule, WriteLimits,
};
use prometheus::Registry;
use sandbox::{
    CallLimits, ConfigMaps, Digest, LoadError, Metrics, Module, Provider, ProviderSettings, Sandbox, Source,
};
use sha2::{Digest as _, Sha256};
use tests::fixtures;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How many bytes a ConfigMap holds.
const CONFIG_MAP: usize = 1 << 20;

/// Held for writing by a test that measures this process, for reading by all others.
static PROCESS: RwLock<()> = RwLock::const_new(());

/// Waits until no other test runs, and keeps them waiting.
pub(crate) async fn alone() -> RwLockWriteGuard<'static, ()> {
    PROCESS.write().await
}

/// A module to load, and the settings to load it with.
pub(crate) struct Guest {
    pub(crate) bytes: Vec<u8>,
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) node_labels: Vec<String>,
    pub(crate) writes_annotations: Vec<String>,
    pub(crate) limits: CallLimits,
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) credentials: Credentials,
    pub(crate) route: fn(SocketAddr) -> SocketAddr,
    /// The program that compiles; `None` is this process.
    pub(crate) compiler: Option<PathBuf>,
    /// Whether each question comes after the answer to the one before it.
    pub(crate) is_asked_in_turn: bool,
}

/// A loaded guest.
pub(crate) struct Lab {
    pub(crate) instances: Arc<dyn Instances>,
    pub(crate) load_balancers: Arc<dyn LoadBalancers>,
    pub(crate) identity: Arc<dyn Identity>,
    pub(crate) provider: Provider,
    registry: Registry,
    _shared: Option<RwLockReadGuard<'static, ()>>,
}

/// A sandbox for each size of memory, so that a guest is compiled once.
fn shared(memory: usize) -> Result<Sandbox, LoadError> {
    static SANDBOXES: Mutex<BTreeMap<usize, Sandbox>> = Mutex::new(BTreeMap::new());
    match SANDBOXES.lock().unwrap().entry(memory) {
        Entry::Occupied(found) => Ok(found.get().clone()),
        Entry::Vacant(place) => Ok(place.insert(Sandbox::as_released(memory)?.keeping_modules()).clone()),
    }
}

impl Guest {
    pub(crate) fn hostile() -> Self {
        Self::of(std::fs::read(tests::guests::HOSTILE).unwrap())
    }

    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            settings: Vec::new(),
            node_labels: Vec::new(),
            writes_annotations: Vec::new(),
            limits: CallLimits::default(),
            endpoints: Vec::new(),
            credentials: Credentials::default(),
            route: |it| it,
            compiler: None,
            is_asked_in_turn: false,
        }
    }

    /// Each question comes after the answer to the one before it.
    pub(crate) fn asked_in_turn(self) -> Self {
        Self { is_asked_in_turn: true, ..self }
    }

    pub(crate) fn limits(mut self, limits: CallLimits) -> Self {
        self.limits = limits;
        self
    }

    pub(crate) fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Adds an endpoint on loopback where GET is allowed.
    pub(crate) fn endpoint(mut self, name: &str, address: SocketAddr) -> Self {
        self.endpoints.push(endpoint(name, address));
        self
    }

    /// Adds a credential, which nobody sends anywhere.
    pub(crate) fn token(mut self, token: &str) -> Self {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("token-{}", uuid::Uuid::new_v4()));
        std::fs::write(&file, token).unwrap();
        let kind = CredentialKind::Bearer { file: file.clone() };
        let settings = CredentialSettings { name: "token".to_owned(), kind, limits: WriteLimits::default() };
        self.credentials = Credentials::load(vec![settings]).unwrap();
        std::fs::remove_file(file).unwrap();
        self
    }

    pub(crate) async fn load(self) -> Lab {
        let shared = PROCESS.read().await;
        let mut lab = self.load_alone().await;
        lab._shared = Some(shared);
        lab
    }

    /// Loads for a test that holds [`alone`].
    pub(crate) async fn load_alone(self) -> Lab {
        let registry = Registry::new();
        let provider = self.load_beside(&registry).await.unwrap_or_else(|error| panic!("{error:?}"));
        let cloud = provider.cloud();
        Lab {
            instances: cloud.instances.expect("the guest exports instances"),
            load_balancers: cloud.load_balancers.expect("the guest exports load balancers"),
            identity: cloud.identity,
            provider,
            registry,
            _shared: None,
        }
    }

    /// Loads once no test that holds [`alone`] measures.
    pub(crate) async fn try_load(self, registry: &Registry) -> Result<Provider, LoadError> {
        let _shared = PROCESS.read().await;
        self.load_beside(registry).await
    }

    /// As [`Guest::try_load`], where the caller has waited for that.
    async fn load_beside(self, registry: &Registry) -> Result<Provider, LoadError> {
        let sandbox = match &self.compiler {
            Some(program) => Sandbox::new(self.limits.memory)?.compiling_with(program),
            None => shared(self.limits.memory)?,
        };
        let digest = digest(&self.bytes);
        let module = match self.bytes.len() {
            ..=CONFIG_MAP => config_map(digest).fetch(&Held(self.bytes.clone())).await.unwrap(),
            _ => Module::new("module in a file", self.bytes.clone(), digest).unwrap(),
        };
        self.load_into(&sandbox, module, registry).await
    }

    /// Loads `module` in place of the own bytes.
    pub(crate) async fn load_into(
        self,
        sandbox: &Sandbox,
        module: Module,
        registry: &Registry,
    ) -> Result<Provider, LoadError> {
        let metrics = Metrics::register(registry).unwrap();
        let requests = egress::Metrics::register(registry).unwrap();
        let egress = EgressSettings {
            endpoints: self.endpoints,
            credentials: self.credentials,
            fence: Arc::new(|| true),
            demands: Arc::new(|_| Demand::default()),
            reports: Arc::new(|_| ()),
            route: self.route,
        };
        let egress = Egress::new(egress, requests).unwrap();
        let settings = ProviderSettings {
            settings: self.settings,
            node_labels: self.node_labels,
            writes_annotations: self.writes_annotations,
            limits: self.limits,
            is_asked_in_turn: self.is_asked_in_turn,
            ..ProviderSettings::default()
        };
        Provider::load(sandbox, module, settings, egress, metrics).await
    }

    /// The error that an operator reads when this cannot be loaded, with its causes.
    pub(crate) async fn refusal(self) -> String {
        let _shared = PROCESS.read().await;
        match self.load_beside(&Registry::new()).await {
            Ok(_) => panic!("it was loaded"),
            Err(error) => format!("{:#}", anyhow::Error::from(error)),
        }
    }
}

impl Lab {
    /// Asks about a node that is named after a crime.
    pub(crate) async fn get(&self, crime: &str) -> Result<Option<Instance>, Error> {
        let Reply { mut answer, .. } = self.instances.get(&[node(crime)]).await;
        assert_eq!(answer.len(), 1);
        answer.remove(0)
    }

    /// The findings of a crime.
    pub(crate) async fn report(&self, crime: &str) -> String {
        match self.get(crime).await {
            Err(Error::Invalid(text)) => text,
            other => panic!("{crime} reported nothing: {other:?}"),
        }
    }

    /// Why the host ended a call; what becomes of the node then is left out.
    pub(crate) async fn end(&self, crime: &str) -> String {
        match self.get(crime).await {
            Err(Error::Crashed { reason, .. }) => reason.split(". Only node ").next().unwrap().to_owned(),
            // A slow cloud, or a fault of the host.
            Err(Error::Unavailable(text)) => text,
            other => panic!("{crime} was not stopped: {other:?}"),
        }
    }

    /// Asserts that the provider still serves.
    pub(crate) async fn assert_alive(&self) {
        let found = self.get("an-honest-node").await.unwrap().unwrap();
        assert_eq!(found.provider_id.as_deref(), Some("hostile://an-honest-node"));
    }

    /// `aerostat_provider_calls_total` of `get` with this outcome.
    pub(crate) fn calls(&self, outcome: &str) -> u64 {
        self.counter("aerostat_provider_calls_total", &[("function", "get"), ("outcome", outcome)])
    }

    /// The value of a gauge without labels.
    pub(crate) fn gauge(&self, family: &str) -> f64 {
        let families = self.registry.gather();
        let family = families.iter().find(|it| it.name() == family).expect("the family is registered");
        family.get_metric()[0].get_gauge().get_value()
    }

    pub(crate) fn counter(&self, family: &str, labels: &[(&str, &str)]) -> u64 {
        let families = self.registry.gather();
        let family = families.iter().find(|it| it.name() == family);
        let metrics = family.map(|it| it.get_metric()).unwrap_or_default();
        let has = |metric: &prometheus::proto::Metric, (name, value): &(&str, &str)| {
            metric.get_label().iter().any(|it| it.name() == *name && it.value() == *value)
        };
        let found = metrics.iter().filter(|metric| labels.iter().all(|it| has(metric, it)));
        found.map(|it| it.get_counter().get_value() as u64).sum()
    }
}

pub(crate) fn node(name: &str) -> cloud_provider::Node {
    cloud_provider::Node { name: name.into(), ..cloud_provider::Node::default() }
}

/// A Service that is named after a crime.
pub(crate) fn service(name: &str) -> LoadBalancer {
    fixtures::load_balancer(name, "0e2f6f1c")
}

pub(crate) fn endpoint(name: &str, address: SocketAddr) -> Endpoint {
    Endpoint {
        allow: vec![Rule::new([Method::Get], [PathPattern::parse("/**").unwrap()])],
        ..Endpoint::new(name, BaseUrl::parse(&format!("http://{address}")).unwrap())
    }
}

/// Bytes, as if a ConfigMap held them.
pub(crate) struct Held(pub(crate) Vec<u8>);

#[async_trait]
impl ConfigMaps for Held {
    async fn read(&self, _: &str, _: &str, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.clone())
    }
}

pub(crate) fn config_map(sha256: Digest) -> Source {
    let [namespace, name, key] = ["kube-system", "provider", "provider.wasm"].map(str::to_owned);
    Source::ConfigMap { namespace, name, key, sha256 }
}

pub(crate) fn digest(bytes: &[u8]) -> Digest {
    Digest::parse(&hex::encode(Sha256::digest(bytes))).unwrap()
}
