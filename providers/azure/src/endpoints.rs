//! The two endpoints, and what has to be allowed on them: the smallest rules that all parts of the provider need.

use aerostat_sdk::{Effect, Endpoint, Method};

use crate::api::{AzureApi, SHARED, VERSION};

/// The URL of the public cloud. Others have their own.
const PUBLIC: &str = "https://management.azure.com";

/// Any resource group of any subscription, and what follows.
fn at(words: &str) -> String {
    format!("/subscriptions/*/resourceGroups/*/providers/{words}")
}

/// A role's action: "Microsoft.Network/loadBalancers/read".
fn action(of: &str, verb: &str) -> String {
    format!("{of}/{verb}")
}

/// Reads of lists and of single objects of a type.
fn reads(endpoint: Endpoint, kind: &str) -> Endpoint {
    let (all, one) = (at(kind), at(&format!("{kind}/*")));
    endpoint.allow([Method::Get], [&*all, &one], [&*action(kind, "read")])
}

/// Actions of whoever puts a pool, a subnet or a security group behind something of its own.
const JOINS: [&str; 3] = [
    "Microsoft.Network/loadBalancers/backendAddressPools/join/action",
    "Microsoft.Network/virtualNetworks/subnets/join/action",
    "Microsoft.Network/networkSecurityGroups/join/action",
];

/// A PUT of objects of a type, over the version that was read.
fn puts(endpoint: Endpoint, effect: Effect, path: &str, actions: &[&str]) -> Endpoint {
    endpoint.allow_as(effect, [Method::Put], [&*at(path)], actions.iter().copied()).names_version()
}

/// Machines, scale sets and disks.
pub(crate) fn compute() -> Endpoint {
    const SETS: &str = "Microsoft.Compute/virtualMachineScaleSets";
    const MACHINES: &str = "Microsoft.Compute/virtualMachineScaleSets/*/virtualMachines";
    let endpoint = Endpoint::new(AzureApi::Compute.endpoint(), "Azure Resource Manager, for machines", PUBLIC)
        .parameter(VERSION, AzureApi::Compute.version())
        .allow(
            [Method::Get],
            ["/subscriptions/*/providers/Microsoft.Compute"],
            ["Microsoft.Resources/subscriptions/providers/read"],
        )
        .allow(
            [Method::Get],
            ["/subscriptions/*/providers/Microsoft.Compute/locations/*/operations/*"],
            ["Microsoft.Compute/locations/operations/read"],
        )
        .allow(
            [Method::Get],
            [&*at("Microsoft.Compute/virtualMachines"), &at("Microsoft.Compute/virtualMachines/*")],
            ["Microsoft.Compute/virtualMachines/read", "Microsoft.Compute/virtualMachines/instanceView/read"],
        )
        .allow(
            [Method::Get],
            [&*at(SETS), &at(&format!("{SETS}/*"))],
            ["Microsoft.Compute/virtualMachineScaleSets/read"],
        )
        .allow(
            [Method::Get],
            [&*at(MACHINES), &at(&format!("{MACHINES}/*"))],
            [
                "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read",
                "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/instanceView/read",
            ],
        )
        .allow([Method::Get], [&*at("Microsoft.Compute/disks/*")], ["Microsoft.Compute/disks/read"]);
    let written = |action| -> Vec<&str> { std::iter::once(action).chain(JOINS).collect() };
    let endpoint =
        puts(endpoint, SHARED, &format!("{SETS}/*"), &written("Microsoft.Compute/virtualMachineScaleSets/write"));
    let action = "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/write";
    puts(endpoint, SHARED, &format!("{MACHINES}/*"), &written(action))
}

