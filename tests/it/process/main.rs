//! The binary as a whole: a child process, a real API server, and the cloud at the other end of the gate.

mod bad_input;
mod controllers;
mod election;
mod quarantine;
mod setup;
mod start;
