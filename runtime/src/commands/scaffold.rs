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
mod rust_sdk;
mod template;

use std::fmt;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;

use self::plan::{ProviderPlan, SdkSource};
use self::template::NewFile;
use super::CommandAnswer;
use crate::flags::{GuestLanguage, NewProviderFlags};

/// A folder that was made.
#[derive(Serialize)]
struct MadeFolder {
    folder: String,
    /// Paths in it.
    files: Vec<String>,
    /// Command lines, in their order.
    next: Vec<String>,
}

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
        None => SdkSource::Copied,
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
    let next = next_steps(&plan, flags.lang, &folder);
    let files = files.into_iter().map(|it| it.path).collect();
    Ok(CommandAnswer::good(&MadeFolder { folder: folder.display().to_string(), files, next }, flags.output))
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

fn write_file(folder: &Path, NewFile { path, bytes, is_program }: &NewFile) -> io::Result<()> {
    let path = folder.join(path);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = fs::File::create_new(&path)?;
    file.write_all(bytes)?;
    if *is_program {
        file.set_permissions(fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

fn next_steps(plan: &ProviderPlan, lang: GuestLanguage, folder: &Path) -> Vec<String> {
    let (ident, name) = (plan.ident(), &plan.name);
    let (tests, build, module, serve) = match lang {
        GuestLanguage::Rust => (
            "cargo test",
            "cargo build --release --target wasm32-wasip2".to_owned(),
            format!("target/wasm32-wasip2/release/{ident}.wasm"),
            "cargo run --example cloud -- 8080 &",
        ),
        GuestLanguage::Go => (
            "go test ./...",
            format!("aerostat provider build --out={name}.wasm"),
            format!("{name}.wasm"),
            "go run ./cloud/serve 8080 &",
        ),
    };
    vec![
        format!("cd {}", folder.display()),
        tests.to_owned(),
        build,
        format!("aerostat provider check {module} --cloud-config=cloud.yaml"),
        serve.to_owned(),
        format!("aerostat provider conformance {module} --cloud=http://127.0.0.1:8080"),
    ]
}

impl fmt::Display for MadeFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { folder, files, next } = self;
        writeln!(f, "{folder} has {} files. Next:\n", files.len())?;
        next.iter().try_for_each(|it| writeln!(f, "  {it}"))?;
        writeln!(f, "\nREADME.md says which file holds what of the cloud.")
    }
}

#[cfg(test)]
mod tests;
