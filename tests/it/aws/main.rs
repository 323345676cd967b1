//! AWS, for which moto stands, behind a proxy of ours.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_input;
mod changes;
mod claims;
mod classic;
mod counterpart;
mod module;
mod nodes;
mod refusals;
mod routes;
mod services;
mod sessions;
mod setup;
mod vendor;
mod volumes;
