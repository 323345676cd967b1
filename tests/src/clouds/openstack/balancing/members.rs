//! Members of Octavia's pools: an address and a port is a member.

use std::collections::{HashMap, HashSet};

use http::StatusCode;
use serde_json::{Value, json};

use crate::simulator::Answer;

use super::objects::{begin, claimed, found, over_quota, unsupported, wanted, write};
use super::presented;
use super::values::{fields, number, over};
use crate::clouds::openstack::errors::{self, Refused};
use crate::clouds::openstack::kind::Kind;
use crate::clouds::openstack::world::{World, text};

/// `POST /pools/{id}/members`.
pub(super) fn add(world: &mut World, pool: &str, body: &Value) -> Result<Answer, Refused> {
    let asked = wanted(body, Kind::Member)?;
    found(world, Kind::Pool, pool)?;
    check(world, asked)?;
    let balancer = claimed(world, Kind::Pool, pool)?;
    if existing(world, pool).contains_key(&place(asked)) {
        let message = format!(
            "Another member on this pool is already using ip {} on protocol_port {}",
            text(asked, "address"),
            asked["protocol_port"]
        );
        return Err(errors::octavia(409, &message));
    }
    if !world.allows(Kind::Member, 1) {
        return Err(over_quota(Kind::Member));
    }
    let id = insert(world, &balancer, pool, asked);
    begin(world, &balancer, Some(pool), None);
    let made = found(world, Kind::Member, &id)?;
    Ok(Answer::created(&json!({ "member": presented::one(world, Kind::Member, made) })))
}

/// `PUT /pools/{id}/members`: these and no others, or these beside the others.
pub(super) fn replace(world: &mut World, pool: &str, body: &Value, beside: bool) -> Result<Answer, Refused> {
    let balancer_of = |world: &World| found(world, Kind::Pool, pool).map(|it| text(it, "_balancer").to_owned());
    let balancer = balancer_of(world)?;
    if !world.behaviour.batches {
        let driver = world.get(Kind::LoadBalancer, &balancer).map_or("", |it| text(it, "provider"));
        return Err(unsupported(driver));
    }
    let empty = Vec::new();
    let wanted = body["members"].as_array().unwrap_or(&empty);
    let mut seen = HashSet::new();
    for member in wanted {
        check(world, member)?;
        if !seen.insert(place(member)) {
            return Err(errors::octavia_validation("Member must be updated only once in the same request."));
        }
    }
    let balancer = claimed(world, Kind::Pool, pool)?;
    let existing = existing(world, pool);
    let fresh = wanted.iter().filter(|it| !existing.contains_key(&place(it))).count();
    if !world.allows(Kind::Member, fresh) {
        return Err(over_quota(Kind::Member));
    }
    if !beside {
        for id in existing.iter().filter(|(place, _)| !seen.contains(place)).map(|(_, id)| id) {
            world.set_status(Kind::Member, id, "PENDING_DELETE");
        }
    }
    for member in wanted {
        match existing.get(&place(member)) {
            // A field that is not said is set back.
            Some(id) => {
                let member = over(
                    json!({ "weight": 1, "backup": false, "monitor_address": null, "monitor_port": null }),
                    changes(member),
                );
                drop(write(world, Kind::Member, id, fields(&member, &[]))?);
            }
            None => drop(insert(world, &balancer, pool, member)),
        }
    }
    begin(world, &balancer, Some(pool), None);
    let mut accepted = Answer::no_content();
    accepted.status = StatusCode::ACCEPTED;
    Ok(accepted)
}

/// `PUT /pools/{id}/members/{member}`.
pub(super) fn update(world: &mut World, id: &str, body: &Value) -> Result<Answer, Refused> {
    let asked = wanted(body, Kind::Member)?;
    let pool = text(found(world, Kind::Member, id)?, "_pool").to_owned();
    check(world, asked)?;
    let balancer = claimed(world, Kind::Member, id)?;
    let answer = write(world, Kind::Member, id, changes(asked))?;
    begin(world, &balancer, Some(&pool), None);
    Ok(answer)
}

/// Adds a member to a pool that is claimed. Answers its id.
pub(super) fn insert(world: &mut World, balancer: &str, pool: &str, asked: &Value) -> String {
    let stamp = world.stamp();
    let defaults = json!({
        "name": "", "operating_status": "NO_MONITOR", "provisioning_status": "PENDING_CREATE", "admin_state_up": true,
        "weight": 1, "backup": false, "subnet_id": null, "created_at": stamp, "updated_at": null, "monitor_address": null,
        "monitor_port": null, "tags": [], "vnic_type": "normal", "_pool": pool, "_balancer": balancer,
    });
    world.insert(Kind::Member, over(defaults, fields(asked, &[])))
}

/// Refuses values that no member has.
pub(super) fn check(world: &World, asked: &Value) -> Result<(), Refused> {
    number(asked, "protocol_port", (1, 65_535))?;
    number(asked, "monitor_port", (1, 65_535))?;
    number(asked, "weight", (0, 256))?;
    match asked["subnet_id"].as_str() {
        Some(subnet) if world.get(Kind::Subnet, subnet).is_none() => {
            Err(errors::octavia(400, &format!("Subnet {subnet} not found.")))
        }
        _ => Ok(()),
    }
}

/// The fields that a request changes: where a member is, it stays.
fn changes(asked: &Value) -> Vec<(String, Value)> {
    fields(asked, &["address", "protocol_port", "subnet_id"])
}

/// The place of a member: an address and a port.
fn place(member: &Value) -> (String, Option<u64>) {
    (text(member, "address").to_owned(), member["protocol_port"].as_u64())
}

/// The ids of a pool's members by their places.
fn existing(world: &World, pool: &str) -> HashMap<(String, Option<u64>), String> {
    world.with(Kind::Member, "_pool", pool).map(|it| (place(it), text(it, "id").to_owned())).collect()
}
