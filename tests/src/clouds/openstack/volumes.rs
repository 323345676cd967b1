//! Cinder: volumes and messages; and Nova's part, which server has one.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded, lists};

use super::errors::{self, Refused};
use super::kind::Kind;
use super::listing::Listing;
use super::service::Service;
use super::world::{World, shown, text};

/// The newest microversion.
const NEWEST: u32 = 71;
/// The first one in which a volume grows that a server has.
const ONLINE: u32 = 42;
/// The only zone.
const ZONE: &str = "nova";
/// The types of volumes; the first is that of whoever names none.
const TYPES: [&str; 2] = ["lvm", "ssd"];

/// Answers a request whose path is this, below `/volumev3`.
pub(super) fn answer(world: &mut World, request: &Recorded, path: &[&str]) -> Result<Answer, Refused> {
    let minor = microversion(request)?;
    let mut answer = match (&request.method, path) {
        (&Method::GET, ["v3", "volumes"]) => listed(world, request, false),
        (&Method::GET, ["v3", "volumes", "detail"]) => listed(world, request, true),
        (&Method::GET, ["v3", "messages"]) if minor >= 5 => {
            let of = request.query_value("resource_uuid").unwrap_or_default();
            let all: Vec<Value> = world.with(Kind::VolumeMessage, "resource_uuid", of).map(message).collect();
            Ok(Answer::ok(&json!({ "messages": all })))
        }
        (&Method::POST, ["v3", "volumes"]) => create(world, &request.body),
        (&Method::GET, ["v3", "volumes", id]) => {
            let volume = volume(found(world, id)?);
            world.count_volume_read(id);
            Ok(Answer::ok(&json!({ "volume": volume })))
        }
        (&Method::DELETE, ["v3", "volumes", id]) => delete(world, id),
        (&Method::POST, ["v3", "volumes", id, "action"]) => extend(world, id, minor, &request.body),
        _ => Err(errors::nova(404, "itemNotFound", "The resource could not be found.")),
    }?;
    answer.set("openstack-api-version", &format!("volume 3.{minor}"));
    Ok(answer)
}

/// Answers a request to Nova about the volumes of a server.
pub(super) fn of_server(
    world: &mut World,
    request: &Recorded,
    server: &str,
    id: Option<&str>,
) -> Result<Answer, Refused> {
    let ours = world.get(Kind::Server, server).is_some_and(|it| text(it, "project_id") == world.project);
    if !ours {
        return Err(errors::nova(404, "itemNotFound", &format!("Instance {server} could not be found.")));
    }
    match (&request.method, id) {
        (&Method::POST, None) => attach(world, server, &request.body),
        (&Method::DELETE, Some(id)) => detach(world, server, id),
        _ => Err(errors::nova(404, "itemNotFound", "The resource could not be found.")),
    }
}

/// The minor version of a request: the header's, or the first.
fn microversion(request: &Recorded) -> Result<u32, Refused> {
    let header = request.headers.get("openstack-api-version").and_then(|it| it.to_str().ok());
    let Some(asked) = header.and_then(|it| it.strip_prefix("volume ")) else { return Ok(0) };
    let minor = asked.strip_prefix("3.").and_then(|it| it.parse().ok()).filter(|it| *it <= NEWEST);
    minor.ok_or_else(|| {
        let message = format!("Version {asked} is not supported by the API. Minimum is 3.0 and maximum is 3.{NEWEST}.");
        errors::nova(406, "computeFault", &message)
    })
}

fn listed(world: &World, request: &Recorded, detail: bool) -> Result<Answer, Refused> {
    let late = world.behaviour.lists_late_by;
    let name = request.query_value("name");
    let is_shown = |volume: &&Value| {
        let is_there = world.made(text(volume, "id")).is_none_or(|made| lists::shows(made, late));
        let is_asked_for = name.is_none_or(|name| text(volume, "name") == name);
        is_there && is_asked_for && text(volume, "project_id") == world.project
    };
    let most = world.behaviour.largest_page;
    let listing = Listing::new(request, most).always_paged(most);
    let brief = |it: &Value| json!({ "id": it["id"], "name": it["name"], "links": [] });
    let show = |it: &Value| if detail { volume(it) } else { brief(it) };
    let (page, links) = listing
        .page(world.all(Kind::Volume).filter(is_shown).collect(), show)
        .map_err(|marker| errors::nova(404, "itemNotFound", &format!("Volume {marker} could not be found.")))?;
    let mut body = json!({ "volumes": page });
    if let Some(marker) = links.next {
        body["volumes_links"] = json!([listing.link("next", Some(&marker), None)]);
    }
    Ok(Answer::ok(&body))
}

