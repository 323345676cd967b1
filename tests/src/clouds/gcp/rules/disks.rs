//! Disks, and how machines get them.

use serde_json::{Value, json};

use super::fields::{default, resolved, word};
use crate::clouds::gcp::called::{Called, parsed};
use crate::clouds::gcp::collection::Collection;
use crate::clouds::gcp::errors::{self, Refusal};
use crate::clouds::gcp::place::{Place, link, name_of};
use crate::clouds::gcp::presented::machines_with;
use crate::clouds::gcp::world::{World, text};

pub(super) fn prepare(place: &Place, body: &mut Value) -> Result<(), Refusal> {
    default(body, "sizeGb", json!("10"));
    if text(body, "sizeGb").parse::<u64>().is_err() {
        return Err(errors::invalid("resource.sizeGb", text(body, "sizeGb"), "Must be a number."));
    }
    let kind = name_of(text(body, "type")).to_owned();
    let kind = if kind.is_empty() { "pd-standard".to_owned() } else { kind };
    body["type"] = json!(link(&format!("{place}/diskTypes/{kind}")));
    default(body, "status", json!("READY"));
    Ok(())
}

/// `POST …/instances/{name}/attachDisk`.
pub(super) fn attach(world: &mut World, called: &Called<'_>) -> Result<(), Refusal> {
    let (mut asked, path) = (parsed(called.request)?, called.path());
    default(&mut asked, "mode", json!("READ_WRITE"));
    default(&mut asked, "type", json!("PERSISTENT"));
    word(&asked, "mode", &["READ_WRITE", "READ_ONLY"])?;
    word(&asked, "type", &["PERSISTENT", "SCRATCH"])?;
    let source = resolved(world, called.place, text(&asked, "source"), "source", &[Collection::Disks])?;
    if !source.starts_with(&format!("{}/", called.place)) {
        return Err(errors::invalid("resource.source", &source, "The disk is in another zone."));
    }
    if world.is_going(&source) {
        return Err(errors::not_ready(&source));
    }
    if let Some(user) = machines_with(world, &source).next() {
        return Err(errors::in_use(&source, user));
    }
    let disks = disks_of(world, &path);
    let limit = world.behaviour.disks_per_machine;
    if disks.len() >= limit {
        return Err(errors::full(&path, limit));
    }
    let device = Some(text(&asked, "deviceName")).filter(|it| !it.is_empty());
    let device = device.map_or_else(|| format!("persistent-disk-{}", disks.len()), str::to_owned);
    if disks.iter().any(|it| text(it, "deviceName") == device) {
        return Err(errors::invalid("resource.deviceName", &device, "The device name is already in use."));
    }
    let disk = json!({
        "kind": "compute#attachedDisk", "source": link(&source), "deviceName": device, "index": disks.len(),
        "mode": asked["mode"], "type": asked["type"], "interface": "SCSI", "boot": false, "autoDelete": false,
    });
    put(world, &path, disks.into_iter().chain([disk]).collect());
    Ok(())
}

/// `POST …/instances/{name}/detachDisk`.
pub(super) fn detach(world: &mut World, called: &Called<'_>) -> Result<(), Refusal> {
    let (path, device) = (called.path(), called.request.query_value("deviceName").unwrap_or_default());
    let mut disks = disks_of(world, &path);
    let Some(at) = disks.iter().position(|it| text(it, "deviceName") == device) else {
        return Err(errors::invalid("disk", device, &format!("No attached disk found with device name '{device}'")));
    };
    disks.remove(at);
    put(world, &path, disks);
    Ok(())
}

/// `POST …/disks/{name}/resize`.
pub(super) fn resize(world: &mut World, called: &Called<'_>) -> Result<(), Refusal> {
    let (asked, path) = (parsed(called.request)?, called.path());
    let size = |it: &Value| text(it, "sizeGb").parse::<u64>().unwrap_or_default();
    let Some(disk) = world.get_mut(&path) else { return Ok(()) };
    if size(&asked) <= size(disk) {
        let why = format!("New disk size '{}' must be larger than existing size.", size(&asked));
        return Err(errors::invalid("sizeGb", text(&asked, "sizeGb"), &why));
    }
    disk["sizeGb"] = asked["sizeGb"].clone();
    Ok(())
}

fn disks_of(world: &World, instance: &str) -> Vec<Value> {
    world.get(instance).and_then(|it| it["disks"].as_array()).cloned().unwrap_or_default()
}

fn put(world: &mut World, instance: &str, disks: Vec<Value>) {
    if let Some(it) = world.get_mut(instance) {
        it["disks"] = json!(disks);
    }
}
