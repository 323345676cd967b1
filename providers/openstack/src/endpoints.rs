//! The endpoints, and what has to be allowed on each: the smallest rules that all parts of the provider need.

use aerostat_sdk::{Effect, Endpoint, Method};

use crate::api;

/// Nova: servers.
pub(crate) fn compute() -> Endpoint {
    Endpoint::new(api::COMPUTE, "Nova, the API of servers", "https://compute.example.com/v2.1")
        .header(api::MICROVERSION)
        .allow([Method::Get], ["/servers/detail", "/servers/*", "/flavors"], [])
}

/// Neutron: ports, subnets, floating IPs, security groups, and the router.
pub(crate) fn network() -> Endpoint {
    Endpoint::new(api::NETWORK, "Neutron, the API of networks", "https://network.example.com/v2.0")
        .allow([Method::Get], ["/quotas/project", "/extensions"], [])
        .allow([Method::Get], ["/ports", "/networks", "/subnets", "/subnets/*"], [])
        .allow([Method::Get], ["/floatingips", "/security-groups", "/security-group-rules"], [])
        .allow([Method::Get], ["/routers/*"], [])
        // A PUT holds all that a port has of these.
        .allow_as(Effect::Detach, [Method::Put], ["/ports/*"], [])
        .fields(["port.allowed_address_pairs", "port.security_groups"])
        .allow_as(Effect::Update, [Method::Put], ["/routers/*/add_extraroutes"], [])
        .fields(["router.routes"])
        .allow_as(Effect::Detach, [Method::Put], ["/routers/*", "/routers/*/remove_extraroutes"], [])
        .fields(["router.routes"])
        .allow([Method::Post], ["/floatingips"], [])
        .fields(FLOATING_IP)
        .allow_as(Effect::Detach, [Method::Put], ["/floatingips/*"], [])
        .fields(["floatingip.port_id"])
        .allow([Method::Delete], ["/floatingips/*"], [])
        .only([])
        .allow([Method::Post], ["/security-groups"], [])
        .fields(["security_group.description", "security_group.name"])
        .allow_as(Effect::Update, [Method::Post], ["/security-group-rules"], [])
        .fields(RULE)
        .allow_as(Effect::Detach, [Method::Delete], ["/security-group-rules/*"], [])
        .only([])
        .allow([Method::Delete], ["/security-groups/*"], [])
        .only([])
}

/// Octavia: load balancers.
pub(crate) fn load_balancer() -> Endpoint {
    let endpoint =
        Endpoint::new(api::LOAD_BALANCER, "Octavia, the API of load balancers", "https://load-balancer.example.com")
            .allow([Method::Get], ["/"], [])
            .allow([Method::Get], OCTAVIA_READS, [])
            .allow([Method::Post], ["/v2.0/lbaas/loadbalancers"], [])
            .fields(CREATION)
            .allow_as(Effect::Detach, [Method::Put], ["/v2.0/lbaas/loadbalancers/*"], [])
            .fields(["loadbalancer.name", "loadbalancer.tags"])
            .allow([Method::Delete], ["/v2.0/lbaas/loadbalancers/*"], [])
            .only(["cascade"])
            .allow_as(Effect::Update, [Method::Post], ["/v2.0/lbaas/listeners"], [])
            .fields(["listener"])
            .allow_as(Effect::Update, [Method::Put], ["/v2.0/lbaas/listeners/*"], [])
            .fields(["listener"])
            .allow_as(Effect::Update, [Method::Post], ["/v2.0/lbaas/pools"], [])
            .fields(["pool"])
            .allow_as(Effect::Update, [Method::Put], ["/v2.0/lbaas/pools/*"], [])
            .fields(["pool"])
            .allow_as(Effect::Update, [Method::Post], ["/v2.0/lbaas/pools/*/members"], [])
            .fields(["member"]);
    endpoint
        // With `additive_only` it adds; without, it replaces.
        .allow_as(Effect::Detach, [Method::Put], ["/v2.0/lbaas/pools/*/members"], [])
        .allow_as(Effect::Update, [Method::Post], ["/v2.0/lbaas/healthmonitors"], [])
        .fields(["healthmonitor"])
        .allow_as(Effect::Update, [Method::Put], ["/v2.0/lbaas/healthmonitors/*"], [])
        .fields(["healthmonitor"])
        .allow_as(Effect::Detach, [Method::Delete], OCTAVIA_PARTS, [])
        .only([])
}

/// Barbican: whether a certificate is there.
pub(crate) fn key_manager() -> Endpoint {
    Endpoint::new(api::KEY_MANAGER, "Barbican, the key manager", "https://key-manager.example.com/v1").allow(
        [Method::Get],
        ["/containers/*", "/secrets/*"],
        [],
    )
}

/// Lists and objects of Octavia that are read.
const OCTAVIA_READS: [&str; 7] = [
    "/v2.0/lbaas/loadbalancers",
    "/v2.0/lbaas/loadbalancers/*",
    "/v2.0/lbaas/loadbalancers/*/status",
    "/v2.0/lbaas/listeners",
    "/v2.0/lbaas/pools",
    "/v2.0/lbaas/pools/*/members",
    "/v2.0/lbaas/healthmonitors",
];

/// Parts of a load balancer that are taken away.
const OCTAVIA_PARTS: [&str; 4] =
    ["/v2.0/lbaas/listeners/*", "/v2.0/lbaas/pools/*", "/v2.0/lbaas/pools/*/members/*", "/v2.0/lbaas/healthmonitors/*"];

/// The members of a load balancer that is made.
const CREATION: [&str; 12] = [
    "loadbalancer.additional_vips",
    "loadbalancer.availability_zone",
    "loadbalancer.description",
    "loadbalancer.flavor_id",
    "loadbalancer.listeners",
    "loadbalancer.name",
    "loadbalancer.provider",
    "loadbalancer.tags",
    "loadbalancer.vip_address",
    "loadbalancer.vip_network_id",
    "loadbalancer.vip_port_id",
    "loadbalancer.vip_subnet_id",
];

/// The members of a floating IP that is made.
const FLOATING_IP: [&str; 5] = [
    "floatingip.description",
    "floatingip.floating_ip_address",
    "floatingip.floating_network_id",
    "floatingip.port_id",
    "floatingip.subnet_id",
];

/// The members of a rule that is made.
const RULE: [&str; 7] = [
    "security_group_rule.direction",
    "security_group_rule.ethertype",
    "security_group_rule.port_range_max",
    "security_group_rule.port_range_min",
    "security_group_rule.protocol",
    "security_group_rule.remote_ip_prefix",
    "security_group_rule.security_group_id",
];
