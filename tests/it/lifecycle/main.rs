//! The cloud-node-lifecycle-controller against a real API server, with a cloud that does as it is told.

mod account;
mod cloud;
mod controller;
mod deletion;
mod nobody;
mod taints;
mod withheld;
