//! The paths of the control plane's binaries.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The workspace's folder.
pub(super) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate lies in the workspace's folder")
}

/// Finds a binary: in `KUBEBUILDER_ASSETS` if it is there, else where `tests/cluster/build.sh` puts it.
pub(super) fn find(name: &str) -> Result<PathBuf> {
    let built = workspace().join("target/control-plane").join(version()?);
    let folders = [assets(), Some(built.clone())];
    let found = folders.into_iter().flatten().map(|folder| folder.join(name)).find(|path| path.is_file());
    match found {
        Some(path) => Ok(path),
        None => bail!("there is no {name} in {}. Next step: make control-plane", built.display()),
    }
}

/// Finds what `tests/helm/build.sh` builds: `helm`, `helm3`, or the folder `crds`.
pub(super) fn helm(name: &str) -> Result<PathBuf> {
    let path = workspace().join("target/helm").join(name);
    if path.exists() { Ok(path) } else { bail!("there is no {}. Next step: make helm", path.display()) }
}

/// The version of Kubernetes that `tests/cluster/go.mod` pins, as in `v1.36.3`.
fn version() -> Result<&'static str> {
    include_str!("../../cluster/go.mod")
        .lines()
        .filter_map(|line| line.trim().strip_prefix("k8s.io/kubernetes "))
        .find_map(|rest| rest.split_whitespace().next())
        .context("tests/cluster/go.mod pins no version of k8s.io/kubernetes")
}

#[expect(
    clippy::disallowed_methods,
    reason = "the variable that envtest made known, for those who have the binaries already"
)]
fn assets() -> Option<PathBuf> {
    std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from)
}
