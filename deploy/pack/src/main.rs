//! `pack`: the last step of `make release` before its checksums.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use pack::{CompiledRelease, pack};

/// Packs what was compiled into a folder, and writes into the same one
#[derive(Parser)]
struct Arguments {
    /// The version of the release
    #[arg(long)]
    version: String,
    /// An architecture whose program is in the folder. Can be repeated
    #[arg(long = "architecture", required = true)]
    architectures: Vec<String>,
    /// The commit that was compiled
    #[arg(long)]
    commit: Option<String>,
    /// Where the sources are, for people
    #[arg(long)]
    source: Option<String>,
    /// The lock file that was compiled with
    #[arg(long)]
    lock: PathBuf,
    /// The folder of the chart
    #[arg(long)]
    chart: Option<PathBuf>,
    /// The folder of the manifests: install-NAME.yaml for each module
    #[arg(long)]
    manifests: Option<PathBuf>,
    /// The folder of the contract
    #[arg(long)]
    contract: Option<PathBuf>,
    /// The folder with programs, modules, their descriptions (NAME.module.json) and SBOMs
    folder: PathBuf,
}

fn main() -> ExitCode {
    let Arguments { version, architectures, commit, source, lock, chart, manifests, contract, folder } =
        Arguments::parse();
    let compiled = folder.clone();
    let release =
        CompiledRelease { version, architectures, commit, source, lock, chart, manifests, contract, folder: compiled };
    let written = pack(&release).and_then(|files| files.iter().try_for_each(|it| it.write(&folder)));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("pack: {failure:#}");
            ExitCode::FAILURE
        }
    }
}
