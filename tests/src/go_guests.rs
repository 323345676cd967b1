//! Guests in Go. They are built when the first test asks for one, and kept as long as nothing changes that they are made of.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context as _, Result};
use sha2::{Digest, Sha256};

/// Sources of every guest in Go, from the workspace's folder.
const SOURCES: [&str; 4] = ["guest-sdk/go", "guest-sdk/go-component/src", "guest-sdk/strip-module/src", "wit"];

/// The example of Go's SDK: acme, as [`ACME`](crate::guests::ACME) is.
///
/// # Panics
///
/// Panics if Go cannot build it.
#[must_use]
pub fn acme() -> &'static str {
    static BUILT: OnceLock<String> = OnceLock::new();
    BUILT.get_or_init(|| built("acme", "guest-sdk/examples/acme-go"))
}

/// A provider in Go that does what a guest must not, in the order a test asks for.
///
/// # Panics
///
/// Panics if Go cannot build it.
#[must_use]
pub fn hostile() -> &'static str {
    static BUILT: OnceLock<String> = OnceLock::new();
    BUILT.get_or_init(|| built("hostile", "tests/go-guests/hostile"))
}

fn built(name: &str, folder: &str) -> String {
    let path = build(name, folder).unwrap_or_else(|error| panic!("cannot build the guest {name} in Go: {error:#}"));
    path.to_string_lossy().into_owned()
}

/// Builds a guest, unless it is there. Several processes may ask for it at once: one builds, the others wait.
fn build(name: &str, folder: &str) -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("this crate lies in the workspace's folder")?;
    let mut sum = Sha256::new();
    for source in SOURCES.iter().chain([&folder]) {
        add(&mut sum, &root.join(source))?;
    }
    let mut key = hex::encode(sum.finalize());
    key.truncate(16);
    let kept = root.join("target/go-guests");
    fs::create_dir_all(&kept)?;
    let out = kept.join(format!("{name}-{key}.wasm"));
    let lock = File::create(kept.join(format!("{name}.lock")))?;
    lock.lock()?;
    if !out.is_file() {
        let unfinished = kept.join(format!("{name}.unfinished"));
        go_component::program::build(&root.join(folder), &unfinished)?;
        fs::rename(unfinished, &out)?;
    }
    Ok(out)
}

/// Adds the names and bytes of all files in a folder.
fn add(sum: &mut Sha256, folder: &Path) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths: Vec<_> = entries.map(|it| Ok(it?.path())).collect::<Result<_>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            add(sum, &path)?;
        } else {
            sum.update(path.as_os_str().as_encoded_bytes());
            sum.update(fs::read(&path)?);
        }
    }
    Ok(())
}
