//! `go-component`: builds providers that are written in Go.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use go_component::{bindings, component, program, world};

const USAGE: &str = "\
go-component build FOLDER OUT.wasm       compile the provider in FOLDER, and make it a component
go-component component CORE.wasm OUT.wasm   make a component of what go build -buildmode=c-shared has made
go-component bindings FOLDER             write Go's side of the contract into the packages of FOLDER
go-component world FILE                  write the world of batches for the SDK in Rust";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("go-component: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["build", folder, out] => program::build(Path::new(folder), Path::new(out)),
        ["component", core, out] => {
            let module = std::fs::read(core).with_context(|| format!("cannot read {core}"))?;
            let bytes = component::component(&module).with_context(|| format!("{core} is no provider"))?;
            std::fs::write(out, bytes).with_context(|| format!("cannot write {out}"))
        }
        ["bindings", folder] => {
            for (path, text) in bindings::files()? {
                let path = Path::new(folder).join(path);
                let package = path.parent().context("a file stands in a folder")?;
                std::fs::create_dir_all(package).with_context(|| format!("cannot make {}", package.display()))?;
                std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            }
            Ok(())
        }
        ["world", file] => std::fs::write(file, world::encoded()?).with_context(|| format!("cannot write {file}")),
        _ => bail!("say what to do:\n{USAGE}"),
    }
}
