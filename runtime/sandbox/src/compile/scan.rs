//! A look at a module before the compiler gets it: how much there is of what costs the compiler memory and time.
//!
//! It reads each byte once and keeps what is open in lists, so that no module can make it slow or exhaust its stack.

mod types;

use wasmparser::{
    BinaryReaderError, ComponentInstance, CoreType, ElementItems, FunctionBody, Instance, Operator, Parser, Payload,
    SectionLimited,
};

use crate::compile_limits::CompileLimits;

/// The sentence about a module that cannot be read, or that the compiler refuses.
pub(super) const DAMAGED: &str = "it is damaged, or uses WebAssembly features that Aerostat does not enable";

/// Why a module is not given to the compiler.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScanRefusal {
    /// It cannot be read.
    #[error("{DAMAGED}")]
    Damaged(#[from] BinaryReaderError),
    /// It has too much of something.
    #[error(
        "it has {found} {what}, and provider.limits.compile.{key} allows {limit}; raise that in --cloud-config if you \
         trust this module"
    )]
    TooMuch {
        /// How much was found, up to the place where it was too much.
        found: u64,
        /// The parts that were counted.
        what: &'static str,
        /// The limit's key.
        key: &'static str,
        /// The limit.
        limit: u64,
    },
}

/// Reads a component from its first to its last byte.
///
/// # Errors
///
/// If it cannot be read, or has more of something than `limits` allow.
pub(super) fn scan(bytes: &[u8], limits: &CompileLimits) -> Result<(), ScanRefusal> {
    let mut scan = Scan { bytes, limits, found: Totals::default() };
    for payload in Parser::new(0).parse_all(bytes) {
        scan.payload(payload?)?;
    }
    Ok(())
}

struct Scan<'a> {
    bytes: &'a [u8],
    limits: &'a CompileLimits,
    found: Totals,
}

/// The counts of the whole module so far.
#[derive(Default)]
struct Totals {
    /// How many components and modules are open.
    depth: u64,
    modules: u64,
    types: u64,
    definitions: u64,
    custom_bytes: u64,
    functions: u64,
}

impl Scan<'_> {
    fn payload(&mut self, payload: Payload<'_>) -> Result<(), ScanRefusal> {
        match payload {
            Payload::Version { .. } => self.enter(),
            Payload::End(_) => {
                self.found.depth -= 1;
                Ok(())
            }

            Payload::TypeSection(section) => {
                section.into_iter().try_for_each(|group| self.types(group?.types().len() as u64))
            }
            Payload::CoreTypeSection(section) => section.into_iter().try_for_each(|core_type| match core_type? {
                CoreType::Rec(group) => self.types(group.types().len() as u64),
                CoreType::Module(declarations) => self.types(1 + declarations.len() as u64),
            }),
            Payload::ComponentTypeSection(section) => self.component_types(&section),

            Payload::ImportSection(section) => section
                .into_imports()
                .try_for_each(|it| it.map_err(ScanRefusal::from).and_then(|_| self.definitions(1))),
            Payload::InstanceSection(section) => section.into_iter().try_for_each(|instance| match instance? {
                Instance::Instantiate { args, .. } => self.definitions(1 + args.len() as u64),
                Instance::FromExports(exports) => self.definitions(1 + exports.len() as u64),
            }),
            Payload::ComponentInstanceSection(section) => {
                section.into_iter().try_for_each(|instance| match instance? {
                    ComponentInstance::Instantiate { args, .. } => self.definitions(1 + args.len() as u64),
                    ComponentInstance::FromExports(exports) => self.definitions(1 + exports.len() as u64),
                })
            }
            Payload::ElementSection(section) => section.into_iter().try_for_each(|element| {
                let entries = match element?.items {
                    ElementItems::Functions(functions) => functions.count(),
                    ElementItems::Expressions(_, expressions) => expressions.count(),
                };
                self.definitions(1 + u64::from(entries))
            }),
            Payload::TableSection(section) => self.section(&section),
            Payload::MemorySection(section) => self.section(&section),
            Payload::TagSection(section) => self.section(&section),
            Payload::GlobalSection(section) => self.section(&section),
            Payload::ExportSection(section) => self.section(&section),
            Payload::DataSection(section) => self.section(&section),
            Payload::ComponentAliasSection(section) => self.section(&section),
            Payload::ComponentCanonicalSection(section) => self.section(&section),
            Payload::ComponentImportSection(section) => self.section(&section),
            Payload::ComponentExportSection(section) => self.section(&section),

            Payload::CodeSectionEntry(body) => self.function(&body),
            Payload::CustomSection(section) => {
                self.found.custom_bytes += section.range().len() as u64;
                let found = self.found.custom_bytes;
                at_most(found, self.limits.custom_bytes, "bytes of custom sections", "customBytes")
            }
            // A module or component inside comes with a version of its own, a function with a body. What is unknown is
            // refused by the compiler.
            _ => Ok(()),
        }
    }

    /// A component or a module begins.
    fn enter(&mut self) -> Result<(), ScanRefusal> {
        self.found.modules += 1;
        self.found.depth += 1;
        at_most(self.found.modules, self.limits.modules, "components and modules", "modules")?;
        self.nesting(0)
    }

    /// So many types are open, beside the components and modules around them.
    fn nesting(&self, types: u64) -> Result<(), ScanRefusal> {
        let what = "components, modules or types inside one another";
        at_most(self.found.depth + types, self.limits.nesting, what, "nesting")
    }

    fn types(&mut self, more: u64) -> Result<(), ScanRefusal> {
        self.found.types += more;
        at_most(self.found.types, self.limits.types, "types", "types")
    }

    fn definitions(&mut self, more: u64) -> Result<(), ScanRefusal> {
        self.found.definitions += more;
        let what = "imports, exports, instances and other definitions";
        at_most(self.found.definitions, self.limits.definitions, what, "definitions")
    }

    /// Definitions of one kind. What they say is the compiler's business.
    fn section<T>(&mut self, section: &SectionLimited<'_, T>) -> Result<(), ScanRefusal> {
        self.definitions(section.count().into())
    }

    fn function(&mut self, body: &FunctionBody<'_>) -> Result<(), ScanRefusal> {
        let limits = self.limits;
        self.found.functions += 1;
        at_most(self.found.functions, limits.functions, "functions", "functions")?;
        at_most(body.range().len() as u64, limits.function_bytes, "bytes in one function", "functionBytes")?;
        let mut locals = 0;
        for group in body.get_locals_reader()? {
            locals += u64::from(group?.0);
        }
        at_most(locals, limits.locals, "local variables in one function", "locals")?;

        let (mut open, mut targets): (u64, u64) = (0, 0);
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            match operators.read()? {
                Operator::Block { .. }
                | Operator::Loop { .. }
                | Operator::If { .. }
                | Operator::Try { .. }
                | Operator::TryTable { .. } => {
                    open += 1;
                    at_most(open, limits.blocks, "blocks inside one another in one function", "blocks")?;
                }
                // The last one ends the function itself.
                Operator::End | Operator::Delegate { .. } => open = open.saturating_sub(1),
                Operator::BrTable { targets: table } => {
                    targets += 1 + u64::from(table.len());
                    at_most(targets, limits.branch_targets, "targets of br_table in one function", "branchTargets")?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn at_most(found: u64, limit: u64, what: &'static str, key: &'static str) -> Result<(), ScanRefusal> {
    if found <= limit { Ok(()) } else { Err(ScanRefusal::TooMuch { found, what, key, limit }) }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
