//! Refuses circles of imports within a crate. `rustc` compiles it alone, and `make lint` runs it; its own tests are a test program.
//!
//! An import is a path to another file of the crate, in a `use` or in the code. Tests do not count. Three kinds of circle are refused:
//!
//! - Files, by definition. An import counts for the file that defines the name, whatever re-exports it.
//! - Files, by the path as it is written. An import counts for the module that the path names, whatever that one re-exports. It is an
//!   edge between the two modules of one folder that hold the importing file and the named one, with all that is below them: so no circle
//!   of files is missed, nor one of folders.
//! - Top-level modules, by the path as it is written: the same in the outermost folder, where the crate's root is the parent.
//!
//! Nesting is no circle: by the path as it is written no edge leads from a parent to its children or back. Where a path names a module
//! around the importing file (`super::X`, `crate::X`), what that module has from a `use` counts for the module which the `use` names; what
//! it defines itself is left to the first kind.
//!
//! Usage: import_circles FOLDER...   FOLDER is the `src` of a crate. With circles it ends with 1.

mod circles;
mod modules;
#[cfg(test)]
mod tests;
mod tokens;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut fails = false;
    for folder in std::env::args().skip(1).map(PathBuf::from) {
        let modules = modules::read(&folder, &|file| fs::read_to_string(file).ok());
        for line in circles::report(&modules) {
            fails = true;
            eprintln!("{}: {line}", folder.display());
        }
    }
    if fails {
        eprintln!("Move what both sides need into a file of its own, or pass it in.");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
