//! The sandbox against guests that mean harm: real components, the real gate, no cloud.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod host;
mod load;
mod log;
mod memory;
mod setup;
mod source;
mod surroundings;
mod time;
