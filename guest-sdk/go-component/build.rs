//! Assembles the adapter for WASI's first preview, so that no assembler is in the programs that make components.

use std::path::PathBuf;

#[expect(clippy::disallowed_methods, reason = "cargo tells a build script its folder in the environment")]
fn main() {
    const ADAPTER: &str = "src/preview1.wat";
    println!("cargo::rerun-if-changed={ADAPTER}");
    let bytes = wat::parse_file(ADAPTER).unwrap_or_else(|error| panic!("{ADAPTER}: {error}"));
    let folder = std::env::var_os("OUT_DIR").expect("cargo names a folder");
    std::fs::write(PathBuf::from(folder).join("preview1.wasm"), bytes).expect("the folder of cargo can be written to");
}
