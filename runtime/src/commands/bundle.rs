//! `aerostat bundle`: whole artifacts in one file.

use std::fmt;

use anyhow::{Result, anyhow};
use bytes::Bytes;
use egress::Transfer;
use oci::{Layout, NamedArtifact};
use serde::Serialize;

use super::answer::{CommandAnswer, size};
use super::place::{large_repository, reference, repository_for_push};
use super::{file, progress};
use crate::flags::{PushBundle, SaveBundle};

/// The largest file: as much as its reader takes.
const LIMIT: u64 = 260 << 20;

/// The answer about a file with artifacts.
#[derive(Serialize)]
struct Bundled {
    file: String,
    size: usize,
    artifacts: Vec<BundledArtifact>,
}

#[derive(Serialize)]
struct BundledArtifact {
    reference: String,
    manifest: String,
}

pub(super) async fn save(command: SaveBundle) -> Result<CommandAnswer> {
    let SaveBundle { out, places, force, registry, output } = command;
    let references = places.iter().map(|it| reference(it)).collect::<Result<Vec<_>>>()?;
    if !force {
        file::check_free(&out).await?;
    }
    let mut layout = Layout::default();
    let mut artifacts = Vec::new();
    for reference in &references {
        let mut repository = large_repository(reference, registry.clone()).await?;
        let transfer = Transfer::default();
        let save = repository.save(reference, &mut layout, &transfer);
        let digest = progress::counted(&format!("pulling {reference}"), &transfer, save).await?;
        artifacts.push(BundledArtifact { reference: reference.to_string(), manifest: format!("sha256:{digest}") });
    }
    // A bundle that the reader would refuse is not written: two references may want one name.
    layout.artifacts().map_err(|because| anyhow!("{} is not written: it {because}", out.display()))?;
    let bytes = layout.tar();
    file::write(&out, &bytes, force).await?;
    Ok(CommandAnswer::good(&Bundled { file: out.display().to_string(), size: bytes.len(), artifacts }, output))
}

pub(super) async fn push(command: PushBundle) -> Result<CommandAnswer> {
    let PushBundle { file, place, registry, output } = command;
    let bytes = Bytes::from(file::read_up_to(&file, LIMIT, "a bundle is smaller; save less at once").await?);
    let size = bytes.len();
    let refused = |because| {
        anyhow!(
            "{} is refused: it {because}. Nothing was sent; copy it again and compare its sha256, or save it again with \
             aerostat bundle save",
            file.display()
        )
    };
    let layout = Layout::read(&bytes).map_err(refused)?;
    let named = layout.artifacts().map_err(refused)?;
    // All names are read before the first is pushed.
    let place = place.trim_end_matches('/');
    let wanted = named.iter().map(|it| Ok((reference(&format!("{place}/{}", it.name))?, it)));
    let wanted: Vec<(_, &NamedArtifact)> = wanted.collect::<Result<_>>()?;
    let transfer = Transfer::default();
    let push = async {
        let mut artifacts = Vec::new();
        for (reference, artifact) in wanted {
            let mut repository = repository_for_push(&reference, registry.clone()).await?;
            repository.put(&layout, artifact, &transfer).await?;
            let manifest = format!("sha256:{}", artifact.digest());
            artifacts.push(BundledArtifact { reference: reference.to_string(), manifest });
        }
        anyhow::Ok(artifacts)
    };
    let artifacts = progress::counted(&format!("pushing {}", file.display()), &transfer, push).await?;
    Ok(CommandAnswer::good(&Bundled { file: file.display().to_string(), size, artifacts }, output))
}

impl fmt::Display for Bundled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.file, size(self.size))?;
        let mut artifacts = self.artifacts.iter();
        artifacts.try_for_each(|it| writeln!(f, "{}  {}", it.reference, it.manifest))
    }
}
