//! The Alibaba Cloud provider: instances of ECS for nodes, load balancers for Services, routes for pods, and where disks are.

#![forbid(unsafe_code)]

mod api;
mod endpoints;
mod instance;
mod instances;
mod inventory;
mod kinds;
mod load_balancer;
mod machine;
mod network;
mod provider;
mod remembered;
mod routes;
mod services;
mod settings;
mod volumes;

pub use crate::provider::Alibaba;

use aerostat_sdk::{Description, Error, Provider, Result};

use crate::api::vpcs;
use crate::settings::VpcSettings;
use crate::settings::balancers::{SlbSettings, has_networks};

aerostat_sdk::export!(Alibaba: Provider, Instances, LoadBalancers, LoadBalancerInventory, Routes, PersistentVolumes);

impl Provider for Alibaba {
    fn describe() -> Result<Description> {
        // Settings that cannot work are refused before anything is asked.
        settings::check()?;
        SlbSettings::read()?;
        let (region, table) = (settings::region()?, settings::route_table()?);
        let description = Description::new("alicloud", env!("CARGO_PKG_VERSION"))
            .provider_id_prefix(machine::BARE)
            .provider_id_prefix(machine::LEGACY)
            .provider_id_prefix(machine::HYBRID)
            .endpoint(endpoints::ecs(region.as_deref()))
            .endpoint(endpoints::slb(region.as_deref()));
        let description =
            if has_networks()? { description.endpoint(endpoints::nlb(region.as_deref())) } else { description };
        Ok(description
            .endpoint(endpoints::vpc(region.as_deref(), table.as_deref()))
            .settings(settings::TABLE)
            .settings(settings::balancers::TABLE)
            .annotations(services::TABLE)
            .annotations(load_balancer::TABLE)
            .annotations(network::TABLE)
            .annotations(load_balancer::unserved::TABLE)
            .node_label(machine::LINGJUN_LABEL)
            .node_label(machine::EXCLUDED[0])
            .node_label(machine::EXCLUDED[1])
            .node_label(machine::WITHOUT_TRAFFIC)
            .finalizer(load_balancer::FINALIZER)
            .finalizer(network::FINALIZER)
            .load_balancers_have_vips()
            .get_batch_size(api::PAGE)
            .list_page_size(api::PAGE))
    }

    /// The account, by whom the VPC belongs to: a credential of another account does not see it.
    fn identity() -> Result<Option<String>> {
        let VpcSettings { region, vpc, .. } = VpcSettings::read()?;
        let owner = vpcs::owner(&region, &vpc)?.ok_or_else(|| {
            Error::denied(format_args!(
                "the credential's account has no VPC {vpc} in {region}: it is another account, or setting vpc is wrong"
            ))
        })?;
        Ok(Some(format!("account {owner}, region {region}, {vpc}")))
    }
}

#[cfg(test)]
mod tests;
