//! Virtual networks, their subnets and addresses, and route tables.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::{Value, json};

use crate::clouds::azure::change::Change;
use crate::clouds::azure::errors::{self, Refusal};
use crate::clouds::azure::id::{key, name_of, parent_of};
use crate::clouds::azure::references::{References, Tie};
use crate::clouds::azure::world::{World, elements, parts, referred, text};

pub(super) fn prepare(world: &World, change: &Change<'_>, body: &mut Value) -> Result<(), Refusal> {
    for it in parts(body, "subnets") {
        if ranges(it).is_empty() {
            let why = format!("Subnet {} has no valid address prefix.", text(it, "name"));
            return Err(errors::invalid("InvalidCIDRNotation", why));
        }
        for field in ["networkSecurityGroup", "routeTable"] {
            let target = referred(&it["properties"], field);
            if !target.is_empty() {
                change.need(world, target)?;
            }
        }
        let is_linked =
            change.references.first(Tie::LinkSubnet, &format!("{}/subnets/{}", change.id, text(it, "name")));
        if let Some(by) = is_linked
            && text(&it["properties"], "privateLinkServiceNetworkPolicies") != "Disabled"
        {
            let why = format!("Network policies of subnet {} cannot be enabled: {by} is in it.", text(it, "name"));
            return Err(errors::invalid(
                "PrivateLinkServiceNetworkPoliciesCannotBeEnabledOnPrivateLinkServiceSubnet",
                why,
            ));
        }
    }
    let Some(before) = &change.before else { return Ok(()) };
    let stays = |it: &Value| parts(body, "subnets").any(|now| text(now, "name").eq_ignore_ascii_case(text(it, "name")));
    parts(before, "subnets").filter(|it| !stays(it)).try_for_each(|it| check_subnet(&change.references, it))
}

/// A subnet goes when nothing has an address of it.
pub(super) fn check_subnet(references: &References, subnet: &Value) -> Result<(), Refusal> {
    let id = text(subnet, "id");
    let by = references.first(Tie::InSubnet, id).or_else(|| references.first(Tie::LinkSubnet, id));
    by.map_or(Ok(()), |by| Err(errors::in_use("InUseSubnetCannotBeDeleted", id, by)))
}

pub(super) fn prepare_table(world: &World, change: &Change<'_>, body: &mut Value) -> Result<(), Refusal> {
    if body["properties"]["routes"].is_null() {
        body["properties"]["routes"] = json!([]);
    }
    if parts(body, "routes").count() > world.behaviour.routes {
        let why = format!("Route table {} cannot have more than {} routes.", change.id, world.behaviour.routes);
        return Err(errors::invalid("RoutesPerRouteTableLimitReached", why));
    }
    let mut prefixes = BTreeSet::new();
    for route in parts(body, "routes") {
        let (name, properties) = (text(route, "name"), &route["properties"]);
        let prefix = text(properties, "addressPrefix");
        if prefix.parse::<IpNet>().is_err() && prefix.chars().any(|it| !it.is_ascii_alphanumeric()) {
            let why = format!("Route {name} has the invalid address prefix {prefix}.");
            return Err(errors::invalid("InvalidAddressPrefixFormat", why));
        }
        let hop = text(properties, "nextHopIpAddress");
        let needs_hop = text(properties, "nextHopType").eq_ignore_ascii_case("VirtualAppliance");
        if needs_hop && hop.parse::<IpAddr>().is_err() {
            let why = format!("Route {name} leads to a virtual appliance and has no valid next hop: '{hop}'.");
            return Err(errors::invalid("InvalidNextHopIpAddress", why));
        }
        if !prefixes.insert(prefix.to_lowercase()) {
            let why = format!("Route {name} has the address prefix {prefix} of another route of the table.");
            return Err(errors::invalid("RouteConflict", why));
        }
    }
    Ok(())
}

