//! `strip-module`: the step of `make release` between a provider that cargo has built and a module of a release.

#![expect(clippy::print_stdout, reason = "a person who builds a release reads the sizes")]

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("strip-module: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Strips each file into the folder that is named last, and prints its size before and after, in bytes.
fn run(arguments: &[String]) -> Result<()> {
    let Some((folder, built)) = arguments.split_last().filter(|(_, built)| !built.is_empty()) else {
        bail!("say what to strip: strip-module MODULE.wasm… FOLDER");
    };
    for path in built.iter().map(Path::new) {
        let before = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let after = strip_module::stripped(&before).with_context(|| format!("{} cannot be read", path.display()))?;
        let name = path.file_name().with_context(|| format!("{} is no file", path.display()))?;
        let out = Path::new(folder).join(name);
        std::fs::write(&out, &after).with_context(|| format!("cannot write {}", out.display()))?;
        println!("{}: {} bytes, {} before it was stripped", name.display(), after.len(), before.len());
    }
    Ok(())
}
