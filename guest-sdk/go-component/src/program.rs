//! A provider's folder, built.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::component::component;

/// Compiles the program in `folder` with the Go that is on the PATH, and writes its component to `out`. Beside it stands the
/// core module that Go has made, for a moment.
///
/// # Errors
///
/// If Go is not there or does not compile it, or if it is no provider.
pub fn build(folder: &Path, out: &Path) -> Result<()> {
    let core = out.with_extension("core.wasm");
    let core = std::path::absolute(core)?;
    let status = Command::new("go")
        .current_dir(folder)
        .args(["build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid="])
        .arg("-o")
        .arg(&core)
        .arg(".")
        .env("GOOS", "wasip1")
        .env("GOARCH", "wasm")
        .stdin(Stdio::null())
        .status()
        .context("cannot start go: install Go 1.26 or newer, https://go.dev/dl")?;
    if !status.success() {
        bail!("go cannot build {}, see above", folder.display());
    }
    let module = fs::read(&core).with_context(|| format!("cannot read {}", core.display()))?;
    fs::remove_file(&core).with_context(|| format!("cannot remove {}", core.display()))?;
    let bytes = component(&module).with_context(|| format!("{} is no provider", folder.display()))?;
    fs::write(out, bytes).with_context(|| format!("cannot write {}", out.display()))
}
