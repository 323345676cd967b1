//! Contenders that are measured: aerostat, the baselines and the floor, each with a set of flags.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;
use tests::aerostat::Aerostat;
use tests::control_plane::{ControlPlane, apply_roles};

use crate::account::{Account, Config};
use crate::baseline::{self, Baseline};
use crate::floor::{self, Floor};
use crate::usage::Usage;

/// Requests a second that aerostat may send with 50 workers. By default it is 20.
const REQUESTS_PER_SECOND: u32 = 250;

/// A program with flags: one column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contender {
    pub(crate) program: Program,
    pub(crate) flags: Flags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Aerostat,
    Baseline,
    /// The baseline of what Kubernetes' own manager does.
    ControllerManager,
    /// The manager that the vendor of the cloud has.
    Vendor,
    /// No controller, only the writes.
    Floor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flags {
    Default,
    /// 50 workers for nodes, and 50 for Services.
    Workers,
    /// 50 workers, and hardly a limit on requests to the API server.
    WorkersAndApi,
    /// Hardly a limit on requests to the API server.
    Api,
    /// Routes each 30 s: as the vendor of the cloud with routes starts its own.
    Seconds30,
    /// Routes whenever nodes change, which the baseline's library leaves to a feature gate.
    Watch,
}

/// Aerostat as it is by default, and with 50 workers.
pub(crate) const AEROSTAT: [Contender; 2] = [aerostat(Flags::Default), aerostat(Flags::Workers)];

/// The baseline with each of its sets of flags. Aerostat is compared with the best of them.
pub(crate) const BASELINE: [Contender; 3] =
    [baseline(Flags::Default), baseline(Flags::Workers), baseline(Flags::WorkersAndApi)];

/// Only the writes, one after the other, and 50 at once.
pub(crate) const FLOOR: [Contender; 2] = [
    Contender { program: Program::Floor, flags: Flags::Default },
    Contender { program: Program::Floor, flags: Flags::Workers },
];

pub(crate) const fn aerostat(flags: Flags) -> Contender {
    Contender { program: Program::Aerostat, flags }
}

pub(crate) const fn baseline(flags: Flags) -> Contender {
    Contender { program: Program::Baseline, flags }
}

pub(crate) const fn vendor(flags: Flags) -> Contender {
    Contender { program: Program::Vendor, flags }
}

impl Flags {
    /// How a column differs from that of the default flags.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Flags::Default => "",
            Flags::Workers => " 50w",
            Flags::WorkersAndApi => " 50w+api",
            Flags::Api => " api",
            Flags::Seconds30 => " 30s",
            Flags::Watch => " watch",
        }
    }

    pub(crate) fn workers(self) -> usize {
        match self {
            Flags::Default | Flags::Api | Flags::Seconds30 | Flags::Watch => 1,
            Flags::Workers | Flags::WorkersAndApi => 50,
        }
    }

    /// The flags that all programs know.
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Flags::Default => &[],
            Flags::Workers => &["--concurrent-node-syncs=50", "--concurrent-service-syncs=50"],
            Flags::WorkersAndApi => &[
                "--concurrent-node-syncs=50",
                "--concurrent-service-syncs=50",
                "--kube-api-qps=1000",
                "--kube-api-burst=2000",
            ],
            Flags::Api => &["--kube-api-qps=1000", "--kube-api-burst=2000"],
            Flags::Seconds30 => &["--route-reconciliation-period=30s"],
            Flags::Watch => &["--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=true"],
        }
    }
}

impl Contender {
    /// The head of its column.
    pub(crate) fn name(self) -> String {
        let program = match self.program {
            Program::Aerostat => "aerostat",
            Program::Baseline => "baseline",
            Program::ControllerManager => "kube-controller-manager",
            Program::Vendor => "vendor",
            Program::Floor => "floor",
        };
        format!("{program}{}", self.flags.suffix())
    }

