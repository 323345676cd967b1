//! The DigitalOcean provider: droplets for nodes, load balancers for Services, and volumes for claims.

#![forbid(unsafe_code)]

mod api;
mod droplet;
mod instances;
mod inventory;
mod load_balancer;
mod provider;
mod settings;
mod volumes;

pub use crate::provider::DigitalOcean;

use aerostat_sdk::{Description, Effect, Endpoint, Method, Provider, Result};

use crate::api::Account;
use crate::droplet::PREFIX;
use crate::settings::Settings;

aerostat_sdk::export!(DigitalOcean: Provider, Instances, LoadBalancers, LoadBalancerInventory, Volumes);

/// The members of a load balancer that is replaced. Its targets are named one by one, and not by a tag.
const LOAD_BALANCER: [&str; 23] = [
    "algorithm",
    "disable_lets_encrypt_dns_records",
    "droplet_ids",
    "enable_backend_keepalive",
    "enable_proxy_protocol",
    "firewall",
    "forwarding_rules",
    "health_check",
    "http_idle_timeout_seconds",
    "name",
    "network",
    "network_stack",
    "project_id",
    "redirect_http_to_https",
    "region",
    "size",
    "size_unit",
    "sticky_sessions",
    "subnet_uuid",
    "tags",
    "tls_cipher_policy",
    "type",
    "vpc_uuid",
];

impl Provider for DigitalOcean {
    fn describe() -> Result<Description> {
        // Settings that cannot work are refused before anything is asked.
        let settings = Settings::read()?;
        let load_balancers = ["/v2/load_balancers", "/v2/load_balancers/*"];
        let targets = ["/v2/load_balancers/*/droplets"];
        let api = Endpoint::new("api", "the DigitalOcean API", "https://api.digitalocean.com")
            .allow([Method::Get], ["/v2/droplets", "/v2/droplets/*"], ["droplet:read", "tag:read"])
            .allow([Method::Get], ["/v2/account"], ["account:read"])
            .allow([Method::Get], load_balancers, ["load_balancer:read"])
            .allow([Method::Post], ["/v2/load_balancers"], ["load_balancer:create", "vpc:read", "tag:create"])
            .fields(LOAD_BALANCER.into_iter().chain(["ip"]))
            // All that a load balancer has is replaced, and may be left out.
            .allow_as(Effect::Detach, [Method::Put], ["/v2/load_balancers/*"], ["load_balancer:update"])
            .fields(LOAD_BALANCER)
            .allow([Method::Delete], ["/v2/load_balancers/*"], ["load_balancer:delete"])
            .only([])
            .allow_as(Effect::Update, [Method::Post], targets, ["load_balancer:update"])
            .fields(["droplet_ids"])
            .allow_as(Effect::Detach, [Method::Delete], targets, ["load_balancer:update"])
            .fields(["droplet_ids"])
            .allow([Method::Get], ["/v2/certificates", "/v2/certificates/*"], ["certificate:read"])
            .allow_as(Effect::Update, [Method::Post], ["/v2/tags"], ["tag:create"])
            .fields(["name"])
            .allow_as(Effect::Update, [Method::Post], ["/v2/tags/*/resources"], ["tag:create", "load_balancer:update"])
            .fields(["resources"]);
        let api = if settings.volumes { volumes::allow(api) } else { api };
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
