//! `aerostat module diff`.

use std::fmt;
use std::path::Path;

use anyhow::Result;
use egress::Transfer;
use sandbox::{Digest, Module};
use serde::Serialize;

use super::answer::CommandAnswer;
use super::examined::examined;
use super::place::{ModulePlace, repository};
use super::{file, progress};
use crate::config::CloudConfig;
use crate::flags::{DiffFlags, Registry};
use crate::manager::claims::{Config, ModuleChange, ModuleSide, changes};

/// The differences of two modules.
#[derive(Serialize)]
struct ModuleDifference {
    old: ComparedModule,
    new: ComparedModule,
    changes: Vec<ChangeLine>,
}

#[derive(Serialize)]
struct ComparedModule {
    place: String,
    provider: String,
    version: String,
    sha256: String,
    /// In bytes.
    size: usize,
}

#[derive(Serialize)]
struct ChangeLine {
    about: &'static str,
    text: String,
    /// Whether an operator has to look at it.
    matters: bool,
}

impl From<ModuleChange> for ChangeLine {
    fn from(change: ModuleChange) -> Self {
        let ModuleChange { about, text, matters } = change;
        Self { about, text, matters }
    }
}

pub(super) async fn run(flags: DiffFlags, compiler: Option<&Path>) -> Result<CommandAnswer> {
    let DiffFlags { old, new, cloud_config, registry, output } = flags;
    let config = cloud_config.as_deref().map(CloudConfig::read).transpose()?;
    let (old_place, new_place) = (ModulePlace::parse(&old)?, ModulePlace::parse(&new)?);
    let before = fetched(&old, old_place, registry.clone()).await?;
    let after = fetched(&new, new_place, registry).await?;
    let (before_line, after_line) = ((before.digest(), before.size()), (after.digest(), after.size()));
    let (former, next) =
        (examined(before, config.as_ref(), compiler).await?, examined(after, config.as_ref(), compiler).await?);
    let (former_description, next_description) = (former.description(), next.description());
    let side = |description, capabilities, size| ModuleSide { description, capabilities, size: Some(size) };
    let endpoints: Vec<_> = config.iter().flat_map(|it| &it.endpoints).collect();
    let config_maps: Vec<_> = config.iter().flat_map(|it| &it.config_maps).map(ToString::to_string).collect();
    let created = config.iter().flat_map(|it| &it.creates_config_maps);
    let creates_config_maps: Vec<_> = created.map(ToString::to_string).collect();
    let rights = config.as_ref().map(|config| Config {
        prefixes: &config.provider_id_prefixes,
        endpoints: &endpoints,
        settings: &config.provider.settings,
        node_labels: &config.provider.node_labels,
        writes_annotations: &config.provider.writes_annotations,
        finalizers: &config.provider.takes_finalizers,
        config_maps: &config_maps,
        creates_config_maps: &creates_config_maps,
    });
    let found = changes(
        &side(&former_description, former.capabilities(), before_line.1),
        &side(&next_description, next.capabilities(), after_line.1),
        rights.as_ref(),
    );
    let line = |place, description: &cloud_provider::Description, (digest, size): (Digest, usize)| ComparedModule {
        place,
        provider: description.name.clone(),
        version: description.version.clone(),
        sha256: digest.to_string(),
        size,
    };
    let matters = found.iter().any(|it| it.matters);
    let difference = ModuleDifference {
        old: line(old, &former_description, before_line),
        new: line(new, &next_description, after_line),
        changes: found.into_iter().map(ChangeLine::from).collect(),
    };
    Ok(match matters {
        true => CommandAnswer::found_bad(&difference, output),
        false => CommandAnswer::good(&difference, output),
    })
}

async fn fetched(text: &str, place: ModulePlace, registry: Registry) -> Result<Module> {
    match place {
        ModulePlace::Registry(reference) => {
            let mut repository = repository(&reference, registry).await?;
            let release = repository.find(&reference).await?;
            let transfer = Transfer::default();
            let pull = repository.module(&release, &transfer);
            let bytes = progress::shown(&format!("pulling {text}"), release.size, &transfer, pull).await?;
            Ok(Module::new(&reference.pinned(release.digest).to_string(), bytes, release.sha256)?)
        }
        ModulePlace::File(path) => {
            let bytes = file::read(&path).await?;
            let digest = Digest::of(&bytes);
            Ok(Module::new(&path.display().to_string(), bytes, digest)?)
        }
    }
}

impl fmt::Display for ModuleDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { old, new, changes } = self;
        for (sign, it) in [("---", old), ("+++", new)] {
            writeln!(f, "{sign} {}: {} {}, sha256:{}", it.place, it.provider, it.version, it.sha256)?;
        }
        for ChangeLine { about, text, matters } in changes {
            writeln!(f, "{} {about:<11} {text}", if *matters { "!" } else { " " })?;
        }
        match changes.iter().filter(|it| it.matters).count() {
            _ if changes.is_empty() => writeln!(f, "they say and ask for the same"),
            0 => writeln!(f, "nothing of it has to be looked at"),
            1 => writeln!(f, "1 line has to be looked at"),
            number => writeln!(f, "{number} lines have to be looked at"),
        }
    }
}
