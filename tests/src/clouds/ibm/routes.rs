//! Routing tables: each VPC has one by itself, whose entries count in one zone each; and what machines let through.

use std::net::Ipv4Addr;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::errors::{Refused, bad_field, not_found, over_quota, refused, taken};
use super::kind::VpcKind;
use super::region::usual_table;
use super::values::{is_address, name, number, parsed, text, word};
use super::world::World;
use super::{listing, presented};

/// The most entries of one zone, destination and priority: they share the traffic.
const MOST_ALIKE: usize = 2;
/// The priority of an entry that has none.
const USUAL_PRIORITY: u64 = 2;

/// Answers a request whose path is this, below the entries of a table.
pub(super) fn answer(
    world: &mut World,
    request: &Recorded,
    place: [&str; 2],
    path: &[&str],
) -> Result<Answer, Refused> {
    let [vpc, table] = place;
    world.get(VpcKind::Vpc, vpc).ok_or_else(|| not_found("The VPC", vpc))?;
    if table != usual_table(vpc) {
        return Err(not_found("The routing table", table));
    }
    match (&request.method, path) {
        (&Method::GET, []) => {
            let is_of_table = |it: &Value| text(it, "table") == table;
            let list = format!("vpcs/{vpc}/routing_tables/{table}/routes");
            let page = listing::page_at(world, request, VpcKind::Route, &list, is_of_table);
            let ids: Vec<String> =
                world.of(VpcKind::Route, "table", table).into_iter().map(|it| text(it, "id").to_owned()).collect();
            ids.iter().for_each(|it| world.count_read(it));
            page
        }
        (&Method::POST, []) => {
            let id = create(world, vpc, table, &parsed(request)?)?;
            shown(world, table, &id, StatusCode::CREATED)
        }
        (&Method::GET, [id]) => {
            world.count_read(id);
            shown(world, table, id, StatusCode::OK)
        }
        (&Method::PATCH, [id]) => {
            change(world, table, id, &parsed(request)?)?;
            shown(world, table, id, StatusCode::OK)
        }
        (&Method::DELETE, [id]) => {
            changeable(world, table, id)?;
            world.begin_route_deletion(id);
            Ok(Answer::no_content())
        }
        _ => Err(not_found("The path", &request.path)),
    }
}

/// Changes what the primary interface of a machine lets through: of the kind that is an object of its own, or of the other one.
pub(super) fn change_interface(
    world: &mut World,
    request: &Recorded,
    machine: Option<&str>,
    interface: &str,
) -> Result<Answer, Refused> {
    let patch = parsed(request)?;
    let is_attached = machine.is_none();
    let is_named = |shown: &&Value| {
        text(shown, "nic") == interface
            && machine.is_none_or(|machine| text(shown, "id") == machine)
            && shown["is_attached"].as_bool().unwrap_or_default() == is_attached
    };
    let found = world.all(VpcKind::Instance).find(is_named).map(|it| text(it, "id").to_owned());
    let id = found.ok_or_else(|| not_found("The interface", interface))?;
    let Some(it) = world.get_mut(VpcKind::Instance, &id) else { return Err(not_found("The instance", &id)) };
    if let Some(allows) = patch["allow_ip_spoofing"].as_bool() {
        it["allow_ip_spoofing"] = json!(allows);
    }
    let it = it.clone();
    Ok(Answer::ok(&presented::changed_interface(world, &it)))
}

