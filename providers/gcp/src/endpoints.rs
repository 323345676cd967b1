//! The endpoint, and what has to be allowed on it: the smallest rules that all parts of the provider need.

use aerostat_sdk::{Endpoint, Method};

use crate::api;

/// Compute Engine.
pub(crate) fn compute() -> Endpoint {
    Endpoint::new(api::COMPUTE, "the API of Compute Engine", "https://compute.googleapis.com/compute/v1")
        .allow([Method::Get], ["/projects/*"], ["compute.projects.get"])
        .allow([Method::Get], ["/projects/*/global/networks/*"], ["compute.networks.get"])
        .allow([Method::Get], ["/projects/*/aggregated/instances"], ["compute.instances.list"])
        .allow([Method::Get], ["/projects/*/zones/*/instances/*"], ["compute.instances.get"])
}
