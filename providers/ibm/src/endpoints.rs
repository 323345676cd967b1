//! The endpoints, and what has to be allowed on them: the smallest rules that all parts of the provider need.

use aerostat_sdk::{Effect, Endpoint, Method};

use crate::api::resource_groups::MANAGER;
use crate::api::{PARAMETERS, VPC};

/// The URL of a region inside of the cloud. Without `private.` it is reached from everywhere.
const PRIVATE: &str = "https://us-south.private.iaas.cloud.ibm.com/v1";

/// The API of the VPC in one region.
pub(crate) fn vpc() -> Endpoint {
    let endpoint = Endpoint::new(VPC, "the API of IBM Cloud VPC in the cluster's region", PRIVATE);
    let endpoint = PARAMETERS
        .iter()
        .fold(endpoint, |it, (name, value)| it.parameter(*name, *value))
        .allow([Method::Get], ["/vpcs/*"], ["is.vpc.vpc.read"])
        .allow(
            [Method::Get],
            ["/instances", "/instances/*"],
            ["is.instance.instance.list", "is.instance.instance.read"],
        )
        .allow([Method::Get], ["/floating_ips"], ["is.floating-ip.floating-ip.list"])
        .allow([Method::Get], ["/volumes/*"], ["is.volume.volume.read"]);
    groups(balancers(routes(endpoint)))
}

/// The resource manager, where a resource group is known by its name.
pub(crate) fn resource_manager() -> Endpoint {
    let url = "https://resource-controller.cloud.ibm.com/v2";
    Endpoint::new(MANAGER, "resource groups by their names", url).allow(
        [Method::Get],
        ["/resource_groups"],
        ["resource-controller.group.retrieve"],
    )
}

/// The action for changes of a routing table's entries.
const TABLE: &str = "is.vpc.routing-table.update";
/// The action without which no machine lets packets of others through: role IP Spoofing Operator has it.
const SPOOFING: &str = "is.virtual-network-interface.virtual-network-interface.manage-ip-spoofing";

/// Routes of pods. An entry costs nothing: it counts as a part of the VPC.
fn routes(endpoint: Endpoint) -> Endpoint {
    let (all, one) = (["/vpcs/*/routing_tables/*/routes"], ["/vpcs/*/routing_tables/*/routes/*"]);
    endpoint
        .allow([Method::Get], all, ["is.vpc.routing-table.list", "is.vpc.routing-table.read"])
        .allow_as(Effect::Update, [Method::Post], all, [TABLE])
        .fields(["action", "destination", "name", "next_hop", "zone"])
        .allow_as(Effect::Update, [Method::Patch], one, [TABLE])
        .fields(["next_hop"])
        .allow_as(Effect::Detach, [Method::Delete], one, [TABLE])
        .only([])
        .allow_as(
            Effect::Update,
            [Method::Patch],
            ["/instances/*/network_interfaces/*", "/virtual_network_interfaces/*"],
            ["is.instance.instance.update", SPOOFING],
        )
        .fields(["allow_ip_spoofing"])
}

/// Security groups of Services with source ranges: each is one Service's.
fn groups(endpoint: Endpoint) -> Endpoint {
    const UPDATE: &str = "is.security-group.security-group.update";
    endpoint
        .allow([Method::Get], ["/security_groups/*"], ["is.security-group.security-group.read"])
        .allow([Method::Post], ["/security_groups"], ["is.security-group.security-group.create"])
        .fields(["name", "resource_group", "rules", "vpc"])
        .allow([Method::Delete], ["/security_groups/*"], ["is.security-group.security-group.delete"])
        .only([])
        .allow_as(Effect::Update, [Method::Post], ["/security_groups/*/rules"], [UPDATE])
        .fields(["direction", "name", "port_max", "port_min", "protocol", "remote"])
        .allow_as(Effect::Update, [Method::Put], ["/security_groups/*/targets/*"], [UPDATE])
        .only([])
        .allow_as(
            Effect::Detach,
            [Method::Delete],
            ["/security_groups/*/rules/*", "/security_groups/*/targets/*"],
            [UPDATE],
        )
        .only([])
}

/// The members of a load balancer that is made.
const CREATION: [&str; 8] =
    ["is_public", "listeners", "name", "pools", "profile", "resource_group", "security_groups", "subnets"];
/// Those of a pool and of a listener that are made later.
const POOL: [&str; 6] = ["algorithm", "health_monitor", "members", "name", "protocol", "proxy_protocol"];
const LISTENER: [&str; 7] =
    ["connection_limit", "default_pool", "idle_connection_timeout", "port", "port_max", "port_min", "protocol"];

/// The action for changes of a load balancer and its parts.
const MANAGE: &str = "is.load-balancer.load-balancer.manage";

/// Load balancers. One costs money: it counts as a whole object.
fn balancers(endpoint: Endpoint) -> Endpoint {
    let parts = ["/load_balancers/*/listeners", "/load_balancers/*/pools", "/load_balancers/*/pools/*/members"];
    endpoint
        .allow([Method::Get], ["/subnets"], ["is.subnet.subnet.list"])
        .allow(
            [Method::Get],
            ["/security_groups"],
            ["is.security-group.security-group.list", "is.security-group.security-group.operate"],
        )
        .allow([Method::Get], ["/load_balancers"], ["is.load-balancer.load-balancer.list"])
        .allow([Method::Get], ["/load_balancers/*"].into_iter().chain(parts), ["is.load-balancer.load-balancer.view"])
        .allow(
            [Method::Post],
            ["/load_balancers"],
            ["is.load-balancer.load-balancer.create", "is.subnet.subnet.operate"],
        )
        .fields(CREATION)
        .allow([Method::Delete], ["/load_balancers/*"], ["is.load-balancer.load-balancer.delete"])
        .only([])
        // One whose author chose its name is made under its own first.
        .allow_as(Effect::Update, [Method::Patch], ["/load_balancers/*"], [MANAGE])
        .fields(["name"])
        .allow_as(Effect::Update, [Method::Post], ["/load_balancers/*/pools"], [MANAGE])
        .fields(POOL)
        .allow_as(Effect::Update, [Method::Post], ["/load_balancers/*/listeners"], [MANAGE])
        .fields(LISTENER)
        .allow_as(Effect::Update, [Method::Patch], ["/load_balancers/*/pools/*"], [MANAGE])
        .fields(["algorithm", "health_monitor", "name", "protocol", "proxy_protocol"])
        .allow_as(Effect::Update, [Method::Patch], ["/load_balancers/*/listeners/*"], [MANAGE])
        .fields(["connection_limit", "idle_connection_timeout", "port_max", "port_min"])
        // All members are replaced: it may take some away.
        .allow_as(Effect::Detach, [Method::Put], ["/load_balancers/*/pools/*/members"], [MANAGE])
        .fields(["members"])
        .allow_as(
            Effect::Detach,
            [Method::Delete],
            ["/load_balancers/*/pools/*", "/load_balancers/*/listeners/*"],
            [MANAGE],
        )
        .only([])
}
