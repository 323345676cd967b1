//! Methods of Compute Engine: what every collection has in common. What is particular to one is in `rules`.

use http::Method;
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::called::{Called, parsed};
use super::collection::{Collection, Reach};
use super::errors::{self, Refusal};
use super::listing;
use super::ongoing::Stored;
use super::operations::{self, Begun};
use super::partial::Fields;
use super::place::{Place, Scope, link};
use super::presented::shown;
use super::rules;
use super::world::{World, text};

/// Answers a request whose path is this, below `/compute/v1`.
pub(super) fn answer(world: &mut World, request: &Recorded, path: &[&str]) -> Result<Answer, Refusal> {
    let fields = request.query_value("fields").map(Fields::parse).transpose()?.unwrap_or_default();
    let ["projects", project, rest @ ..] = path else { return Err(errors::not_found(&path.join("/"))) };
    if world.behaviour.disabled.contains(*project) {
        return Err(errors::not_enabled(project));
    }
    if !world.projects.contains_key(*project) {
        return Err(errors::not_found(&format!("projects/{project}")));
    }
    let body = match (&request.method, rest) {
        (&Method::GET, []) => whole_project(world, project),
        (&Method::GET, ["aggregated", list]) => listing::aggregated(world, request, project, list)?,
        (&Method::GET, ["regions"]) => {
            let all = world.regions.keys().map(|it| region(world, project, it)).collect();
            listing::fixed(world, request, &format!("projects/{project}/regions"), "region", all)?
        }
        (&Method::GET, ["zones"]) => {
            let all = world.regions.values().flatten().map(|it| zone(world, project, it)).collect();
            listing::fixed(world, request, &format!("projects/{project}/zones"), "zone", all)?
        }
        (&Method::GET, ["regions", name]) if world.has(&Scope::Region((*name).to_owned())) => {
            region(world, project, name)
        }
        (&Method::GET, ["zones", name]) if world.has(&Scope::Zone((*name).to_owned())) => zone(world, project, name),
        (_, [kind @ ("regions" | "zones"), name, rest @ ..]) => {
            let scope = if *kind == "zones" { Scope::Zone } else { Scope::Region }((*name).to_owned());
            if !world.has(&scope) {
                return Err(errors::invalid(&kind[..kind.len() - 1], name, "Unknown zone or region."));
            }
            return placed(world, request, &Place::new(project, scope), rest, &fields);
        }
        (_, ["global", rest @ ..]) => return placed(world, request, &Place::global(project), rest, &fields),
        _ => return Err(errors::not_found(&path.join("/"))),
    };
    Ok(Answer::ok(&fields.of(&body)))
}

/// `GET …/operations`: each that the answer shows was read, as by its name.
fn list_operations(world: &mut World, request: &Recorded, place: &Place) -> Result<Value, Refusal> {
    let page = listing::one_place(world, request, place, "operations")?;
    for it in page["items"].as_array().into_iter().flatten() {
        world.count_read(&format!("{place}/operations/{}", text(it, "name")));
    }
    world.end_due();
    listing::one_place(world, request, place, "operations")
}

fn placed(
    world: &mut World,
    request: &Recorded,
    place: &Place,
    path: &[&str],
    fields: &Fields,
) -> Result<Answer, Refusal> {
    let body = match (&request.method, path) {
        (&Method::GET, ["operations"]) => list_operations(world, request, place)?,
        (_, ["operations", rest @ ..]) => operations::answer(world, request, place, rest)?,
        (&Method::GET, [list]) => listing::one_place(world, request, place, known(place, list)?.many())?,
        (&Method::GET, [list, name]) => one(world, place, known(place, list)?, name)?,
        (&Method::POST, ["instanceGroups", name, "listInstances"]) => {
            let path = place.path(Collection::InstanceGroups, name);
            rules::list_members(world, request, &path)?
        }
        (_, [list, rest @ ..]) => {
            let collection = known(place, list)?;
            let answer = write(world, request, place, collection, rest)?;
            let body: Value = serde_json::from_slice(&answer.body).expect("the simulator's answers are JSON");
            return Ok(Answer { body: fields.of(&body).to_string().into_bytes(), ..answer });
        }
        _ => return Err(errors::not_found(&format!("{place}/{}", path.join("/")))),
    };
    Ok(Answer::ok(&fields.of(&body)))
}

fn known(place: &Place, list: &str) -> Result<Collection, Refusal> {
    let fits = |collection: &Collection| {
        matches!(
            (collection.reach(), &place.scope),
            (Reach::Global, Scope::Global) | (Reach::Regional, Scope::Region(_)) | (Reach::Zonal, Scope::Zone(_))
        )
    };
    Collection::named(list).filter(fits).ok_or_else(|| errors::not_found(&format!("{place}/{list}")))
}

