//! Go, as it is found on the path.

use std::path::Path;

use anyhow::{Context as _, Result};
use go_component::program;

/// How Go's compiler is asked, for people.
pub(super) fn profile() -> String {
    format!("go {}, for wasip1", program::FLAGS.join(" "))
}

/// Compiles the program in `folder`, and makes a component of it. The core module stands in a folder of its own meanwhile.
pub(super) async fn build(folder: &Path) -> Result<Vec<u8>> {
    let folder = folder.to_owned();
    // Go's compiler and what follows it take seconds.
    let work = tokio::task::spawn_blocking(move || program::component(&folder));
    work.await.context("the build was stopped")?
}

/// The file for the component where nobody has named one: the folder's own name, in it.
pub(super) fn artifact(folder: &Path) -> Result<std::path::PathBuf> {
    let whole = folder.canonicalize().with_context(|| format!("cannot look at {}", folder.display()))?;
    let name = whole.file_name().context("the root of all folders is no provider; name the provider's folder")?;
    Ok(folder.join(name).with_extension("wasm"))
}
