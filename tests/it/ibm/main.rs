//! IBM Cloud: the simulator by its rules and with IBM's own client.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod asked;
mod rules;
mod sdk;
