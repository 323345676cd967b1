//! The conformance suite: our providers keep every promise, and a provider that breaks one is found.

mod clouds;
mod command;
mod faults;
mod setup;
