//! Neutron: what every kind of its objects has in common. What is particular to one is in a file of its own.

mod floating;
mod groups;
mod ports;
mod routers;
mod tags;

use http::Method;
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::errors::{self, Refused, parsed, under};
use super::kind::Kind;
use super::listing::Listing;
use super::service::Service;
use super::world::{World, shown, text};

pub(super) use self::floating::free_address;

/// Answers a request whose path is this, below `/network`.
pub(super) fn answer(world: &mut World, request: &Recorded, path: &[&str]) -> Result<Answer, Refused> {
    let body = || -> Result<Value, Refused> {
        if request.body.is_empty() { Ok(Value::Null) } else { parsed(&request.body, Service::Network) }
    };
    let (method, path) = match (&request.method, path) {
        (&Method::GET, [] | [""]) => return Ok(versions()),
        (&Method::GET, ["v2.0"] | ["v2.0", ""]) => return Ok(Answer::ok(&json!({ "resources": [] }))),
        (method, ["v2.0", path @ ..]) => (method, path),
        _ => return Err(no_path()),
    };
    match (method, path) {
        (&Method::GET, ["extensions"]) => {
            let all = world.behaviour.extensions.iter().map(|it| extension(it));
            Ok(Answer::ok(&json!({ "extensions": all.collect::<Vec<_>>() })))
        }
        (&Method::GET, ["extensions", alias]) => match world.behaviour.extensions.contains(alias) {
            true => Ok(Answer::ok(&json!({ "extension": extension(alias) }))),
            false => {
                Err(errors::neutron(404, "ExtensionNotFound", &format!("Extension with alias {alias} does not exist")))
            }
        },
        (&Method::GET, ["quotas", "project" | "tenant"]) => {
            Ok(Answer::ok(&json!({ "project": { "project_id": world.project } })))
        }
        (&Method::GET, [list]) => page(world, request, kind(list)?),
        (&Method::GET, [list, id]) => one(world, request, kind(list)?, id),
        (&Method::PUT, ["routers", id, "add_extraroutes"]) => routers::add(world, request, id, &body()?),
        (&Method::PUT, ["routers", id, "remove_extraroutes"]) => routers::remove(world, request, id, &body()?),
        (&Method::PUT, ["routers", id]) => routers::update(world, request, id, &body()?),
        (&Method::PUT, ["ports", id]) => ports::update(world, request, id, &body()?),
        (&Method::POST, ["floatingips"]) => floating::create(world, &body()?),
        (&Method::PUT, ["floatingips", id]) => floating::update(world, request, id, &body()?),
        (&Method::DELETE, ["floatingips", id]) => floating::delete(world, id),
        (&Method::POST, ["security-groups"]) => groups::create(world, &body()?),
        (&Method::PUT, ["security-groups", id]) => groups::update(world, id, &body()?),
        (&Method::DELETE, ["security-groups", id]) => groups::delete(world, id),
        (&Method::POST, ["security-group-rules"]) => groups::create_rule(world, &body()?),
        (&Method::DELETE, ["security-group-rules", id]) => groups::delete_rule(world, id),
        (method, [list, id, "tags", rest @ ..]) => tags::answer(world, method, (kind(list)?, id), rest, &body()?),
        _ => Err(no_path()),
    }
}

/// An object of whoever asks, or one that is there for all.
pub(super) fn found<'a>(world: &'a World, kind: Kind, id: &str) -> Result<&'a Value, Refused> {
    let seen = |it: &&Value| text(it, "project_id") == world.project || is_for_all(it);
    world.get(kind, id).filter(seen).ok_or_else(|| not_found(kind, id))
}

/// Checks `If-Match` before a change.
fn matched(request: &Recorded, object: &Value) -> Result<(), Refused> {
    let header = request.headers.get("if-match").and_then(|it| it.to_str().ok());
    let Some(wanted) = header.and_then(|it| it.strip_prefix("revision_number=")) else { return Ok(()) };
    let current = object["revision_number"].as_u64().unwrap_or_default();
    if wanted.parse() == Ok(current) {
        return Ok(());
    }
    let message = format!("Constrained to {wanted}, but current revision is {current}");
    Err(errors::neutron(412, "RevisionNumberConstraintFailed", &message))
}

/// Writes fields of an object under `If-Match`, and counts its revision if one differs. Answers the object.
fn write(
    world: &mut World,
    request: Option<&Recorded>,
    (kind, id): (Kind, &str),
    fields: &[(&str, Value)],
) -> Result<Answer, Refused> {
    let object = found(world, kind, id)?;
    if fields.iter().any(|(key, value)| object[*key] != *value) {
        if let Some(request) = request {
            matched(request, object)?;
        }
        let stamp = world.stamp();
        if let Some(object) = world.get_mut(kind, id) {
            fields.iter().for_each(|(key, value)| object[*key] = value.clone());
            let revision = object["revision_number"].as_u64().unwrap_or_default();
            object["revision_number"] = json!(revision + 1);
            object["updated_at"] = zulu(&stamp);
        }
    }
    Ok(Answer::ok(&json!({ kind.one(): presented(world, kind, found(world, kind, id)?) })))
}

