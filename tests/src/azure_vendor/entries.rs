//! Resources as recordings have them: an entry is one without its parts, or a part.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::clouds::azure::{Assets, Kind};

/// Fields that are left out of recordings: what the API sets by itself, and what follows from other resources.
const OWN: [&str; 4] = ["id", "name", "type", "etag"];
/// The same within `properties`.
pub const DERIVED: [&str; 15] = [
    "provisioningState",
    "loadBalancingRules",
    "outboundRules",
    "inboundNatRules",
    "backendIPConfigurations",
    "ipConfiguration",
    "ipConfigurations",
    "networkInterfaces",
    "subnets",
    "virtualMachine",
    "defaultSecurityRules",
    "alias",
    "privateEndpointConnections",
    "vmId",
    "resourceGuid",
];

/// The entries of a resource by their ids.
///
/// # Panics
///
/// Panics if one has no id.
#[must_use]
pub fn entries(kind: Kind, body: &Value) -> BTreeMap<String, Value> {
    let id = |it: &Value| it["id"].as_str().expect("it has an id").to_owned();
    let mut whole = body.clone();
    let mut all = BTreeMap::new();
    for part in parts(kind) {
        let parts = whole["properties"].as_object_mut().and_then(|it| it.remove(*part));
        for it in parts.as_ref().and_then(Value::as_array).into_iter().flatten() {
            all.insert(id(it), bare(it));
        }
    }
    all.insert(id(body), bare(&whole));
    all
}

/// The lists whose elements are entries of their own.
#[must_use]
pub fn parts(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::LoadBalancer => &[
            "frontendIPConfigurations",
            "backendAddressPools",
            "loadBalancingRules",
            "probes",
            "inboundNatRules",
            "inboundNatPools",
            "outboundRules",
        ],
        Kind::Interface | Kind::ScaleSetInterface | Kind::PrivateLinkService => &["ipConfigurations"],
        Kind::SecurityGroup => &["securityRules"],
        Kind::RouteTable => &["routes"],
        Kind::Network => &["subnets"],
        _ => &[],
    }
}

/// An entry without what is left out of recordings.
fn bare(entry: &Value) -> Value {
    let mut bare = entry.clone();
    if let Some(fields) = bare.as_object_mut() {
        fields.retain(|name, _| !OWN.contains(&name.as_str()));
    }
    if let Some(properties) = bare["properties"].as_object_mut() {
        properties.retain(|name, _| !DERIVED.contains(&name.as_str()));
    }
    bare
}

/// All entries of a cloud now.
#[must_use]
pub fn state(account: &Assets) -> BTreeMap<String, Value> {
    let kinds = Kind::ALL.into_iter();
    kinds.flat_map(|kind| account.all(kind).into_iter().flat_map(move |it| entries(kind, &it))).collect()
}
