//! A real machine of a cluster: containerd and a kubelet, with a network, mounts and processes of their own, on this one.
//!
//! ```text
//! machine.sh ─► namespaces ─► inside.sh ─► containerd ─► shims ─► Pods on the machine's network
//!                   ▲             └──────► kubelet
//!                 Bridge: API server, registry and cloud in, ports of Pods out
//! ```
//!
//! Everything in it ends with the first process of its namespace. It takes root, and what `make machine` prepares.

mod bridge;
mod files;
mod processes;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use self::bridge::Bridge;
use crate::control_plane::{ControlPlane, Process, Server, kubelet};

pub use self::files::{MachineOptions, Taint};

/// A running machine. Dropping it ends it: the kubelet, then all containers, then containerd.
#[derive(Debug)]
pub struct RealMachine {
    process: Process,
    /// The tasks that carry bytes in and out.
    _bridge: Bridge,
    folder: PathBuf,
    port: u16,
}

/// The folder of what `tests/machine/build.sh` prepares: containerd, runc, the programs of `tests/machine/programs`.
///
/// # Errors
///
/// Fails if it is not there.
pub fn tools() -> Result<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/machine");
    if !path.join("pause").is_file() {
        bail!("there is no {}. Next step: make machine", path.join("pause").display());
    }
    Ok(path.canonicalize()?)
}

impl RealMachine {
    /// Starts a machine whose kubelet joins the cluster. The kubelet of this name is one of the control plane's options.
    ///
    /// # Errors
    ///
    /// Fails if something is missing, or if this process may not make namespaces.
    pub async fn start(control_plane: &ControlPlane, options: &MachineOptions) -> Result<Self> {
        let (tools, kubelet) = (tools()?, kubelet()?.canonicalize()?);
        let name = format!("machine-{}", uuid::Uuid::new_v4());
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/control-plane/run").join(&name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let folder = folder.canonicalize()?;
        fs::write(folder.join("inside.sh"), include_str!("machine/inside.sh"))?;
        let script = folder.join("machine.sh");
        fs::write(&script, include_str!("machine/machine.sh"))?;
        files::write(&folder, control_plane, options)?;

        let mut bridge = Bridge::new(&name)?;
        for &port in &options.reachable {
            bridge.inwards(port)?;
        }
        let port = bridge.outwards(files::AEROSTAT_PORT).await?;
        let kubernetes = kubelet.parent().context("the kubelet is in a folder")?;
        let text = |path: &Path| path.display().to_string();
        let places = [&script, bridge.folder(), &folder].map(text);
        let inside = [options.name.clone(), text(&tools), text(kubernetes)];
        let process = Process::start(Server {
            program: "sh".into(),
            arguments: places.into_iter().chain(inside).chain(bridge.arguments().iter().cloned()).collect(),
            folder: &folder,
            after: &[],
            last: true,
        })?;
        Ok(Self { process, _bridge: bridge, folder, port })
    }

    /// The port of 127.0.0.1 here that leads to port 10258 of the machine.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Gives the machine a network of Pods, as an agent of it does: the node becomes ready.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written.
    pub fn install_network(&self) -> io::Result<()> {
        let networks = self.folder.join("networks");
        // containerd looks again where a file there gets another name, and reads it whole.
        fs::write(networks.join("unfinished"), files::NETWORK)?;
        fs::rename(networks.join("unfinished"), networks.join("10-loopback.conf"))
    }

    /// The log of every container of Pods whose names begin with this: one after the other.
    #[must_use]
    pub fn logs(&self, pod: &str) -> String {
        let mut all = String::new();
        let pods = fs::read_dir(self.folder.join("pods")).into_iter().flatten().flatten();
        for entry in pods.filter(|it| it.file_name().to_string_lossy().contains(pod)) {
            for file in fs::read_dir(entry.path()).into_iter().flatten().flatten() {
                for log in fs::read_dir(file.path()).into_iter().flatten().flatten() {
                    all += &fs::read_to_string(log.path()).unwrap_or_default();
                }
            }
        }
        all
    }

    /// The explanation of a failure: the ends of the logs of containerd and the kubelet, and those of Pods.
    #[must_use]
    pub fn told(&self) -> String {
        let tail = |name: &str| {
            let text = fs::read_to_string(self.folder.join(name)).unwrap_or_default();
            let lines: Vec<_> = text.lines().rev().take(30).collect();
            lines.into_iter().rev().collect::<Vec<_>>().join("\n")
        };
        let pods = self.logs("");
        let [machine, containerd, kubelet] = ["sh.log", "containerd.log", "kubelet.log"].map(tail);
        format!("machine:\n{machine}\ncontainerd:\n{containerd}\nkubelet:\n{kubelet}\nPods:\n{pods}")
    }

    /// Where its files are. The folder, and its cgroup, which has the folder's name, go with the machine.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Ends it, and waits until nothing of it is left.
    ///
    /// # Errors
    ///
    /// Fails if it does not end.
    pub async fn stop(self) -> Result<()> {
        self.process.stop().await
    }

    /// The processes of the machine whose program has this name, by their ids here.
    #[must_use]
    pub fn processes(&self, name: &str) -> Vec<u32> {
        processes::with_name(&self.folder, name)
    }
}
