//! From a core module of Go to a component.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::contract;
use crate::module::{GoModule, PREVIEW};

/// The adapter, as `build.rs` has assembled `preview1.wat`, and the text of what it asks of the host.
const ADAPTER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/preview1.wasm"));
const ADAPTER_WORLD: &str = include_str!("preview1.wit");

/// Makes a component of what Go has compiled. It exports the capabilities that the module has functions of, and imports what the
/// contract has, clocks, random numbers and standard streams. Names that nothing reads are not in it.
///
/// # Errors
///
/// If the module is not one of Go for WASI, has no capability, only a part of one, or one of another version of the contract.
pub fn component(module: &[u8]) -> Result<Vec<u8>> {
    let found = GoModule::read(module)?;
    let (mut resolve, _) = contract::resolve()?;
    let exports: BTreeSet<_> = found.exports.iter().filter_map(|it| Some(it.split_once('#')?.0)).collect();
    ensure!(
        !exports.is_empty(),
        "it exports nothing of the contract: call Export of the packages provider and instances in func init"
    );
    let mut world = "package aerostat:guest;\nworld guest {\n".to_owned();
    for import in &found.imports {
        writeln!(world, "import {import};")?;
    }
    for export in exports {
        writeln!(world, "export {export};")?;
    }
    world.push('}');
    let mut module = module.to_vec();
    embed(&mut module, &mut resolve, &world, "guest").context("it is for another version of the contract")?;
    let mut adapter = ADAPTER.to_vec();
    embed(&mut adapter, &mut Resolve::default(), ADAPTER_WORLD, "adapter").context("the adapter")?;
    let mut encoder = ComponentEncoder::default()
        .validate(true)
        .module(&module)?
        .adapter(PREVIEW, &adapter)
        .context("the adapter")?;
    strip_module::stripped(&encoder.encode()?)
}

/// Writes into a core module what it is in the words of WIT.
fn embed(module: &mut Vec<u8>, resolve: &mut Resolve, text: &str, world: &str) -> Result<()> {
    let package = resolve.push_str("world.wit", text)?;
    let world = resolve.select_world(&[package], Some(world))?;
    embed_component_metadata(module, resolve, world, StringEncoding::UTF8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(module: &str, because: &str) {
        let error = component(&wat::parse_str(module).unwrap()).unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains(because), "{text}");
    }

    #[test]
    fn a_module_that_go_did_not_make_for_wasi_is_refused() {
        refused("(component)", "it is no core WebAssembly module");
        refused("(module)", "it has no _initialize: build it with GOOS=wasip1");
        let low = r#"(module (memory 1) (data (i32.const 4096) "x") (func (export "_initialize")))"#;
        refused(low, "its data begins at 4096, where the adapter writes");
    }

    #[test]
    fn a_module_without_the_contract_is_refused() {
        refused(r#"(module (func (export "_initialize")))"#, "it exports nothing of the contract");
        let other =
            r#"(module (func (export "_initialize")) (func (export "aerostat:cloud/provider@0.2.0#describe")))"#;
        refused(other, "it is for another version of the contract");
        let half = r#"(module (memory (export "memory") 1) (func (export "_initialize"))
            (func (export "aerostat:cloud/provider@0.1.0#describe") (result i32) i32.const 0))"#;
        refused(half, "identity");
    }

    #[test]
    fn files_and_sockets_have_no_function_of_the_host() {
        let mut module = r#"(module (memory (export "memory") 1) (func (export "_initialize"))
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
            (func (export "aerostat:cloud/provider@0.1.0#describe") (result i32) i32.const 0)
            (func (export "aerostat:cloud/provider@0.1.0#identity") (result i32) i32.const 0)"#
            .to_owned();
        let imports = [
            ("path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32"),
            ("sock_accept", "i32 i32 i32"),
            ("fd_readdir", "i32 i32 i32 i64 i32"),
            ("environ_get", "i32 i32"),
        ];
        let imports: String = imports
            .iter()
            .map(|(name, parameters)| format!("(import {PREVIEW:?} {name:?} (func (param {parameters}) (result i32)))"))
            .collect();
        module = module.replace("(module", &format!("(module {imports}")) + ")";
        let bytes = component(&wat::parse_str(module).unwrap()).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!text.contains("wasi:"), "{text}");
    }
}
