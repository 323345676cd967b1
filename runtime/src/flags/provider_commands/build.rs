//! `aerostat provider build`.

use std::path::PathBuf;

use clap::Args;

use crate::flags::command_output::Output;

pub(super) const HELP: &str = "Examples:
  aerostat provider build
  aerostat provider build ../acme --out=acme.wasm
  aerostat provider build . --package=acme --output=json

In a folder with a Cargo.toml, cargo builds the crate for wasm32-wasip2. If its workspace has a profile named guest, that is the profile;
otherwise it is release with few bytes (opt-level z, one codegen unit, lto, panic abort, strip), whatever the crate says. In a folder with a
go.mod, Go 1.26 or newer builds the program, and aerostat makes a component of it: FOLDER/FOLDER.wasm, unless --out says otherwise.

Names of functions and types go, which nothing reads. Then the size is told beside the limit, and what the component exports. aerostat
provider check looks at the rest.

Exit code: 0, 1 if what was built is no provider or too large, 2 if nothing was built (no compiler, no target, an error of the compiler).";

/// `aerostat provider build`.
#[derive(Args, Clone, Debug)]
pub struct BuildFlags {
    /// The folder of the crate, or of the program in Go
    #[arg(value_name = "FOLDER", default_value = ".")]
    pub folder: PathBuf,
    /// The crate, where the folder has several
    #[arg(long, value_name = "NAME")]
    pub package: Option<String>,
    /// An example of the crate, in the place of its library
    #[arg(long, value_name = "NAME")]
    pub example: Option<String>,
    /// A file for the component, which is replaced
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// How the result is printed: text or json
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    pub output: Output,
}
