//! `aerostat provider new`: makes the folder of a provider.
//!
//! ```text
//! flags ─► answers, on a terminal ─► ■ ProviderPlan ─► ■ files, from templates/ ─► folder
//! ```

mod fields;
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
    if flags.lang == GuestLanguage::Go {
        bail!("there is no template for Go yet: the SDK and its example are being written; write --lang=rust");
    }
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
        Some(path) => SdkSource::Folder(sdk_folder(path)?),
    };
    let plan = ProviderPlan::of(&flags, sdk)?;
    let files = rust::files(&plan);
    if let Err(error) = write(&folder, &files) {
        return Err(
            error.context(format!("{} cannot be made: choose a folder that you may write to", folder.display()))
        );
    }
    Ok(CommandAnswer::Good(next_steps(&plan, &folder, &files)))
}

/// The absolute path of the SDK's folder.
fn sdk_folder(path: &Path) -> Result<String> {
    let is_sdk = |it: &String| it.lines().any(|it| it.trim() == "name = \"aerostat-sdk\"");
    let wrong = || {
        let shown = path.display();
        anyhow!(
            "--sdk {shown}: there is no crate aerostat-sdk; write the path of the folder guest-sdk of aerostat's sources"
        )
    };
    fs::read_to_string(path.join("Cargo.toml")).ok().filter(is_sdk).ok_or_else(wrong)?;
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

fn next_steps(plan: &ProviderPlan, folder: &Path, files: &[NewFile]) -> String {
    let (shown, count, ident) = (folder.display(), files.len(), plan.ident());
    format!(
        "{shown} has {count} files. Next:

  cd {shown}
  cargo test
  cargo build --release --target wasm32-wasip2
  cargo run --example cloud -- 8080 &
  aerostat provider conformance target/wasm32-wasip2/release/{ident}.wasm --cloud=http://127.0.0.1:8080

README.md says which file holds what of the cloud.
"
    )
}

#[cfg(test)]
mod tests;
