//! Google Cloud: the simulator by its rules, against recorded requests and with Google's own clients; and the provider against it.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod asked;
mod attacks;
mod bad_input;
mod balancers;
mod claims;
mod clusters;
mod ground;
mod nodes;
mod operations;
mod recordings;
mod rules;
mod sdk;
mod shared;
mod vendor;
