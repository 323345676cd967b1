//! The endpoints, and what has to be allowed on them: the smallest rules that all parts of the provider need. Each `baseUrl` ends with its
//! project, so that no rule lets another project's paths through.

use aerostat_sdk::{Effect, Endpoint, Method};

use crate::api;

/// The URL of a project, as the operator would write it.
const PROJECT_URL: &str = "https://compute.googleapis.com/compute/v1/projects/PROJECT";

/// Compute Engine in the machines' project.
pub(crate) fn compute() -> Endpoint {
    let endpoint = Endpoint::new(api::COMPUTE, "Compute Engine in the project of the machines", PROJECT_URL)
        .allow([Method::Get], ["/"], ["compute.projects.get"])
        .allow([Method::Get], ["/aggregated/instances"], ["compute.instances.list"])
        .allow([Method::Get], ["/zones/*/instances/*"], ["compute.instances.get"])
        .allow(
            [Method::Get],
            ["/global/operations/*", "/regions/*/operations/*", "/zones/*/operations/*"],
            ["compute.globalOperations.get", "compute.regionOperations.get", "compute.zoneOperations.get"],
        );
    let endpoint = global(regional(groups(endpoint)), ["healthChecks", "httpHealthChecks"], Method::Put);
    endpoint
        .allow_as(Effect::Update, [Method::Patch], ["/regions/*/forwardingRules/*"], ["compute.forwardingRules.update"])
        .fields(["allowGlobalAccess"])
        .allow_as(Effect::Detach, [Method::Put], ["/regions/*/backendServices/*"], ["compute.backendServices.update"])
}

/// Compute Engine in the network's project: the same one, unless the network is a shared VPC's.
pub(crate) fn network() -> Endpoint {
    let endpoint = Endpoint::new(
        api::NETWORK,
        "Compute Engine in the project of the network; the same URL where there is no shared VPC",
        PROJECT_URL,
    )
    .allow([Method::Get], ["/"], ["compute.projects.get"])
    .allow([Method::Get], ["/global/networks/*"], ["compute.networks.get"])
    .allow([Method::Get], ["/global/routes"], ["compute.routes.list"])
    .allow([Method::Get], ["/global/routes/*"], ["compute.routes.get"])
    .allow([Method::Get], ["/global/operations/*"], ["compute.globalOperations.get"])
    .allow_as(Effect::Update, [Method::Post], ["/global/routes"], ROUTE_ACTIONS)
    .fields(["description", "destRange", "name", "network", "nextHopInstance", "priority"])
    .allow_as(Effect::Detach, [Method::Delete], ["/global/routes/*"], ["compute.routes.delete"])
    .only([]);
    global(endpoint, ["firewalls"], Method::Patch)
}

/// Instance groups.
fn groups(endpoint: Endpoint) -> Endpoint {
    endpoint
        .allow([Method::Get], ["/aggregated/instanceGroups"], ["compute.instanceGroups.list"])
        .allow_as(
            Effect::Read,
            [Method::Post],
            ["/zones/*/instanceGroups/*/listInstances"],
            ["compute.instanceGroups.list"],
        )
        .allow_as(
            Effect::Update,
            [Method::Post],
            ["/zones/*/instanceGroups", "/zones/*/instanceGroups/*/addInstances"],
            ["compute.instanceGroups.create", "compute.instanceGroups.update", "compute.instances.use"],
        )
        .allow_as(
            Effect::Detach,
            [Method::Post],
            ["/zones/*/instanceGroups/*/removeInstances"],
            ["compute.instanceGroups.update"],
        )
        .allow_as(Effect::Detach, [Method::Delete], ["/zones/*/instanceGroups/*"], ["compute.instanceGroups.delete"])
}

/// Objects of a region. A load balancer is its forwarding rule and its address; all else hangs on them, and can be made again.
fn regional(endpoint: Endpoint) -> Endpoint {
    const REGION: &str = "/regions/*/";
    let region = |words: &str| format!("{REGION}{words}");
    let mut endpoint = endpoint
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
    endpoint
}

/// Objects of no region, which change by this method.
fn global<const N: usize>(endpoint: Endpoint, kinds: [&str; N], method: Method) -> Endpoint {
    kinds.into_iter().fold(endpoint, |endpoint, kind| {
        let (all, one) = (format!("/global/{kind}"), format!("/global/{kind}/*"));
        let action = |verb: &str| format!("compute.{kind}.{verb}");
        endpoint
            .allow([Method::Get], [&*all, &one], [&*action("list"), &action("get")])
            .allow_as(Effect::Update, [Method::Post], [&*all], [&*action("create")])
            .allow_as(Effect::Update, [method], [&*one], [&*action("update")])
            .allow_as(Effect::Detach, [Method::Delete], [&*one], [&*action("delete")])
    })
}

/// The permissions that a route's making needs.
const ROUTE_ACTIONS: [&str; 3] = ["compute.routes.create", "compute.networks.updatePolicy", "compute.instances.use"];
