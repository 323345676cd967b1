//! The endpoints, and what has to be allowed on them: the smallest rules that all parts of the provider need. Each `baseUrl` ends with its
//! project, so that no rule lets another project's paths through. Permissions are IAM's, by the API's reference: a method asks for its own, and for
//! the use of what its body names.

use aerostat_sdk::{Effect, Endpoint, Method};

use crate::api;

/// The URL of a project, as the operator would write it.
const PROJECT_URL: &str = "https://compute.googleapis.com/compute/v1/projects/PROJECT";

/// Operations, of all scopes.
const OPERATIONS: [&str; 3] = ["/global/operations/*", "/regions/*/operations/*", "/zones/*/operations/*"];
/// Their verb for who waits until their end. The provider waits for none.
const WAITS: [&str; 3] = ["/global/operations/*/wait", "/regions/*/operations/*/wait", "/zones/*/operations/*/wait"];
/// The permissions that reading them needs.
const OPERATION_ACTIONS: [&str; 3] =
    ["compute.globalOperations.get", "compute.regionOperations.get", "compute.zoneOperations.get"];

/// Compute Engine in the machines' project.
pub(crate) fn compute() -> Endpoint {
    let endpoint = Endpoint::new(api::COMPUTE, "Compute Engine in the project of the machines", PROJECT_URL)
        .allow([Method::Get], ["/"], ["compute.projects.get"])
        .allow([Method::Get], ["/aggregated/instances"], ["compute.instances.list"])
        .allow([Method::Get], ["/zones/*/instances/*"], ["compute.instances.get"])
        .allow([Method::Get], OPERATIONS, OPERATION_ACTIONS)
        // It only looks, whatever its method says: a version of the provider that lets the API wait needs no other config.
        .allow_as(Effect::Read, [Method::Post], WAITS, OPERATION_ACTIONS);
    let endpoint = global(regional(groups(endpoint)), ["healthChecks", "httpHealthChecks"], Method::Put);
    endpoint
        .allow_as(Effect::Update, [Method::Patch], ["/regions/*/forwardingRules/*"], ["compute.forwardingRules.update"])
        .fields(["allowGlobalAccess"])
        .allow_as(Effect::Detach, [Method::Put], ["/regions/*/backendServices/*"], BACKEND_UPDATE)
}

/// Compute Engine in the network's project: the same one, unless the network is a shared VPC's.
pub(crate) fn network() -> Endpoint {
    let endpoint = Endpoint::new(
        api::NETWORK,
        "Compute Engine in the project of the network; the same URL where there is no shared VPC",
        PROJECT_URL,
    )
    .allow([Method::Get], ["/"], ["compute.projects.get"])
    // Rules, addresses and groups of the other project name network and subnet, whose use is asked for here.
    .allow(
        [Method::Get],
        ["/global/networks/*"],
        ["compute.networks.get", "compute.networks.use", "compute.subnetworks.use"],
    )
    .allow([Method::Get], ["/global/routes"], ["compute.routes.list"])
    .allow([Method::Get], ["/global/routes/*"], ["compute.routes.get"])
    .allow(
        [Method::Get],
        ["/global/operations", OPERATIONS[0]],
        ["compute.globalOperations.list", OPERATION_ACTIONS[0]],
    )
    .allow_as(Effect::Read, [Method::Post], [WAITS[0]], [OPERATION_ACTIONS[0]])
    .allow_as(Effect::Update, [Method::Post], ["/global/routes"], ROUTE_ACTIONS)
    .fields(["description", "destRange", "name", "network", "nextHopInstance", "priority"])
    .allow_as(Effect::Detach, [Method::Delete], ["/global/routes/*"], ["compute.routes.delete", POLICY])
    .only([]);
    global(endpoint, ["firewalls"], Method::Patch)
}

