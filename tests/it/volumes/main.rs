//! Where volumes are: the persistentvolume-label-controller and the webhook, against a real API server.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_input;
mod callers;
mod certificates;
mod cloud;
mod controller;
mod failures;
mod lies;
mod setup;
mod volumes;
mod webhook;
