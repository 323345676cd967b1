//! The simulated clouds, checked against their vendors' descriptions.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod client;
mod faults;
mod lists;
mod validation;
