//! The Google Cloud provider: instances of Compute Engine for nodes, load balancers for Services, routes for pods, and where persistent disks are.

#![forbid(unsafe_code)]

mod api;
mod endpoints;
mod instance;
mod instances;
mod inventory;
mod load_balancer;
mod machine;
mod provider;
mod routes;
mod settings;
mod volumes;

pub use crate::provider::Gcp;

use aerostat_sdk::{Description, Provider, Result};
use gcp_api::{missing, number_of};

use crate::api::projects;
use crate::settings::ProjectSettings;

aerostat_sdk::export!(Gcp: Provider, Instances, LoadBalancers, LoadBalancerBatches, LoadBalancerInventory, Routes, PersistentVolumes);

impl Provider for Gcp {
    fn describe() -> Result<Description> {
        // Settings that cannot work are refused before anything is asked.
        settings::check()?;
        settings::balancers::GceBalancerSettings::check()?;
        let [namespace, name, first, second] = load_balancer::ID_MAP;
        let description = Description::new("gce", env!("CARGO_PKG_VERSION"))
            .provider_id_prefix(machine::PREFIX)
            .endpoint(endpoints::compute())
            .endpoint(endpoints::network())
            .settings(gcp_api::TABLE)
            .settings(settings::PROJECT)
            .settings(settings::balancers::TABLE)
            .annotations(load_balancer::TABLE)
            .writes_annotation(load_balancer::WRITTEN[0])
            .writes_annotation(load_balancer::WRITTEN[1])
            .node_label(load_balancer::SUBNET_LABEL)
            .cluster_id(namespace, name, first)
            .cluster_id(namespace, name, second)
            .load_balancers_have_vips()
            .list_page_size(api::PAGE);
        let finalizers = load_balancer::FINALIZERS.into_iter().chain(load_balancer::OTHER_FINALIZERS);
        Ok(finalizers.fold(description, Description::finalizer))
    }

    /// The numbers of the project and of the network's project, the network's id, and the region: a name may be
    /// given again, a number is not.
    fn identity() -> Result<Option<String>> {
        let ProjectSettings { project, network_project, network, region, .. } = ProjectSettings::read()?;
        let number = number_of(api::COMPUTE, &project, settings::OWN_PROJECT.name, projects::of_machines()?)?;
        let setting = settings::NETWORK_PROJECT.name;
        let network_number = number_of(api::NETWORK, &network_project, setting, projects::of_network()?)?;
        let network = projects::network(&network)?.ok_or_else(|| {
            missing(&format!("network {network} in project {network_project}"), settings::NETWORK.name)
        })?;
        Ok(Some(format!("project {number}, network {network} of project {network_number}, region {region}")))
    }
}

#[cfg(test)]
mod tests;
