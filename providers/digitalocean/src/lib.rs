//! The DigitalOcean provider: droplets behind nodes.

mod api;
mod cluster;
mod droplet;
mod instances;

use aerostat_sdk::{Description, Endpoint, Provider, Result, Setting, provider_id};

use crate::api::Account;
use crate::cluster::Cluster;

/// What provider ids begin with. Behind it stands the droplet's id, a number. Nodes carry this for as long as they
/// live: it must not change.
const PREFIX: &str = "digitalocean://";

/// The provider.
pub struct DigitalOcean;

aerostat_sdk::export!(DigitalOcean: Provider, Instances);

impl Provider for DigitalOcean {
    fn describe() -> Result<Description> {
        // Settings that cannot work are refused before anything is asked.
        Cluster::from_settings()?;
        let api = Endpoint::new("api", "the DigitalOcean API", "https://api.digitalocean.com")
            .allow(["GET"], ["/v2/droplets", "/v2/droplets/*"], ["droplet:read", "tag:read"])
            .allow(["GET"], ["/v2/account"], ["account:read"]);
        Ok(Description::new("digitalocean", env!("CARGO_PKG_VERSION"))
            .provider_id_prefix(PREFIX)
            .endpoint(api)
            .setting(Setting::optional(
                cluster::SETTING,
                "Id of the DOKS cluster. Only droplets with the tag k8s:<id> are listed and found by name, instead of \
                 all of the account.",
            ))
            .list_page(api::LARGEST_PAGE))
    }

    fn identity() -> Result<Option<String>> {
        Ok(api::account()?.map(Account::identity))
    }
}

fn provider_id(droplet: u64) -> String {
    provider_id::join(PREFIX, droplet)
}

#[cfg(test)]
mod tests;
