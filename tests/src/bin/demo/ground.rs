//! The cluster in which the demo plays: a control plane of its own, or a part of an existing cluster.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::rbac::v1::{PolicyRule, Role};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::control_plane::{ControlPlane, Options, apply_roles};
use tests::folder::Folder;
use tests::kubelet;

use crate::part;
use crate::vendor::{Shown, ShownVolumes};
use crate::view::View;

/// The page with the roles for volumes, from `deploy/`.
const VOLUMES_PAGE: &str = "../docs/volumes.md";

/// The cluster, and what the demo may use of it.
pub(crate) struct Ground {
    /// May do all that the demo does.
    pub(crate) admin: Client,
    /// The kubeconfig of aerostat.
    pub(crate) kubeconfig: PathBuf,
    kind: Kind,
}

enum Kind {
    Own(Box<ControlPlane>),
    Part { folder: Folder, _view: View },
}

impl Ground {
    /// Uses a control plane as a whole: as if it followed the page of a cloud.
    pub(crate) async fn own<V: Shown>(control_plane: ControlPlane) -> Result<Self> {
        let admin = control_plane.admin().await?;
        let kubeconfig = control_plane.aerostat_kubeconfig().await?;
        apply_roles(&admin, V::PAGE).await?;
        // A release that makes them beside has rights of its own.
        if V::VOLUMES.is_some_and(|it| it.page().is_some()) {
            apply_roles(&admin, VOLUMES_PAGE).await?;
        }
        allow_config_map::<V>(&admin).await?;
        Ok(Self { admin, kubeconfig, kind: Kind::Own(Box::new(control_plane)) })
    }

    /// Uses the part of an existing cluster that `view` shows, through which the kubeconfig in `folder` leads.
    pub(crate) fn part(admin: Client, folder: Folder, kubeconfig: PathBuf, view: View) -> Self {
        Self { admin, kubeconfig, kind: Kind::Part { folder, _view: view } }
    }

    /// The control plane, unless it is somebody's cluster.
    pub(crate) fn control_plane(&self) -> Option<&ControlPlane> {
        match &self.kind {
            Kind::Own(control_plane) => Some(control_plane),
            Kind::Part { .. } => None,
        }
    }

    /// Whether this is a part of somebody's cluster.
    pub(crate) fn is_part(&self) -> bool {
        self.control_plane().is_none()
    }

    /// The volumes that are shown. They are objects of the whole cluster, so that there are none in a part of one.
    pub(crate) fn volumes<V: Shown>(&self) -> Option<ShownVolumes> {
        V::VOLUMES.filter(|_| !self.is_part())
    }

    /// A place for files of the demo, which goes with it.
    pub(crate) fn folder(&self) -> PathBuf {
        match &self.kind {
            Kind::Own(control_plane) => control_plane.folder().to_owned(),
            Kind::Part { folder, .. } => folder.path(""),
        }
    }

    /// The namespace of the module and of the Lease.
    pub(crate) fn namespace(&self) -> &'static str {
        if self.is_part() { part::NAMESPACE } else { "kube-system" }
    }

    /// The namespace of the Service.
    pub(crate) fn service_namespace(&self) -> &'static str {
        if self.is_part() { part::NAMESPACE } else { "default" }
    }

    /// The class of the Service, so that nobody else builds a load balancer for it.
    pub(crate) fn class(&self) -> Option<&'static str> {
        self.is_part().then_some(part::CLASS)
    }

    /// The selector of the demo's nodes, if there may be others.
    pub(crate) fn selector(&self) -> Option<&'static str> {
        self.is_part().then_some(part::LABEL)
    }

    /// Flags of aerostat that keep it to its part.
    pub(crate) fn flags(&self) -> Vec<String> {
        if !self.is_part() {
            return Vec::new();
        }
        let namespace = part::NAMESPACE;
        vec![format!("--leader-elect-resource-namespace={namespace}"), format!("--load-balancer-class={}", part::CLASS)]
    }

    /// The keys of a module's ConfigMap in a cloud configuration.
    pub(crate) fn config_map(&self, name: &str, key: &str, sha256: &str) -> Value {
        json!({ "namespace": self.namespace(), "name": name, "key": key, "sha256": sha256 })
    }

    /// Registers a node under its name, and posts Ready.
    pub(crate) async fn join(&self, name: &str) -> Result<()> {
        self.join_as(kubelet::node(name)).await
    }

    /// As [`join`](Self::join), with a Node of the demo's making.
    pub(crate) async fn join_as(&self, node: Node) -> Result<()> {
        if !self.is_part() {
            kubelet::join_as(&self.admin, node).await?;
            return Ok(());
        }
        let joined = kubelet::join_as(&self.admin, part::marked(node)).await?;
        let name = joined.metadata.name.context("a node has a name")?;
        let label = json!({ "metadata": { "labels": { part::LABEL: "" } } });
        let leases: Api<k8s_openapi::api::coordination::v1::Lease> =
            Api::namespaced(self.admin.clone(), "kube-node-lease");
        leases.patch(&name, &PatchParams::default(), &Patch::Merge(label)).await?;
        Ok(())
    }

    /// Ends what the demo has started, and waits until it has ended.
    pub(crate) async fn end(self) -> Result<()> {
        match self.kind {
            Kind::Own(control_plane) => control_plane.stop().await,
            Kind::Part { .. } => Ok(()),
        }
    }
}

/// Starts a control plane for the demo alone.
pub(crate) async fn control_plane() -> Result<ControlPlane> {
    ControlPlane::start(Options::default()).await
}

/// Lets aerostat read the ConfigMap that the configuration names.
async fn allow_config_map<V: Shown>(admin: &Client) -> Result<()> {
    let roles: Api<Role> = Api::namespaced(admin.clone(), "kube-system");
    let mut role = roles.get("cloud-controller-manager").await?;
    let of_config_maps = |it: &&mut PolicyRule| it.resources.iter().flatten().any(|it| it == "configmaps");
    let rule = role.rules.iter_mut().flatten().find(of_config_maps).context("rbac.yaml lets it read no ConfigMap")?;
    rule.resource_names = Some(vec![V::CONFIG_MAP.to_owned()]);
    roles.replace("cloud-controller-manager", &PostParams::default(), &role).await?;
    Ok(())
}

/// A path as a person types it in the folder where the demo was started.
pub(crate) fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}
