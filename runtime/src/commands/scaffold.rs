//! `aerostat provider new`: makes the folder of a provider.
//!
//! ```text
//! flags ─► answers, on a terminal ─► ■ ProviderPlan ─► ■ files, from templates/ ─► folder
//! ```

mod fields;
mod go;
mod plan;
mod question;
mod rust;
mod template;

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};

use self::plan::{ProviderPlan, SdkSource};
use self::template::NewFile;
use super::CommandAnswer;
use crate::flags::{GuestLanguage, NewProviderFlags};

pub(super) fn run(mut flags: NewProviderFlags) -> Result<CommandAnswer> {
    // The mistakes that no answer could mend.
    plan::check_name(&flags.name)?;
    let folder = flags.folder.clone().unwrap_or_else(|| flags.name.clone().into());
    if folder.exists() {
        bail!("{} is there already: choose another name, or another --folder", folder.display());
    }
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        question::ask(&mut flags, &mut io::stdin().lock(), &mut io::stderr())?;
    }
    let sdk = match &flags.sdk {
        None => SdkSource::Published,
        Some(path) => SdkSource::Folder(sdk_folder(path, flags.lang)?),
    };
    let plan = ProviderPlan::of(&flags, sdk)?;
    let files = match flags.lang {
        GuestLanguage::Rust => rust::files(&plan),
        GuestLanguage::Go => go::files(&plan),
    };
    if let Err(error) = write(&folder, &files) {
        return Err(
            error.context(format!("{} cannot be made: choose a folder that you may write to", folder.display()))
        );
    }
    Ok(CommandAnswer::Good(next_steps(&plan, flags.lang, &folder, files.len())))
}

/// The absolute path of the SDK's folder for a language: the one with the manifest that names the SDK.
fn sdk_folder(path: &Path, lang: GuestLanguage) -> Result<String> {
    let (manifest, line, folder) = match lang {
        GuestLanguage::Rust => ("Cargo.toml", "name = \"aerostat-sdk\"", "guest-sdk"),
        GuestLanguage::Go => ("go.mod", "module aerostat.dev/sdk", "guest-sdk/go"),
    };
    let is_sdk = |it: &String| it.lines().any(|it| it.trim() == line);
    let wrong = || {
        let shown = path.display();
        anyhow!("--sdk {shown}: there is no aerostat-sdk; write the path of the folder {folder} of aerostat's sources")
    };
    fs::read_to_string(path.join(manifest)).ok().filter(is_sdk).ok_or_else(wrong)?;
    let path = path.canonicalize().with_context(|| format!("--sdk {}", path.display()))?;
    let text = path.to_str().filter(|it| !it.contains(['"', '\\', '\n'])).ok_or_else(wrong)?;
    Ok(text.to_owned())
}

/// Writes all files, or none.
fn write(folder: &Path, files: &[NewFile]) -> Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    // Fails where somebody else has made it meanwhile.
    fs::create_dir(folder)?;
    let written = files.iter().try_for_each(|it| write_file(folder, it));
    if written.is_err() {
        // It is ours, and not complete.
        let _ = fs::remove_dir_all(folder);
    }
    Ok(written?)
}

fn write_file(folder: &Path, NewFile { path, text, is_program }: &NewFile) -> io::Result<()> {
    let path = folder.join(path);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = fs::File::create_new(&path)?;
    file.write_all(text.as_bytes())?;
    if *is_program {
        file.set_permissions(fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

fn next_steps(plan: &ProviderPlan, lang: GuestLanguage, folder: &Path, count: usize) -> String {
    let (shown, ident, name) = (folder.display(), plan.ident(), &plan.name);
    let steps = match lang {
        GuestLanguage::Rust => format!(
            "cargo test
  cargo build --release --target wasm32-wasip2
  aerostat provider check target/wasm32-wasip2/release/{ident}.wasm --cloud-config=cloud.yaml
  cargo run --example cloud -- 8080 &
  aerostat provider conformance target/wasm32-wasip2/release/{ident}.wasm --cloud=http://127.0.0.1:8080"
        ),
        GuestLanguage::Go => format!(
            "go test ./...
  aerostat provider build --out={name}.wasm
  aerostat provider check {name}.wasm --cloud-config=cloud.yaml
  go run ./cloud/serve 8080 &
  aerostat provider conformance {name}.wasm --cloud=http://127.0.0.1:8080"
        ),
    };
    format!(
        "{shown} has {count} files. Next:

  cd {shown}
  {steps}

README.md says which file holds what of the cloud.
"
    )
}

#[cfg(test)]
mod tests;
