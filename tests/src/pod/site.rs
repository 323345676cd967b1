//! The site of an installation: a control plane, a registry with a release, a cloud, and machines that join.

use std::time::Duration;

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::release::Release;
use crate::clouds::digitalocean::{Droplet, Options, Simulator};
use crate::control_plane::{self, ControlPlane};
use crate::folder::Folder;
use crate::machine::{MachineOptions, RealMachine, Taint};
use crate::registry::{Access, RealRegistry};
use crate::wait;

/// The taints that installers and networks of Pods put on nodes until somebody has done something: those of kubeadm, of Rancher's
/// distributions, and of Cilium. The kubelet adds that of the cloud.
pub const TAINTS: &[Taint] = &[
    ("node-role.kubernetes.io/control-plane", "", "NoSchedule"),
    ("node-role.kubernetes.io/controlplane", "true", "NoSchedule"),
    ("node-role.kubernetes.io/etcd", "true", "NoExecute"),
    (NETWORK_TAINT, "true", "NoExecute"),
];
const NETWORK_TAINT: &str = "node.cilium.io/agent-not-ready";

/// How long a kubelet may take until it has registered its node, on a machine that compiles at the same time.
const REGISTERED: Duration = Duration::from_secs(90);

/// A cluster without nodes, and the world around it.
pub struct Site {
    // In the order in which they end.
    /// The machines that have joined.
    pub machines: Vec<RealMachine>,
    /// The control plane, with a scheduler.
    pub control_plane: ControlPlane,
    /// May do everything in it.
    pub admin: Client,
    /// The cloud, which has the machines as droplets.
    pub cloud: Simulator,
    /// Where images and modules are.
    pub registry: RealRegistry,
    /// The release in the registry.
    pub release: Release,
    /// For files.
    pub folder: Folder,
}

impl Site {
    /// Opens a site for so many machines.
    ///
    /// # Errors
    ///
    /// Fails if something has not been built, or does not start.
    pub async fn open(machines: usize) -> Result<Self> {
        let folder = Folder::new();
        let registry = RealRegistry::distribution(Access::Anyone).await;
        let release = Release::push(&registry, &folder)?;
        let cloud = Simulator::start(Options::default()).await?;
        for number in 0..machines {
            let id = 100 + u64::try_from(number)?;
            cloud.droplets().insert(Droplet::new(id, &Self::node(number)));
        }
        let control_plane = ControlPlane::start(control_plane::Options {
            controller_manager: true,
            full_admission: true,
            scheduler: true,
            kubelets: (0..machines).map(Self::node).collect(),
            ..control_plane::Options::default()
        })
        .await?;
        let admin = control_plane.admin().await?;
        Ok(Self { machines: Vec::new(), control_plane, admin, cloud, registry, release, folder })
    }

    /// The name of a machine's node, counted from 0.
    #[must_use]
    pub fn node(number: usize) -> String {
        format!("control-{}", number + 1)
    }

    /// Starts the next machine, waits until its kubelet has registered its node, and labels that as kubeadm does.
    ///
    /// # Errors
    ///
    /// Fails if it does not come up, with what it says.
    pub async fn join(&mut self) -> Result<Node> {
        let name = Self::node(self.machines.len());
        let port = |address: &str| address.rsplit(':').next().and_then(|it| it.parse().ok());
        let options = MachineOptions {
            name: name.clone(),
            taints: TAINTS,
            registry: self.registry.address().to_owned(),
            registry_authority: self.registry.ca_file(),
            pause: self.release.pause.clone(),
            reachable: vec![
                self.control_plane.port(),
                port(self.registry.address()).context("a registry has a port")?,
                self.cloud.address().port(),
            ],
        };
        let machine = RealMachine::start(&self.control_plane, &options).await?;
        let nodes: Api<Node> = Api::all(self.admin.clone());
        let registered = wait::within(REGISTERED, async || nodes.get_opt(&name).await.ok().flatten()).await;
        let node = registered.with_context(|| format!("{name} does not join.\n{}", machine.told()))?;
        self.machines.push(machine);
        let label = json!({ "metadata": { "labels": { "node-role.kubernetes.io/control-plane": "" } } });
        nodes.patch(&name, &PatchParams::default(), &Patch::Merge(label)).await?;
        Ok(node)
    }

    /// Gives a machine its network of Pods, and takes off the taint that waits for it, as Cilium's agent does.
    ///
    /// # Errors
    ///
    /// Fails if the API server refuses it.
    pub async fn install_network(&self, number: usize) -> Result<()> {
        self.machines.get(number).context("no such machine")?.install_network()?;
        // Others write nodes meanwhile.
        while let Err(error) = self.take_taint_off(&Self::node(number)).await {
            match &error {
                kube::Error::Api(status) if status.code == 409 => {}
                _ => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn take_taint_off(&self, name: &str) -> kube::Result<()> {
        let nodes: Api<Node> = Api::all(self.admin.clone());
        let node = nodes.get(name).await?;
        let mut taints = node.spec.and_then(|it| it.taints).unwrap_or_default();
        taints.retain(|it| it.key != NETWORK_TAINT);
        let change = json!({
            "metadata": { "resourceVersion": node.metadata.resource_version },
            "spec": { "taints": taints },
        });
        nodes.patch(name, &PatchParams::default(), &Patch::Merge(change)).await.map(drop)
    }

    /// The explanation of a failure: what the machines say.
    #[must_use]
    pub fn told(&self) -> String {
        self.machines.iter().map(RealMachine::told).collect::<Vec<_>>().join("\n\n")
    }

    /// Ends everything, and waits until nothing is left.
    ///
    /// # Errors
    ///
    /// Fails if something does not end.
    pub async fn close(self) -> Result<()> {
        for machine in self.machines {
            machine.stop().await?;
        }
        self.control_plane.stop().await
    }
}
