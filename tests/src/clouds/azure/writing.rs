//! Writes: of whole resources, of their parts and tags, and deletions.

use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::change::Change;
use super::errors::{self, Refusal};
use super::id::key;
use super::kind::{Kind, Service};
use super::operations::state_of;
use super::presented::{Views, shown, without_derived};
use super::rules;
use super::world::{World, named, owner_of, parts, parts_mut, text};

/// The body of a request: an object.
pub(super) fn parsed(request: &Recorded) -> Result<Value, Refusal> {
    let body: Option<Value> = serde_json::from_slice(&request.body).ok();
    body.filter(Value::is_object).ok_or_else(errors::no_json)
}

/// `PUT` of a resource.
pub(super) fn put(world: &mut World, request: &Recorded, kind: Kind, id: &str) -> Result<Answer, Refusal> {
    let body = parsed(request)?;
    if world.behaviour.has_other_writer {
        let there = world.get(id).cloned();
        if let Some(changed) = world.other_writer.ahead(kind, id, there.as_ref(), &body) {
            world.insert(kind, id, changed);
        }
    }
    let (is_new, id, operation) = store(world, request, kind, id, body, "PUT")?;
    let mut answer = Answer::ok(&seen(world, &id));
    // Each kind has its own word for it.
    answer.status = match kind {
        _ if kind.is_immediate() => return Ok(answer),
        Kind::Disk => StatusCode::ACCEPTED,
        _ if is_new => StatusCode::CREATED,
        _ => StatusCode::OK,
    };
    world.tell(&mut answer, &operation);
    Ok(answer)
}

/// `PATCH` of a resource's tags.
pub(super) fn tag(world: &mut World, request: &Recorded, kind: Kind, id: &str) -> Result<Answer, Refusal> {
    let tags = parsed(request)?["tags"].clone();
    let mut body = world.get(id).cloned().ok_or_else(|| errors::resource_not_found(id, kind, group_name(id)))?;
    body["tags"] = tags;
    let (_, id, operation) = store(world, request, kind, id, body, "PATCH")?;
    let mut answer = Answer::ok(&seen(world, &id));
    world.tell(&mut answer, &operation);
    Ok(answer)
}

/// `PUT` of a part: the resource is what changes.
pub(super) fn put_part(
    world: &mut World,
    request: &Recorded,
    kind: Kind,
    id: &str,
    part: &'static str,
    name: &str,
) -> Result<Answer, Refusal> {
    let mut wanted = parsed(request)?;
    let mut body = world.get(id).cloned().ok_or_else(|| errors::parent_not_found(id))?;
    if body["properties"][part].is_null() {
        body["properties"][part] = json!([]);
    }
    let earlier = parts_mut(&mut body, part).find(|it| text(it, "name").eq_ignore_ascii_case(name));
    let is_new = earlier.is_none();
    match earlier {
        Some(earlier) => {
            wanted["name"] = earlier["name"].clone();
            *earlier = wanted;
        }
        None => {
            wanted["name"] = json!(name);
            if let Some(parts) = body["properties"][part].as_array_mut() {
                parts.push(wanted);
            }
        }
    }
    let (_, id, operation) = store(world, request, kind, id, body, "PUT")?;
    let whole = seen(world, &id);
    let found = parts(&whole, part).find(|it| text(it, "name").eq_ignore_ascii_case(name));
    let mut answer = Answer::ok(found.unwrap_or(&Value::Null));
    if is_new {
        answer.status = StatusCode::CREATED;
    }
    world.tell(&mut answer, &operation);
    Ok(answer)
}

/// `DELETE` of a part.
pub(super) fn delete_part(
    world: &mut World,
    request: &Recorded,
    kind: Kind,
    id: &str,
    part: &'static str,
    name: &str,
) -> Result<Answer, Refusal> {
    let mut body = world.get(id).cloned().ok_or_else(|| errors::parent_not_found(id))?;
    let is_it = |it: &Value| text(it, "name").eq_ignore_ascii_case(name);
    if !parts(&body, part).any(is_it) {
        return Ok(Answer::no_content());
    }
    if let Some(parts) = body["properties"][part].as_array_mut() {
        parts.retain(|part| !is_it(part));
    }
    // A connection is the consumer's: no body of the service changes it.
    if part == "privateEndpointConnections"
        && let Some(there) = world.get_mut(id)
    {
        there["properties"][part] = body["properties"][part].clone();
    }
    let (_, _, operation) = store(world, request, kind, id, body, "PUT")?;
    let mut answer = Answer { status: StatusCode::ACCEPTED, ..Answer::no_content() };
    world.tell(&mut answer, &operation);
    Ok(answer)
}

/// `DELETE` of a resource: it is there until the operation's end.
pub(super) fn delete(world: &mut World, request: &Recorded, kind: Kind, id: &str) -> Result<Answer, Refusal> {
    let Some(there) = world.get(id).cloned() else { return Ok(Answer::no_content()) };
    check_conditions(&request.headers, kind, id, Some(&there))?;
    world.overlap(id)?;
    let references = world.references();
    rules::check_deletion(world, &references, id, kind)?;
    if kind.is_immediate() {
        world.remove(id);
        return Ok(Answer { status: StatusCode::OK, ..Answer::no_content() });
    }
    let operation = world.begin(id, "DELETE", "Deleting");
    world.mark(id);
    let mut answer = Answer { status: StatusCode::ACCEPTED, ..Answer::no_content() };
    world.tell(&mut answer, &operation);
    Ok(answer)
}

