//! Resources as the API shows them: with what follows from others.

use serde_json::{Map, Value, json};

use super::collection::Collection;
use super::place::link;
use super::world::{HIDDEN, World, target, text};

/// A resource as an answer has it.
pub(super) fn shown(world: &World, path: &str, body: &Value) -> Value {
    let kept = body.as_object().into_iter().flatten().filter(|(key, _)| !key.starts_with(HIDDEN));
    let mut shown = Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>());
    match Collection::of(path) {
        Some(Collection::Addresses) => address(world, path, &mut shown),
        Some(Collection::InstanceGroups) => {
            shown["size"] = json!(body["_members"].as_array().map_or(0, Vec::len));
        }
        Some(Collection::Routes) => route(world, &mut shown),
        Some(Collection::Disks) => disk(world, path, &mut shown),
        _ => {}
    }
    shown
}

/// The rules with this address in a project's region.
pub(super) fn rules_with<'a>(world: &'a World, address: &'a str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    world.all(Collection::ForwardingRules).filter(move |(_, it)| text(it, "IPAddress") == address)
}

/// An address is in use by the rules that have it. While it is made, it is not known.
fn address(world: &World, path: &str, shown: &mut Value) {
    if world.is_made(path) {
        shown["status"] = json!("RESERVING");
        if let Some(all) = shown.as_object_mut() {
            all.remove("address");
        }
        return;
    }
    let users: Vec<_> = rules_with(world, text(shown, "address")).map(|(path, _)| link(path)).collect();
    shown["status"] = json!(if users.is_empty() { "RESERVED" } else { "IN_USE" });
    if !users.is_empty() {
        shown["users"] = json!(users);
    }
}

/// A disk is used by the machines that it is attached to.
fn disk(world: &World, path: &str, shown: &mut Value) {
    if world.is_made(path) {
        shown["status"] = json!("CREATING");
    } else if world.is_going(path) {
        shown["status"] = json!("DELETING");
    }
    let users: Vec<_> = machines_with(world, path).map(link).collect();
    if !users.is_empty() {
        shown["users"] = json!(users);
    }
}

/// The paths of the machines that a disk is attached to.
pub(super) fn machines_with<'a>(world: &'a World, disk: &'a str) -> impl Iterator<Item = &'a str> {
    let has = move |it: &Value| it["disks"].as_array().into_iter().flatten().any(|it| target(it, "source") == disk);
    world.all(Collection::Instances).filter(move |(_, it)| has(it)).map(|(path, _)| path)
}

/// A route to a machine that is gone, stands still or forwards nothing warns of it.
fn route(world: &World, shown: &mut Value) {
    let hop = target(shown, "nextHopInstance").to_owned();
    if hop.is_empty() {
        return;
    }
    let code = match world.get(&hop) {
        None => "NEXT_HOP_INSTANCE_NOT_FOUND",
        Some(it) if it["canIpForward"] != json!(true) => "NEXT_HOP_CANNOT_IP_FORWARD",
        Some(it) if text(it, "status") != "RUNNING" => "NEXT_HOP_NOT_RUNNING",
        Some(_) => return,
    };
    let message = format!("Next hop instance '{}' cannot be used.", link(&hop));
    shown["warnings"] =
        json!([{ "code": code, "message": message, "data": [{ "key": "instance", "value": link(&hop) }] }]);
}
