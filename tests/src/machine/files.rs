//! The configuration of a machine's containerd and kubelet.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::json;

use crate::control_plane::ControlPlane;

/// Where aerostat serves.
pub(super) const AEROSTAT_PORT: u16 = 10258;

/// A network of Pods with nothing in it. Pods on the network of their node need no more.
pub(super) const NETWORK: &str = r#"{ "cniVersion": "0.4.0", "name": "none", "type": "loopback" }"#;

/// The properties of a machine.
#[derive(Clone, Debug)]
pub struct MachineOptions {
    /// The name of its node, as letters, digits and hyphens.
    pub name: String,
    /// The taints that its kubelet registers it with, beside its own.
    pub taints: &'static [Taint],
    /// The registry that images come from, as in `127.0.0.1:5000`.
    pub registry: String,
    /// The file with the registry's authority.
    pub registry_authority: PathBuf,
    /// The image of the container that every Pod begins with.
    pub pause: String,
    /// The ports of 127.0.0.1 that it reaches, all of them with servers outside.
    pub reachable: Vec<u16>,
}

/// Key, value and effect of a taint.
pub type Taint = (&'static str, &'static str, &'static str);

/// Writes what [`inside.sh`](self) reads. Paths are those that the machine sees.
pub(super) fn write(folder: &Path, control_plane: &ControlPlane, options: &MachineOptions) -> Result<()> {
    let MachineOptions { name, taints, registry, registry_authority, pause, reachable: _ } = options;
    fs::copy(control_plane.kubelet_kubeconfig(name), folder.join("kubeconfig"))?;
    fs::copy(control_plane.authority_file(), folder.join("ca.crt"))?;
    fs::create_dir_all(folder.join("networks"))?;
    let hosts = folder.join("registries").join(registry);
    fs::create_dir_all(&hosts)?;
    fs::copy(registry_authority, hosts.join("ca.pem"))?;
    let host = format!(
        "server = \"https://{registry}\"\n[host.\"https://{registry}\"]\ncapabilities = [\"pull\", \"resolve\"]\nca = \
         \"/run/machine/registries/{registry}/ca.pem\"\n"
    );
    fs::write(hosts.join("hosts.toml"), host)?;
    fs::write(folder.join("containerd.toml"), containerd(pause))?;
    // Every JSON document is a YAML document.
    fs::write(folder.join("kubelet.yaml"), kubelet(folder, taints).to_string())?;
    Ok(())
}

fn containerd(pause: &str) -> String {
    // Without CAP_SYS_RESOURCE nobody gets a lower oom_score_adj than it has. `native` needs no overlay, and AppArmor no parser.
    format!(
        r#"version = 2
root = "/run/machine/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]

[plugins."io.containerd.grpc.v1.cri"]
disable_apparmor = true
restrict_oom_score_adj = true
sandbox_image = "{pause}"

[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"

[plugins."io.containerd.grpc.v1.cri".cni]
conf_dir = "/run/machine/networks"
bin_dir = "/run/machine/networks"

[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "/run/machine/registries"
"#
    )
}

fn kubelet(folder: &Path, taints: &[Taint]) -> serde_json::Value {
    let group = folder.file_name().unwrap_or_default().to_string_lossy();
    let taints: Vec<_> =
        taints.iter().map(|(key, value, effect)| json!({ "key": key, "value": value, "effect": effect })).collect();
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": { "enabled": false },
            "webhook": { "enabled": true },
            "x509": { "clientCAFile": "/run/machine/ca.crt" },
        },
        "authorization": { "mode": "Webhook" },
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "podLogsDir": "/run/machine/pods",
        "registerWithTaints": taints,
        "resolvConf": "",
        // Old kernels, too, and a machine that is no machine of its own.
        "failCgroupV1": false,
        "failSwapOn": false,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{group}"),
        "enforceNodeAllocatable": [],
        // What a change of a Secret takes is not the subject.
        "syncFrequency": "10s",
    })
}
