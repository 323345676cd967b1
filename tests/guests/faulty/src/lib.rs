//! A provider of Acme that keeps every promise of the contract but one: the setting `fault` says which. Without it, it keeps all.
//!
//! Each fault is one that somebody has made, or would.

mod api;
mod balancers;
mod fault;
mod inventory;
mod machines;
mod routes;
mod shared;
mod volumes;

use aerostat_sdk::{Annotation, Description, Endpoint, Method, Provider, Result, Setting};

use crate::fault::Fault;

/// The provider.
pub struct Faulty;

aerostat_sdk::export!(
    Faulty: Provider, Instances, LoadBalancers, LoadBalancerInventory, Routes, PersistentVolumes
);

/// The beginning of provider ids.
const PREFIX: &str = "acme://";
/// The endpoint.
const API: &str = "api";
/// The annotation by which an author of Services names a balancer.
const NAME: &str = "acme.example/name";

/// The annotation that holds the id of a balancer which Services share.
const SHARE: &str = "acme.example/share";
/// The annotation by which an author of Services writes labels.
const LABELS: &str = "acme.example/labels";

impl Provider for Faulty {
    fn describe() -> Result<Description> {
        let writes = [Method::Get, Method::Put, Method::Delete];
        let api = Endpoint::new(API, "machines, balancers, routes and volumes", "https://api.acme.example/v1")
            .allow([Method::Get], ["/clock", "/machines", "/machines/*", "/volumes/*"], [])
            .allow([Method::Get, Method::Post], ["/balancers", "/routes"], [])
            .allow(writes, ["/balancers/*"], [])
            .allow([Method::Put, Method::Delete], ["/routes/*"], []);
        let description = Description::new("faulty", "1.0.0")
            .provider_id_prefix(PREFIX)
            .endpoint(api)
            .setting(Setting::optional("fault", "The promise that is broken."))
            .annotation(Annotation::new(NAME, "a name", "The balancer that is taken; read by some faults alone."))
            .annotation(Annotation::new(LABELS, "key=value pairs with commas between them", "Labels of the balancer."))
            .annotation(Annotation::new(SHARE, "an id", "The balancer in which the Service has its ports."))
            .load_balancers_share_addresses()
            .list_page_size(2);
        Ok(match fault::is(Fault::SecretSetting)? {
            true => description.setting(Setting::optional("apiToken", "The token.")),
            false => description,
        })
    }

    fn identity() -> Result<Option<String>> {
        let account = if fault::is(Fault::MovingAccount)? { fault::moment()? } else { "7".to_owned() };
        Ok(Some(format!("account {account}")))
    }
}
