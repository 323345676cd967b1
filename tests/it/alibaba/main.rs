//! Alibaba Cloud: the simulator by its rules and with the vendor's own clients, and the provider against it.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod access;
mod asked;
mod bad_input;
mod balancers;
mod instances;
mod life;
mod listeners;
mod ownership;
mod routes;
mod rules;
mod sdk;
mod sessions;
mod setup;
mod story;
mod values;
mod vendor;
