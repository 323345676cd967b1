//! A newcomer: from `aerostat provider new` to a node that is initialised, with the commands of the SDK's README.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod commands;
mod go;
mod journey;
mod story;
