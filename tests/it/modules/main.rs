//! Modules out of registries: real ones, hostile ones, and those that are down.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_input;
mod blobs;
mod bundle;
mod bundle_bad_input;
mod cache;
mod commands;
mod commands_bad_input;
mod commands_push;
mod echoes;
mod logins;
mod manifests;
mod process;
mod proxied;
mod race;
mod real;
mod recorded;
mod redirects;
mod setup;
mod signatures;
mod swap;