fn one(world: &mut World, place: &Place, collection: Collection, name: &str) -> Result<Value, Refusal> {
    if let Scope::Zone(zone) = &place.scope
        && world.behaviour.unreachable.contains(zone)
    {
        return Err(errors::unreachable(zone));
    }
    let path = place.path(collection, name);
    let is_late = world.made(&path).is_some_and(|made| made + world.behaviour.reads_late_by > world.time());
    let found = world.get(&path).filter(|_| !is_late).map(|it| shown(world, &path, it));
    world.count_read(&path);
    found.ok_or_else(|| errors::not_found(&path))
}

/// A method that changes something. A request with an id that began an operation is answered with it.
fn write(
    world: &mut World,
    request: &Recorded,
    place: &Place,
    collection: Collection,
    path: &[&str],
) -> Result<Answer, Refusal> {
    let line = format!("{} {}", request.method, request.path);
    let id = request.query_value("requestId");
    if let Some(id) = id {
        match uuid::Uuid::parse_str(id) {
            Ok(it) if !it.is_nil() => {}
            _ => return Err(errors::invalid("requestId", id, "Must be a UUID that is not zero.")),
        }
        match world.asked.get(id) {
            Some((asked, operation)) if *asked == line => {
                return Ok(Answer::ok(&world.operations[operation].body));
            }
            Some(_) => return Err(errors::invalid("requestId", id, "It was used for another request.")),
            None => {}
        }
    }
    if world.behaviour.read_only.contains(&(place.project.clone(), collection)) {
        let named = place.path(collection, path.first().unwrap_or(&""));
        return Err(errors::forbidden(&format!("{}.{}", collection.many(), verb(request, path)), &named));
    }
    let answer = match (&request.method, path) {
        (&Method::POST, []) => insert(world, request, place, collection)?,
        (_, [name, rest @ ..]) => change(world, &Called { request, place, collection, name }, rest)?,
        _ => return Err(errors::not_found(&format!("{place}/{}", collection.many()))),
    };
    if let Some(id) = id {
        let body: Value = serde_json::from_slice(&answer.body).expect("the simulator's answers are JSON");
        let operation = format!("{place}/operations/{}", text(&body, "name"));
        world.ask(&operation, id);
        let answer = Answer::ok(&world.operations[&operation].body);
        world.asked.insert(id.to_owned(), (line, operation));
        return Ok(answer);
    }
    Ok(answer)
}

fn verb<'a>(request: &Recorded, path: &[&'a str]) -> &'a str {
    match (&request.method, path) {
        (_, [_, verb]) => verb,
        (&Method::DELETE, _) => "delete",
        (&Method::POST, _) => "create",
        _ => "update",
    }
}

fn insert(world: &mut World, request: &Recorded, place: &Place, collection: Collection) -> Result<Answer, Refusal> {
    let mut body = parsed(request)?;
    let name = text(&body, "name").to_owned();
    check_name(&name)?;
    let path = place.path(collection, &name);
    if world.get(&path).is_some() {
        return Err(errors::taken(&path));
    }
    let prepared = allowed(world, place, collection).and_then(|()| rules::prepare(world, place, collection, &mut body));
    let begun = |before, failure| Begun { place, verb: "insert", target: &path, before, failure };
    match later(world, prepared)? {
        Some(failure) => Ok(world.begin(begun(Vec::new(), Some(failure)))),
        None => {
            world.insert(place, collection, body);
            Ok(world.begin(begun(vec![(path.clone(), None)], None)))
        }
    }
}

fn change(world: &mut World, called: &Called<'_>, rest: &[&str]) -> Result<Answer, Refusal> {
    let path = called.path();
    let before = world.stored(&path).ok_or_else(|| errors::not_found(&path))?;
    if world.is_busy(&path) {
        // Whoever asks for a change has looked at it, too.
        world.count_read(&path);
        return Err(errors::not_ready(&path));
    }
    let verb = match (&called.request.method, rest) {
        (&Method::DELETE, []) => "delete",
        (&Method::PATCH, []) => "patch",
        (&Method::PUT, []) => "update",
        (&Method::POST, [verb]) => verb,
        _ => return Err(errors::not_found(&path)),
    };
    let done = match verb {
        "delete" => rules::use_of(world, &path).map_or(Ok(()), |by| Err(errors::in_use(&path, &by))),
        "patch" | "update" => edit(world, called, &before, verb == "patch"),
        verb => rules::call(world, called, verb),
    };
    let failure = later(world, done)?;
    if verb != "delete" && failure.is_none() {
        world.mark(&path);
    }
    let before = vec![(path.clone(), Some(before))];
    Ok(world.begin(Begun { place: called.place, verb, target: &path, before, failure }))
}

