//! Static addresses: external ones of a tier, internal ones of a subnet.

use serde_json::{Value, json};

use super::fields::{default, refer, word};
use super::ranges;
use crate::clouds::gcp::collection::Collection;
use crate::clouds::gcp::errors::{self, Refusal};
use crate::clouds::gcp::place::{Place, Scope};
use crate::clouds::gcp::presented::rules_with;
use crate::clouds::gcp::world::{World, target, text};

/// The place in a subnet after which addresses of load balancers are given.
const INTERNAL_FROM: u32 = 100;

pub(super) fn prepare(world: &mut World, place: &Place, body: &mut Value) -> Result<(), Refusal> {
    default(body, "addressType", json!("EXTERNAL"));
    word(body, "addressType", &["EXTERNAL", "INTERNAL"])?;
    default(body, "ipVersion", json!("IPV4"));
    let asked = text(body, "address").to_owned();
    if !asked.is_empty() && holder(world, &asked).is_some() {
        return Err(errors::invalid("resource.address", &asked, "Specified IP address is already reserved."));
    }
    if text(body, "addressType") == "INTERNAL" {
        default(body, "subnetwork", json!(format!("{}/subnetworks/default", place.scope)));
        let path = refer(world, place, body, "subnetwork", &[Collection::Subnetworks])?.unwrap_or_default();
        let subnet = world.get(&path).cloned().unwrap_or_default();
        default(body, "purpose", json!("GCE_ENDPOINT"));
        body["address"] = json!(internal(world, &subnet, &asked, "resource.address")?);
        return Ok(());
    }
    default(body, "networkTier", json!("PREMIUM"));
    word(body, "networkTier", &["PREMIUM", "STANDARD"])?;
    let tier = text(body, "networkTier").to_owned();
    if asked.is_empty() {
        body["address"] = json!(external(world, &tier));
        return Ok(());
    }
    // An ephemeral address that a rule has becomes a static one.
    let here = format!("{place}/");
    match rules_with(world, &asked).find(|(path, _)| path.starts_with(&here)) {
        Some((_, rule)) if text(rule, "networkTier") == tier => Ok(()),
        Some(_) => Err(errors::invalid("resource.networkTier", &tier, "The address is of another network tier.")),
        None => Err(errors::invalid("resource.address", &asked, "Specified IP address is not in use in this region.")),
    }
}

/// The static address that holds this one, by path.
pub(super) fn holder<'a>(world: &'a World, address: &'a str) -> Option<(&'a str, &'a Value)> {
    world.all(Collection::Addresses).find(move |(_, it)| text(it, "address") == address)
}

/// An external address of a tier that was never given.
pub(super) fn external(world: &mut World, tier: &str) -> String {
    let count = world.external;
    world.external += 1;
    match (tier, count) {
        ("STANDARD", _) => format!("198.19.{}.{}", count / 200, count % 200 + 1),
        (_, 0..150) => format!("203.0.113.{}", count + 11),
        _ => format!("198.18.{}.{}", count / 200, count % 200 + 1),
    }
}

/// An address of a subnet: the wanted one, or one that is free and was not given lately.
pub(super) fn internal(world: &mut World, subnet: &Value, asked: &str, field: &str) -> Result<String, Refusal> {
    let range = text(subnet, "ipCidrRange").to_owned();
    if asked.is_empty() {
        for _ in 0..65_536_u32 {
            let count = world.internal;
            world.internal += 1;
            let Some(address) = ranges::nth(&range, INTERNAL_FROM + count) else {
                world.internal = 0;
                continue;
            };
            if holder(world, &address).is_none() && user(world, &address).is_none() {
                return Ok(address);
            }
        }
        return Err(errors::invalid(field, "", &format!("The subnet {range} has no free address.")));
    }
    if !ranges::holds(&range, asked) {
        return Err(errors::invalid(field, asked, "The address is not in the range of the subnet."));
    }
    let machine = user(world, asked).filter(|path| Collection::of(path) == Some(Collection::Instances));
    match machine {
        Some(path) => Err(errors::invalid(field, asked, &format!("It is in use by '{path}'."))),
        None => Ok(asked.to_owned()),
    }
}

/// The rule or the machine that has an address, by path.
fn user(world: &World, address: &str) -> Option<String> {
    let rule = rules_with(world, address).next().map(|(path, _)| path.to_owned());
    let has = |machine: &Value| {
        machine["networkInterfaces"].as_array().into_iter().flatten().any(|it| text(it, "networkIP") == address)
    };
    rule.or_else(|| world.all(Collection::Instances).find(|(_, it)| has(it)).map(|(path, _)| path.to_owned()))
}

/// Whether a static address is of this region, kind and tier or subnet.
pub(super) fn fits(held: (&str, &Value), place: &Place, rule: &Value) -> Result<(), &'static str> {
    let (path, address) = held;
    debug_assert!(matches!(place.scope, Scope::Region(_)));
    if !path.starts_with(&format!("{place}/")) {
        return Err("The address is of another region or project.");
    }
    let is_internal = text(rule, "loadBalancingScheme").starts_with("INTERNAL");
    if is_internal != (text(address, "addressType") == "INTERNAL") {
        return Err("The address is of another type.");
    }
    if is_internal && target(address, "subnetwork") != target(rule, "subnetwork") {
        return Err("The address is of another subnet.");
    }
    if !is_internal && address["networkTier"] != rule["networkTier"] {
        return Err("The address is of another network tier.");
    }
    Ok(())
}
