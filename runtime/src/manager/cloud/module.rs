//! Gets the module: once from a file or a ConfigMap, and from a registry as soon as it answers.

use std::path::Path;
use std::time::Duration;

use anyhow::{Error, Result};
use egress::{Networks, Resolve};
use http::Uri;
use oci::{Artifact, Cache, PullError, Puller};
use sandbox::{ConfigMaps, Module};
use tokio::time::sleep;
use tracing::{info, warn};

use crate::config::{ClusterNetworks, ModuleSource};
use crate::networks;

/// The first pause between two attempts at a registry, and the longest: each doubles.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What a module is got with.
pub(super) struct Means<'a> {
    pub(super) config_maps: &'a dyn ConfigMaps,
    pub(super) cache: Option<&'a Path>,
    /// Where the API server is, which no registry is.
    pub(super) api_server: &'a Uri,
    pub(super) cluster_networks: &'a ClusterNetworks,
    pub(super) route: fn(std::net::SocketAddr) -> std::net::SocketAddr,
    pub(super) names: Option<std::sync::Arc<dyn Resolve>>,
}

/// Gets the module. A registry that does not answer is waited for; the process does not lead meanwhile.
pub(super) async fn fetch(source: ModuleSource, means: Means<'_>) -> Result<Module> {
    let settings = match source {
        ModuleSource::Local(source) => return Ok(source.fetch(means.config_maps).await?),
        ModuleSource::Registry(settings) => *settings,
    };
    let cache = match means.cache {
        Some(folder) => Some(Cache::open(folder).await.map_err(Error::msg)?),
        None => None,
    };
    let ClusterNetworks { pods, nodes } = means.cluster_networks.clone();
    // A name that does not resolve leads nobody there either.
    let api_servers = networks::resolve(means.api_server).await.unwrap_or_default();
    let networks = Networks { api_servers, pods, nodes, ..Networks::default() };
    let outside = oci::Outside { networks, resolver: means.names, route: means.route, ..oci::Outside::default() };
    let puller = Puller::new(settings, outside, cache);
    let Artifact { bytes, sha256, signer, is_cached } = pull(&puller).await?;
    let name = puller.name();
    let from = if is_cached { "--module-cache" } else { "the registry" };
    match signer {
        Some(signer) => info!("{name} comes from {from} and is signed by {signer}"),
        None => info!("{name} comes from {from}; provider.module.signedBy asks for no signature"),
    }
    Ok(Module::new(&name, bytes, sha256)?)
}

async fn pull(puller: &Puller) -> Result<Artifact> {
    let mut pause = PAUSE;
    loop {
        match puller.pull().await {
            Ok(artifact) => return Ok(artifact),
            Err(error @ PullError::Refused(_)) => return Err(error.into()),
            Err(PullError::Unavailable(because)) => {
                warn!("{because}. It is tried again in {pause:?}; until then nothing is led");
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}
