//! The provider of Cinder: volumes for claims, and nothing else. Nodes, load balancers and routes are those of the provider `openstack`.

#![forbid(unsafe_code)]

mod api;
mod claims;
mod endpoints;
mod provider;
mod settings;

pub use crate::provider::Cinder;

use aerostat_sdk::{Description, Provider, Result};

aerostat_sdk::export!(Cinder: Provider, Volumes);

impl Provider for Cinder {
    fn describe() -> Result<Description> {
        // Settings that cannot work are refused before anything is asked.
        settings::check()?;
        Ok(Description::new("openstack-cinder", env!("CARGO_PKG_VERSION"))
            .endpoint(endpoints::volume())
            .endpoint(endpoints::compute())
            .endpoint(endpoints::network())
            .settings(openstack_api::TABLE)
            .settings(settings::TABLE))
    }

    /// The project that the token is for, and the region: in another one, no volume of this cluster is seen.
    fn identity() -> Result<Option<String>> {
        openstack_api::identity().map(Some)
    }
}

#[cfg(test)]
mod tests;