/// Adds an object with what all of them have. Answers it.
fn create(world: &mut World, kind: Kind, mut object: Value) -> Answer {
    let stamp = zulu(&world.stamp());
    for (key, value) in [("revision_number", json!(1)), ("created_at", stamp.clone()), ("updated_at", stamp)] {
        object[key] = value;
    }
    if object["tags"].is_null() && kind != Kind::SecurityGroupRule {
        object["tags"] = json!([]);
    }
    let id = world.insert(kind, object);
    let made = world.get(kind, &id).expect("it was made a moment ago");
    Answer::created(&json!({ kind.one(): presented(world, kind, made) }))
}

/// An object as Neutron shows it: a group with its rules.
fn presented(world: &World, kind: Kind, object: &Value) -> Value {
    let mut shown = shown(object);
    if kind == Kind::SecurityGroup {
        let rules = world.with(Kind::SecurityGroupRule, "security_group_id", text(object, "id"));
        shown["security_group_rules"] = rules.map(super::world::shown).collect();
    }
    shown
}

fn page(world: &World, request: &Recorded, kind: Kind) -> Result<Answer, Refused> {
    let listing = Listing::new(request, world.behaviour.largest_page);
    let late = world.behaviour.lists_late_by;
    let listed = |it: &&Value| {
        let id = text(it, "id");
        let fresh = kind == Kind::FloatingIp && world.made(id).is_some_and(|made| made + late > world.time());
        !fresh && (text(it, "project_id") == world.project || is_for_all(it))
    };
    let all = world.all(kind).filter(listed).map(|it| presented(world, kind, it)).filter(|it| listing.shows(it));
    let (page, links) = listing.page(all.collect()).map_err(|marker| not_found(kind, &marker))?;
    let mut body = json!({ kind.many(): page });
    if request.query_value("limit").is_some() {
        let next = links.next.map(|it| listing.link("next", &it, None));
        let previous = links.previous.map(|it| listing.link("previous", &it, Some(("page_reverse", "True"))));
        body[format!("{}_links", kind.many())] = next.into_iter().chain(previous).collect();
    }
    Ok(Answer::ok(&body))
}

fn one(world: &World, request: &Recorded, kind: Kind, id: &str) -> Result<Answer, Refused> {
    let shown = presented(world, kind, found(world, kind, id)?);
    Ok(Answer::ok(&json!({ kind.one(): Listing::new(request, 1).fields(&shown) })))
}

/// Whether an object is for every project to see, as external networks are.
fn is_for_all(object: &Value) -> bool {
    object["router:external"] == json!(true) || object["shared"] == json!(true) || object["_for_all"] == json!(true)
}

/// Neutron's times end in the zone.
fn zulu(stamp: &Value) -> Value {
    json!(format!("{}Z", stamp.as_str().unwrap_or_default()))
}

fn kind(list: &str) -> Result<Kind, Refused> {
    Kind::listed(Service::Network, list).ok_or_else(no_path)
}

fn no_path() -> Refused {
    errors::neutron(404, "HTTPNotFound", "The resource could not be found.")
}

fn not_found(kind: Kind, id: &str) -> Refused {
    let (name, message) = match kind {
        Kind::Port => ("PortNotFound", format!("Port {id} could not be found.")),
        Kind::Subnet => ("SubnetNotFound", format!("Subnet {id} could not be found.")),
        Kind::Network => ("NetworkNotFound", format!("Network {id} could not be found.")),
        Kind::Router => ("RouterNotFound", format!("Router {id} could not be found")),
        Kind::FloatingIp => ("FloatingIPNotFound", format!("Floating IP {id} could not be found")),
        Kind::SecurityGroup => ("SecurityGroupNotFound", format!("Security group {id} does not exist")),
        _ => ("SecurityGroupRuleNotFound", format!("Security group rule {id} does not exist")),
    };
    errors::neutron(404, name, &message)
}

fn over_quota(what: &str) -> Refused {
    errors::neutron(409, "OverQuota", &format!("Quota exceeded for resources: ['{what}']."))
}

fn wanted<'a>(body: &'a Value, kind: Kind) -> Result<&'a Value, Refused> {
    under(body, kind.one(), Service::Network)
}

fn extension(alias: &str) -> Value {
    json!({ "alias": alias, "name": alias, "description": alias, "links": [], "updated": "2014-10-01T10:00:00-00:00" })
}

fn versions() -> Answer {
    Answer::ok(&json!({ "versions": [{ "id": "v2.0", "status": "CURRENT", "links": [] }] }))
}