/// Everything that is made for Services, routes, and what machines have of it.
pub(crate) fn network() -> Endpoint {
    const SETS: &str = "Microsoft.Compute/virtualMachineScaleSets/*";
    let endpoint = Endpoint::new(AzureApi::Network.endpoint(), "Azure Resource Manager, for networks", PUBLIC)
        .parameter(VERSION, AzureApi::Network.version())
        .allow(
            [Method::Get],
            ["/subscriptions/*/providers/Microsoft.Network/locations/*/operations/*"],
            ["Microsoft.Network/locations/operations/read"],
        )
        .allow(
            [Method::Get],
            [&*at(&format!("{SETS}/networkInterfaces")), &at(&format!("{SETS}/virtualMachines/*/networkInterfaces/*"))],
            [
                "Microsoft.Compute/virtualMachineScaleSets/networkInterfaces/read",
                "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/networkInterfaces/read",
            ],
        )
        .allow(
            [Method::Get],
            [
                &*at(&format!("{SETS}/publicIPAddresses")),
                &at(&format!("{SETS}/virtualMachines/*/networkInterfaces/*/ipConfigurations/*/publicIPAddresses/*")),
            ],
            [
                "Microsoft.Compute/virtualMachineScaleSets/publicIPAddresses/read",
                "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/networkInterfaces/ipConfigurations/publicIPAddresses/read",
            ],
        )
        .allow(
            [Method::Get],
            [&*at("Microsoft.Network/virtualNetworks/*"), &at("Microsoft.Network/virtualNetworks/*/subnets/*")],
            ["Microsoft.Network/virtualNetworks/read", "Microsoft.Network/virtualNetworks/subnets/read"],
        );
    let kinds = [
        "networkInterfaces",
        "loadBalancers",
        "publicIPAddresses",
        "networkSecurityGroups",
        "routeTables",
        "privateLinkServices",
    ];
    let endpoint = kinds.iter().fold(endpoint, |it, kind| reads(it, &format!("Microsoft.Network/{kind}")));
    balancers(routes(endpoint))
}

/// Routes: all of a table in one write.
fn routes(endpoint: Endpoint) -> Endpoint {
    puts(endpoint, SHARED, "Microsoft.Network/routeTables/*", &["Microsoft.Network/routeTables/write"])
}

/// Load balancers. A public address costs money: it counts as a whole object, and so do load balancers.
fn balancers(endpoint: Endpoint) -> Endpoint {
    let endpoint = puts(
        endpoint,
        Effect::Write,
        "Microsoft.Network/loadBalancers/*",
        &[
            "Microsoft.Network/loadBalancers/write",
            "Microsoft.Network/publicIPAddresses/join/action",
            "Microsoft.Network/virtualNetworks/subnets/join/action",
            "Microsoft.Network/virtualNetworks/joinLoadBalancer/action",
        ],
    );
    let endpoint = puts(
        endpoint,
        SHARED,
        "Microsoft.Network/loadBalancers/*/backendAddressPools/*",
        &[
            "Microsoft.Network/loadBalancers/backendAddressPools/write",
            "Microsoft.Network/virtualNetworks/joinLoadBalancer/action",
        ],
    );
    let endpoint = puts(
        endpoint,
        Effect::Write,
        "Microsoft.Network/publicIPAddresses/*",
        &["Microsoft.Network/publicIPAddresses/write", "Microsoft.Network/publicIPPrefixes/join/action"],
    );
    let endpoint = puts(
        endpoint,
        SHARED,
        "Microsoft.Network/networkSecurityGroups/*",
        &[
            "Microsoft.Network/networkSecurityGroups/write",
            "Microsoft.Network/networkSecurityGroups/securityRules/write",
        ],
    );
    let endpoint = puts(
        endpoint,
        SHARED,
        "Microsoft.Network/networkInterfaces/*",
        &[
            "Microsoft.Network/networkInterfaces/write",
            "Microsoft.Network/publicIPAddresses/join/action",
            JOINS[0],
            JOINS[1],
            JOINS[2],
        ],
    );
    let endpoint = puts(
        endpoint,
        Effect::Update,
        "Microsoft.Network/virtualNetworks/*/subnets/*",
        &[
            "Microsoft.Network/virtualNetworks/subnets/write",
            "Microsoft.Network/networkSecurityGroups/join/action",
            "Microsoft.Network/routeTables/join/action",
        ],
    );
    let endpoint = puts(
        endpoint,
        Effect::Write,
        "Microsoft.Network/privateLinkServices/*",
        &[
            "Microsoft.Network/privateLinkServices/write",
            "Microsoft.Network/loadBalancers/frontendIPConfigurations/join/action",
            "Microsoft.Network/virtualNetworks/subnets/join/action",
        ],
    );
    let kinds = ["loadBalancers", "publicIPAddresses", "privateLinkServices"];
    kinds
        .iter()
        .fold(endpoint, |it, kind| {
            let (one, action) =
                (at(&format!("Microsoft.Network/{kind}/*")), action(&format!("Microsoft.Network/{kind}"), "delete"));
            it.allow([Method::Delete], [&*one], [&*action]).names_version()
        })
        .allow(
            [Method::Get],
            [&*at("Microsoft.Network/privateLinkServices/*/privateEndpointConnections/*")],
            ["Microsoft.Network/privateLinkServices/privateEndpointConnections/read"],
        )
        .allow_as(
            SHARED,
            [Method::Delete],
            [&*at("Microsoft.Network/privateLinkServices/*/privateEndpointConnections/*")],
            ["Microsoft.Network/privateLinkServices/privateEndpointConnections/delete"],
        )
}
