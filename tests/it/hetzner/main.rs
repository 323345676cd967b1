//! The Hetzner provider the whole way: the real component, the real egress, real credentials; only the cloud is simulated.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod claims;
mod creations;
mod inventory;
mod large;
mod machines;
mod robot;
mod routes;
mod setup;
mod updates;
mod volumes;
