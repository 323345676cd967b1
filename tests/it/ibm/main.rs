//! IBM Cloud: the simulator by its rules and with IBM's own client, and the provider against it.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod asked;
mod attacks;
mod balancers;
mod classic;
mod instances;
mod known;
mod private;
mod routes;
mod rules;
mod sdk;
mod services;
mod setup;
mod shared;
mod story;
mod tokens;
mod vendor;
