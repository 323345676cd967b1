//! Public addresses, and the prefixes that they come from.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::{Value, json};

use crate::clouds::azure::change::Change;
use crate::clouds::azure::errors::{self, Refusal};
use crate::clouds::azure::id::key;
use crate::clouds::azure::kind::Kind;
use crate::clouds::azure::world::{World, referred, text};

/// The first address of each family that Azure gives here.
const FIRST: (Ipv4Addr, Ipv6Addr) = (Ipv4Addr::new(20, 50, 0, 11), Ipv6Addr::new(0x2603, 0x1020, 0, 0, 0, 0, 0, 0x11));

pub(super) fn prepare(world: &World, change: &Change<'_>, body: &mut Value) -> Result<(), Refusal> {
    if body["sku"].is_null() {
        body["sku"] = json!({ "name": "Standard" });
    }
    let location = text(body, "location").to_owned();
    let properties = &mut body["properties"];
    for (field, usual) in [
        ("publicIPAddressVersion", json!("IPv4")),
        ("publicIPAllocationMethod", json!("Dynamic")),
        ("idleTimeoutInMinutes", json!(4)),
    ] {
        if properties[field].is_null() {
            properties[field] = usual;
        }
    }
    let prefix = referred(properties, "publicIPPrefix").to_owned();
    if !prefix.is_empty() {
        change.need(world, &prefix)?;
    }
    let before = change.before.as_ref().map(|it| &it["properties"]);
    if let Some(before) = before {
        for (field, code) in [
            ("publicIPAddressVersion", "PublicIPAddressVersionUpdateNotAllowed"),
            ("publicIPPrefix", "PublicIpPrefixUpdateNotAllowed"),
        ] {
            if properties[field].to_string().to_lowercase() != before[field].to_string().to_lowercase() {
                return Err(errors::invalid(
                    code,
                    format!("{field} of public IP address {} cannot be changed.", change.id),
                ));
            }
        }
    }
    label(world, change, &location, properties)?;
    let is_static = text(properties, "publicIPAllocationMethod").eq_ignore_ascii_case("Static");
    match before.and_then(|it| it["ipAddress"].as_str()) {
        Some(address) => properties["ipAddress"] = json!(address),
        None if is_static => properties["ipAddress"] = json!(free(world, properties, &prefix)?),
        None => {}
    }
    Ok(())
}

/// The name of an address in Azure's own domain is unique in the region.
fn label(world: &World, change: &Change<'_>, location: &str, properties: &mut Value) -> Result<(), Refusal> {
    let label = text(&properties["dnsSettings"], "domainNameLabel").to_owned();
    if label.is_empty() {
        return Ok(());
    }
    let is_allowed = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
    let begins = label.starts_with(|it: char| it.is_ascii_lowercase()) && !label.ends_with('-');
    if !begins || !(3..=63).contains(&label.len()) || !label.chars().all(is_allowed) {
        let why =
            format!("The domain name label {label} is invalid. It must conform to ^[a-z][a-z0-9-]{{1,61}}[a-z0-9]$.");
        return Err(errors::invalid("InvalidDomainNameLabel", why));
    }
    let name = format!("{label}.{location}.cloudapp.azure.com");
    let has = |it: &&Value| text(&it["properties"]["dnsSettings"], "domainNameLabel") == label;
    let other = world.all(Kind::PublicIp).filter(has).any(|it| key(text(it, "id")) != key(change.id));
    if other || world.behaviour.taken_labels.contains(&label) {
        return Err(errors::invalid(
            "DnsRecordInUse",
            format!("DNS record {name} is already used by another public IP."),
        ));
    }
    properties["dnsSettings"]["fqdn"] = json!(name);
    Ok(())
}

/// An address that nothing has: of the prefix, where there is one.
fn free(world: &World, properties: &Value, prefix: &str) -> Result<IpAddr, Refusal> {
    let used: BTreeSet<&str> =
        world.all_ever(Kind::PublicIp).filter_map(|it| it["properties"]["ipAddress"].as_str()).collect();
    let is_six = text(properties, "publicIPAddressVersion").eq_ignore_ascii_case("IPv6");
    let there =
        world.all(Kind::PublicIp).filter_map(|it| it["properties"]["ipAddress"].as_str()).collect::<BTreeSet<_>>();
    if let Some(prefix) = world.get(prefix) {
        let range: ipnet::IpNet = text(&prefix["properties"], "ipPrefix").parse().expect("the prefix was made here");
        let found = addresses_of(range).find(|it| !there.contains(it.to_string().as_str()));
        let why = format!("Public IP prefix {} has no address left.", text(prefix, "id"));
        return found.ok_or_else(|| errors::invalid("PublicIpPrefixOutOfIpAddresses", why));
    }
    let fourth = |number: u16| IpAddr::V4(Ipv4Addr::from(u32::from(FIRST.0) + u32::from(number)));
    let sixth = |number: u16| IpAddr::V6(Ipv6Addr::from(u128::from(FIRST.1) + u128::from(number)));
    let mut all = (0..u16::MAX).map(|number| if is_six { sixth(number) } else { fourth(number) });
    let found = all.find(|it| !used.contains(it.to_string().as_str()));
    found.ok_or_else(|| errors::over_quota(Kind::PublicIp, usize::from(u16::MAX)))
}

fn addresses_of(range: ipnet::IpNet) -> Box<dyn Iterator<Item = IpAddr>> {
    match range {
        ipnet::IpNet::V4(range) => {
            let first = u32::from(range.network());
            Box::new((0..1_u32 << (32 - range.prefix_len())).map(move |it| IpAddr::V4(Ipv4Addr::from(first + it))))
        }
        ipnet::IpNet::V6(range) => {
            let first = u128::from(range.network());
            Box::new((0..16_u128).map(move |it| IpAddr::V6(Ipv6Addr::from(first + it))))
        }
    }
}

pub(super) fn prepare_prefix(world: &World, change: &Change<'_>, body: &mut Value) -> Result<(), Refusal> {
    let properties = &mut body["properties"];
    if properties["publicIPAddressVersion"].is_null() {
        properties["publicIPAddressVersion"] = json!("IPv4");
    }
    let before = change.before.as_ref().and_then(|it| it["properties"]["ipPrefix"].as_str());
    if let Some(before) = before {
        properties["ipPrefix"] = json!(before);
    } else if properties["ipPrefix"].is_null() {
        let number = world.all_ever(Kind::PublicIpPrefix).count();
        let length = properties["prefixLength"].as_u64().unwrap_or(31);
        properties["ipPrefix"] = json!(match text(properties, "publicIPAddressVersion") {
            "IPv6" => format!("2603:1020:{:x}::/124", number + 1),
            _ => format!("20.60.{number}.0/{length}"),
        });
    }
    Ok(())
}
