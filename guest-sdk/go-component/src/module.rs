//! A core module as Go's linker wrote it.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail, ensure};
use wasmparser::{DataKind, Operator, Parser, Payload};

/// The first byte of memory that Go's linker uses: below are a page against null pointers, and room for arguments that
/// nothing uses under WASI. The adapter writes there.
const FIRST: u32 = 12 << 10;

/// The preview of WASI that Go asks for. The adapter answers it.
pub(crate) const PREVIEW: &str = "wasi_snapshot_preview1";

/// The parts of a module that say what it does.
pub(crate) struct GoModule {
    /// Modules of the functions that it imports, but for [`PREVIEW`].
    pub(crate) imports: BTreeSet<String>,
    /// Names of the functions that it exports.
    pub(crate) exports: Vec<String>,
}

impl GoModule {
    /// Reads a module.
    ///
    /// # Errors
    ///
    /// If it is no core module, or none that the adapter can serve.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        ensure!(bytes.starts_with(b"\0asm\x01\0\0\0"), "it is no core WebAssembly module");
        let mut found = Self { imports: BTreeSet::new(), exports: Vec::new() };
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.context("it is damaged")? {
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        let module = import?.module;
                        if module != PREVIEW {
                            found.imports.insert(module.to_owned());
                        }
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        found.exports.push(export?.name.to_owned());
                    }
                }
                Payload::DataSection(section) => {
                    for data in section {
                        if let DataKind::Active { offset_expr, .. } = data?.kind {
                            let first = offset_expr.get_operators_reader().read()?;
                            let Operator::I32Const { value } = first else { bail!("its data has no fixed place") };
                            ensure!(
                                value.cast_unsigned() >= FIRST,
                                "its data begins at {value}, where the adapter writes: this version of Go lays out memory in \
                                 another way than 1.26"
                            );
                        }
                    }
                }
                _ => {}
            }
        }
        ensure!(
            found.exports.iter().any(|it| it == "_initialize"),
            "it has no _initialize: build it with GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared"
        );
        Ok(found)
    }
}
