//! The Hetzner Cloud provider: cloud servers and dedicated servers for nodes, and load balancers for Services.

#![forbid(unsafe_code)]

mod api;
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
mod time;
mod volumes;

pub use crate::provider::Hetzner;

use aerostat_sdk::{Description, Effect, Endpoint, Method, Permission, Provider, Result};

use crate::api::{networks, robot};
use crate::settings::{LoadBalancers, Machines};

aerostat_sdk::export!(
    Hetzner: Provider, Instances, LoadBalancers, LoadBalancerInventory, Routes, PersistentVolumes
);

impl Provider for Hetzner {
    fn describe() -> Result<Description> {
        // Settings that cannot work are refused before anything is asked.
        let machines = Machines::read()?;
        LoadBalancers::read()?;
        let description = Description::new("hcloud", env!("CARGO_PKG_VERSION"))
            .provider_id_prefix(machine::CLOUD)
            .provider_id_prefix(machine::ROBOT)
            .endpoint(hcloud())
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
    let changes =
        ["change_algorithm", "change_type", "change_dns_ptr", "enable_public_interface", "disable_public_interface"];
    let joins = ["attach_to_network", "detach_from_network", "add_service", "update_service", "add_target"];
    let action = |name: &&str| format!("/load_balancers/*/actions/{name}");
    let changes: Vec<_> = changes.iter().chain(&joins).map(action).collect();
    let mut removals: Vec<_> = ["remove_target", "delete_service"].iter().map(action).collect();
    removals.push("/networks/*/actions/delete_route".to_owned());
    let mut endpoint = Endpoint::new(api::ENDPOINT, "the Hetzner Cloud API", "https://api.hetzner.cloud/v1")
        .allow([Method::Get], ["/servers", "/servers/*"], [])
        .allow([Method::Get], ["/networks", "/networks/*"], [])
        .allow([Method::Post], ["/networks/*/actions/add_route"], [])
        .allow([Method::Get], ["/volumes", "/volumes/*"], [])
        .allow([Method::Get], balancers, [])
        .allow([Method::Get], ["/load_balancers/*/actions", "/actions"], [])
        .allow([Method::Get], ["/load_balancer_types"], [])
        .allow([Method::Post], ["/load_balancers"], [])
        .allow([Method::Put, Method::Delete], ["/load_balancers/*"], [])
        .allow([Method::Post], changes.iter().map(String::as_str), []);
    // A POST that takes something away: the limits on deletions count it.
    endpoint.allow.push(deletions(removals));
    endpoint.allow([Method::Get, Method::Post], ["/certificates"], [])
}

fn deletions(paths: Vec<String>) -> Permission {
    Permission {
        methods: vec![Method::Post],
        paths,
        operations: Vec::new(),
        effect: Effect::Delete,
        actions: Vec::new(),
    }
}

fn dedicated_servers() -> Endpoint {
    Endpoint::new(robot::ENDPOINT, "Robot, the API of dedicated servers", "https://robot-ws.your-server.de").allow(
        [Method::Get],
        ["/server", "/server/*", "/reset/*"],
        [],
    )
}

#[cfg(test)]
mod tests;
