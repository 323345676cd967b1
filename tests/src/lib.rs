//! The harness: a control plane, guests, simulated clouds, and records of all requests.
//!
//! The test targets are in `it/`. They, the demo and the benchmark use this library.

pub mod aerostat;
pub mod alibaba_vendor;
pub mod audit;
pub mod audit_log;
pub mod aws_vendor;
pub mod azure_vendor;
pub mod beside;
pub mod capture;
#[cfg(test)]
mod cases;
pub mod clouds;
pub mod component;
#[cfg(test)]
mod contract;
pub mod control_plane;
pub mod costly;
pub mod csi_sidecars;
pub mod faults;
pub mod fixtures;
pub mod folder;
pub mod gcp_vendor;
pub mod go_guests;
pub mod guests;
pub mod http_proxy;
pub mod ibm_vendor;
pub mod keystone;
pub mod kubelet;
pub mod lagging;
mod loopback;
pub mod machine;
pub mod manager;
pub mod moto;
pub mod openstack_vendor;
pub mod operator;
#[cfg(test)]
mod pages;
pub mod pod;
pub mod port;
pub mod proxy;
pub mod published;
pub mod random;
pub mod real_openstack;
pub mod registry;
pub mod rig;
pub mod script;
pub mod sdk;
pub mod services;
pub mod simulator;
pub mod tinyproxy;
pub mod vendor;
pub mod versioned;
pub mod volume_steps;
pub mod wait;
