//! The DigitalOcean provider: droplets for nodes, and load balancers for Services.

#![forbid(unsafe_code)]

mod api;
mod droplet;
mod instances;
mod inventory;
mod load_balancer;
mod provider;
mod settings;

pub use crate::provider::DigitalOcean;

use aerostat_sdk::{Description, Endpoint, Method, Provider, Result};

use crate::api::Account;
use crate::droplet::PREFIX;
use crate::settings::Settings;

aerostat_sdk::export!(DigitalOcean: Provider, Instances, LoadBalancers, LoadBalancerInventory);

impl Provider for DigitalOcean {
    fn describe() -> Result<Description> {
        // Settings that cannot work are refused before anything is asked.
        Settings::read()?;
        let load_balancers = ["/v2/load_balancers", "/v2/load_balancers/*"];
        let targets = ["/v2/load_balancers/*/droplets"];
        let changes = ["load_balancer:update", "load_balancer:delete"];
        let api = Endpoint::new("api", "the DigitalOcean API", "https://api.digitalocean.com")
            .allow([Method::Get], ["/v2/droplets", "/v2/droplets/*"], ["droplet:read", "tag:read"])
            .allow([Method::Get], ["/v2/account"], ["account:read"])
            .allow([Method::Get], load_balancers, ["load_balancer:read"])
            .allow([Method::Post], ["/v2/load_balancers"], ["load_balancer:create", "vpc:read", "tag:create"])
            .allow([Method::Put, Method::Delete], ["/v2/load_balancers/*"], changes)
            .allow([Method::Post, Method::Delete], targets, ["load_balancer:update"])
            .allow([Method::Get], ["/v2/certificates", "/v2/certificates/*"], ["certificate:read"])
            .allow([Method::Post], ["/v2/tags", "/v2/tags/*/resources"], ["tag:create", "load_balancer:update"]);
        let description = Description::new("digitalocean", env!("CARGO_PKG_VERSION"))
            .provider_id_prefix(PREFIX)
            .endpoint(api)
            .settings(settings::TABLE)
            .annotations(load_balancer::TABLE)
            .load_balancers_have_vips()
            .list_page_size(api::PAGES.largest);
        Ok(load_balancer::WRITTEN.into_iter().fold(description, Description::writes_annotation))
    }

    fn identity() -> Result<Option<String>> {
        Ok(api::account()?.map(Account::identity))
    }
}

#[cfg(test)]
mod tests;
