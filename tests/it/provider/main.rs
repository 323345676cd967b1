//! `aerostat provider check`, `describe`, `call`, `record`, `replay` and `build`, and `aerostat module diff`, as vendors and operators call them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod admission;
mod bad_input;
mod build;
mod call;
mod check;
mod describe;
mod diff;
mod recording;
mod setup;
