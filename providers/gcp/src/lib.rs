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

use aerostat_sdk::{Description, Error, Provider, Result};

use crate::api::projects;
use crate::settings::ProjectSettings;

aerostat_sdk::export!(Gcp: Provider, Instances, LoadBalancers, LoadBalancerInventory, Routes, PersistentVolumes);

impl Provider for Gcp {
    fn describe() -> Result<Description> {
        // Settings that cannot work are refused before anything is asked.
        settings::check()?;
        settings::balancers::GceBalancerSettings::check()?;
        let [namespace, name, first, second] = load_balancer::ID_MAP;
        let description = Description::new("gce", env!("CARGO_PKG_VERSION"))
            .provider_id_prefix(machine::PREFIX)
            .endpoint(endpoints::compute())
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
        let settings = ProjectSettings::read()?;
        let missing = |what: &str, setting: &str| {
            Error::invalid(format_args!(
                "there is no {what}, or the credential does not see it: correct setting {setting}"
            ))
        };
        let number = |project: &str, setting: &str| {
            projects::number(project)?.ok_or_else(|| missing(&format!("project {project}"), setting))
        };
        let project = number(&settings.project, settings::OWN_PROJECT.name)?;
        let network_project = match settings.network_project == settings.project {
            true => project.clone(),
            false => number(&settings.network_project, settings::NETWORK_PROJECT.name)?,
        };
        let network = projects::network(&settings.network_project, &settings.network)?
            .ok_or_else(|| missing(&format!("network {}", settings.network), settings::NETWORK.name))?;
        let region = settings.region;
        Ok(Some(format!("project {project}, network {network} of project {network_project}, region {region}")))
    }
}

#[cfg(test)]
mod tests;
