//! The provider of EBS: volumes for claims, and nothing else. Nodes, load balancers and routes are those of the provider `aws`.

#![forbid(unsafe_code)]

mod api;
mod endpoint;
mod provider;
mod settings;
mod volumes;

pub use crate::provider::Ebs;

use aerostat_sdk::{Description, Provider, Result};
use aws_api::ClusterSettings;

aerostat_sdk::export!(Ebs: Provider, Volumes);

impl Provider for Ebs {
    fn describe() -> Result<Description> {
        // Settings that cannot work are refused before anything is asked.
        settings::check()?;
        Ok(Description::new("aws-ebs", env!("CARGO_PKG_VERSION"))
            .endpoint(endpoint::ec2())
            .settings(aws_api::TABLE)
            .settings(settings::TABLE))
    }

    /// The account, by whom the VPC belongs to: a credential of another account does not see it.
    fn identity() -> Result<Option<String>> {
        ClusterSettings::read()?.identity().map(Some)
    }
}

#[cfg(test)]
mod tests;
