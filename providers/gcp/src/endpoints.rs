//! The endpoint, and what has to be allowed on it: the smallest rules that all parts of the provider need.

use aerostat_sdk::{Effect, Endpoint, Method};

use crate::api;

/// Compute Engine.
pub(crate) fn compute() -> Endpoint {
    let endpoint =
        Endpoint::new(api::COMPUTE, "the API of Compute Engine", "https://compute.googleapis.com/compute/v1")
            .allow([Method::Get], ["/projects/*"], ["compute.projects.get"])
            .allow([Method::Get], ["/projects/*/global/networks/*"], ["compute.networks.get"])
            .allow([Method::Get], ["/projects/*/aggregated/instances"], ["compute.instances.list"])
            .allow([Method::Get], ["/projects/*/zones/*/instances/*"], ["compute.instances.get"])
            .allow([Method::Get], ["/projects/*/global/routes"], ["compute.routes.list"])
            .allow([Method::Get], ["/projects/*/global/routes/*"], ["compute.routes.get"])
            .allow([Method::Get], ["/projects/*/global/operations/*"], ["compute.globalOperations.get"]);
    balancers(routes(endpoint))
}

/// Routes.
fn routes(endpoint: Endpoint) -> Endpoint {
    endpoint
        .allow_as(Effect::Update, [Method::Post], ["/projects/*/global/routes"], ROUTE_ACTIONS)
        .fields(["description", "destRange", "name", "network", "nextHopInstance", "priority"])
        .allow_as(Effect::Detach, [Method::Delete], ["/projects/*/global/routes/*"], ["compute.routes.delete"])
        .only([])
}

/// Load balancers. A load balancer is its forwarding rule and its address; all else hangs on them, and can be made again.
fn balancers(endpoint: Endpoint) -> Endpoint {
    const REGION: &str = "/projects/*/regions/*/";
    let region = |words: &str| format!("{REGION}{words}");
    let mut endpoint = endpoint
        .allow([Method::Get], ["/projects/*/aggregated/instanceGroups"], ["compute.instanceGroups.list"])
        .allow_as(
            Effect::Read,
            [Method::Post],
            ["/projects/*/zones/*/instanceGroups/*/listInstances"],
            ["compute.instanceGroups.list"],
        )
        .allow(
            [Method::Get],
            ["/projects/*/regions/*/operations/*", "/projects/*/zones/*/operations/*"],
            ["compute.regionOperations.get", "compute.zoneOperations.get"],
        )
        .allow_as(
            Effect::Update,
            [Method::Post],
            ["/projects/*/zones/*/instanceGroups", "/projects/*/zones/*/instanceGroups/*/addInstances"],
            ["compute.instanceGroups.create", "compute.instanceGroups.update", "compute.instances.use"],
        )
        .allow_as(
            Effect::Detach,
            [Method::Post],
            ["/projects/*/zones/*/instanceGroups/*/removeInstances"],
            ["compute.instanceGroups.update"],
        )
        .allow_as(
            Effect::Detach,
            [Method::Delete],
            ["/projects/*/zones/*/instanceGroups/*"],
            ["compute.instanceGroups.delete"],
        )
        .allow_as(
            Effect::Update,
            [Method::Post],
            [&*region("targetPools/*/addInstance"), &region("targetPools/*/addHealthCheck")],
            ["compute.targetPools.addInstance", "compute.targetPools.addHealthCheck", "compute.instances.use"],
        )
        .allow_as(
            Effect::Detach,
            [Method::Post],
            [&*region("targetPools/*/removeInstance"), &region("targetPools/*/removeHealthCheck")],
            ["compute.targetPools.removeInstance", "compute.targetPools.removeHealthCheck"],
        );
    for (kind, effect, removal) in [
        ("forwardingRules", Effect::Write, Effect::Delete),
        ("addresses", Effect::Write, Effect::Delete),
        ("targetPools", Effect::Update, Effect::Detach),
        ("backendServices", Effect::Update, Effect::Detach),
    ] {
        let (all, one) = (region(kind), region(&format!("{kind}/*")));
        let action = |verb: &str| format!("compute.{kind}.{verb}");
        endpoint = endpoint
            .allow([Method::Get], [&*all, &one], [&*action("list"), &action("get")])
            .allow_as(effect, [Method::Post], [&*all], [&*action("create"), &action("use")])
            .allow_as(removal, [Method::Delete], [&*one], [&*action("delete")]);
    }
    for kind in ["firewalls", "healthChecks", "httpHealthChecks"] {
        let (all, one) = (format!("/projects/*/global/{kind}"), format!("/projects/*/global/{kind}/*"));
        let action = |verb: &str| format!("compute.{kind}.{verb}");
        let method = if kind == "firewalls" { Method::Patch } else { Method::Put };
        endpoint = endpoint
            .allow([Method::Get], [&*all, &one], [&*action("list"), &action("get")])
            .allow_as(Effect::Update, [Method::Post], [&*all], [&*action("create")])
            .allow_as(Effect::Update, [method], [&*one], [&*action("update")])
            .allow_as(Effect::Detach, [Method::Delete], [&*one], [&*action("delete")]);
    }
    endpoint
        .allow_as(Effect::Update, [Method::Patch], [&*region("forwardingRules/*")], ["compute.forwardingRules.update"])
        .fields(["allowGlobalAccess"])
        .allow_as(Effect::Detach, [Method::Put], [&*region("backendServices/*")], ["compute.backendServices.update"])
}

/// The permissions that a route's making needs.
const ROUTE_ACTIONS: [&str; 3] = ["compute.routes.create", "compute.networks.updatePolicy", "compute.instances.use"];
