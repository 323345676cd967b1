//! Components written by hand, for what no compiler would make.

use std::path::Path;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The parts of every provider: a memory with a description at 64 and a refusal at 256, and `identity`, which answers
/// that the cloud names no account.
///
/// The description is the tag of `ok`, then pointer and length of the name, of the version and of six empty lists, the
/// two sizes, an absent number, and one more empty list. The refusal is the tag of `err`, the tag of `invalid`, and its
/// text.
const PROVIDER: &str = r#"
    (memory (export "memory") 1)
    (data (i32.const 64)
        "\00\00\00\00" "\c0\00\00\00" "\07\00\00\00" "\c0\00\00\00" "\07\00\00\00"
        "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00"
        "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00"
        "\01\00\00\00" "\01\00\00\00"
        "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00")
    (data (i32.const 192) "minimal")
    (data (i32.const 256) "\01\00\00\00" "\00\00\00\00" "\40\01\00\00" "\07\00\00\00")
    (data (i32.const 320) "refused")
    (func (export "aerostat:cloud/provider@0.1.0#identity") (result i32) (i32.const 0))
"#;

/// A component from the text of a core module and a WIT world called `guest`, which may use
/// the contract of `wit/`.
///
/// # Panics
///
/// Panics if either is not valid, or the module does not do what the world says.
#[must_use]
pub fn component(world: &str, module: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
    resolve.push_dir(&contract).unwrap_or_else(|error| panic!("cannot read {}: {error:#}", contract.display()));
    let package = resolve.push_str("guest.wit", world).unwrap_or_else(|error| panic!("no WIT: {error:#}"));
    let world = resolve.select_world(&[package], Some("guest")).unwrap_or_else(|error| panic!("no world: {error:#}"));
    let mut bytes = wat::parse_str(module).unwrap_or_else(|error| panic!("no WAT: {error}"));
    embed_component_metadata(&mut bytes, &resolve, world, StringEncoding::UTF8)
        .and_then(|()| ComponentEncoder::default().validate(true).module(&bytes)?.encode())
        .unwrap_or_else(|error| panic!("cannot make a component: {error:#}"))
}

/// A provider that can do nothing but describe itself.
#[must_use]
pub fn only_provider() -> Vec<u8> {
    provider("", "(i32.const 64)")
}

/// A provider with further `items` in its core module. `describe` computes the address of its answer: 64 is a
/// description of a cloud called "minimal", 256 a refusal.
#[must_use]
pub fn provider(items: &str, describe: &str) -> Vec<u8> {
    let world = "package test:guest; world guest { export aerostat:cloud/provider@0.1.0; }";
    let describe = format!(r#"(func (export "aerostat:cloud/provider@0.1.0#describe") (result i32) {describe})"#);
    component(world, &format!("(module {PROVIDER} {items} {describe})"))
}
