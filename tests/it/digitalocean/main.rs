//! DigitalOcean's provider the whole way: the real component, egress and credential; only the cloud is simulated.
//!
//! A test that holds for Hetzner's in the same words stands beside it.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod answers;
mod changes;
mod creations;
mod deletions;
mod existing;

mod inventory;
mod large;
mod lists;
mod lookups;
mod machines;
mod many;
mod nodes;
mod ownership;
mod refusals;
mod setup;
mod strict;
mod takeover;
mod tls;
mod volumes;
