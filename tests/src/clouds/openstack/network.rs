//! Neutron: what every kind of its objects has in common. What is particular to one is in a file of its own.

mod floating;
mod groups;
mod objects;
mod ports;
mod routers;
mod tags;

use http::Method;
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::errors::{self, Refused, parsed};
use super::kind::Kind;
use super::listing::Listing;
use super::service::Service;
use super::world::{World, text};

use self::objects::{found, is_for_all, no_path, not_found, presented};

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

fn page(world: &World, request: &Recorded, kind: Kind) -> Result<Answer, Refused> {
    let listing = Listing::new(request, world.behaviour.largest_page);
    let late = world.behaviour.floating_ips_late_by;
    let listed = |object: &&Value| {
        let id = text(object, "id");
        let fresh = kind == Kind::FloatingIp && world.made(id).is_some_and(|made| made + late > world.time());
        !fresh && (text(object, "project_id") == world.project || is_for_all(object))
    };
    let all = world.all(kind).filter(listed).filter(|it| listing.shows(it)).collect();
    let page = listing.page(all, |it| presented(world, kind, it));
    let (page, links) = page.map_err(|marker| not_found(kind, &marker))?;
    let mut body = json!({ kind.many(): page });
    if request.query_value("limit").is_some() {
        let next = links.next.map(|it| listing.link("next", Some(&it), None));
        // Neutron names a page before each, whether there is one or not.
        let previous = listing.link("previous", links.first.as_deref(), Some(("page_reverse", "True")));
        body[format!("{}_links", kind.many())] = next.into_iter().chain([previous]).collect();
    }
    Ok(Answer::ok(&body))
}

fn one(world: &World, request: &Recorded, kind: Kind, id: &str) -> Result<Answer, Refused> {
    let shown = presented(world, kind, found(world, kind, id)?);
    Ok(Answer::ok(&json!({ kind.one(): Listing::new(request, 1).fields(&shown) })))
}

fn kind(list: &str) -> Result<Kind, Refused> {
    Kind::listed(Service::Network, list).ok_or_else(no_path)
}

fn extension(alias: &str) -> Value {
    json!({ "alias": alias, "name": alias, "description": alias, "links": [], "updated": "2014-10-01T10:00:00-00:00" })
}

fn versions() -> Answer {
    Answer::ok(&json!({ "versions": [{ "id": "v2.0", "status": "CURRENT", "links": [] }] }))
}
