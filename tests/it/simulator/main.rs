//! The simulated clouds, checked against their vendors' descriptions.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod certificates;
mod client;
mod creation;
mod deletion;
mod examples;
mod faults;
mod hetzner;
mod holds;
mod lists;
mod replacement;
mod rules;
mod table;
mod targets;
mod validation;
