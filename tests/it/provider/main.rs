//! Providers the whole way: real components, the real gate, real credentials; only the cloud is simulated.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod acme;
mod answers;
mod lookups;
mod machines;
mod nodes;
mod setup;
mod sweeps;
