//! Whose load balancer it is. Annotations prove nothing: whoever may write a Service writes them.

use aerostat_sdk::{Error, LoadBalancer};

use super::annotations::ID;
use crate::api::load_balancers::LoadBalancer as Live;
use crate::settings::{ADOPT_BY_ID, Settings};

/// Whether a load balancer that the id annotation names is the Service's: it has the name that holds the Service's UID,
/// or an address which the Service's status shows (and which only a controller can have written), or the operator says
/// that an id is enough.
pub(super) fn is_proven(service: &LoadBalancer, live: &Live, settings: &Settings) -> bool {
    let shown =
        |address: &str| !address.is_empty() && service.current.iter().any(|it| it.ip.as_deref() == Some(address));
    live.name == service.name || shown(&live.ip) || shown(&live.ipv6) || settings.adopt_by_id
}

/// The error for one that is not proven to be the Service's, with the way to adopt it.
pub(super) fn unproven(live: &Live) -> Error {
    let address = if live.ip.is_empty() { "none yet" } else { &live.ip };
    Error::invalid(format_args!(
        "annotation {ID} names {}, which cannot be proven to be this Service's: its address ({address}) is not in the \
         Service's status. It is not touched. To adopt it, let the operator set {ADOPT_BY_ID}: \"true\" under \
         provider.settings; to get a load balancer of its own, remove the annotation",
        live.title()
    ))
}
