//! cargo and rustc, as they are found on the path.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tokio::fs;
use tokio::process::Command;

/// The target of a provider.
const TARGET: &str = "wasm32-wasip2";

/// Settings of a profile for few bytes, for a crate without any of its own.
const FEW_BYTES: [&str; 5] = ["opt-level=\"z\"", "codegen-units=1", "lto=true", "panic=\"abort\"", "strip=true"];

/// The profile that a provider is built with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum BuildProfile {
    /// Its workspace's own.
    Guest,
    /// Release, with what makes few bytes.
    SmallRelease,
}

impl fmt::Display for BuildProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Guest => f.write_str("guest, of its workspace"),
            Self::SmallRelease => write!(f, "release, with {}", FEW_BYTES.join(", ")),
        }
    }
}

/// Refuses to go on without a standard library for the target.
pub(super) async fn check_target(folder: &Path) -> Result<()> {
    let arguments = ["--print", "target-libdir", "--target", TARGET];
    let (status, printed) = run("rustc", &arguments, folder, Stdio::null()).await?;
    let library = PathBuf::from(printed.trim());
    if !status.success() || !fs::try_exists(&library).await.unwrap_or_default() {
        bail!(
            "the Rust toolchain in {} cannot compile for {TARGET}, the target of providers; install it with: rustup target \
             add {TARGET}",
            folder.display()
        );
    }
    Ok(())
}

/// The profile with which this crate is built.
pub(super) async fn profile(folder: &Path) -> Result<BuildProfile> {
    let arguments = ["locate-project", "--workspace", "--message-format=plain"];
    let (status, printed) = run("cargo", &arguments, folder, Stdio::inherit()).await?;
    if !status.success() {
        bail!("cargo cannot read {}/Cargo.toml, as it says above; correct the file", folder.display());
    }
    let manifest = PathBuf::from(printed.trim());
    let text = fs::read_to_string(&manifest)
        .await
        .with_context(|| format!("cannot read {}; look at its permissions", manifest.display()))?;
    Ok(match text.lines().any(|it| it.trim() == "[profile.guest]") {
        true => BuildProfile::Guest,
        false => BuildProfile::SmallRelease,
    })
}

/// Builds the crate, and answers where its component is.
pub(super) async fn build(
    folder: &Path,
    profile: BuildProfile,
    package: Option<&str>,
    example: Option<&str>,
) -> Result<PathBuf> {
    let mut arguments: Vec<String> =
        ["build", "--target", TARGET, "--message-format=json-render-diagnostics"].map(str::to_owned).to_vec();
    match profile {
        BuildProfile::Guest => arguments.extend(["--profile", "guest"].map(str::to_owned)),
        BuildProfile::SmallRelease => {
            arguments.push("--release".to_owned());
            arguments.extend(FEW_BYTES.map(|it| format!("--config=profile.release.{it}")));
        }
    }
    arguments.extend(package.map(|it| format!("--package={it}")));
    arguments.push(example.map_or("--lib".to_owned(), |it| format!("--example={it}")));
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let (status, printed) = run("cargo", &arguments, folder, Stdio::inherit()).await?;
    if !status.success() {
        bail!("cargo cannot build {}, as it says above; correct the crate", folder.display());
    }
    let components = components(&printed, example);
    match components.as_slice() {
        [(_, path)] => Ok(path.clone()),
        [] => bail!(
            "{} builds no component; write crate-type = [\"cdylib\", \"rlib\"] under [lib] in its Cargo.toml",
            folder.display()
        ),
        several => {
            let names: Vec<_> = several.iter().map(|(name, _)| name.as_str()).collect();
            bail!(
                "{} has several crates that are components, {}; name one of them with --package",
                folder.display(),
                names.join(", ")
            )
        }
    }
}

/// The components among what cargo says that it has built, by the names of their targets.
fn components(printed: &str, example: Option<&str>) -> Vec<(String, PathBuf)> {
    let messages = printed.lines().filter_map(|it| serde_json::from_str::<Value>(it).ok());
    let artifacts = messages.filter(|it| it["reason"] == "compiler-artifact");
    let component = |artifact: Value| {
        let name = artifact["target"]["name"].as_str()?.to_owned();
        let is_asked = match example {
            Some(example) => name == example && artifact["target"]["kind"][0] == "example",
            None => artifact["target"]["kind"].as_array()?.iter().any(|it| it == "cdylib"),
        };
        let mut files = artifact["filenames"].as_array()?.iter().filter_map(Value::as_str);
        let file = files.find(|it| it.ends_with(".wasm"))?;
        is_asked.then(|| (name, PathBuf::from(file)))
    };
    artifacts.filter_map(component).collect()
}

/// Runs a program in a folder, and answers what it has printed.
async fn run(program: &str, arguments: &[&str], folder: &Path, errors: Stdio) -> Result<(ExitStatus, String)> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stderr(errors).kill_on_drop(true);
    let ended = command.output().await.with_context(|| {
        format!("cannot start {program} in {}; install Rust (https://rustup.rs), and look at PATH", folder.display())
    })?;
    Ok((ended.status, String::from_utf8_lossy(&ended.stdout).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_found_by_its_kind() {
        let line = |name: &str, kind: &str, file: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"name":"{name}","kind":["{kind}"]}},"filenames":["/t/{file}"]}}"#
            )
        };
        let printed = [
            line("serde", "lib", "libserde.rlib"),
            line("acme", "cdylib", "acme.wasm"),
            line("tool", "example", "examples/tool.wasm"),
            r#"{"reason":"build-finished"}"#.to_owned(),
        ]
        .join("\n");
        assert_eq!(components(&printed, None), [("acme".to_owned(), PathBuf::from("/t/acme.wasm"))]);
        assert_eq!(components(&printed, Some("tool")), [("tool".to_owned(), PathBuf::from("/t/examples/tool.wasm"))]);
        assert_eq!(components(&printed, Some("acme")), []);
    }
}
