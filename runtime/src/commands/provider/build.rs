//! `aerostat provider build`.

mod cargo;
mod go;

use std::fmt;
use std::path::{Path, PathBuf};

use ::controllers::chain;
use anyhow::{Context as _, Result, bail};
use sandbox::{Digest, Interfaces, Module};
use serde::Serialize;
use tokio::fs;

use crate::commands::answer::{CommandAnswer, size};
use crate::commands::file;
use crate::flags::BuildFlags;

/// The largest module, in bytes, as `provider.module` has it.
const LARGEST: usize = 4 << 20;

/// A component that was built.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BuiltModule {
    file: String,
    sha256: String,
    /// In bytes.
    size: usize,
    /// In bytes.
    largest: usize,
    profile: String,
    exports: Vec<String>,
    /// Sentences about why it cannot be loaded.
    wrong: Vec<String>,
}

pub(crate) async fn run(flags: BuildFlags) -> Result<CommandAnswer> {
    let BuildFlags { folder, package, example, out, output } = flags;
    let has = async |name: &str| fs::try_exists(folder.join(name)).await.unwrap_or_default();
    let (artifact, bytes, profile) = match (has("Cargo.toml").await, has("go.mod").await) {
        (true, _) => of_crate(&folder, package.as_deref(), example.as_deref()).await?,
        (false, true) if package.is_some() || example.is_some() => {
            bail!(
                "--package and --example are for crates, and {} is a folder of Go; name the folder alone",
                folder.display()
            )
        }
        (false, true) => (go::artifact(&folder)?, go::build(&folder).await?, go::profile()),
        (false, false) => {
            bail!("{} has no Cargo.toml and no go.mod; name the folder of the provider", folder.display())
        }
    };
    let place = out.as_deref().unwrap_or(&artifact);
    // What has no sections is told of below.
    let bytes = strip_module::stripped(&bytes).unwrap_or(bytes);
    file::write(place, &bytes, true).await?;
    let built = judged(place, bytes, profile);
    Ok(match built.wrong.is_empty() {
        true => CommandAnswer::good(&built, output),
        false => CommandAnswer::found_bad(&built, output),
    })
}

/// The artifact that cargo builds: where it is, its bytes, and the profile in words.
async fn of_crate(folder: &Path, package: Option<&str>, example: Option<&str>) -> Result<(PathBuf, Vec<u8>, String)> {
    cargo::check_target(folder).await?;
    let profile = cargo::profile(folder).await?;
    let artifact = cargo::build(folder, profile, package, example).await?;
    let bytes = fs::read(&artifact).await.with_context(|| {
        format!("cannot read {}, which cargo says that it has built; build it again", artifact.display())
    })?;
    Ok((artifact, bytes, profile.to_string()))
}

fn judged(place: &Path, bytes: Vec<u8>, profile: String) -> BuiltModule {
    let (size_of_it, digest) = (bytes.len(), Digest::of(&bytes));
    let mut wrong = Vec::new();
    if size_of_it > LARGEST {
        wrong.push(format!("it is larger than {}; leave out what it does not need", size(LARGEST)));
    }
    let name = place.display().to_string();
    let interfaces = Module::new(&name, bytes, digest).map_err(|it| chain(&it));
    let interfaces = interfaces.and_then(|it| Interfaces::of(&it).map_err(|it| chain(&it)));
    let exports = match interfaces {
        Ok(interfaces) => interfaces.exports,
        Err(because) => {
            wrong.push(because);
            Vec::new()
        }
    };
    if wrong.is_empty() && !exports.iter().any(|it| it.starts_with("aerostat:cloud/provider@")) {
        let because = "it does not export aerostat:cloud/provider, so it is no provider; export it with the SDK";
        wrong.push(because.to_owned());
    }
    BuiltModule { file: name, sha256: digest.to_string(), size: size_of_it, largest: LARGEST, profile, exports, wrong }
}

impl fmt::Display for BuiltModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, sha256, size: bytes, largest, profile, exports, wrong } = self;
        writeln!(f, "module      {file}: sha256:{sha256}, {} of {} at most", size(*bytes), size(*largest))?;
        writeln!(f, "profile     {profile}")?;
        if !exports.is_empty() {
            writeln!(f, "exports     {}", exports.join(", "))?;
        }
        match wrong.as_slice() {
            [] => writeln!(f, "next        aerostat provider check {file}"),
            wrong => wrong.iter().try_for_each(|it| writeln!(f, "wrong       {it}")),
        }
    }
}
