//! The cloud-node-controller against a real API server, with a cloud that does as it is told.

mod addresses;
mod cloud;
mod controller;
mod events;
mod failures;
mod freshness;
mod initialisation;
mod labels;
mod many;
mod remade;
