//! Single machines, and those of flexible scale sets.

use serde_json::{Value, json};

use crate::clouds::azure::change::Change;
use crate::clouds::azure::errors::{self, Refusal};
use crate::clouds::azure::id::{key, name_of};
use crate::clouds::azure::power::view;
use crate::clouds::azure::references::Tie;
use crate::clouds::azure::world::{World, elements, referred, text};

pub(super) fn prepare(world: &World, change: &Change<'_>, body: &mut Value) -> Result<(), Refusal> {
    let properties = &body["properties"];
    for it in elements(&properties["networkProfile"]["networkInterfaces"]) {
        let id = text(it, "id");
        change.need(world, id)?;
        if let Some(by) = change.references.of(Tie::Interface, id).iter().find(|it| key(it) != key(change.id)) {
            return Err(errors::not_allowed(format!("Network interface {id} is used by existing resource {by}.")));
        }
    }
    let set = referred(properties, "virtualMachineScaleSet");
    if !set.is_empty() {
        let there = world.get(set).ok_or_else(|| errors::nothing_there(set, change.id))?;
        if text(&there["properties"], "orchestrationMode") != "Flexible" {
            return Err(errors::not_allowed(format!("Scale set {set} is not of flexible orchestration mode.")));
        }
    }
    for it in elements(&properties["storageProfile"]["dataDisks"]) {
        let id = referred(it, "managedDisk");
        let disk = change.need(world, id)?;
        if let Some(by) = change.references.of(Tie::Disk, id).iter().find(|it| key(it) != key(change.id)) {
            return Err(errors::not_allowed(format!("Disk {id} is attached to VM {by}.")));
        }
        let zones = |it: &Value| it["zones"].as_array().cloned().unwrap_or_default();
        if !zones(&disk).is_empty() && zones(&disk) != zones(body) {
            let why = format!("Disk {id} cannot be attached to VM {}: it is in another zone.", change.id);
            return Err(errors::invalid("BadRequest", why));
        }
    }
    if change.before.is_none() {
        let properties = &mut body["properties"];
        properties["vmId"] = json!(uuid::Uuid::new_v4().to_string());
        if properties["osProfile"]["computerName"].is_null() {
            properties["osProfile"]["computerName"] = json!(name_of(change.id));
        }
        properties["instanceView"] = view("running", 0);
    }
    Ok(())
}
