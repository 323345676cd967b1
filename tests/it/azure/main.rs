//! Azure: the simulator by its rules, against recorded requests and with Microsoft's own clients; and the provider against it.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod alike;
mod asked;
mod attacks;
mod bad_input;
mod balancers;
mod failures;
mod ground;
mod identity;
mod nodes;
mod operations;
mod others;
mod recordings;
mod rules;
mod sdk;
mod volumes;
