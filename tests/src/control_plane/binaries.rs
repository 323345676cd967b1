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
    let folders = [variable("KUBEBUILDER_ASSETS").map(PathBuf::from), Some(built.clone())];
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

/// The version of Kubernetes to run: the one that `KUBERNETES` names, as in `1.33`, or else the one that `tests/cluster/go.mod`
/// pins, as in `v1.36.3`.
fn version() -> Result<String> {
    let pinned = pinned(include_str!("../../cluster/go.mod")).context("tests/cluster/go.mod pins no Kubernetes")?;
    let wanted = variable("KUBERNETES").map(|it| it.to_string_lossy().into_owned()).filter(|it| !it.is_empty());
    let Some(wanted) = wanted.filter(|it| !pinned.starts_with(&format!("v{it}."))) else {
        return Ok(pinned.to_owned());
    };
    let path = workspace().join("tests/cluster").join(&wanted).join("go.mod");
    let text = std::fs::read_to_string(&path).with_context(|| format!("KUBERNETES={wanted}: no {}", path.display()))?;
    Ok(self::pinned(&text).with_context(|| format!("{} pins no Kubernetes", path.display()))?.to_owned())
}

/// The version of `k8s.io/kubernetes` in a `go.mod`.
fn pinned(go_mod: &str) -> Option<&str> {
    go_mod.lines().find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes ")?.split_whitespace().next())
}

#[expect(
    clippy::disallowed_methods,
    reason = "KUBEBUILDER_ASSETS is what envtest made known, and KUBERNETES what `make test` is run with"
)]
fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}