/// A refusal that the operation tells, where it is one of those.
fn later(world: &World, done: Result<(), Refusal>) -> Result<Option<Refusal>, Refusal> {
    match done {
        Ok(()) => Ok(None),
        Err(refusal) if world.behaviour.refuses_in_operations && refusal.code.is_some() => Ok(Some(refusal)),
        Err(refusal) => Err(refusal),
    }
}

/// Changes fields of a resource, or all of them.
fn edit(world: &mut World, called: &Called<'_>, before: &Stored, is_patch: bool) -> Result<(), Refusal> {
    let asked = parsed(called.request)?;
    let earlier = &before.body;
    check_fingerprint(called.collection, earlier, &asked)?;
    let mut body = if is_patch { earlier.clone() } else { json!({}) };
    for (key, value) in asked.as_object().into_iter().flatten() {
        if is_patch && value.is_null() {
            body.as_object_mut().map(|it| it.remove(key));
        } else {
            body[key] = value.clone();
        }
    }
    if text(&body, "name") != called.name {
        body["name"] = earlier["name"].clone();
    }
    rules::check_change(called.collection, earlier, &body)?;
    rules::prepare(world, called.place, called.collection, &mut body)?;
    for kept in ["id", "kind", "selfLink", "creationTimestamp", "region", "zone", "fingerprint", "labelFingerprint"] {
        if let Some(value) = earlier.get(kept) {
            body[kept] = value.clone();
        }
    }
    if let Some(it) = world.get_mut(&called.path()) {
        *it = body;
    }
    Ok(())
}

/// Whether a change names the state that it knows. Backend services insist on it.
fn check_fingerprint(collection: Collection, earlier: &Value, asked: &Value) -> Result<(), Refusal> {
    let known = asked.get("fingerprint").filter(|_| collection.has_fingerprint());
    match known {
        Some(it) if *it != earlier["fingerprint"] => Err(errors::stale("Invalid fingerprint")),
        None if collection == Collection::BackendServices => Err(errors::stale("Required fingerprint is missing")),
        _ => Ok(()),
    }
}

fn allowed(world: &World, place: &Place, collection: Collection) -> Result<(), Refusal> {
    let Some(limit) = world.behaviour.quotas.get(&collection) else { return Ok(()) };
    let project = format!("projects/{}/", place.project);
    let count = world.all(collection).filter(|(path, _)| path.starts_with(&project)).count();
    if count < *limit { Ok(()) } else { Err(errors::over_quota(collection, *limit, place)) }
}

/// Names are RFC 1035's.
fn check_name(name: &str) -> Result<(), Refusal> {
    if name.is_empty() {
        return Err(errors::required("resource.name"));
    }
    let is_allowed = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
    let begins = name.starts_with(|it: char| it.is_ascii_lowercase()) && !name.ends_with('-');
    if begins && name.len() <= 63 && name.bytes().all(is_allowed) {
        return Ok(());
    }
    let why = "Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'";
    Err(errors::invalid("resource.name", name, why))
}

fn whole_project(world: &World, project: &str) -> Value {
    json!({
        "kind": "compute#project", "id": world.projects[project].to_string(), "name": project,
        "selfLink": link(&format!("projects/{project}")), "defaultNetworkTier": "PREMIUM",
    })
}

fn region(world: &World, project: &str, name: &str) -> Value {
    let zones = world.regions[name].iter().map(|it| link(&format!("projects/{project}/zones/{it}")));
    json!({
        "kind": "compute#region", "id": number_of(name), "name": name, "status": "UP",
        "zones": zones.collect::<Vec<_>>(), "selfLink": link(&format!("projects/{project}/regions/{name}")),
    })
}

fn zone(world: &World, project: &str, name: &str) -> Value {
    let region = world.region_of(name).unwrap_or_default();
    json!({
        "kind": "compute#zone", "id": number_of(name), "name": name, "status": "UP",
        "region": link(&format!("projects/{project}/regions/{region}")),
        "selfLink": link(&format!("projects/{project}/zones/{name}")),
    })
}

fn number_of(name: &str) -> String {
    name.bytes().fold(1_000_u64, |sum, it| sum.wrapping_mul(31) % 1_000_000_007 + u64::from(it)).to_string()
}