fn create(world: &mut World, vpc: &str, table: &str, body: &Value) -> Result<String, Refused> {
    let own = match body["name"].as_str() {
        Some(text) => name("name", text)?,
        None => format!("route-{}", world.next()),
    };
    let zone = text(&body["zone"], "name").to_owned();
    let zones: Vec<&str> = world.of(VpcKind::Subnet, "vpc", vpc).into_iter().map(|it| text(it, "zone")).collect();
    if !zones.contains(&zone.as_str()) {
        return Err(not_found("The zone", &zone));
    }
    let action = body["action"].as_str().unwrap_or("deliver");
    word(&json!({ "action": action }), "action", &["delegate", "delegate_vpc", "deliver", "drop"])?;
    let hop = body["next_hop"]["address"].as_str().unwrap_or("0.0.0.0");
    if (action == "deliver") != is_address(hop) {
        return Err(bad_field("next_hop.address", hop));
    }
    let destination = destination(text(body, "destination"))?;
    let priority = match body["priority"].is_null() {
        true => USUAL_PRIORITY,
        false => number(body, "priority", 0, 4)?,
    };
    if own.starts_with("ibm-") {
        return Err(bad_field("name", "it is reserved"));
    }
    let there = world.of(VpcKind::Route, "table", table);
    if there.iter().any(|it| text(it, "name") == own) {
        return Err(taken("A route", &own));
    }
    if let Some(limit) = world.behaviour.quotas.get(&VpcKind::Route).copied()
        && there.len() >= limit
    {
        return Err(over_quota("routes of a table", limit));
    }
    let alike = there.iter().filter(|route| {
        text(route, "zone") == zone && text(route, "destination") == destination && route["priority"] == json!(priority)
    });
    let alike: Vec<&&Value> = alike.collect();
    // An action that is no delivery has no second one beside it.
    let shares = alike.iter().all(|it| text(it, "action") == "deliver") && action == "deliver";
    if alike.len() >= MOST_ALIKE || (!alike.is_empty() && !shares) {
        return Err(refused(
            409,
            "route_destination_conflict",
            &format!("{destination} has its routes in zone {zone}"),
        ));
    }
    Ok(world.insert(
        VpcKind::Route,
        json!({
            "vpc": vpc, "table": table, "name": own, "destination": destination, "zone": zone, "action": action, "hop": hop,
            "priority": priority, "origin": "user",
        }),
    ))
}

/// An IPv4 network without host bits.
pub(super) fn destination(text: &str) -> Result<String, Refused> {
    let parsed = text.split_once('/').and_then(|(address, bits)| {
        let (address, bits): (Ipv4Addr, u32) = (address.parse().ok()?, bits.parse().ok()?);
        let host = u32::MAX.checked_shr(bits).filter(|_| bits < 32).unwrap_or(0);
        (bits <= 32 && address.to_bits() & host == 0).then(|| text.to_owned())
    });
    parsed.ok_or_else(|| bad_field("destination", &format!("{text:?} is no network")))
}

fn change(world: &mut World, table: &str, id: &str, patch: &Value) -> Result<(), Refused> {
    let mut live = changeable(world, table, id)?.clone();
    if let Some(hop) = patch["next_hop"]["address"].as_str() {
        if !is_address(hop) || text(&live, "action") != "deliver" {
            return Err(bad_field("next_hop.address", hop));
        }
        live["hop"] = json!(hop);
    }
    if let Some(own) = patch["name"].as_str() {
        let own = name("name", own)?;
        let others = world.of(VpcKind::Route, "table", table);
        if others.iter().any(|it| text(it, "name") == own && text(it, "id") != id) {
            return Err(taken("A route", &own));
        }
        live["name"] = json!(own);
    }
    if !patch["priority"].is_null() {
        live["priority"] = json!(number(patch, "priority", 0, 4)?);
    }
    if let Some(it) = world.get_mut(VpcKind::Route, id) {
        *it = live;
    }
    Ok(())
}

fn found<'a>(world: &'a World, table: &str, id: &str) -> Result<&'a Value, Refused> {
    world.get(VpcKind::Route, id).filter(|it| text(it, "table") == table).ok_or_else(|| not_found("The route", id))
}

/// Refuses a change of an entry that is being deleted.
fn changeable<'a>(world: &'a World, table: &str, id: &str) -> Result<&'a Value, Refused> {
    let live = found(world, table, id)?;
    match text(live, "lifecycle") {
        "deleting" => Err(refused(409, "conflict", &format!("The route {id} is being deleted"))),
        _ => Ok(live),
    }
}

fn shown(world: &World, table: &str, id: &str, status: StatusCode) -> Result<Answer, Refused> {
    let mut answer = Answer::ok(&presented::one(world, VpcKind::Route, found(world, table, id)?));
    answer.status = status;
    Ok(answer)
}
