//! Proof that a load balancer is the Service's. Annotations prove nothing: the author of a Service writes them.

use aerostat_sdk::{LoadBalancer, Result};

use super::nodes::droplet;
use crate::api;
use crate::api::load_balancers::{Kind, LoadBalancer as Live};
use crate::settings::{ADOPT_BY_ID, Settings};

/// Whether a load balancer that the id annotation names is the Service's: it has an address which the Service's status shows
/// (and which only a controller can have written), or it serves nothing but this Service, or the operator says that an id
/// is enough. `Err` says what to do.
///
/// # Errors
///
/// Whatever the cloud answers.
pub(super) fn proof(service: &LoadBalancer, live: &Live, settings: &Settings) -> Result<Result<(), String>> {
    if service.shows_address(&live.ip) || service.shows_address(&live.ipv6) || settings.adopt_by_id {
        return Ok(Ok(()));
    }
    // One that passes packets through sends to ports of Services, which any Service can have.
    let ports: Vec<_> = live.forwarding_rules.iter().map(|it| it.target_port).collect();
    if live.kind == Kind::Regional && service.has_node_ports(&ports) && sends_to_cluster(service, live, settings)? {
        return Ok(Ok(()));
    }
    let address = if live.ip.is_empty() { "none yet" } else { &live.ip };
    Ok(Err(format!(
        "its address ({address}) is not in the Service's status, and it does not send to this Service's node ports on this \
         cluster's nodes alone. It is not touched. To adopt it, let the operator set {}: \"true\" under \
         provider.settings; to get a load balancer of its own, remove the annotation",
        ADOPT_BY_ID.name
    )))
}

/// Whether it has targets, and each is a droplet of this cluster: behind one of the nodes, or with the cluster's tag.
fn sends_to_cluster(service: &LoadBalancer, live: &Live, settings: &Settings) -> Result<bool> {
    if live.droplet_ids.is_empty() {
        return Ok(false);
    }
    if live.droplet_ids.is_subset(&service.nodes.iter().filter_map(droplet).collect()) {
        return Ok(true);
    }
    let Some(tag) = &settings.cluster_tag else { return Ok(false) };
    Ok(live.droplet_ids.is_subset(&api::ids_tagged(tag)?))
}
