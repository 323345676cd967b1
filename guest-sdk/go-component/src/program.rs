//! A provider's folder, built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result, bail};

/// The arguments of `go` that make a core module for the adapter, without the names and paths of whoever builds it.
pub const FLAGS: [&str; 5] =
    ["build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid="];

/// Compiles the program in `folder`, and writes its component to `out`.
///
/// # Errors
///
/// As [`component`], and if the file cannot be written.
pub fn build(folder: &Path, out: &Path) -> Result<()> {
    let bytes = component(folder)?;
    fs::write(out, bytes).with_context(|| format!("cannot write {}", out.display()))
}

/// Compiles the program in `folder` with the Go that is on the PATH, and makes a component of it. What the compiler complains about
/// goes to standard error. The core module lies among the system's temporary files for a moment.
///
/// # Errors
///
/// If Go is not there or does not compile it, or if it is no provider.
pub fn component(folder: &Path) -> Result<Vec<u8>> {
    let scratch = Scratch::new()?;
    let core = scratch.0.join("core.wasm");
    let status = Command::new("go")
        .current_dir(folder)
        .args(FLAGS)
        .arg("-o")
        .arg(&core)
        .arg(".")
        .env("GOOS", "wasip1")
        .env("GOARCH", "wasm")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .with_context(|| {
            format!(
                "cannot start go in {}; install Go 1.26 or newer (https://go.dev/dl), and look at PATH",
                folder.display()
            )
        })?;
    if !status.success() {
        bail!("go cannot build {}, as it says above; correct the program", folder.display());
    }
    let module = fs::read(&core).with_context(|| format!("cannot read {}", core.display()))?;
    crate::component::component(&module).with_context(|| format!("{} is no provider", folder.display()))
}

/// A folder of this process, which goes with this.
struct Scratch(PathBuf);

impl Scratch {
    /// Fails where somebody else has put something in its place.
    fn new() -> Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("go-component-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).with_context(|| format!("cannot make {} for what go compiles", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left is among temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
