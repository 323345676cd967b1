//! The binary as a whole: a child process, a real API server, and the cloud at the other end of the egress.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_input;
mod cluster_uid;
mod compiler;
mod connections;
mod controllers;
mod crash;
mod echoes;
mod election;
mod events;
mod flags;
mod hiding;
mod http;
mod judged;
mod memory;
mod metrics;
mod module;
mod networks;
mod permissions;
mod quarantine;
mod recording;
mod rights;
mod secrets;
mod setup;
mod spin;
mod start;
mod writes;
