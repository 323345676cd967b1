//! `aerostat module verify`.

use std::fmt;

use anyhow::{Context as _, Result, bail};
use serde::Serialize;

use super::answer::CommandAnswer;
use super::place::{ModulePlace, repository};
use super::signed::Signers;
use crate::flags::Verify;

/// Whether one of the keys has signed a manifest.
#[derive(Serialize)]
struct Verified {
    reference: String,
    manifest: String,
    /// `acme.pub (bundle)`.
    signer: Option<String>,
    /// Why no signature counts.
    reasons: Vec<String>,
}

pub(super) async fn run(command: Verify) -> Result<CommandAnswer> {
    let Verify { place, keys, signed_as, registry, output } = command;
    let reference = match ModulePlace::parse(&place)? {
        ModulePlace::Registry(reference) => reference,
        ModulePlace::File(path) => bail!(
            "nothing says who has signed {}: a signature is of a manifest and lies in the registry beside it. Verify the \
             module there, aerostat module verify REFERENCE --key=…, and compare the sha256 of the file with that of the \
             module, which aerostat module inspect prints",
            path.display()
        ),
    };
    let signers = Signers::read(&keys, signed_as).await?.context("--key names the public key of whoever signs")?;
    let mut repository = repository(&reference, registry).await?;
    let release = repository.find(&reference).await?;
    let signatures = repository.signatures(release.digest).await?;
    let found = signers.one(&signatures, &reference, release.digest, &repository);
    let (signer, reasons) = match found {
        Ok(signer) => (Some(signer), Vec::new()),
        Err(reasons) => (None, reasons),
    };
    let verified =
        Verified { reference: reference.to_string(), manifest: format!("sha256:{}", release.digest), signer, reasons };
    Ok(match verified.signer {
        Some(_) => CommandAnswer::good(&verified, output),
        None => CommandAnswer::bad(&verified, output),
    })
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.signer {
            Some(signer) => writeln!(f, "verified: {} is signed by {signer}", self.manifest),
            None => self.reasons.iter().try_for_each(|it| writeln!(f, "not verified: {it}")),
        }
    }
}
