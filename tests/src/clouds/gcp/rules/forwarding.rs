//! Forwarding rules.

use serde_json::{Value, json};

use super::addresses;
use super::fields::{default, refer, word};
use crate::clouds::gcp::called::{Called, parsed};
use crate::clouds::gcp::collection::Collection;
use crate::clouds::gcp::errors::{self, Refusal};
use crate::clouds::gcp::place::{Place, referred};
use crate::clouds::gcp::presented::rules_with;
use crate::clouds::gcp::world::{World, text, texts};

/// How many single ports an internal rule may name.
const PORTS: usize = 5;

pub(super) fn prepare(world: &mut World, place: &Place, body: &mut Value) -> Result<(), Refusal> {
    default(body, "loadBalancingScheme", json!("EXTERNAL"));
    word(body, "loadBalancingScheme", &["EXTERNAL", "INTERNAL"])?;
    default(body, "IPProtocol", json!("TCP"));
    word(body, "IPProtocol", &["TCP", "UDP", "ESP", "AH", "SCTP", "ICMP", "L3_DEFAULT"])?;
    default(body, "networkTier", json!("PREMIUM"));
    let is_internal = text(body, "loadBalancingScheme") == "INTERNAL";
    refer(world, place, body, "target", &[Collection::TargetPools])?;
    let service = refer(world, place, body, "backendService", &[Collection::BackendServices])?;
    if body["target"].is_null() == body["backendService"].is_null() || is_internal && service.is_none() {
        return Err(errors::invalid("resource.target", "", "A rule has one target, which is of its scheme."));
    }
    if let Some(service) = &service {
        matches_service(world, body, service)?;
    }
    ports(body)?;
    if is_internal {
        default(body, "network", json!("global/networks/default"));
        default(body, "subnetwork", json!(format!("{}/subnetworks/default", place.scope)));
        refer(world, place, body, "network", &[Collection::Networks])?;
        refer(world, place, body, "subnetwork", &[Collection::Subnetworks])?;
    }
    address(world, place, body)
}

/// A rule and its backend service are of one scheme and one protocol.
fn matches_service(world: &World, body: &Value, service: &str) -> Result<(), Refusal> {
    let service = world.get(service).cloned().unwrap_or_default();
    for (own, other) in [("loadBalancingScheme", "loadBalancingScheme"), ("IPProtocol", "protocol")] {
        let (own_value, other_value) = (text(body, own), text(&service, other));
        if own_value != other_value && other_value != "UNSPECIFIED" {
            let why = format!("The backend service has {other} {other_value}.");
            return Err(errors::invalid(&format!("resource.{own}"), own_value, &why));
        }
    }
    Ok(())
}

/// Ports of a rule: one range of an external rule for a pool, single ports or all of one for a service.
fn ports(body: &mut Value) -> Result<(), Refusal> {
    let named = texts(body, "ports").count();
    if named > PORTS {
        return Err(errors::invalid("resource.ports", &body["ports"].to_string(), "At most 5 ports may be named."));
    }
    let all = body["allPorts"] == json!(true);
    if !body["backendService"].is_null()
        && !body["portRange"].is_null()
        && text(body, "loadBalancingScheme") == "INTERNAL"
    {
        return Err(errors::invalid("resource.portRange", text(body, "portRange"), "An internal rule names ports."));
    }
    if (named > 0) && all || !body["backendService"].is_null() && named == 0 && !all && body["portRange"].is_null() {
        return Err(errors::invalid("resource.ports", "", "Exactly one of ports and allPorts must be specified."));
    }
    if let Some(range) = body["portRange"].as_str() {
        let range = if range.contains('-') { range.to_owned() } else { format!("{range}-{range}") };
        if span(&range).is_none_or(|(from, to)| from > to || from == 0) {
            return Err(errors::invalid("resource.portRange", &range, "Must be a range of ports."));
        }
        body["portRange"] = json!(range);
    }
    Ok(())
}

/// The address of a rule: a static one by name or value, or one that lives as long as the rule.
fn address(world: &mut World, place: &Place, body: &mut Value) -> Result<(), Refusal> {
    const FIELD: &str = "resource.IPAddress";
    let asked = text(body, "IPAddress").to_owned();
    let by_name = referred(&asked, &place.project).filter(|it| Collection::of(it) == Some(Collection::Addresses));
    let asked = match by_name {
        None => asked,
        Some(path) => {
            let Some(found) = world.get(&path) else { return Err(errors::nothing_there("IPAddress", &path)) };
            text(found, "address").to_owned()
        }
    };
    let is_internal = text(body, "loadBalancingScheme") == "INTERNAL";
    let subnet = world.get(crate::clouds::gcp::world::target(body, "subnetwork")).cloned().unwrap_or_default();
    if asked.is_empty() {
        let tier = text(body, "networkTier").to_owned();
        let given = if is_internal {
            addresses::internal(world, &subnet, "", FIELD)?
        } else {
            addresses::external(world, &tier)
        };
        body["IPAddress"] = json!(given);
        return Ok(());
    }
    let own = text(body, "name").to_owned();
    let held = addresses::holder(world, &asked);
    let shares = held.is_some_and(|(_, it)| !is_internal || text(it, "purpose") == "SHARED_LOADBALANCER_VIP");
    match held {
        Some(held) if world.is_made(held.0) => return Err(errors::not_ready(held.0)),
        Some(held) => addresses::fits(held, place, body).map_err(|why| errors::invalid(FIELD, &asked, why))?,
        None if is_internal => {
            addresses::internal(world, &subnet, &asked, FIELD)?;
        }
        // A rule that is changed keeps what it has.
        None if rules_with(world, &asked).any(|(_, it)| text(it, "name") == own) => {}
        None => return Err(errors::invalid(FIELD, &asked, "Invalid IP address specified.")),
    }
    let clashes = |rule: &Value| text(rule, "name") != own && (is_internal && !shares || overlap(rule, body));
    if let Some((path, _)) = rules_with(world, &asked).find(|(_, it)| clashes(it)) {
        let why = format!("Specified IP address is in-use and would result in a conflict with '{path}'.");
        return Err(errors::invalid(FIELD, &asked, &why));
    }
    body["IPAddress"] = json!(asked);
    Ok(())
}

/// Whether two rules would serve the same port.
fn overlap(one: &Value, other: &Value) -> bool {
    if one["IPProtocol"] != other["IPProtocol"] {
        return false;
    }
    let spans = |rule: &Value| -> Vec<(u16, u16)> {
        let range = rule["portRange"].as_str().and_then(span);
        let single = texts(rule, "ports")
            .filter_map(|it| span(&if it.contains('-') { it.to_owned() } else { format!("{it}-{it}") }));
        let all: Vec<_> = range.into_iter().chain(single).collect();
        if all.is_empty() { vec![(0, u16::MAX)] } else { all }
    };
    let others = spans(other);
    spans(one).iter().any(|(from, to)| others.iter().any(|(start, end)| from <= end && start <= to))
}

fn span(range: &str) -> Option<(u16, u16)> {
    let (from, to) = range.split_once('-')?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

/// Leads a rule to another pool.
pub(super) fn set_target(world: &mut World, called: &Called<'_>) -> Result<(), Refusal> {
    let mut asked = parsed(called.request)?;
    refer(world, called.place, &mut asked, "target", &[Collection::TargetPools])?
        .ok_or_else(|| errors::required("target"))?;
    if let Some(it) = world.get_mut(&called.path()) {
        it["target"] = asked["target"].clone();
    }
    Ok(())
}
