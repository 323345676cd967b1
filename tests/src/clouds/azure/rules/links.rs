//! Private Link services.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::clouds::azure::change::Change;
use crate::clouds::azure::errors::{self, Refusal};
use crate::clouds::azure::id::{key, parent_of};
use crate::clouds::azure::world::{World, parts, parts_mut, referred, text};

use super::networks;

pub(super) fn prepare(world: &World, change: &Change<'_>, body: &mut Value) -> Result<(), Refusal> {
    for it in parts(body, "loadBalancerFrontendIpConfigurations") {
        let id = text(it, "id");
        let balancer = change.need(world, parent_of(id))?;
        if !parts(&balancer, "frontendIPConfigurations").any(|it| key(text(it, "id")) == key(id)) {
            return Err(errors::nothing_there(id, change.id));
        }
    }
    let before = change.before.clone().unwrap_or_default();
    let mut given = BTreeSet::new();
    for it in parts_mut(body, "ipConfigurations") {
        let name = text(it, "name").to_owned();
        let id = referred(&it["properties"], "subnet").to_owned();
        let subnet = networks::subnet(world, &id).ok_or_else(|| errors::nothing_there(&id, change.id))?;
        if text(&subnet["properties"], "privateLinkServiceNetworkPolicies") != "Disabled" {
            let why = format!(
                "Private link service {} cannot be in subnet {id}: its network policies must be disabled.",
                change.id
            );
            return Err(errors::invalid("PrivateLinkServiceNetworkPoliciesNotDisabled", why));
        }
        let earlier = parts(&before, "ipConfigurations").find(|it| text(it, "name").eq_ignore_ascii_case(&name));
        let own = format!("{}/ipConfigurations/{name}", change.id);
        let used = networks::used(world, &id, &own).into_iter().chain(given.iter().cloned()).collect();
        // A dynamic address is the service's own business: only a static one is shown.
        let mut properties = it["properties"].clone();
        networks::give_address(world, change, &mut properties, earlier, &used, 200)?;
        given.insert(text(&properties, "privateIPAddress").to_owned());
    }
    let alias = before["properties"]["alias"].as_str().map(str::to_owned);
    let location = text(body, "location").to_owned();
    let alias = alias.unwrap_or_else(|| {
        let name = crate::clouds::azure::id::name_of(change.id);
        format!("{name}.{}.{location}.azure.privatelinkservice", uuid::Uuid::new_v4())
    });
    body["properties"]["alias"] = json!(alias);
    // Connections are the consumers' to make.
    body["properties"]["privateEndpointConnections"] = match &before["properties"]["privateEndpointConnections"] {
        Value::Null => json!([]),
        there => there.clone(),
    };
    Ok(())
}

/// A service goes when no endpoint is connected with it.
pub(super) fn check_deletion(body: &Value) -> Result<(), Refusal> {
    match parts(body, "privateEndpointConnections").next() {
        Some(it) => Err(errors::in_use(
            "PrivateLinkServiceWithPrivateEndpointConnectionsCannotBeDeleted",
            text(body, "id"),
            text(it, "id"),
        )),
        None => Ok(()),
    }
}
