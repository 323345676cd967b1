//! A cluster, a cloud, a registry, and a config that names a version of the provider.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams, PostParams, Preconditions};
use serde_json::{Map, Value, json};
use tests::aerostat::message;
use tests::control_plane::{Cluster, cluster};
use tests::operator::{PATIENCE, Process, Setup, admin_token, initialized};
use tests::registry::{Access, Artifact, REPOSITORY, RealRegistry};
use tests::versioned::{Cloud, version};
use tests::{guests, kubelet, wait};

pub(super) const LEASE: &str = "cloud-controller-manager";
pub(super) const REFUSED: &str = "aerostat.dev/module-refused";

/// How often the config is looked at: sooner than people need it.
const LOOK: &str = "--module-look=200ms";
/// Little patience between two tries.
pub(super) const FAST: [&str; 2] = ["--leader-elect-retry-period=200ms", "--service-retry-base-delay=500ms"];
/// How many objects are created or deleted side by side.
const AT_ONCE: usize = 20;
/// How much of the log is shown.
const LINES: usize = 60;

pub(super) struct Rig {
    pub(super) cluster: Cluster,
    pub(super) cloud: Cloud,
    pub(super) registry: RealRegistry,
    pub(super) setup: Setup,
    /// The digest of the version that the config names at first.
    pub(super) first: String,
}

/// Lines of the log of a process, or of several one after the other.
#[derive(Default)]
pub(super) struct Heard(pub(super) Vec<Map<String, Value>>);

impl Rig {
    /// The config names the version 1.0.0.
    pub(super) async fn new() -> Self {
        Self::over(cluster().await, "version=1.0.0").await
    }

    /// The config names a version with these words.
    pub(super) async fn over(cluster: Cluster, words: &str) -> Self {
        let (cloud, registry) = (Cloud::start().await, RealRegistry::distribution(Access::Anyone).await);
        let setup = Setup::guest(&cluster, guests::VERSIONED).edit(|it| it["endpoints"] = json!([cloud.endpoint()]));
        let mut rig = Self { cluster, cloud, registry, setup: setup.flags(&[LOOK]), first: String::new() };
        rig.first = rig.push(&version(words)).await;
        let first = rig.first.clone();
        rig.configure(&first);
        rig
    }

    /// Puts a module into the registry. Returns the digest of its manifest.
    pub(super) async fn push(&self, module: &[u8]) -> String {
        let artifact = Artifact::new(module);
        self.registry.push(&artifact, None).await;
        artifact.digest()
    }

    /// Names a module in the config, whether the binary runs or not.
    pub(super) fn configure(&mut self, digest: &str) {
        let module = self.module(digest);
        self.setup.rewrite(|config| config["provider"]["module"] = module);
    }

    /// The part of a config that names a module.
    pub(super) fn module(&self, digest: &str) -> Value {
        let (image, ca_file) = (format!("{}/{REPOSITORY}:1", self.registry.address()), self.registry.ca_file());
        json!({ "oci": { "image": image, "digest": format!("sha256:{digest}"), "tls": { "caFile": ca_file } } })
    }

    /// Puts a version into the registry and names it in the config. Returns its digest.
    pub(super) async fn comes(&mut self, words: &str) -> String {
        let digest = self.push(&version(words)).await;
        self.configure(&digest);
        digest
    }

    /// Starts the binary with a trial that a test can wait for.
    pub(super) async fn started(&mut self, trial: &str) -> Process {
        self.setup.flags.push(format!("--module-trial={trial}"));
        self.setup.started().await
    }

    /// A machine, and its node, which must be initialised.
    pub(super) async fn joins(&self, name: &str) {
        self.join(&[name.to_owned()]).await;
        initialized(&self.cluster, name).await;
    }

    /// Machines, and their nodes.
    pub(super) async fn join(&self, names: &[String]) {
        for names in names.chunks(AT_ONCE) {
            join_all(names.iter().map(async |name| {
                self.cloud.add_machine(name);
                kubelet::join(&self.cluster.admin, name).await.unwrap();
            }))
            .await;
        }
    }

    fn services(&self) -> Api<Service> {
        Api::namespaced(self.cluster.admin.clone(), "default")
    }

    /// Creates Services that want load balancers.
    pub(super) async fn create(&self, names: &[String]) {
        for names in names.chunks(AT_ONCE) {
            join_all(names.iter().map(async |name| {
                let service = json!({
                    "metadata": { "name": name, "labels": { "app": "swap" } },
                    "spec": { "type": "LoadBalancer", "selector": { "app": name }, "ports": [{ "port": 80 }] },
                });
                let service = serde_json::from_value(service).unwrap();
                self.services().create(&PostParams::default(), &service).await.unwrap();
            }))
            .await;
        }
    }

    /// Asks for the deletion of Services.
    pub(super) async fn delete(&self, names: &[String]) {
        for names in names.chunks(AT_ONCE) {
            join_all(names.iter().map(|name| self.delete_as_read(name))).await;
        }
    }