fn create(world: &mut World, body: &[u8]) -> Result<Answer, Refused> {
    let body: Value = errors::parsed(body, Service::Volume)?;
    let wanted = &body["volume"];
    let size = wanted["size"].as_u64().filter(|it| *it > 0);
    let size = size.ok_or_else(|| {
        let size = &wanted["size"];
        invalid(&format!("Invalid input for field/attribute size. Value: {size}. {size} is less than the minimum of 1"))
    })?;
    let zone = wanted["availability_zone"].as_str().unwrap_or(ZONE);
    if zone != ZONE {
        return Err(invalid(&format!("Availability zone '{zone}' is invalid.")));
    }
    let kind = wanted["volume_type"].as_str().unwrap_or(TYPES[0]);
    if !TYPES.contains(&kind) {
        let message = format!("Volume type with name {kind} could not be found.");
        return Err(errors::nova(404, "itemNotFound", &message));
    }
    if !world.allows(Kind::Volume, 1) {
        let message = "VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for quota 'volumes'.";
        let fault = json!({ "code": 413, "message": message, "retryAfter": "0" });
        let mut refused = Answer::json(StatusCode::PAYLOAD_TOO_LARGE, &json!({ "overLimit": fault }));
        refused.set("retry-after", "0");
        return Err(Box::new(refused));
    }
    let made = json!({
        "name": wanted["name"], "description": wanted["description"], "metadata": wanted["metadata"], "size": size,
        "availability_zone": zone, "volume_type": kind, "status": "creating", "multiattach": false, "_server": null,
        "created_at": world.stamp(),
    });
    let id = world.insert(Kind::Volume, made);
    let status = if world.behaviour.volumes_have_room { "available" } else { "error" };
    if status == "error" {
        tell_no_room(world, &id, "001", "schedule allocate volume");
    }
    world.begin_volume(&id, "creating", json!({ "status": status }));
    Ok(Answer::accepted(&json!({ "volume": volume(found(world, &id)?) })))
}

fn delete(world: &mut World, id: &str) -> Result<Answer, Refused> {
    let volume = found(world, id)?;
    let is_free = matches!(text(volume, "status"), "available" | "error" | "error_extending" | "error_restoring");
    if !is_free || volume["_server"].is_string() {
        let message = "Invalid volume: Volume status must be available or error or error_restoring or error_extending or \
                       error_managing and must not be migrating, attached, belong to a group, have snapshots, awaiting a transfer, or be \
                       disassociated from snapshots after volume transfer.";
        return Err(invalid(message));
    }
    world.begin_volume(id, "deleting", Value::Null);
    Ok(accepted())
}

fn extend(world: &mut World, id: &str, minor: u32, body: &[u8]) -> Result<Answer, Refused> {
    let body: Value = errors::parsed(body, Service::Volume)?;
    let volume = found(world, id)?;
    let (status, size) = (text(volume, "status").to_owned(), volume["size"].as_u64());
    let wanted = body["os-extend"]["new_size"].as_u64();
    if status != "available" && !(status == "in-use" && minor >= ONLINE) {
        let message = format!(
            "Invalid volume: Volume {id} status must be '{{'status': 'available'}}' to extend, currently {status}."
        );
        return Err(invalid(&message));
    }
    if wanted <= size {
        let [from, to] = [size, wanted].map(Option::unwrap_or_default);
        let sizes = format!("(current: {from}, extended: {to})");
        return Err(invalid(&format!(
            "Invalid input received: New size for extend must be greater than current size. {sizes}."
        )));
    }
    let has_room = world.behaviour.volumes_have_room;
    if !has_room {
        tell_no_room(world, id, "007", "extend volume");
    }
    let size = if has_room { wanted } else { size };
    world.begin_volume(id, "extending", json!({ "status": status, "size": size }));
    Ok(accepted())
}

