//! A provider, loaded as the binary loads it: its file, the egress, and its credentials. Everything panics if it cannot be loaded.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use cloud_provider::{Cluster, Demand, Result};
use egress::{BaseUrl, Credentials, Egress, EgressSettings, Endpoint, EndpointLimits, Method, PathPattern, Rule};
use prometheus::Registry;
use sandbox::{ConfigMaps, Digest, Metrics, Provider, ProviderSettings, Sandbox, Source};
use tokio::task::JoinSet;

use crate::{guests, wait};

/// The UID of the namespace `kube-system`.
pub const CLUSTER_UID: &str = "c1a5e000-1111-2222-3333-444455556666";
/// The networks of the cluster's pods.
const PODS: &str = "10.244.0.0/16";

/// One engine for the process, as in the binary, which compiles each module once.
pub static SANDBOX: LazyLock<Sandbox> =
    LazyLock::new(|| Sandbox::as_released(64 << 20).expect("the engine can be made").keeping_modules());

/// A file with a secret, which goes away with the test.
#[derive(Debug)]
pub struct Secret(PathBuf);

impl Secret {
    /// Writes it.
    #[must_use]
    pub fn write(secret: &str) -> Secret {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tmp");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("secret-{}", uuid::Uuid::new_v4()));
        std::fs::write(&path, format!("{secret}\n")).unwrap();
        Secret(path)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.0.clone()
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        // What is left is in target/.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// An endpoint where nothing is allowed yet. No answer serves two requests: the clouds of tests change behind the provider's
/// back from one request to the next.
#[must_use]
pub fn endpoint(name: &str, base_url: &str) -> Endpoint {
    Endpoint {
        limits: EndpointLimits { reuse: Duration::ZERO, requests_per_second: 250.0, ..EndpointLimits::default() },
        ..Endpoint::new(name, BaseUrl::parse(base_url).unwrap())
    }
}

/// These paths may be read.
#[must_use]
pub fn may_read(paths: &[&str]) -> Rule {
    Rule::new([Method::Get], paths.iter().map(|it| PathPattern::parse(it).unwrap()).collect::<Vec<_>>())
}

/// Loads a module from its file, for a cluster with pod networks in 10.244.0.0/16.
pub async fn load(
    path: &str,
    settings: ProviderSettings,
    endpoints: Vec<Endpoint>,
    credentials: Credentials,
) -> Provider {
    load_for("", path, settings, endpoints, credentials).await
}

/// The same for a cluster of this name.
pub async fn load_for(
    cluster: &str,
    path: &str,
    settings: ProviderSettings,
    endpoints: Vec<Endpoint>,
    credentials: Credentials,
) -> Provider {
    loaded(cluster, path, settings, connected(endpoints, credentials)).await
}

/// The same with a credential whose tokens somebody gives: it has its first one. Dropping the tasks ends its renewal.
pub async fn load_with_tokens(
    cluster: &str,
    path: &str,
    settings: ProviderSettings,
    endpoints: Vec<Endpoint>,
    credentials: Credentials,
) -> (Provider, JoinSet<()>) {
    let egress = connected(endpoints, credentials.clone());
    // The first token is a change of the account.
    let mut versions = egress.versions();
    let mut renewals = JoinSet::new();
    renewals.spawn(credentials.watch());
    tokio::time::timeout(wait::DEADLINE, versions.changed()).await.expect("there is a token in time").unwrap();
    (loaded(cluster, path, settings, egress).await, renewals)
}

fn connected(endpoints: Vec<Endpoint>, credentials: Credentials) -> Egress {
    let egress = EgressSettings {
        endpoints,
        credentials,
        fence: Arc::new(|| true),
        demands: Arc::new(|_| Demand::default()),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    Egress::new(egress, egress::Metrics::register(&Registry::new()).unwrap()).unwrap()
}

async fn loaded(cluster: &str, path: &str, settings: ProviderSettings, egress: Egress) -> Provider {
    let source = Source::File { path: path.into(), sha256: Digest::parse(&guests::sha256(path)).unwrap() };
    let module = source.fetch(&NoConfigMaps).await.unwrap();
    let metrics = Metrics::register(&Registry::new()).unwrap();
    let provider = Provider::load(&SANDBOX, module, settings, egress, metrics).await;
    let provider = provider.unwrap_or_else(|error| panic!("{error:?}"));
    let (name, uid, pod_cidrs) = (cluster.to_owned(), CLUSTER_UID.to_owned(), vec![PODS.to_owned()]);
    provider.set_cluster(Cluster { name, uid, pod_cidrs, ..Cluster::default() });
    provider
}

struct NoConfigMaps;

#[async_trait]
impl ConfigMaps for NoConfigMaps {
    async fn read(&self, namespace: &str, name: &str, _: &str) -> Result<Vec<u8>, String> {
        Err(format!("the module is in a file, not in {namespace}/{name}"))
    }
}