/// A subnet by its id.
pub(super) fn subnet<'a>(world: &'a World, id: &str) -> Option<&'a Value> {
    let network = world.get(parent_of(id))?;
    parts(network, "subnets").find(|it| text(it, "name").eq_ignore_ascii_case(name_of(id)))
}

/// The ranges of a subnet.
fn ranges(subnet: &Value) -> Vec<IpNet> {
    let properties = &subnet["properties"];
    let all = elements(&properties["addressPrefixes"]).chain([&properties["addressPrefix"]]);
    all.filter_map(|it| it.as_str()?.parse().ok()).collect()
}

/// The addresses of a subnet that others than this frontend or configuration have.
pub(super) fn used(world: &World, subnet: &str, but: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for (_, stored) in world.everything() {
        for part in ["ipConfigurations", "frontendIPConfigurations"] {
            for it in parts(&stored.body, part).filter(|it| key(text(it, "id")) != key(but)) {
                if key(referred(&it["properties"], "subnet")) == key(subnet) {
                    used.insert(text(&it["properties"], "privateIPAddress").to_owned());
                }
            }
        }
    }
    used
}

/// Gives a frontend or a configuration its address of a subnet: the one that it asks for, the one that it had, or the next free one from
/// `first` on.
pub(super) fn give_address(
    world: &World,
    change: &Change<'_>,
    properties: &mut Value,
    earlier: Option<&Value>,
    used: &BTreeSet<String>,
    first: u32,
) -> Result<(), Refusal> {
    let id = referred(properties, "subnet").to_owned();
    let there = subnet(world, &id).ok_or_else(|| errors::nothing_there(&id, change.id))?;
    if properties["privateIPAddressVersion"].is_null() {
        properties["privateIPAddressVersion"] = json!("IPv4");
    }
    let is_six = text(properties, "privateIPAddressVersion").eq_ignore_ascii_case("IPv6");
    let range = ranges(there).into_iter().find(|it| matches!(it, IpNet::V6(_)) == is_six);
    let range = range.ok_or_else(|| {
        errors::invalid(
            "SubnetHasNoAddressPrefixOfVersion",
            format!("Subnet {id} has no address prefix of this version."),
        )
    })?;
    let asked = text(properties, "privateIPAddress").to_owned();
    if text(properties, "privateIPAllocationMethod").eq_ignore_ascii_case("Static") {
        let is_inside = asked.parse::<IpAddr>().is_ok_and(|it| range.contains(&it));
        if !is_inside {
            let why =
                format!("Private static IP address {asked} does not belong to the range of subnet prefix {range}.");
            return Err(errors::invalid("PrivateIPAddressNotInSubnet", why));
        }
        if used.contains(&asked) {
            let why = format!(
                "IP configuration of {} is using the private IP address {asked} which is already allocated.",
                change.id
            );
            return Err(errors::invalid("PrivateIPAddressIsAllocated", why));
        }
        return Ok(());
    }
    let kept = earlier.filter(|it| key(referred(&it["properties"], "subnet")) == key(&id));
    let kept = kept.map(|it| text(&it["properties"], "privateIPAddress").to_owned()).filter(|it| !it.is_empty());
    let kept = kept
        .or(Some(asked).filter(|it| it.parse::<IpAddr>().is_ok_and(|it| range.contains(&it))))
        .filter(|it| !used.contains(it));
    let free = (first..first + 100_000).map(|it| nth(range, it).to_string()).find(|it| !used.contains(it));
    properties["privateIPAddress"] = json!(kept.or(free).unwrap_or_default());
    Ok(())
}

/// The address of this number in a range.
fn nth(range: IpNet, number: u32) -> IpAddr {
    match range {
        IpNet::V4(it) => IpAddr::V4((u32::from(it.network()) + number).into()),
        IpNet::V6(it) => IpAddr::V6((u128::from(it.network()) + u128::from(number)).into()),
    }
}
