//! Machines.

use serde_json::{Value, json};

use super::addresses;
use super::fields::{default, refer};
use crate::clouds::gcp::called::{Called, parsed};
use crate::clouds::gcp::collection::Collection;
use crate::clouds::gcp::errors::{self, Refusal};
use crate::clouds::gcp::place::{Place, Scope, link, name_of};
use crate::clouds::gcp::world::{World, text};

pub(super) fn instance(world: &mut World, place: &Place, body: &mut Value) -> Result<(), Refusal> {
    let machine = text(body, "machineType").to_owned();
    if machine.is_empty() {
        return Err(errors::required("resource.machineType"));
    }
    body["machineType"] = json!(link(&format!("{place}/machineTypes/{}", name_of(&machine))));
    let region = match &place.scope {
        Scope::Zone(zone) => world.region_of(zone).unwrap_or_default().to_owned(),
        Scope::Global | Scope::Region(_) => String::new(),
    };
    let mut nics = body["networkInterfaces"].as_array().cloned().unwrap_or_default();
    if nics.is_empty() {
        return Err(errors::required("resource.networkInterfaces"));
    }
    for (index, nic) in nics.iter_mut().enumerate() {
        default(nic, "network", json!("global/networks/default"));
        default(nic, "subnetwork", json!(format!("regions/{region}/subnetworks/default")));
        refer(world, place, nic, "network", &[Collection::Networks])?;
        let subnet = refer(world, place, nic, "subnetwork", &[Collection::Subnetworks])?.unwrap_or_default();
        let subnet = world.get(&subnet).cloned().unwrap_or_default();
        let asked = text(nic, "networkIP").to_owned();
        nic["networkIP"] =
            json!(addresses::internal(world, &subnet, &asked, "resource.networkInterfaces[].networkIP")?);
        default(nic, "name", json!(format!("nic{index}")));
        default(nic, "stackType", json!("IPV4_ONLY"));
        for access in nic.get_mut("accessConfigs").and_then(Value::as_array_mut).into_iter().flatten() {
            default(access, "type", json!("ONE_TO_ONE_NAT"));
            default(access, "name", json!("External NAT"));
            default(access, "networkTier", json!("PREMIUM"));
            let tier = text(access, "networkTier").to_owned();
            if access["natIP"].is_null() {
                access["natIP"] = json!(addresses::external(world, &tier));
            }
        }
    }
    body["networkInterfaces"] = json!(nics);
    for disk in body.get_mut("disks").and_then(Value::as_array_mut).into_iter().flatten() {
        refer(world, place, disk, "source", &[Collection::Disks])?;
    }
    default(body, "canIpForward", json!(false));
    default(body, "status", json!("RUNNING"));
    Ok(())
}

pub(super) fn call(world: &mut World, called: &Called<'_>, verb: &str) -> Result<(), Refusal> {
    let path = called.path();
    let status = match verb {
        "setTags" => {
            let asked = parsed(called.request)?;
            let Some(it) = world.get_mut(&path) else { return Ok(()) };
            if asked["fingerprint"] != it["tags"]["fingerprint"] {
                return Err(errors::stale("Supplied fingerprint does not match current metadata fingerprint"));
            }
            it["tags"]["items"] = asked.get("items").cloned().unwrap_or_else(|| json!([]));
            return Ok(());
        }
        "start" => "RUNNING",
        "stop" => "TERMINATED",
        _ => return Err(errors::not_found(&path)),
    };
    if let Some(it) = world.get_mut(&path) {
        it["status"] = json!(status);
    }
    Ok(())
}
