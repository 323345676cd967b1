//! The one file that installs aerostat for a cloud, with the digests of a release.

use anyhow::{Context as _, Result, bail};

/// The place of the module's digest in a manifest of the sources.
const PLACE: &str = "sha256:DIGEST-OF-THE-MANIFEST";

/// The text of a manifest, whose image and module have these digests (`sha256:…`). The registry stays a place to fill in.
pub(crate) fn pinned(text: &str, version: &str, image: &str, module: &str) -> Result<String> {
    let tag = format!("image: \"registry.example.com/aerostat:{version}");
    let (before, after) = text.split_once(&format!("{tag}\"")).with_context(|| format!("it has no {tag}\""))?;
    let pinned = format!("{before}{tag}@{image}\"{after}");
    if !pinned.contains(PLACE) {
        bail!("it has no {PLACE}");
    }
    Ok(pinned.replace(PLACE, module))
}
