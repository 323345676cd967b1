//! `aerostat module pull`.

use std::fmt;

use anyhow::{Result, anyhow, bail};
use egress::Transfer;
use oci::Reference;
use serde::Serialize;

use super::answer::{CommandAnswer, size};
use super::place::{reference, repository};
use super::signed::Signers;
use super::{file, progress};
use crate::flags::{OptionalKeys, PullFlags};

/// The answer about a module that was written to a file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Pulled {
    file: String,
    size: usize,
    sha256: String,
    reference: String,
    manifest: String,
    /// `acme.pub (bundle)`; `None` if no key was given.
    signer: Option<String>,
}

pub(super) async fn run(command: PullFlags) -> Result<CommandAnswer> {
    let PullFlags { place, digest, out, force, keys, registry, output } = command;
    let mut wanted = reference(&place)?;
    match (wanted.digest, digest) {
        (Some(one), Some(other)) if one != other => {
            bail!("{wanted} and --digest name two manifests; leave one of them out")
        }
        (_, Some(digest)) => wanted = Reference { digest: Some(digest), ..wanted },
        (_, None) => {}
    }
    if !force {
        file::check_free(&out).await?;
    }
    let OptionalKeys { keys, signed_as } = keys;
    let signers = Signers::read(&keys, signed_as).await?;
    let mut repository = repository(&wanted, registry).await?;
    let release = repository.find(&wanted).await?;
    let signer = match signers {
        None => None,
        Some(signers) => {
            let signatures = repository.signatures(release.digest).await?;
            let signer = signers.one(&signatures, &wanted, release.digest, &repository);
            Some(signer.map_err(|reasons| {
                let reasons = reasons.join("; ");
                anyhow!("{} is not written: no key of --key has signed {wanted}: {reasons}", out.display())
            })?)
        }
    };
    let transfer = Transfer::default();
    let pull = repository.module(&release, &transfer);
    let bytes = progress::shown(&format!("pulling {wanted}"), release.size, &transfer, pull).await?;
    file::write(&out, &bytes, force).await?;
    let pulled = Pulled {
        file: out.display().to_string(),
        size: release.size,
        sha256: release.sha256.to_string(),
        reference: wanted.to_string(),
        manifest: format!("sha256:{}", release.digest),
        signer,
    };
    Ok(CommandAnswer::good(&pulled, output))
}

impl fmt::Display for Pulled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}, sha256 {}", self.file, size(self.size), self.sha256)?;
        match &self.signer {
            Some(signer) => writeln!(f, "{} is signed by {signer}", self.manifest),
            None => writeln!(f, "{} was not verified: no --key was given", self.manifest),
        }
    }
}
