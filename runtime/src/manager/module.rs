//! Gets modules: from a file or a ConfigMap, or from a registry.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Error, Result};
use egress::{KnownNetworks, Resolve};
use http::Uri;
use oci::{Artifact, Cache, PullError, Puller};
use sandbox::{Digest, Module};
use tokio::time::sleep;
use tracing::{info, warn};

use crate::config::{ClusterNetworks, ModuleSource};
use crate::config_maps::ClusterConfigMaps;
use crate::networks;

/// The first pause between two attempts at a registry at the start, and the longest: each doubles.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The means of getting modules.
#[derive(Clone)]
pub(super) struct Means {
    pub(super) config_maps: ClusterConfigMaps,
    /// `--module-cache`.
    pub(super) cache: Option<PathBuf>,
    /// Where the API server is, which no registry is.
    pub(super) api_server: Uri,
    pub(super) cluster_networks: ClusterNetworks,
    pub(super) route: fn(SocketAddr) -> SocketAddr,
    pub(super) names: Option<Arc<dyn Resolve>>,
}

/// A module that is what the config names, signed by whom it names.
pub(super) struct Fetched {
    pub(super) module: Module,
    /// The digest that the config names: of the manifest in a registry, of the bytes elsewhere.
    pub(super) digest: Digest,
    /// The signer; `None` if no signature is needed.
    pub(super) signer: Option<String>,
}

/// Why there is no module.
pub(super) enum Missing {
    /// Somebody has to change something.
    Refused(Error),
    /// The file or the ConfigMap is not there, or holds other bytes. Somebody may be about to change it.
    Elsewhere(Error),
    /// The registry does not answer as it should; it may later.
    Unavailable(String),
}

/// Gets the module of the start. A registry that does not answer is waited for; the process does not lead meanwhile.
pub(super) async fn fetch(source: &ModuleSource, means: &Means) -> Result<Fetched> {
    let mut pause = PAUSE;
    loop {
        match attempt(source, means, None).await {
            Ok(fetched) => return Ok(fetched),
            Err(Missing::Refused(error) | Missing::Elsewhere(error)) => return Err(error),
            Err(Missing::Unavailable(because)) => {
                warn!("{because}. It is tried again in {pause:?}; until then nothing is led");
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Gets the module, or says why not. The folder of modules keeps `serving` beside it, if something serves.
pub(super) async fn attempt(source: &ModuleSource, means: &Means, serving: Option<Digest>) -> Result<Fetched, Missing> {
    let digest = source.digest();
    let settings = match source {
        ModuleSource::Local(source) => {
            let module = source.fetch(&means.config_maps).await.map_err(|it| Missing::Elsewhere(it.into()))?;
            return Ok(Fetched { module, digest, signer: None });
        }
        ModuleSource::Registry(settings) => (**settings).clone(),
    };
    let cache = match &means.cache {
        Some(folder) => Some(Cache::open(folder).await.map_err(|it| Missing::Refused(Error::msg(it)))?),
        None => None,
    };
    let ClusterNetworks { pods, nodes } = means.cluster_networks.clone();
    // A name that does not resolve leads nobody there either.
    let api_servers = networks::resolve(&means.api_server).await.unwrap_or_default();
    let networks = KnownNetworks { api_servers, pods, nodes, ..KnownNetworks::default() };
    let (resolver, route) = (means.names.clone(), means.route);
    let outside = oci::OutsideWorld { networks, resolver, route, ..oci::OutsideWorld::default() };
    let puller = Puller::new(settings, outside, cache).keeping(serving);
    let name = puller.name();
    let Artifact { bytes, sha256, signer, is_cached } = puller.pull().await.map_err(|error| match error {
        PullError::Refused(_) => Missing::Refused(error.into()),
        PullError::Unavailable(because) => Missing::Unavailable(because),
    })?;
    let from = if is_cached { "--module-cache" } else { "the registry" };
    match &signer {
        Some(signer) => info!("{name} comes from {from} and is signed by {signer}"),
        None => info!("{name} comes from {from}; provider.module.signedBy asks for no signature"),
    }
    let module = Module::new(&name, bytes, sha256).map_err(|it| Missing::Refused(it.into()))?;
    Ok(Fetched { module, digest, signer })
}
