//! The sandbox against guests that mean harm: real components, the real egress, no cloud.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod acme;
mod answers;
mod batches;
mod compiler;
mod freshness;
mod go;
mod hiding;
mod host;
mod lies;
mod load;
mod load_balancers;
mod log;
mod memory;
mod process;
mod quarantine;
mod setup;
mod source;
mod swap;
mod text;
mod time;
mod volumes;
