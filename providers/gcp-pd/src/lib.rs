//! The provider of Persistent Disks: volumes for claims, and nothing else. Nodes, load balancers and routes are those of the provider `gcp`.

#![forbid(unsafe_code)]

mod api;
mod endpoint;
mod provider;
mod settings;
mod volumes;

pub use crate::provider::Pd;

use aerostat_sdk::{Description, Provider, Result};
use gcp_api::{API, COMPUTE, OWN_PROJECT};

aerostat_sdk::export!(Pd: Provider, Volumes);

impl Provider for Pd {
    fn describe() -> Result<Description> {
        // Settings that cannot work are refused before anything is asked.
        settings::check()?;
        Ok(Description::new("gcp-pd", env!("CARGO_PKG_VERSION"))
            .endpoint(endpoint::compute())
            .settings(gcp_api::TABLE)
            .settings(settings::TABLE))
    }

    /// The number of the project: its name may be given again, a number is not.
    fn identity() -> Result<Option<String>> {
        let project = aerostat_sdk::settings::get(&OWN_PROJECT)?;
        let number = gcp_api::number_of(COMPUTE, &project, OWN_PROJECT.name, gcp_api::project(&API)?)?;
        Ok(Some(format!("project {number}")))
    }
}

#[cfg(test)]
mod tests;
