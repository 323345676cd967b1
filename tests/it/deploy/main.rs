//! `deploy/`: what an operator applies is accepted, fits the binary, and is enough for it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod alibaba;
mod annotations;
mod aws;
mod azure;
mod azure_page;
mod beside;
mod chart;
mod command_lines;
mod config;
mod contract;
mod demo;
mod enough;
mod gcp;
mod hetzner;
mod ibm;
mod image;
mod install;
mod manifests;
mod openstack;
mod packed;
mod pages;
mod persistent_volumes;
mod pod;
mod published;
mod registry;
mod release;
mod replaced;
mod rights;
mod scheduling;
mod served;
mod setup;
mod sources;
