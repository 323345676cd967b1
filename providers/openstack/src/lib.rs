//! The OpenStack provider: servers of Nova with their ports of Neutron for nodes, and load balancers of Octavia for Services.

#![forbid(unsafe_code)]

mod addresses;
mod api;
mod attached;
mod endpoints;
mod instances;
mod inventory;
mod label;
mod load_balancer;
mod machine;
mod net;
mod patterns;
mod provider;
mod revision;
mod routes;
mod server;
mod settings;

pub use crate::provider::OpenStack;

use aerostat_sdk::{Description, Provider, Result};

use crate::settings::OctaviaSettings;

aerostat_sdk::export!(OpenStack: Provider, Instances, LoadBalancers, LoadBalancerInventory, Routes);

impl Provider for OpenStack {
    fn describe() -> Result<Description> {
        // Settings that cannot work are refused before anything is asked.
        settings::check_machines()?;
        let balancers = OctaviaSettings::read()?;
        let description = Description::new("openstack", env!("CARGO_PKG_VERSION"))
            .provider_id_prefix(machine::PREFIX)
            .provider_id_prefix(machine::BARE)
            .endpoint(endpoints::compute())
            .endpoint(endpoints::network())
            .endpoint(endpoints::load_balancer())
            .settings(openstack_api::TABLE)
            .settings(settings::MACHINES)
            .settings(settings::BALANCERS)
            .settings(settings::CLASSES)
            .annotations(load_balancer::TABLE)
            .writes_annotation(load_balancer::WRITTEN[0])
            .writes_annotation(load_balancer::WRITTEN[1])
            .load_balancers_have_vips()
            .load_balancers_share_addresses()
            .get_batch_size(instances::AT_ONCE)
            .list_page_size(api::PAGE);
        let asks_barbican = balancers.container_store == settings::ContainerStore::Barbican;
        Ok(if asks_barbican { description.endpoint(endpoints::key_manager()) } else { description })
    }

    /// The project that the token is for, and the region: in another one, no server of this cluster is seen.
    fn identity() -> Result<Option<String>> {
        openstack_api::identity().map(Some)
    }
}

#[cfg(test)]
mod tests;
