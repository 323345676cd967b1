//! Simulated clouds. Each has its state and its rules here; what they share is `simulator`.

pub mod acme;
pub mod alibaba;
pub mod aws;
pub mod azure;
pub mod digitalocean;
pub mod gcp;
pub mod hetzner;
pub mod ibm;
pub mod openstack;
pub mod rancher;