/// Leaves a message that there is no place for what was to be done with a volume.
fn tell_no_room(world: &mut World, id: &str, action: &str, words: &str) {
    let message = json!({
        "resource_uuid": id, "resource_type": "VOLUME", "event_id": format!("VOLUME_VOLUME_{action}_003"),
        "message_level": "ERROR", "created_at": world.stamp(),
        "user_message": format!("{words}:Could not find any available weighted backend."),
    });
    world.insert(Kind::VolumeMessage, message);
}

fn attach(world: &mut World, server: &str, body: &[u8]) -> Result<Answer, Refused> {
    let body: Value = errors::parsed(body, Service::Compute)?;
    let id = text(&body["volumeAttachment"], "volumeId").to_owned();
    let volume = found(world, &id)?;
    let status = text(volume, "status").to_owned();
    if let Some(at) = volume["_server"].as_str().or_else(|| world.server_that_gets(&id)) {
        let message = format!("Invalid volume: volume {id} is already attached to instances: {at}");
        return Err(invalid(&message));
    }
    if status != "available" {
        let message = format!(
            "Invalid input received: Invalid volume: Volume {id} status must be available or downloading to reserve, but the current status \
             is {status}. (HTTP 400) (Request-ID: req-{id})"
        );
        return Err(invalid(&message));
    }
    if world.with(Kind::Volume, "_server", server).count() >= world.behaviour.volumes_per_server {
        let message =
            "The maximum allowed number of disk devices (1) to attach to a single instance has been exceeded.";
        return Err(errors::nova(403, "forbidden", message));
    }
    world.begin_volume(&id, "reserved", json!({ "status": "in-use", "_server": server }));
    let attachment = json!({ "id": id, "serverId": server, "volumeId": id, "device": device() });
    Ok(Answer::ok(&json!({ "volumeAttachment": attachment })))
}

fn detach(world: &mut World, server: &str, id: &str) -> Result<Answer, Refused> {
    let is_here = world.get(Kind::Volume, id).is_some_and(|it| text(it, "_server") == server);
    if !is_here {
        let message = format!("Instance {server} is not attached to volume {id}");
        return Err(errors::nova(404, "itemNotFound", &message));
    }
    if text(found(world, id)?, "status") != "in-use" {
        let message = format!(
            "Invalid volume: Invalid input received: Invalid volume: Unable to detach volume. Volume status must be 'in-use' and attach_status \
             must be 'attached' to detach. (HTTP 400) (Request-ID: req-{id})"
        );
        return Err(invalid(&message));
    }
    world.begin_volume(id, "detaching", json!({ "status": "available", "_server": null }));
    Ok(accepted())
}

/// A volume as Cinder shows it: a server that has it, and none to which it only is on its way.
fn volume(volume: &Value) -> Value {
    let mut all = shown(volume);
    let attachment = json!({
        "id": volume["id"], "attachment_id": volume["id"], "volume_id": volume["id"], "server_id": volume["_server"],
        "device": device(), "host_name": null, "attached_at": "2026-01-01T00:00:00.000000",
    });
    all["attachments"] = if volume["_server"].is_string() { json!([attachment]) } else { json!([]) };
    all["links"] = json!([]);
    if let Some(all) = all.as_object_mut() {
        all.retain(|key, _| !matches!(key.as_str(), "project_id" | "tenant_id"));
    }
    all
}

fn message(message: &Value) -> Value {
    let mut all = shown(message);
    if let Some(all) = all.as_object_mut() {
        all.retain(|key, _| !matches!(key.as_str(), "project_id" | "tenant_id"));
    }
    all
}

fn found<'a>(world: &'a World, id: &str) -> Result<&'a Value, Refused> {
    let found = world.get(Kind::Volume, id).filter(|it| text(it, "project_id") == world.project);
    found.ok_or_else(|| errors::nova(404, "itemNotFound", &format!("Volume {id} could not be found.")))
}

fn device() -> Value {
    json!("/dev/vdb")
}

fn invalid(message: &str) -> Refused {
    errors::nova(400, "badRequest", message)
}

/// 202, without a body.
fn accepted() -> Answer {
    let mut answer = Answer::no_content();
    answer.status = StatusCode::ACCEPTED;
    answer
}