/// The permissions that a backend service's making and change need, beside its own.
const BACKEND_USES: [&str; 2] = ["compute.healthChecks.useReadOnly", "compute.instanceGroups.use"];
/// Those of its change.
const BACKEND_UPDATE: [&str; 3] = ["compute.regionBackendServices.update", BACKEND_USES[0], BACKEND_USES[1]];

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
            [
                "compute.targetPools.addInstance",
                "compute.targetPools.addHealthCheck",
                "compute.httpHealthChecks.useReadOnly",
                "compute.instances.use",
            ],
        )
        .allow_as(
            Effect::Detach,
            [Method::Post],
            [&*region("targetPools/*/removeInstance"), &region("targetPools/*/removeHealthCheck")],
            ["compute.targetPools.removeInstance", "compute.targetPools.removeHealthCheck"],
        );
    for kind in REGIONAL {
        let (all, one) = (region(kind.word), region(&format!("{}/*", kind.word)));
        let action = |verb: &str| format!("compute.{}.{verb}", kind.resource);
        let creation: Vec<_> =
            [action("create")].into_iter().chain(kind.creation.iter().map(|&it| it.to_owned())).collect();
        let removal: Vec<_> =
            [action("delete")].into_iter().chain(kind.removal.iter().map(|&it| it.to_owned())).collect();
        let (make, remove) = match kind.is_whole {
            true => (Effect::Write, Effect::Delete),
            false => (Effect::Update, Effect::Detach),
        };
        endpoint = endpoint
            .allow([Method::Get], [&*all, &one], [&*action("list"), &action("get")])
            .allow_as(make, [Method::Post], [&*all], creation.iter().map(String::as_str))
            .allow_as(remove, [Method::Delete], [&*one], removal.iter().map(String::as_str));
    }
    endpoint
}

/// Objects of a region that are of one kind.
struct RegionalKind {
    /// The word in paths.
    word: &'static str,
    /// The word in permissions.
    resource: &'static str,
    /// Whether a load balancer is there as long as it is.
    is_whole: bool,
    /// Permissions that a creation needs, beside its own.
    creation: &'static [&'static str],
    /// Those that a removal needs.
    removal: &'static [&'static str],
}

/// All kinds.
const REGIONAL: [RegionalKind; 4] = [
    RegionalKind {
        word: "forwardingRules",
        resource: "forwardingRules",
        is_whole: true,
        creation: &[
            "compute.forwardingRules.setLabels",
            "compute.addresses.use",
            "compute.addresses.useInternal",
            "compute.targetPools.use",
            "compute.regionBackendServices.use",
        ],
        removal: &[],
    },
    RegionalKind {
        word: "addresses",
        resource: "addresses",
        is_whole: true,
        creation: &["compute.addresses.createInternal", "compute.addresses.setLabels"],
        removal: &["compute.addresses.deleteInternal"],
    },
    RegionalKind {
        word: "targetPools",
        resource: "targetPools",
        is_whole: false,
        creation: &["compute.httpHealthChecks.useReadOnly", "compute.instances.use"],
        removal: &[],
    },
    RegionalKind {
        word: "backendServices",
        resource: "regionBackendServices",
        is_whole: false,
        creation: &BACKEND_USES,
        removal: &[],
    },
];

/// Objects of no region, which change by this method.
fn global<const N: usize>(endpoint: Endpoint, kinds: [&str; N], method: Method) -> Endpoint {
    kinds.into_iter().fold(endpoint, |endpoint, kind| {
        let (all, one) = (format!("/global/{kind}"), format!("/global/{kind}/*"));
        let action = |verb: &str| format!("compute.{kind}.{verb}");
        // A firewall is a part of its network's policy.
        let policy = (kind == "firewalls").then(|| POLICY.to_owned());
        let change = |verb: &str| [Some(action(verb)), policy.clone()].into_iter().flatten().collect::<Vec<_>>();
        let (create, update, delete) = (change("create"), change("update"), change("delete"));
        endpoint
            .allow([Method::Get], [&*all, &one], [&*action("list"), &action("get")])
            .allow_as(Effect::Update, [Method::Post], [&*all], create.iter().map(String::as_str))
            .allow_as(Effect::Update, [method], [&*one], update.iter().map(String::as_str))
            .allow_as(Effect::Detach, [Method::Delete], [&*one], delete.iter().map(String::as_str))
    })
}

/// The permission for a part of a network's policy: a firewall, a route.
const POLICY: &str = "compute.networks.updatePolicy";
/// The permissions that a route's making needs. The use of its instance is the other project's.
const ROUTE_ACTIONS: [&str; 2] = ["compute.routes.create", POLICY];
