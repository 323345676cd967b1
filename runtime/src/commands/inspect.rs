//! `aerostat module inspect`.

use std::path::Path;

use anyhow::Result;
use egress::Transfer;
use oci::{Claim, Release, Repository, Signature};
use sandbox::{Digest, Interfaces, Module};

use super::answer::CommandAnswer;
use super::compared::compared;
use super::examined::examined;
use super::inspected::{Inspected, InspectedSignature, ModuleBytes};
use super::place::{ModulePlace, repository};
use super::signed::Signers;
use super::{file, progress};
use crate::config::CloudConfig;
use crate::flags::{Inspect, OptionalKeys};

/// A module, and what its registry says of it.
struct Got {
    module: Module,
    registry: Option<(Release, Vec<InspectedSignature>)>,
}

pub(super) async fn run(command: Inspect, compiler: Option<&Path>) -> Result<CommandAnswer> {
    let Inspect { place, cloud_config, keys, registry, output } = command;
    // What the operator has got wrong is said before anybody is asked.
    let config = cloud_config.as_deref().map(CloudConfig::read).transpose()?;
    let OptionalKeys { keys, signed_as } = keys;
    let signers = Signers::read(&keys, signed_as).await?;
    let got = match ModulePlace::parse(&place)? {
        ModulePlace::Registry(reference) => {
            let mut repository = repository(&reference, registry).await?;
            let release = repository.find(&reference).await?;
            let signatures = repository.signatures(release.digest).await?;
            let found = signatures.iter().map(|it| found(it, signers.as_ref(), &release, &repository)).collect();
            let transfer = Transfer::default();
            let pull = repository.module(&release, &transfer);
            let bytes = progress::shown(&format!("pulling {place}"), release.size, &transfer, pull).await?;
            let module = Module::new(&reference.pinned(release.digest).to_string(), bytes, release.sha256)?;
            Got { module, registry: Some((release, found)) }
        }
        ModulePlace::File(path) => {
            let bytes = file::read(&path).await?;
            let digest = Digest::of(&bytes);
            Got { module: Module::new(&path.display().to_string(), bytes, digest)?, registry: None }
        }
    };
    let Got { module, registry } = got;
    let interfaces = Interfaces::of(&module)?;
    let (digest, size) = (module.digest(), module.size());
    let provider = examined(module, config.as_ref(), compiler).await?;
    let bytes = ModuleBytes { sha256: digest, size, media_type: registry.as_ref().map(|it| it.0.media_type) };
    let compared = config.map(|it| compared(&provider.description(), &it));
    let inspected = Inspected::new(&place, registry, bytes, &interfaces, &provider.cloud(), compared);
    Ok(CommandAnswer::good(&inspected, output))
}

/// A signature as it is shown: its claim about itself, and its signer if a key verifies it.
fn found(
    signature: &Signature,
    signers: Option<&Signers>,
    release: &Release,
    repository: &Repository,
) -> InspectedSignature {
    let judged = signers.map(|it| it.judge(signature, release.digest, repository));
    let (verified_by, because) = match judged {
        None => (None, None),
        Some(Ok(signer)) => (Some(signer), None),
        Some(Err(because)) => (None, Some(because)),
    };
    match signature.claim() {
        Ok(Claim::Bundle(key)) => {
            InspectedSignature { form: "bundle", key: Some(key), name: None, verified_by, because }
        }
        Ok(Claim::Tag(name)) => InspectedSignature { form: "tag", key: None, name: Some(name), verified_by, because },
        Err(because) => {
            InspectedSignature { form: "unreadable", key: None, name: None, verified_by, because: Some(because) }
        }
    }
}
