//! Networks, their subnets, firewalls and routes.

use serde_json::{Value, json};

use super::fields::{default, refer, word};
use super::ranges;
use crate::clouds::gcp::collection::Collection;
use crate::clouds::gcp::errors::{self, Refusal};
use crate::clouds::gcp::place::{Place, link};
use crate::clouds::gcp::world::{World, text, texts};

#[expect(clippy::unnecessary_wraps, reason = "as every other collection's")]
pub(super) fn network(body: &mut Value) -> Result<(), Refusal> {
    default(body, "autoCreateSubnetworks", json!(true));
    default(body, "routingConfig", json!({ "routingMode": "REGIONAL" }));
    Ok(())
}

pub(super) fn subnetwork(world: &World, place: &Place, body: &mut Value) -> Result<(), Refusal> {
    refer(world, place, body, "network", &[Collection::Networks])?
        .ok_or_else(|| errors::required("resource.network"))?;
    let range = text(body, "ipCidrRange").to_owned();
    let gateway = ranges::nth(&range, 1)
        .ok_or_else(|| errors::invalid("resource.ipCidrRange", &range, "Must be a valid range of addresses."))?;
    default(body, "gatewayAddress", json!(gateway));
    Ok(())
}

pub(super) fn firewall(world: &World, place: &Place, body: &mut Value) -> Result<(), Refusal> {
    default(body, "network", json!("global/networks/default"));
    refer(world, place, body, "network", &[Collection::Networks])?;
    let lists = |key: &str| body[key].as_array().is_some_and(|it| !it.is_empty());
    if lists("allowed") == lists("denied") {
        return Err(errors::invalid("resource.allowed", "", "Exactly one of allowed and denied must be specified."));
    }
    for key in ["sourceRanges", "destinationRanges"] {
        for range in texts(body, key) {
            if !ranges::is_range(range) {
                return Err(errors::invalid(&format!("resource.{key}"), range, "Must be a valid range of addresses."));
            }
        }
    }
    default(body, "direction", json!("INGRESS"));
    word(body, "direction", &["INGRESS", "EGRESS"])?;
    let is_open = ["sourceRanges", "sourceTags"].iter().all(|key| body[key].is_null());
    if is_open && text(body, "direction") == "INGRESS" {
        body["sourceRanges"] = json!(["0.0.0.0/0"]);
    }
    default(body, "priority", json!(1_000));
    default(body, "disabled", json!(false));
    default(body, "logConfig", json!({ "enable": false }));
    Ok(())
}

/// A route's next hop may be made after it; a link to it may not lead elsewhere.
pub(super) fn route(world: &World, place: &Place, body: &mut Value) -> Result<(), Refusal> {
    refer(world, place, body, "network", &[Collection::Networks])?
        .ok_or_else(|| errors::required("resource.network"))?;
    let range = text(body, "destRange");
    if !ranges::is_range(range) {
        return Err(errors::invalid("resource.destRange", range, "Must be a valid range of addresses."));
    }
    let hops = ["nextHopInstance", "nextHopGateway", "nextHopIp", "nextHopIlb", "nextHopVpnTunnel", "nextHopPeering"];
    if hops.iter().filter(|key| !body[**key].is_null()).count() != 1 {
        return Err(errors::invalid("resource.nextHop", "", "Exactly one next hop must be specified."));
    }
    refer(world, place, body, "nextHopInstance", &[Collection::Instances])?;
    if let Some(gateway) = body["nextHopGateway"].as_str() {
        let name = gateway.rsplit('/').next().unwrap_or_default();
        body["nextHopGateway"] = json!(link(&format!("projects/{}/global/gateways/{name}", place.project)));
    }
    default(body, "priority", json!(1_000));
    default(body, "routeStatus", json!("ACTIVE"));
    Ok(())
}
