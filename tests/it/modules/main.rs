//! Modules out of registries: real ones, hostile ones, and those that are down.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_input;
mod blobs;
mod cache;
mod logins;
mod manifests;
mod process;
mod real;
mod recorded;
mod redirects;
mod setup;
mod signatures;
