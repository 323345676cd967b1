//! Octavia: what all its objects have in common. How each is made and changed is in a file of its own.

mod create;
mod delete;
mod listeners;
mod members;
mod monitors;
mod objects;
mod pools;
mod presented;
mod values;

use http::Method;
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::errors::{self, Refused, parsed};
use super::kind::Kind;
use super::listing::Listing;
use super::service::Service;
use super::world::{World, text};

use self::objects::{found, no_path};

/// Answers a request whose path is this, below `/load-balancer`.
pub(super) fn answer(world: &mut World, request: &Recorded, path: &[&str]) -> Result<Answer, Refused> {
    let body = || -> Result<Value, Refused> { parsed(&request.body, Service::LoadBalancer) };
    let path = match path {
        [] | [""] if request.method == Method::GET => return Ok(versions(world, request)),
        ["v2.0", "lbaas", path @ ..] => path,
        _ => return Err(no_path()),
    };
    match (&request.method, path) {
        (&Method::GET, ["providers"]) => {
            let all = world.behaviour.drivers.iter().map(|it| json!({ "name": it, "description": it }));
            Ok(Answer::ok(&json!({ "providers": all.collect::<Vec<_>>() })))
        }
        (&Method::POST, ["loadbalancers"]) => create::create(world, &body()?),
        (&Method::PUT, ["loadbalancers", id]) => create::update(world, id, &body()?),
        (&Method::DELETE, ["loadbalancers", id]) => {
            delete::balancer(world, id, request.query_value("cascade") == Some("true"))
        }
        (&Method::GET, ["loadbalancers", id, "status" | "statuses"]) => status(world, id),
        (&Method::POST, ["listeners"]) => listeners::create(world, &body()?),
        (&Method::PUT, ["listeners", id]) => listeners::update(world, id, &body()?),
        (&Method::POST, ["pools"]) => pools::create(world, &body()?),
        (&Method::PUT, ["pools", id]) => pools::update(world, id, &body()?),
        (&Method::POST, ["healthmonitors"]) => monitors::create(world, &body()?),
        (&Method::PUT, ["healthmonitors", id]) => monitors::update(world, id, &body()?),
        (&Method::DELETE, ["listeners", id]) => delete::part(world, Kind::Listener, id),
        (&Method::DELETE, ["pools", id]) => delete::part(world, Kind::Pool, id),
        (&Method::DELETE, ["healthmonitors", id]) => delete::part(world, Kind::HealthMonitor, id),
        (&Method::GET, ["pools", id, "members"]) => {
            found(world, Kind::Pool, id)?;
            page(world, request, Kind::Member, |it| text(it, "_pool") == *id)
        }
        (&Method::POST, ["pools", id, "members"]) => members::add(world, id, &body()?),
        (&Method::PUT, ["pools", id, "members"]) => {
            members::replace(world, id, &body()?, request.query_value("additive_only").is_some_and(|it| it != "false"))
        }
        (method, ["pools", id, "members", member]) => {
            found(world, Kind::Pool, id)?;
            match *method {
                Method::GET => one(world, request, Kind::Member, member),
                Method::PUT => members::update(world, member, &body()?),
                Method::DELETE => delete::part(world, Kind::Member, member),
                _ => Err(no_path()),
            }
        }
        (&Method::GET, [list]) => page(world, request, kind(list)?, |_| true),
        (&Method::GET, [list, id]) => one(world, request, kind(list)?, id),
        _ => Err(no_path()),
    }
}

fn page(world: &mut World, request: &Recorded, kind: Kind, which: impl Fn(&Value) -> bool) -> Result<Answer, Refused> {
    let most = world.behaviour.largest_page;
    let listing = Listing::new(request, most).always_paged(most);
    let late = world.behaviour.lists_late_by;
    let listed = |object: &&Value| {
        let fresh =
            kind == Kind::LoadBalancer && world.made(text(object, "id")).is_some_and(|made| made + late > world.time());
        let for_all = matches!(kind, Kind::LoadBalancerFlavor | Kind::AvailabilityZone);
        !fresh && (for_all || text(object, "project_id") == world.project) && which(object)
    };
    let all = world.all(kind).filter(listed).map(|it| presented::one(world, kind, it)).filter(|it| listing.shows(it));
    let all: Vec<Value> = all.collect();
    let page = listing.page(all.iter().collect(), Value::clone);
    let (page, links) =
        page.map_err(|marker| errors::octavia(404, &format!("{} {marker} not found.", kind.called())))?;
    if kind == Kind::LoadBalancer {
        page.iter().for_each(|it| world.count_read(text(it, "id")));
    }
    let next = links.next.map(|it| listing.link("next", Some(&it), None));
    let previous = links.previous.map(|it| listing.link("previous", Some(&it), Some(("page_reverse", "True"))));
    let links: Vec<Value> = next.into_iter().chain(previous).collect();
    Ok(Answer::ok(&json!({ kind.many(): page, format!("{}_links", kind.many()): links })))
}

fn one(world: &mut World, request: &Recorded, kind: Kind, id: &str) -> Result<Answer, Refused> {
    let shown = presented::one(world, kind, found(world, kind, id)?);
    if kind == Kind::LoadBalancer {
        world.count_read(id);
    }
    Ok(Answer::ok(&json!({ kind.one(): Listing::new(request, 1).fields(&shown) })))
}

fn status(world: &mut World, id: &str) -> Result<Answer, Refused> {
    let tree = presented::tree(world, found(world, Kind::LoadBalancer, id)?);
    world.count_read(id);
    Ok(Answer::ok(&json!({ "statuses": { "loadbalancer": tree } })))
}

fn kind(list: &str) -> Result<Kind, Refused> {
    Kind::listed(Service::LoadBalancer, list).ok_or_else(no_path)
}

/// The versions: the last one is the current one.
fn versions(world: &World, request: &Recorded) -> Answer {
    let host = request.headers.get("host").and_then(|it| it.to_str().ok()).unwrap_or("localhost");
    let links = json!([{ "href": format!("https://{host}/load-balancer/v2"), "rel": "self" }]);
    let last = world.behaviour.octavia;
    let one = |minor: usize| {
        let status = if minor == last { "CURRENT" } else { "SUPPORTED" };
        json!({ "id": format!("v2.{minor}"), "status": status, "updated": "2026-01-01T00:00:00Z", "links": links })
    };
    Answer::ok(&json!({ "versions": (0..=last).map(one).collect::<Vec<_>>() }))
}