    /// Asks for the deletion of a Service as it was read. Without that, kube-apiserver may remove a Service although its finalizer
    /// was written: it looks for finalizers first and removes the object later, whatever was written in between (`Store.Delete`
    /// in `k8s.io/apiserver/pkg/registry/generic/registry`). Its load balancer is then known to the process alone, which is
    /// killed here.
    async fn delete_as_read(&self, name: &str) {
        loop {
            let read = self.services().get(name).await.unwrap();
            let preconditions = Preconditions { resource_version: read.resource_version(), uid: read.uid() };
            let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
            match self.services().delete(name, &params).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                answer => return drop(answer.unwrap()),
            }
        }
    }

    /// Those of our Services that are there.
    pub(super) async fn present(&self) -> Vec<Service> {
        self.services().list(&ListParams::default().labels("app=swap")).await.unwrap().items
    }

    /// Waits until exactly these Services are there, each with its address and one load balancer, and all nodes are
    /// initialised.
    pub(super) async fn settles(&self, mut services: Vec<String>, time: Duration) {
        services.sort();
        let mut left = String::new();
        let settled = wait::within(time, async || {
            left = self.left(&services).await;
            left.is_empty().then_some(())
        });
        assert!(settled.await.is_some(), "not within {time:?}:{left}");
    }

    /// The differences from the state that [`Rig::settles`] wants: a text, which is empty if there are none.
    async fn left(&self, services: &[String]) -> String {
        let mut left = String::new();
        let present = self.present().await;
        let mut names: Vec<_> = present.iter().map(|it| it.name_any()).collect();
        names.sort();
        if names != services {
            let _ = write!(left, "\n{} Services are there, and not {}", names.len(), services.len());
        }
        let unserved: Vec<_> = present.iter().filter(|it| !is_served(it)).map(|it| it.name_any()).collect();
        if !unserved.is_empty() {
            let _ = write!(left, "\nwithout an address: {unserved:?}");
        }
        let mut balancers = self.cloud.balancers();
        balancers.sort();
        if balancers != services {
            let _ = write!(left, "\nthe load balancers are {balancers:?}");
        }
        let nodes = Api::<Node>::all(self.cluster.admin.clone()).list(&ListParams::default()).await.unwrap();
        let tainted = nodes.iter().filter(|it| kubelet::is_uninitialized(it));
        let waiting: Vec<_> = tainted.map(|it| it.name_any()).collect();
        if !waiting.is_empty() {
            let _ = write!(left, "\nnodes that wait: {waiting:?}");
        }
        left
    }

    /// The page `/provider`.
    pub(super) async fn page(&self, process: &Process) -> Value {
        let answer = process.get("/provider", Some(&admin_token(&self.cluster).await)).await;
        assert_eq!((answer.code, &*answer.content_type), (200, "application/json"), "{}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    /// The annotation that names a module that was rolled back.
    pub(super) async fn refused(&self) -> Option<String> {
        let leases: Api<Lease> = Api::namespaced(self.cluster.admin.clone(), "kube-system");
        leases.get(LEASE).await.unwrap().annotations().get(REFUSED).cloned()
    }
}

/// Names with these numbers: `web-0` and so on.
pub(super) fn names(kind: &str, numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|it| format!("{kind}-{it}")).collect()
}

/// Whether a Service has the address that the cloud gives to all.
fn is_served(service: &Service) -> bool {
    let ingress = service.status.as_ref().and_then(|it| it.load_balancer.as_ref()?.ingress.as_deref());
    ingress.is_some_and(|it| it.iter().any(|it| it.ip.as_deref() == Some("192.0.2.1")))
}

impl Heard {
    /// Listens until a process says this. Answers at which line.
    pub(super) async fn says(&mut self, process: &mut Process, text: &str) -> usize {
        let line = self.hears(process, text).await;
        line.unwrap_or_else(|| panic!("it ended before it said {text:?}:{}", self.tail()))
    }

    /// Listens until a process says this. Answers at which line; `None` if the process ends before.
    pub(super) async fn hears(&mut self, process: &mut Process, text: &str) -> Option<usize> {
        let search = async {
            while let Some(entry) = process.aerostat.log.recv().await {
                let is_found = message(&entry).contains(text);
                self.0.push(entry);
                if is_found {
                    return Some(self.0.len() - 1);
                }
            }
            None
        };
        match tokio::time::timeout(PATIENCE, search).await {
            Ok(line) => line,
            Err(_) => panic!("it did not say {text:?} within {PATIENCE:?}, but{}", self.tail()),
        }
    }

    /// Takes what a process has said and nobody has heard.
    pub(super) fn catch_up(&mut self, process: &mut Process) {
        while let Ok(entry) = process.aerostat.log.try_recv() {
            self.0.push(entry);
        }
    }

    /// How the calls of the provider have ended, by their numbers.
    pub(super) fn calls(&self) -> BTreeMap<u64, &str> {
        let ended = self.0.iter().filter(|it| message(it) == "provider call ended");
        ended.map(|it| (it["call"].as_u64().unwrap(), it["outcome"].as_str().unwrap())).collect()
    }

    /// The last lines that were not written for debugging.
    pub(super) fn tail(&self) -> String {
        let lines = self.0.iter().filter(|it| it.get("level").is_none_or(|it| it != "DEBUG"));
        let lines: Vec<_> = lines.map(|it| format!("\n  {}", Value::Object(it.clone()))).collect();
        format!("{}\n(all of it is in {})", lines[lines.len().saturating_sub(LINES)..].concat(), self.file())
    }

    /// Writes all that was heard into a file, which is named by the answer.
    fn file(&self) -> String {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../target/tmp/heard-{}.log", std::process::id()));
        let lines: Vec<_> = self.0.iter().map(|it| format!("{}\n", Value::Object(it.clone()))).collect();
        match std::fs::write(&path, lines.concat()) {
            Ok(()) => path.display().to_string(),
            Err(error) => format!("no file: {error}"),
        }
    }
}