    /// Starts it.
    pub(crate) async fn start(self, control_plane: &ControlPlane, cloud: &impl Account) -> Result<Running> {
        self.start_with(control_plane, cloud, &[]).await
    }

    /// Starts it with flags beside its own. The floor knows none.
    pub(crate) async fn start_with(
        self,
        control_plane: &ControlPlane,
        cloud: &impl Account,
        flags: &[&str],
    ) -> Result<Running> {
        let flags: Vec<_> = self.flags.arguments().iter().chain(flags).copied().collect();
        Ok(match self.program {
            Program::Aerostat => {
                let own = self.aerostat_flags(control_plane, cloud).await?;
                let shipped = cloud.shipped_flags()?;
                Running::Aerostat(Aerostat::start(own.iter().map(String::as_str).chain(shipped).chain(flags))?)
            }
            Program::Baseline => Running::Baseline(Baseline::start(control_plane, cloud, &flags).await?),
            Program::ControllerManager => Running::Baseline(Baseline::controller_manager(control_plane, &flags).await?),
            Program::Vendor => Running::Baseline(Baseline::vendor(control_plane, cloud, &flags).await?),
            Program::Floor => Running::Floor(Floor::start(&floor::client(control_plane).await?, self.flags.workers())),
        })
    }

    /// The name under which it speaks to the API server.
    pub(crate) fn user(self) -> &'static str {
        match self.program {
            Program::Aerostat | Program::Floor => tests::aerostat::USER,
            Program::Baseline | Program::ControllerManager | Program::Vendor => baseline::USER,
        }
    }

    /// The flags with which aerostat serves a control plane and a cloud: everything else is as it is by default, or as the cloud's manifests have it.
    async fn aerostat_flags(self, control_plane: &ControlPlane, cloud: &impl Account) -> Result<[String; 3]> {
        let config = self.write_config(control_plane, cloud)?;
        let kubeconfig = control_plane.aerostat_kubeconfig().await?;
        apply_roles(&control_plane.admin().await?, cloud.page()).await?;
        Ok([
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--cloud-config={}", config.display()),
            "--secure-port=0".to_owned(),
        ])
    }

    fn write_config(self, control_plane: &ControlPlane, cloud: &impl Account) -> Result<PathBuf> {
        let mut config = cloud.config(control_plane.folder())?;
        if self.flags != Flags::Default {
            for endpoint in &mut config.endpoints {
                endpoint["limits"] = json!({ "requestsPerSecond": REQUESTS_PER_SECOND });
            }
        }
        write_config(control_plane, &config)
    }
}

/// Writes what an operator would for a cloud.
pub(crate) fn write_config(control_plane: &ControlPlane, config: &Config) -> Result<PathBuf> {
    let config = json!({
        "apiVersion": "aerostat.dev/v1alpha1",
        "kind": "CloudConfig",
        "provider": config.provider,
        "endpoints": config.endpoints,
        "credentials": [config.credential],
    });
    // Every JSON document is a YAML document.
    let path = control_plane.folder().join("cloud.yaml");
    std::fs::write(&path, serde_json::to_string_pretty(&config)?)?;
    Ok(path)
}

/// A contender at work. Dropping it ends it as a power failure would.
pub(crate) enum Running {
    Aerostat(Aerostat),
    Baseline(Baseline),
    Floor(Floor),
}

impl Running {
    /// The use of its process so far. The floor has none of its own.
    pub(crate) fn usage(&self) -> Result<Option<Usage>> {
        match self {
            Running::Aerostat(it) => Usage::of(it.pid()).map(Some),
            Running::Baseline(it) => Usage::of(it.pid()).map(Some),
            Running::Floor(_) => Ok(None),
        }
    }

    /// Asks it to end, as Kubernetes does, and waits until it has.
    pub(crate) async fn stop(self) -> Result<()> {
        match self {
            Running::Aerostat(it) => it.stop().await.map(drop),
            Running::Baseline(it) => it.stop().await,
            Running::Floor(it) => {
                drop(it);
                Ok(())
            }
        }
    }
}
