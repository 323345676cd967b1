//! The API: its requests and its answers.

pub(crate) mod instances;
pub(crate) mod objects;
pub(crate) mod operations;
pub(crate) mod projects;
pub(crate) mod routes;
pub(crate) mod writes;

pub(crate) use gcp_api::{API, COMPUTE, NETWORK, NETWORK_API, PAGE, fields};
