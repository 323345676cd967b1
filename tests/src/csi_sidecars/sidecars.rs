//! The sidecars and their driver, which `make csi-sidecars` builds.

use std::ffi::OsStr;

use crate::clouds::digitalocean::Simulator;
use crate::control_plane::Cluster;
use crate::folder::Folder;
use crate::loopback::Program;
use crate::manager::built;

use super::ground::REGION;

/// All of them, with what the vendor's manifests of v4.16.0 tell each, but for where the socket is.
const SIDECARS: [(&str, &[&str]); 3] = [
    ("csi-provisioner", &["--default-fstype=ext4"]),
    ("csi-attacher", &["--reconcile-sync=30m", "--timeout=2m"]),
    ("csi-resizer", &["--timeout=30s", "--handle-volume-inuse-error=false"]),
];

/// How much of each log a failure shows.
const TAIL: usize = 3_000;

/// They and their driver at work. Dropping them ends them.
pub(super) struct Sidecars {
    // In the order in which they end: a sidecar complains about a driver that is gone.
    _programs: Vec<Program>,
    _driver: Program,
    folder: Folder,
}

impl Sidecars {
    /// Starts them for a cluster and an account.
    ///
    /// # Panics
    ///
    /// Panics if they have not been built, or do not start.
    pub(super) fn start(cluster: &Cluster, cloud: &Simulator) -> Self {
        let folder = Folder::new();
        // The path of a socket is short: at most 107 bytes.
        let socket = folder.path("").canonicalize().expect("the folder is there").join("csi.sock");
        let authority = cloud.ca_file();
        let program = |name: &str, arguments: &[String], environment: &[(&str, &OsStr)]| {
            let log = folder.path(&format!("{name}.log"));
            Program::start(&built("csi-sidecars", name), arguments, environment, Some(&log))
        };
        let arguments = [
            format!("--socket={}", socket.display()),
            format!("--url={}", cloud.base_url()),
            format!("--region={REGION}"),
        ];
        let environment = [
            ("DIGITALOCEAN_ACCESS_TOKEN", cloud.token.as_ref()),
            ("SSL_CERT_FILE", authority.as_os_str()),
            ("NO_PROXY", "127.0.0.1".as_ref()),
            ("no_proxy", "127.0.0.1".as_ref()),
        ];
        let driver = program("csi-driver", &arguments, &environment);
        let start = |(name, own): &(&str, &[&str])| {
            let mut arguments = vec![
                format!("--csi-address={}", socket.display()),
                format!("--kubeconfig={}", cluster.control_plane.admin_kubeconfig().display()),
                "--v=5".to_owned(),
            ];
            arguments.extend(own.iter().map(|it| (*it).to_owned()));
            program(name, &arguments, &environment[2..])
        };
        let programs = SIDECARS.iter().map(start).collect();
        Self { _programs: programs, _driver: driver, folder }
    }

    /// The ends of what they have said.
    pub(super) fn log_tail(&self) -> String {
        let tail = |name: &str| {
            let log = std::fs::read(self.folder.path(&format!("{name}.log"))).unwrap_or_default();
            format!("{name}:\n{}\n", String::from_utf8_lossy(&log[log.len().saturating_sub(TAIL)..]))
        };
        SIDECARS.iter().map(|it| it.0).chain(["csi-driver"]).map(tail).collect()
    }
}
