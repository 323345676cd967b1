//! The world of a provider that takes several load balancers at a time, for the SDK in Rust.
//!
//! Both of its interfaces are generated there, in two modules. Neither module can say that a component exports both: the linker of
//! components learns it from this.

use anyhow::Result;
use wit_component::{StringEncoding, metadata};

use crate::contract;

/// The world's name in the contract.
const WORLD: &str = "provides-load-balancer-batches";

/// The world, as the linker of components reads it out of a custom section.
///
/// # Errors
///
/// If the contract cannot be read, or has no such world.
pub fn encoded() -> Result<Vec<u8>> {
    let (resolve, package) = contract::resolve()?;
    let world = resolve.select_world(&[package], Some(WORLD))?;
    metadata::encode(&resolve, world, StringEncoding::UTF8, None)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_sdk_for_rust_has_the_world_of_batches() {
        let file = "../src/bindings/load_balancer_batches.world";
        let kept = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap_or_default();
        assert!(kept == encoded().unwrap(), "{file} is not up to date: make go-bindings");
    }
}
