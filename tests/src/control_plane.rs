//! A real control plane on loopback: etcd, kube-apiserver and, if asked, kube-controller-manager.
//!
//! Tests that write to a cluster take it with [`cluster`]: a few control planes for each test process, each for one test
//! at a time, empty at the start. The demo, the benchmark and tests that break it on purpose start one of
//! their own.
//!
//! Every server has a guard that ends it when this process ends, however it ends; the folder of the run goes with it.

mod access;
mod binaries;
mod certificates;
mod cluster;
mod process;
mod reset;
mod running;
mod servers;

use std::path::PathBuf;

use anyhow::Result;

pub(crate) use self::access::install_crypto;
pub use self::access::{FIRST_PAGE, apply, apply_roles, roles};
pub use self::cluster::{Cluster, cluster};
pub(crate) use self::process::{Process, Server};
pub use self::running::{ControlPlane, Options};

/// The path of kubectl in the pinned version.
///
/// # Errors
///
/// Fails if it has not been built.
pub fn kubectl() -> Result<PathBuf> {
    binaries::find("kubectl")
}

/// The path of what belongs to helm: `helm`, `helm3` (the one before), or `crds`, a folder with kinds that others define.
///
/// # Errors
///
/// Fails if it has not been built.
pub fn helm(name: &str) -> Result<PathBuf> {
    binaries::helm(name)
}

/// The path of kubelet in the pinned version.
///
/// # Errors
///
/// Fails if it has not been built.
pub fn kubelet() -> Result<PathBuf> {
    binaries::find("kubelet")
}

/// The path of kube-controller-manager in the pinned version, for those who start it with flags of their own.
///
/// # Errors
///
/// Fails if it has not been built.
pub fn controller_manager() -> Result<PathBuf> {
    binaries::find("kube-controller-manager")
}
