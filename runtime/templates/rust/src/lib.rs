//! The provider for newcloud: it sends requests to the cloud, and turns the answers into the types of the contract.

mod api;
mod balancers;
mod machines;

use aerostat_sdk::{Description, Endpoint, Method, Provider, Result};

use crate::api::PAGES;

/// The beginning of the cloud's provider ids.
const PREFIX: &str = "newcloud://";

/// The provider.
pub struct NewCloud;

aerostat_sdk::export!(NewCloud: Provider, Instances, LoadBalancers);

impl Provider for NewCloud {
    fn describe() -> Result<Description> {
        let api = Endpoint::new(
            "api",
            "machines and load balancers",
            "https://api.newcloud.example/v1",
        )
        .allow([Method::Get], ["/machines", "/machines/*"], []);
        let described = Description::new("newcloud", env!("CARGO_PKG_VERSION"))
            .provider_id_prefix(PREFIX)
            .list_page_size(PAGES.largest)
            .endpoint(balancers::permissions(api));
        Ok(balancers::settings(described))
    }
}
