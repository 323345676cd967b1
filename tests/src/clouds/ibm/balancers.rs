//! Load balancers: each takes one change at a time.

use http::Method;
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::errors::{Refused, bad_field, busy, not_found, taken};
use super::kind::VpcKind;
use super::values::{parsed, text};
use super::world::World;
use super::{creation, etags, listing, parts, presented, values};

/// Answers a request whose path is this, below `/v1/load_balancers`.
pub(super) fn answer(world: &mut World, request: &Recorded, path: &[&str]) -> Result<Answer, Refused> {
    match (&request.method, path) {
        (&Method::GET, []) => list(world, request),
        (&Method::POST, []) => {
            let id = creation::create(world, &parsed(request)?)?;
            let mut answer = shown(world, &id)?;
            answer.status = http::StatusCode::CREATED;
            Ok(answer)
        }
        (&Method::GET, [id]) => {
            world.count_read(id);
            shown(world, id)
        }
        (&Method::PATCH, [id]) => change(world, request, id),
        (&Method::DELETE, [id]) => delete(world, id),
        (&Method::GET, [id, path @ ..]) => {
            found(world, id)?;
            parts::read(world, id, path)
        }
        (method, [id, path @ ..]) => {
            changeable(world, id)?;
            let answer = parts::change(world, method, id, path, request)?;
            let taking = world.behaviour.change;
            world.begin(id, "update_pending", taking);
            Ok(answer)
        }
        _ => Err(not_found("The path", &request.path)),
    }
}

/// The list. New ones may come into it late.
fn list(world: &mut World, request: &Recorded) -> Result<Answer, Refused> {
    let page = listing::page(world, request, VpcKind::LoadBalancer, |it| world.is_listed(it))?;
    let ids: Vec<String> = world.all(VpcKind::LoadBalancer).map(|it| text(it, "id").to_owned()).collect();
    ids.iter().for_each(|id| world.count_read(id));
    Ok(page)
}

/// One, with the mark of what it is like.
fn shown(world: &World, id: &str) -> Result<Answer, Refused> {
    let found = found(world, id)?;
    let mut answer = Answer::ok(&presented::one(world, VpcKind::LoadBalancer, found));
    answer.set("etag", &etags::etag(found));
    Ok(answer)
}

fn found<'a>(world: &'a World, id: &str) -> Result<&'a Value, Refused> {
    world.get(VpcKind::LoadBalancer, id).ok_or_else(|| not_found("The load balancer", id))
}

/// Refuses a change of one that is not active.
fn changeable(world: &World, id: &str) -> Result<(), Refused> {
    match text(found(world, id)?, "provisioning_status") {
        "active" => Ok(()),
        status => Err(busy(id, status)),
    }
}

/// A change of the load balancer itself: its name, and its subnets.
fn change(world: &mut World, request: &Recorded, id: &str) -> Result<Answer, Refused> {
    changeable(world, id)?;
    let patch = parsed(request)?;
    let live = found(world, id)?.clone();
    etags::check(request, &patch, &live)?;
    if let Some(name) = patch["name"].as_str() {
        let name = values::name("name", name)?;
        let vpc = creation::vpc_of(world, &live["subnets"]).unwrap_or_default();
        if creation::is_taken(world, &vpc, &name, Some(id)) {
            return Err(taken("A load balancer", &name));
        }
        if let Some(it) = world.get_mut(VpcKind::LoadBalancer, id) {
            it["name"] = json!(name);
        }
    }
    if patch["subnets"].is_array() {
        let subnets = creation::subnets(world, &patch["subnets"])?;
        if creation::vpc_of(world, &json!(subnets)) != creation::vpc_of(world, &live["subnets"]) {
            return Err(bad_field("subnets", "they are in another VPC"));
        }
        if let Some(it) = world.get_mut(VpcKind::LoadBalancer, id) {
            it["subnets"] = json!(subnets);
        }
    }
    let taking = world.behaviour.change;
    world.begin(id, "update_pending", taking);
    shown(world, id)
}

/// A deletion is refused only while another one goes on.
fn delete(world: &mut World, id: &str) -> Result<Answer, Refused> {
    if text(found(world, id)?, "provisioning_status") == "delete_pending" {
        return Err(busy(id, "delete_pending"));
    }
    let taking = world.behaviour.creation;
    world.begin(id, "delete_pending", taking);
    let mut answer = Answer::no_content();
    answer.status = http::StatusCode::ACCEPTED;
    Ok(answer)
}
