//! Network interfaces.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::clouds::azure::change::Change;
use crate::clouds::azure::errors::{self, Refusal};
use crate::clouds::azure::id::key;
use crate::clouds::azure::references::Tie;
use crate::clouds::azure::world::{World, parts, parts_mut, referred, text};

use super::{balancers, networks};

pub(super) fn prepare(world: &World, change: &Change<'_>, body: &mut Value) -> Result<(), Refusal> {
    let group = referred(&body["properties"], "networkSecurityGroup").to_owned();
    if !group.is_empty() {
        change.need(world, &group)?;
    }
    let before = change.before.clone().unwrap_or_default();
    // The machine says which one is its first.
    if body["properties"]["primary"].is_null() && !before["properties"]["primary"].is_null() {
        body["properties"]["primary"] = before["properties"]["primary"].clone();
    }
    let mut given = BTreeSet::new();
    for it in parts_mut(body, "ipConfigurations") {
        let name = text(it, "name").to_owned();
        let id = format!("{}/ipConfigurations/{name}", change.id);
        let pools = &it["properties"]["loadBalancerBackendAddressPools"];
        let pools: Vec<String> = pools.as_array().into_iter().flatten().map(|it| text(it, "id").to_owned()).collect();
        balancers::check_pools(world, &id, pools.iter().map(String::as_str))?;
        for pool in &pools {
            change.need(world, crate::clouds::azure::id::parent_of(pool))?;
        }
        let properties = &mut it["properties"];
        let public = referred(properties, "publicIPAddress").to_owned();
        if !public.is_empty() {
            change.need(world, &public)?;
            if let Some(by) = change.references.of(Tie::Address, &public).iter().find(|it| key(it) != key(&id)) {
                let why = format!(
                    "Resource {id} is referencing public IP address {public} that is already allocated to resource {by}."
                );
                return Err(errors::invalid("PublicIPAddressInUse", why));
            }
        }
        if properties["privateIPAllocationMethod"].is_null() {
            properties["privateIPAllocationMethod"] = json!("Dynamic");
        }
        let subnet = referred(properties, "subnet").to_owned();
        let earlier = parts(&before, "ipConfigurations").find(|it| text(it, "name").eq_ignore_ascii_case(&name));
        let used = networks::used(world, &subnet, &id).into_iter().chain(given.iter().cloned()).collect();
        networks::give_address(world, change, properties, earlier, &used, 4)?;
        given.insert(text(properties, "privateIPAddress").to_owned());
    }
    Ok(())
}
