//! Azure: the simulator by its rules, against recorded requests and with Microsoft's own clients.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod asked;
mod identity;
mod operations;
mod recordings;
mod rules;
mod sdk;
