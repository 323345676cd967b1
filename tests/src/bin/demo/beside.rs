//! A second aerostat beside the first: the release that makes disks where the provider of the cloud does not.

use anyhow::{Context, Result};
use serde_json::{Map, Value};
use tests::aerostat::Aerostat;
use tests::simulator::Simulator;

use crate::audit::Audit;
use crate::config;
use crate::ground::Ground;
use crate::stage::PATIENCE;
use crate::vendor::{DiskRelease, Shown};

/// A second aerostat, and the lines of its log that were seen.
pub(crate) struct Beside {
    pub(crate) aerostat: Aerostat,
    pub(crate) audit: Audit,
}

impl Beside {
    /// Starts it with the config, the flags and the rights of its file in `deploy/`, and waits until it leads under its own Lease.
    pub(crate) async fn start<V: Shown>(
        ground: &Ground,
        cloud: &Simulator<V::Cloud>,
        release: &DiskRelease,
    ) -> Result<Self> {
        let control_plane = ground.control_plane().context("a part of somebody's cluster has no second aerostat")?;
        let kubeconfig = control_plane.installed_kubeconfig(release.manifests).await?;
        let config = config::write_beside::<V>(&ground.folder(), cloud, release)?;
        let mut aerostat = config::start_beside(release, &kubeconfig, &config)?;
        for controller in ["volume-provisioner", "volume-attacher"] {
            aerostat.wait_for(&format!("started {controller}"), PATIENCE).await?;
        }
        Ok(Self { aerostat, audit: Audit::of(release.provider) })
    }
}

/// The next line of its log. None comes where there is none.
pub(crate) async fn next_line(beside: Option<&mut Beside>) -> Result<Map<String, Value>> {
    match beside {
        Some(it) => it.aerostat.log.recv().await.context("the second aerostat has ended"),
        None => std::future::pending().await,
    }
}
