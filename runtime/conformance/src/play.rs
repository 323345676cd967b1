//! Plays what Kubernetes could ask, and writes down what comes of it. Judges nothing.

pub(crate) mod claims;
pub(crate) mod inventories;
pub(crate) mod lives;
pub(crate) mod machines;
mod pace;
pub(crate) mod reads;
pub(crate) mod routes;
mod sample;
pub(crate) mod service;
pub(crate) mod shares;
pub(crate) mod stage;
pub(crate) mod thefts;
pub(crate) mod touched;
pub(crate) mod versions;
pub(crate) mod volumes;
