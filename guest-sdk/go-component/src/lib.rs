//! Providers in Go.
//!
//! Go compiles to a core module that asks WASI's first preview for a clock, random numbers and a place to print. [`component`]
//! wraps it up with an adapter that answers that from what the host links anyway, and makes a component of what the module
//! exports. [`bindings`] writes Go's side of the contract, once, into `guest-sdk/go`, and [`world`] what the SDK in Rust has to know of one
//! world.

pub mod bindings;
pub mod component;
mod contract;
mod module;
pub mod program;
pub mod sdk;
pub mod world;
