//! Providers the whole way: real components, the real gate, real credentials; only the cloud is simulated.

mod acme;
mod answers;
mod lookups;
mod machines;
mod nodes;
mod setup;
mod sweeps;
