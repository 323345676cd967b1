//! The binary as a whole, from Services and nodes in a real cluster to a simulated cloud: what goes wrong in
//! the life of a cluster, and what must not come of it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod account;
mod attacks;
mod bad_input;
mod claims;
mod crash;
mod election;
mod inventory;
mod killed;
mod kubelets;
mod least_authors;
mod limits;
mod nodes;
mod pauses;
mod poison;
mod rights;
mod setup;
mod takeover;
mod theft;
mod unreached;
