//! The Azure provider: machines of scale sets and others for nodes, load balancers for Services, routes for pods, and where disks are.

#![forbid(unsafe_code)]

mod api;
mod endpoints;
mod id;
mod instance;
mod instances;
mod inventory;
mod load_balancer;
mod machine;
mod machines;
mod provider;
mod routes;
mod settings;
mod volumes;

pub use crate::provider::Azure;

use aerostat_sdk::{Description, Error, Provider, Result};
use serde_json::Value;

use crate::api::AzureApi;
use crate::api::fields::word;
use crate::settings::AccountSettings;

aerostat_sdk::export!(Azure: Provider, Instances, LoadBalancers, LoadBalancerBatches, LoadBalancerInventory, Routes, PersistentVolumes);

impl Provider for Azure {
    fn describe() -> Result<Description> {
        // Settings that cannot work are refused before anything is asked.
        settings::balancers::AzureBalancerSettings::check()?;
        let description = Description::new("azure", env!("CARGO_PKG_VERSION"))
            .provider_id_prefix(machine::PREFIX)
            .endpoint(endpoints::compute())
            .endpoint(endpoints::network())
            .settings(settings::ACCOUNT)
            .settings(settings::balancers::TABLE)
            .settings(settings::several::TABLE)
            .annotations(load_balancer::TABLE)
            .node_label(instances::MANAGED)
            .node_label(instances::GROUP)
            .load_balancers_have_vips()
            .load_balancers_share_addresses()
            .load_balancer_concurrency(1)
            .list_page_size(500);
        Ok(load_balancer::CONTROL_PLANE.into_iter().fold(description, Description::node_label))
    }

    /// The subscriptions, the machines' group and the virtual network: a network that is made again under its name is another one.
    fn identity() -> Result<Option<String>> {
        let settings = AccountSettings::read()?;
        let AccountSettings { subscription, network_subscription, group, location, .. } = &settings;
        let mut subscriptions = [subscription.to_ascii_lowercase(), network_subscription.to_ascii_lowercase()];
        subscriptions.sort_unstable();
        let [one, other] = subscriptions;
        let subscriptions =
            if one == other { format!("subscription {one}") } else { format!("subscriptions {one} and {other}") };
        let place = format!("{subscriptions}, resource group {}, region {location}", group.to_ascii_lowercase());
        let Some(name) = &settings.vnet else {
            // Without a network, the group answers for the credential.
            crate::api::lists::page(AzureApi::Compute, &settings.compute(&["virtualMachines"]), &[], None)?;
            return Ok(Some(place));
        };
        let id = settings.network(&settings.vnet_group, &["virtualNetworks", name]);
        let Some(network) = AzureApi::Network.get(&id).find::<Value>()? else {
            return Err(Error::invalid(format_args!(
                "there is no virtual network {name} in resource group {}, or the credential does not see it: correct settings \
                 vnetName and vnetResourceGroup",
                settings.vnet_group
            )));
        };
        let number = word(&network, "/properties/resourceGuid").map_or_else(|| id.key(), str::to_ascii_lowercase);
        Ok(Some(format!("{place}, virtual network {number}")))
    }
}

#[cfg(test)]
mod tests;
