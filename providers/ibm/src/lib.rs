//! The IBM Cloud provider: instances of a VPC for nodes, load balancers for Services, routes for pods, and where volumes are.

#![forbid(unsafe_code)]

mod api;
mod endpoints;
mod instances;
mod inventory;
mod load_balancer;
mod machine;
mod provider;
mod routes;
mod settings;
mod volumes;
mod worker;

pub use crate::provider::Ibm;

use aerostat_sdk::{Description, Error, Provider, Result};

use crate::api::vpcs;
use crate::settings::IbmAccountSettings;
use crate::settings::balancers::IbmBalancerSettings;

aerostat_sdk::export!(Ibm: Provider, Instances, LoadBalancers, LoadBalancerInventory, Routes, PersistentVolumes);

impl Provider for Ibm {
    fn describe() -> Result<Description> {
        // Settings that cannot work are refused before anything is asked.
        settings::check()?;
        let balancers = IbmBalancerSettings::read()?;
        settings::routes::zones()?;
        let description = Description::new("ibm", env!("CARGO_PKG_VERSION"))
            .provider_id_prefix(machine::PREFIX)
            .provider_id_prefix(machine::OLDER)
            .settings(settings::ACCOUNT)
            .settings(settings::balancers::TABLE)
            .settings(settings::routes::TABLE)
            .annotations(load_balancer::TABLE)
            .node_label(load_balancer::EDGE)
            .list_page_size(api::lists::PAGE);
        let description = worker::LABELS.into_iter().fold(description, Description::node_label);
        if settings::is_classic()? {
            return Ok(description);
        }
        let description = description.endpoint(endpoints::vpc());
        Ok(match balancers.names_resource_group() {
            true => description.endpoint(endpoints::resource_manager()),
            false => description,
        })
    }

    /// The account in the CRN of the VPC, the region and the VPC's id: a name may be given again, an id is not.
    fn identity() -> Result<Option<String>> {
        let settings = IbmAccountSettings::read()?;
        let Some(id) = &settings.vpc else { return Ok(None) };
        let Some(vpc) = vpcs::find(id)? else {
            return Err(Error::invalid(format_args!(
                "there is no VPC {id} in region {}, or the credential does not see it: correct settings vpcID and region, baseUrl of \
                 endpoint {}, or the account of the credential",
                settings.region,
                api::VPC
            )));
        };
        let Some((account, region)) = vpc.place() else {
            return Err(Error::unavailable(format_args!("the CRN of VPC {id} names no account and no region")));
        };
        if account != settings.account {
            return Err(Error::invalid(format_args!(
                "VPC {id} is of account {account}, and setting accountID says {}: correct one of them",
                settings.account
            )));
        }
        if region != settings.region {
            return Err(Error::invalid(format_args!(
                "VPC {id} is in region {region}, and setting region says {}: correct one of them",
                settings.region
            )));
        }
        Ok(Some(format!("account {account}, region {region}, VPC {}", vpc.id)))
    }
}

#[cfg(test)]
mod tests;
