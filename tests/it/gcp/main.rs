//! Google Cloud: the simulator by its rules, and against recorded requests.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod asked;
mod operations;
mod recordings;
mod rules;
