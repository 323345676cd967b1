//! The Hetzner Cloud provider: cloud servers and dedicated servers for nodes, load balancers for Services, and volumes for claims.

#![forbid(unsafe_code)]

mod algorithm;
mod api;
mod claims;
mod dedicated;
mod instances;
mod inventory;
mod load_balancer;
mod machine;
mod place;
mod provider;
mod routes;
mod server;
mod settings;
mod volumes;

pub use crate::provider::Hetzner;

use aerostat_sdk::{Description, Effect, Endpoint, Method, Provider, Result};

use crate::api::{networks, robot};
use crate::settings::{BalancerSettings, Machines, VOLUMES};

aerostat_sdk::export!(
    Hetzner: Provider, Instances, LoadBalancers, LoadBalancerInventory, Routes, PersistentVolumes, Volumes
);

impl Provider for Hetzner {
    fn describe() -> Result<Description> {
        // Settings that cannot work are refused before anything is asked.
        let machines = Machines::read()?;
        BalancerSettings::read()?;
        let endpoint = if aerostat_sdk::settings::get(&VOLUMES)? { claims::allow(hcloud()) } else { hcloud() };
        let description = Description::new("hcloud", env!("CARGO_PKG_VERSION"))
            .provider_id_prefix(machine::CLOUD)
            .provider_id_prefix(machine::ROBOT)
            .endpoint(endpoint)
            .settings(settings::TABLE)
            .annotations(load_balancer::TABLE)
            .load_balancers_have_vips()
            .list_page_size(api::PAGES.largest);
        Ok(if machines.robot { description.endpoint(dedicated_servers()) } else { description })
    }

    /// A token does not say which project it is of, but only one project has the network.
    fn identity() -> Result<Option<String>> {
        let network = Machines::read()?.network.as_ref().map(networks::get).transpose()?;
        Ok(network.map(|it| format!("network {}", it.id)))
    }
}

fn hcloud() -> Endpoint {
    let balancers = ["/load_balancers", "/load_balancers/*"];
    let endpoint = Endpoint::new(api::ENDPOINT, "the Hetzner Cloud API", "https://api.hetzner.cloud/v1")
        .allow([Method::Get], ["/servers", "/servers/*"], [])
        .allow([Method::Get], ["/networks", "/networks/*"], [])
        .allow_as(Effect::Update, [Method::Post], ["/networks/*/actions/add_route"], [])
        .fields(ROUTE)
        .allow([Method::Get], ["/volumes", "/volumes/*"], [])
        .allow([Method::Get], balancers, [])
        .allow([Method::Get], ["/load_balancers/*/actions", "/actions"], [])
        .allow([Method::Get], ["/load_balancer_types"], [])
        .allow([Method::Post], ["/load_balancers"], [])
        .fields(CREATION)
        // Its labels are replaced as a whole.
        .allow_as(Effect::Detach, [Method::Put], ["/load_balancers/*"], [])
        .fields(["labels", "name"])
        .allow([Method::Delete], ["/load_balancers/*"], [])
        .only([]);
    let endpoint = ACTIONS.iter().fold(endpoint, |it, (effect, path, members)| {
        let it = it.allow_as(*effect, [Method::Post], [*path], []);
        // Some say all with their path.
        if members.is_empty() { it.only([]) } else { it.fields(members.iter().copied()) }
    });
    endpoint.allow([Method::Get], ["/certificates"], []).allow([Method::Post], ["/certificates"], []).fields([
        "domain_names",
        "labels",
        "name",
        "type",
    ])
}

/// The members of a route.
const ROUTE: [&str; 2] = ["destination", "gateway"];

/// The members of a load balancer that is made.
const CREATION: [&str; 10] = [
    "algorithm",
    "labels",
    "load_balancer_type",
    "location",
    "name",
    "network",
    "network_zone",
    "public_interface",
    "services",
    "targets",
];

/// The members of a port of a load balancer.
const SERVICE: &[&str] = &["destination_port", "health_check", "http", "listen_port", "protocol", "proxyprotocol"];

/// Actions, what they do, and the members of their bodies. A target is a machine, and no choice of machines by label. Another type costs
/// more, or is too small for what there is.
const ACTIONS: [(Effect, &str, &[&str]); 13] = [
    (Effect::Update, "/load_balancers/*/actions/change_algorithm", &["type"]),
    (Effect::Write, "/load_balancers/*/actions/change_type", &["load_balancer_type"]),
    (Effect::Update, "/load_balancers/*/actions/change_dns_ptr", &["dns_ptr", "ip"]),
    (Effect::Update, "/load_balancers/*/actions/enable_public_interface", &[]),
    (Effect::Detach, "/load_balancers/*/actions/disable_public_interface", &[]),
    (Effect::Update, "/load_balancers/*/actions/attach_to_network", &["ip", "ip_range", "network"]),
    (Effect::Detach, "/load_balancers/*/actions/detach_from_network", &["network"]),
    (Effect::Update, "/load_balancers/*/actions/add_service", SERVICE),
    (Effect::Update, "/load_balancers/*/actions/update_service", SERVICE),
    (Effect::Update, "/load_balancers/*/actions/add_target", &["ip", "server", "type", "use_private_ip"]),
    (Effect::Detach, "/load_balancers/*/actions/remove_target", &["ip", "server", "type"]),
    (Effect::Detach, "/load_balancers/*/actions/delete_service", &["listen_port"]),
    (Effect::Detach, "/networks/*/actions/delete_route", &ROUTE),
];

fn dedicated_servers() -> Endpoint {
    Endpoint::new(robot::ENDPOINT, "Robot, the API of dedicated servers", "https://robot-ws.your-server.de").allow(
        [Method::Get],
        ["/server", "/server/*", "/reset/*"],
        [],
    )
}

#[cfg(test)]
mod tests;
