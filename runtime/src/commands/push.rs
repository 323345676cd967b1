//! `aerostat module push`.

use std::fmt;

use anyhow::Result;
use egress::Transfer;
use oci::PushedInterfaces;
use sandbox::{Digest, Module};
use serde::Serialize;

use super::answer::{CommandAnswer, size};
use super::place::{reference, repository_for_push};
use super::{file, progress};
use crate::flags::Push;

/// The answer about a module that was pushed.
#[derive(Serialize)]
struct Pushed {
    reference: String,
    manifest: String,
    sha256: String,
    size: usize,
}

pub(super) async fn run(command: Push) -> Result<CommandAnswer> {
    let Push { file, place, registry, output } = command;
    let reference = reference(&place)?;
    let bytes = file::read(&file).await?;
    let digest = Digest::of(&bytes);
    let module = Module::new(&file.display().to_string(), bytes.clone(), digest)?;
    let sandbox::Interfaces { imports, exports } = sandbox::Interfaces::of(&module)?;
    let mut repository = repository_for_push(&reference, registry).await?;
    let (transfer, all) = (Transfer::default(), bytes.len());
    let interfaces = PushedInterfaces { exports, imports };
    let push = repository.push(&reference, bytes, &interfaces, &transfer);
    let release = progress::shown(&format!("pushing {}", file.display()), all, &transfer, push).await?;
    let pushed = Pushed {
        reference: reference.pinned(release.digest).to_string(),
        manifest: format!("sha256:{}", release.digest),
        sha256: release.sha256.to_string(),
        size: release.size,
    };
    Ok(CommandAnswer::good(&pushed, output))
}

impl fmt::Display for Pushed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "manifest    {}", self.manifest)?;
        writeln!(f, "module      sha256:{}, {}", self.sha256, size(self.size))?;
        writeln!(f, "sign it     cosign sign --key=… {}", self.reference)
    }
}
