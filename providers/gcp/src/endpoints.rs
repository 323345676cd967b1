//! The endpoint, and what has to be allowed on it: the smallest rules that all parts of the provider need.

use aerostat_sdk::{Effect, Endpoint, Method};

use crate::api;

/// Compute Engine.
pub(crate) fn compute() -> Endpoint {
    Endpoint::new(api::COMPUTE, "the API of Compute Engine", "https://compute.googleapis.com/compute/v1")
        .allow([Method::Get], ["/projects/*"], ["compute.projects.get"])
        .allow([Method::Get], ["/projects/*/global/networks/*"], ["compute.networks.get"])
        .allow([Method::Get], ["/projects/*/aggregated/instances"], ["compute.instances.list"])
        .allow([Method::Get], ["/projects/*/zones/*/instances/*"], ["compute.instances.get"])
        .allow([Method::Get], ["/projects/*/global/routes"], ["compute.routes.list"])
        .allow([Method::Get], ["/projects/*/global/routes/*"], ["compute.routes.get"])
        .allow([Method::Get], ["/projects/*/global/operations/*"], ["compute.globalOperations.get"])
        .allow_as(Effect::Update, [Method::Post], ["/projects/*/global/routes"], ROUTE_ACTIONS)
        .fields(["description", "destRange", "name", "network", "nextHopInstance", "priority"])
        .allow_as(Effect::Detach, [Method::Delete], ["/projects/*/global/routes/*"], ["compute.routes.delete"])
        .only([])
}

/// The permissions that a route's making needs.
const ROUTE_ACTIONS: [&str; 3] = ["compute.routes.create", "compute.networks.updatePolicy", "compute.instances.use"];
