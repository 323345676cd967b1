//! The conformance suite: our providers keep every promise, and a provider that breaks one is found.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod clouds;
mod command;
mod faults;
mod rancher;
mod rancher_story;
mod setup;
