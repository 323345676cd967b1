//! The sizes of the files that are deployed.

use std::path::Path;

use anyhow::{Context, Result};
use tests::guests;

use crate::baseline;
use crate::comparison::megabytes;
use crate::table::Table;

/// Prints the sizes.
pub(crate) fn measure() -> Result<()> {
    let size = |path: &Path| -> Result<f64> {
        Ok(std::fs::metadata(path).with_context(|| format!("cannot see {}", path.display()))?.len() as f64)
    };
    let ours = size(&tests::aerostat::binary()?)?;
    let module = size(guests::DIGITALOCEAN.as_ref())?;
    let theirs = size(&baseline::binary()?)?;
    let ratio = (ours + module) / theirs;
    let mut table = Table::new("sizes", &["aerostat", "baseline", "ratio"]);
    table.row("binary", &[megabytes(ours), megabytes(theirs)]);
    table.row("digitalocean.wasm", &[megabytes(module)]);
    table.row("together", &[megabytes(ours + module), megabytes(theirs), format!("{ratio:.2}")]);
    table.print()
}
