//! The node-ipam-controller against a real API server: which networks nodes get, that no two get one, and how the work
//! passes from one manager to another.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod crash;
mod from_cloud;
mod migration;
mod networks;
mod setup;
mod start;
