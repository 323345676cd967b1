//! OpenStack: the simulator against answers of the real services, and the provider against the simulator.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod answers;
mod claims;
mod compared;
mod ground;
mod joins;
mod keystone;
mod kinds;
mod large;
mod lives;
mod machines;
mod nodes;
mod replayed;
mod routes;
mod services;
mod shared;
mod vendor;
mod whole;
