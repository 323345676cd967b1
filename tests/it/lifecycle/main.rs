//! The cloud-node-lifecycle-controller against a real API server, with a cloud that does as it is told.

mod account;
mod cloud;
mod controller;
mod deletion;
mod failing_cloud;
mod taints;
mod withheld;