/// Starts and stops a machine: the state of its power at the operation's begin.
pub(super) fn power(world: &mut World, kind: Kind, id: &str, verb: &str) -> Result<Answer, Refusal> {
    let power = match verb {
        "start" => "running",
        "deallocate" => "deallocated",
        _ => "stopped",
    };
    world.overlap(id)?;
    if !world.set_power(id, power) {
        return Err(errors::resource_not_found(id, kind, group_name(id)));
    }
    let operation = world.begin(id, "POST", "Updating");
    world.mark(id);
    let mut answer = Answer { status: StatusCode::ACCEPTED, ..Answer::no_content() };
    world.tell(&mut answer, &operation);
    Ok(answer)
}

/// The resource as the answer to its own write has it.
fn seen(world: &World, id: &str) -> Value {
    let views = Views::default();
    world.stored(id).map_or(Value::Null, |it| shown(world, &world.references(), it, views))
}

/// Judges and stores a resource, and begins an operation. Answers whether it is new, its id and the operation.
fn store(
    world: &mut World,
    request: &Recorded,
    kind: Kind,
    id: &str,
    mut body: Value,
    method: &'static str,
) -> Result<(bool, String, String), Refusal> {
    let before = world.get(id).cloned();
    check_conditions(&request.headers, kind, id, before.as_ref())?;
    let owner = owner_of(kind, id);
    if before.is_none() && !owner.is_empty() && world.get(owner).is_none() {
        return Err(errors::parent_not_found(owner));
    }
    world.overlap(id)?;
    let is_new = before.is_none();
    if is_new {
        check_quota(world, kind, id)?;
    }
    // The letter case is that with which it was made.
    let id = before.as_ref().map_or_else(|| made_id(world, kind, id), |it| text(it, "id").to_owned());
    if let Some(before) = before.as_ref().filter(|_| kind.service() == Service::Compute) {
        body = merged(before, body);
    }
    if body["location"].is_null() && kind == Kind::ScaleSetMachine {
        body["location"] = before.as_ref().map_or(Value::Null, |it| it["location"].clone());
    }
    if body["properties"].is_null() {
        body["properties"] = json!({});
    }
    without_derived(kind, &mut body);
    let change = Change { id: &id, kind, before, references: world.references() };
    rules::prepare(world, &change, &mut body)?;
    named(kind, &id, &mut body);
    for field in ["etag", "resourceGuid"] {
        body.as_object_mut().map(|it| it.remove(field));
    }
    let earlier = change.before;
    world.put(kind, &id, body.clone());
    if kind.is_immediate() {
        return Ok((is_new, id, String::new()));
    }
    let operation = world.begin(&id, method, state_of(kind, is_new));
    rules::follow(world, &id, kind);
    earlier.iter().for_each(|it| world.mark_referred(it));
    world.mark_referred(&body);
    world.mark(&id);
    Ok((is_new, id, operation))
}

/// The id of a new resource: in the case of its path, unless a test wants that of Compute.
fn made_id(world: &World, kind: Kind, id: &str) -> String {
    let is_upper = world.behaviour.upper_case_groups && kind.service() == Service::Compute;
    if !is_upper {
        return id.to_owned();
    }
    let mut segments: Vec<String> = id.split('/').map(str::to_owned).collect();
    if let Some(group) = segments.get_mut(4) {
        *group = group.to_uppercase();
    }
    segments.join("/")
}

/// Whether a write is meant for the resource as it is.
fn check_conditions(headers: &HeaderMap, kind: Kind, id: &str, there: Option<&Value>) -> Result<(), Refusal> {
    let header = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
    if header("if-none-match") == Some("*") && there.is_some() {
        return Err(errors::there_already(id));
    }
    let Some(given) = header("if-match").filter(|_| kind.has_etag()) else { return Ok(()) };
    let known = there.map_or("", |it| text(it, "etag"));
    // Compute takes it with quotation marks and without.
    let is_known = given == known || given.trim_matches('"') == known.trim_matches('"');
    match (there.is_some(), is_known || given == "*") {
        (true, true) => Ok(()),
        _ if kind.service() == Service::Compute => Err(errors::stale_machine(given, known)),
        _ => Err(errors::stale(id, given, known)),
    }
}

fn check_quota(world: &World, kind: Kind, id: &str) -> Result<(), Refusal> {
    let Some(limit) = world.behaviour.quotas.get(&kind).copied() else { return Ok(()) };
    let subscription = format!("/subscriptions/{}/", id.split('/').nth(2).unwrap_or_default());
    let count = world.all(kind).filter(|it| key(text(it, "id")).starts_with(&key(&subscription))).count();
    if count < limit { Ok(()) } else { Err(errors::over_quota(kind, limit)) }
}

/// Compute keeps what a body does not say: objects are put together, lists replaced.
fn merged(before: &Value, body: Value) -> Value {
    match (before, body) {
        (Value::Object(before), Value::Object(body)) => {
            let mut all = before.clone();
            for (field, value) in body {
                let value = match before.get(&field) {
                    Some(there) => merged(there, value),
                    None => value,
                };
                all.insert(field, value);
            }
            Value::Object(all)
        }
        (_, body) => body,
    }
}

/// The name of an id's resource group.
pub(super) fn group_name(id: &str) -> &str {
    id.split('/').nth(4).unwrap_or_default()
}
