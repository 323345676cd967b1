//! Octavia: what all its objects have in common. How each is made and changed is in a file of its own.

mod create;
mod delete;
mod listeners;
mod members;
mod monitors;
mod pools;
mod presented;
mod values;

use http::Method;
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::errors::{self, Refused, parsed, under};
use super::kind::Kind;
use super::listing::Listing;
use super::pending::is_pending;
use super::service::Service;
use super::world::{World, text};

/// Answers a request whose path is this, below `/load-balancer`.
pub(super) fn answer(world: &mut World, request: &Recorded, path: &[&str]) -> Result<Answer, Refused> {
    let body = || -> Result<Value, Refused> { parsed(&request.body, Service::LoadBalancer) };
    let path = match path {
        [] | [""] if request.method == Method::GET => return Ok(versions(world)),
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

/// An object of whoever asks.
fn found<'a>(world: &'a World, kind: Kind, id: &str) -> Result<&'a Value, Refused> {
    let for_all = matches!(kind, Kind::LoadBalancerFlavor | Kind::AvailabilityZone);
    let found = world.get(kind, id).filter(|it| for_all || text(it, "project_id") == world.project);
    let spelled = match kind {
        Kind::HealthMonitor => "Health Monitor",
        other => other.called(),
    };
    found.ok_or_else(|| errors::octavia(404, &format!("{spelled} {id} not found.")))
}

/// Claims an object for a change: it, whatever is around it, and the load balancer must be at rest. Answers the load balancer's id.
fn claimed(world: &World, kind: Kind, id: &str) -> Result<String, Refused> {
    let object = found(world, kind, id)?;
    if is_pending(object) {
        return Err(errors::immutable(kind.called(), id));
    }
    let around = match kind {
        Kind::Member | Kind::HealthMonitor => Some(text(object, "_pool")),
        _ => None,
    };
    if let Some(pool) = around.and_then(|it| world.get(Kind::Pool, it)).filter(|it| is_pending(it)) {
        return Err(errors::immutable("Pool", text(pool, "id")));
    }
    let balancer = if kind == Kind::LoadBalancer { id } else { text(object, "_balancer") };
    let mutable = ["ACTIVE", "ERROR"];
    let whole = found(world, Kind::LoadBalancer, balancer)?;
    if kind != Kind::LoadBalancer && text(whole, "provisioning_status") == "ERROR" || is_pending(whole) {
        return Err(errors::immutable("Load Balancer", balancer));
    }
    debug_assert!(mutable.contains(&text(whole, "provisioning_status")));
    Ok(balancer.to_owned())
}

/// Lets what is around a part change with it, and its load balancer. The part has its status already.
fn begin(world: &mut World, balancer: &str, pool: Option<&str>, listener: Option<&str>) {
    let mut listeners: Vec<String> = listener.map(str::to_owned).into_iter().collect();
    if let Some(pool) = pool {
        listeners.extend(world.ids(Kind::Listener, |it| text(it, "default_pool_id") == pool));
        touch(world, Kind::Pool, pool);
    }
    listeners.iter().for_each(|id| touch(world, Kind::Listener, id));
    world.begin(balancer, "PENDING_UPDATE");
}

fn touch(world: &mut World, kind: Kind, id: &str) {
    if world.get(kind, id).is_some_and(|it| !is_pending(it)) {
        world.set_status(kind, id, "PENDING_UPDATE");
    }
}

/// Writes fields of an object that changes. Answers it.
fn write(world: &mut World, kind: Kind, id: &str, fields: Vec<(String, Value)>) -> Result<Answer, Refused> {
    world.set_status(kind, id, "PENDING_UPDATE");
    if let Some(object) = world.get_mut(kind, id) {
        fields.into_iter().for_each(|(key, value)| object[key] = value);
    }
    Ok(Answer::ok(&json!({ kind.one(): presented::one(world, kind, found(world, kind, id)?) })))
}

fn page(world: &mut World, request: &Recorded, kind: Kind, which: impl Fn(&Value) -> bool) -> Result<Answer, Refused> {
    let most = world.behaviour.largest_page;
    let listing = Listing::new(request, most).always_paged(most);
    let late = world.behaviour.lists_late_by;
    let listed = |it: &&Value| {
        let fresh =
            kind == Kind::LoadBalancer && world.made(text(it, "id")).is_some_and(|made| made + late > world.time());
        let for_all = matches!(kind, Kind::LoadBalancerFlavor | Kind::AvailabilityZone);
        !fresh && (for_all || text(it, "project_id") == world.project) && which(it)
    };
    let all = world.all(kind).filter(listed).map(|it| presented::one(world, kind, it)).filter(|it| listing.shows(it));
    let page = listing.page(all.collect());
    let (page, links) =
        page.map_err(|marker| errors::octavia(404, &format!("{} {marker} not found.", kind.called())))?;
    if kind == Kind::LoadBalancer {
        page.iter().for_each(|it| world.count_read(text(it, "id")));
    }
    let next = links.next.map(|it| listing.link("next", &it, None));
    let previous = links.previous.map(|it| listing.link("previous", &it, Some(("page_reverse", "True"))));
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

fn no_path() -> Refused {
    errors::octavia(404, "The resource could not be found.")
}

fn wanted(body: &Value, kind: Kind) -> Result<&Value, Refused> {
    under(body, kind.one(), Service::LoadBalancer)
}

fn over_quota(kind: Kind) -> Refused {
    errors::octavia(403, &format!("Quota has been met for resources: {}", kind.called()))
}

fn unsupported(driver: &str) -> Refused {
    errors::octavia(
        501,
        &format!("Provider '{driver}' does not support a requested option: this driver makes one object at a time"),
    )
}

/// The versions: the last one is the current one.
fn versions(world: &World) -> Answer {
    let last = world.behaviour.octavia;
    let one = |minor: usize| {
        let status = if minor == last { "CURRENT" } else { "SUPPORTED" };
        json!({ "id": format!("v2.{minor}"), "status": status, "updated": "2026-01-01T00:00:00Z", "links": [] })
    };
    Answer::ok(&json!({ "versions": (0..=last).map(one).collect::<Vec<_>>() }))
}
