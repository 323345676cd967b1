//! A module in a file, with its description of itself.

use std::path::Path;

use anyhow::Result;
use sandbox::{Digest, Module};

use crate::commands::file;

/// Reads a module.
///
/// # Errors
///
/// If there is no such file, or it is too large.
pub(super) async fn read(path: &Path) -> Result<Module> {
    let bytes = file::read(path).await?;
    let digest = Digest::of(&bytes);
    Ok(Module::new(&path.display().to_string(), bytes, digest)?)
}
