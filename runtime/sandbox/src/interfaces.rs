//! A component's imports and exports, by its own words, without compiling it.

use wasmparser::{Parser, Payload};
use wasmtime::Error;

use crate::compile::check_kind;
use crate::error::LoadError;
use crate::source::Module;
use crate::untrusted::printable;

/// The most names of each kind, and the longest name: no component of use has as many.
const NAMES: usize = 1_000;
const LONGEST: usize = 256;

/// The interfaces of a component. Each name has a version: `aerostat:cloud/http@0.1.0`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Interfaces {
    /// The interfaces that it needs.
    pub imports: Vec<String>,
    /// The interfaces that it offers.
    pub exports: Vec<String>,
}

impl Interfaces {
    /// Reads a component.
    ///
    /// # Errors
    ///
    /// If it is no component, or is damaged. Whether it compiles is not known then.
    pub fn of(module: &Module) -> Result<Self, LoadError> {
        check_kind(module)?;
        let damaged =
            |because: String| LoadError::Compile { module: module.name().to_owned(), source: Error::msg(because) };
        let mut found = Self::default();
        // What is inside another component is none of this one's.
        let mut depth = 0;
        for payload in Parser::new(0).parse_all(module.bytes()) {
            match payload.map_err(|error| damaged(error.to_string()))? {
                Payload::Version { .. } => depth += 1,
                Payload::End(_) => depth -= 1,
                Payload::ComponentImportSection(section) if depth == 1 => {
                    for import in section {
                        let import = import.map_err(|error| damaged(error.to_string()))?;
                        found.imports.push(printable(import.name.name, LONGEST));
                    }
                }
                Payload::ComponentExportSection(section) if depth == 1 => {
                    for export in section {
                        let export = export.map_err(|error| damaged(error.to_string()))?;
                        found.exports.push(printable(export.name.name, LONGEST));
                    }
                }
                _ => {}
            }
            if found.imports.len().max(found.exports.len()) > NAMES {
                return Err(damaged(format!("it has more than {NAMES} imports or exports")));
            }
        }
        Ok(found)
    }
}
