//! The provider for Rancher 1.x, which nobody runs any more: the smallest whole example of a provider.

#![forbid(unsafe_code)]

mod api;
mod balancers;
mod machines;
mod provider;
mod targets;

pub use crate::provider::Rancher;
use aerostat_sdk::{Description, Effect, Endpoint, Method, Provider, Result};

aerostat_sdk::export!(Rancher: Provider, Instances, LoadBalancers);

impl Provider for Rancher {
    fn describe() -> Result<Description> {
        let one = "/loadbalancerservices/*";
        let api = Endpoint::new("api", "Rancher 1.x", "https://rancher.example/v2-beta/projects/1a5")
            .allow([Method::Get], ["/hosts", "/hosts/*", "/hosts/*/ipaddresses", "/ipaddresses"], [])
            .allow([Method::Get], ["/settings", "/stacks", "/externalservices", "/externalservices/*"], [])
            .allow([Method::Get], ["/loadbalancerservices", one, "/loadbalancerservices/*/consumedservices"], [])
            .allow([Method::Post], ["/stacks"], [])
            .fields(["externalId", "name"])
            .allow([Method::Post], ["/loadbalancerservices"], [])
            .fields(["externalId", "launchConfig", "lbConfig", "name", "stackId"])
            .allow([Method::Post], ["/externalservices"], [])
            .fields(["externalId", "externalIpAddresses", "name", "stackId"])
            // Actions: links and ports are replaced as a whole.
            .allow_as(Effect::Update, [Method::Post], [one, "/externalservices/*"], [])
            .only_values("action", ["activate", "finishupgrade"])
            .allow_as(Effect::Detach, [Method::Post], [one], [])
            .only_values("action", ["setservicelinks"])
            .fields(["serviceLinks"])
            .allow_as(Effect::Detach, [Method::Post], [one], [])
            .only_values("action", ["upgrade"])
            .fields(["inServiceStrategy"])
            .allow_as(Effect::Detach, [Method::Put], [one], [])
            .fields(["lbConfig"])
            .allow_as(Effect::Detach, [Method::Put], ["/externalservices/*"], [])
            .fields(["externalIpAddresses"])
            .allow([Method::Delete], [one, "/externalservices/*"], []);
        let described = Description::new("rancher", env!("CARGO_PKG_VERSION")).provider_id_prefix(provider::PREFIX);
        // Load balancers are containers on hosts, and reached at the addresses of these.
        let described = described.load_balancers_share_addresses().list_page_size(api::LARGEST);
        Ok(described.endpoint(api).settings(balancers::SETTINGS))
    }
}

#[cfg(test)]
mod tests;
