//! Listeners, pools and members of a load balancer.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::errors::{Refused, bad_field, not_found, over_quota, refused, taken};
use super::kind::VpcKind;
use super::values::{is_address, list, name, number, parsed, text, word};
use super::world::World;
use super::{etags, presented};

/// The most listeners, and pools, of a load balancer.
pub(super) const MOST: usize = 10;
/// The most members of a pool.
const MOST_MEMBERS: usize = 50;

/// Answers a GET of what is below a load balancer.
pub(super) fn read(world: &World, balancer: &str, path: &[&str]) -> Result<Answer, Refused> {
    match path {
        ["listeners"] => Ok(all(world, VpcKind::Listener, "balancer", balancer)),
        ["pools"] => Ok(all(world, VpcKind::Pool, "balancer", balancer)),
        ["listeners", id] => one(world, VpcKind::Listener, balancer, id),
        ["pools", id] => one(world, VpcKind::Pool, balancer, id),
        ["pools", pool, "members"] => {
            found(world, VpcKind::Pool, balancer, pool)?;
            Ok(all(world, VpcKind::Member, "pool", pool))
        }
        ["pools", pool, "members", id] => {
            found(world, VpcKind::Pool, balancer, pool)?;
            one(world, VpcKind::Member, balancer, id)
        }
        _ => Err(not_found("The path", &path.join("/"))),
    }
}

/// Changes what is below a load balancer that takes changes.
pub(super) fn change(
    world: &mut World,
    method: &Method,
    balancer: &str,
    path: &[&str],
    request: &Recorded,
) -> Result<Answer, Refused> {
    let live = world.get(VpcKind::LoadBalancer, balancer).ok_or_else(|| not_found("The load balancer", balancer))?;
    let family = text(live, "family").to_owned();
    let is_public = live["is_public"] == json!(true);
    match (method, path) {
        (&Method::POST, ["listeners"]) => {
            let body = parsed(request)?;
            check_listener(&body, &family, is_public)?;
            add_listener(world, balancer, &body)
        }
        (&Method::POST, ["pools"]) => add_pool(world, balancer, &family, &parsed(request)?),
        (&Method::PATCH, ["listeners", id]) => {
            let (patched, judged) = patched_listener(world, balancer, id, &parsed(request)?)?;
            check_listener(&judged, &family, is_public)?;
            put(world, VpcKind::Listener, id, patched);
            one(world, VpcKind::Listener, balancer, id)
        }
        (&Method::PATCH, ["pools", id]) => {
            let patch = parsed(request)?;
            etags::check(request, &patch, found(world, VpcKind::Pool, balancer, id)?)?;
            patch_pool(world, balancer, &family, id, &patch)
        }
        (&Method::DELETE, ["listeners", id]) => {
            found(world, VpcKind::Listener, balancer, id)?;
            world.remove(id);
            Ok(accepted())
        }
        (&Method::DELETE, ["pools", id]) => {
            found(world, VpcKind::Pool, balancer, id)?;
            if !world.of(VpcKind::Listener, "pool", id).is_empty() {
                return Err(refused(409, "pool_in_use", &format!("A listener has the pool {id}")));
            }
            members(world, id).iter().for_each(|it| drop(world.remove(it)));
            world.remove(id);
            Ok(accepted())
        }
        (_, ["pools", pool, "members", rest @ ..]) => {
            found(world, VpcKind::Pool, balancer, pool)?;
            change_members(world, method, balancer, pool, rest, request)
        }
        _ => Err(not_found("The path", &path.join("/"))),
    }
}

fn change_members(
    world: &mut World,
    method: &Method,
    balancer: &str,
    pool: &str,
    path: &[&str],
    request: &Recorded,
) -> Result<Answer, Refused> {
    match (method, path) {
        (&Method::POST, []) => {
            let body = parsed(request)?;
            check_member(&body)?;
            if members(world, pool).len() >= MOST_MEMBERS {
                return Err(over_quota("members of a pool", MOST_MEMBERS));
            }
            let id = insert_member(world, balancer, pool, &body);
            created(world, VpcKind::Member, balancer, &id)
        }
        // All of them are new.
        (&Method::PUT, []) => {
            let body = parsed(request)?;
            check_members(&body)?;
            members(world, pool).iter().for_each(|it| drop(world.remove(it)));
            for member in list(&body, "members") {
                insert_member(world, balancer, pool, member);
            }
            let mut answer = all(world, VpcKind::Member, "pool", pool);
            answer.status = StatusCode::ACCEPTED;
            Ok(answer)
        }
        (&Method::DELETE, [id]) => {
            found(world, VpcKind::Member, balancer, id)?;
            world.remove(id);
            Ok(accepted())
        }
        _ => Err(not_found("The path", &path.join("/"))),
    }
}

fn add_listener(world: &mut World, balancer: &str, body: &Value) -> Result<Answer, Refused> {
    let others = world.of(VpcKind::Listener, "balancer", balancer);
    if others.len() >= MOST {
        return Err(over_quota("listeners", MOST));
    }
    if others.iter().any(|it| share_a_port(it, body)) {
        return Err(taken("A listener", &ports_of(body).0.to_string()));
    }
    let pool = &body["default_pool"]["id"];
    if let Some(id) = pool.as_str() {
        found(world, VpcKind::Pool, balancer, id)?;
    }
    let id = insert_listener(world, balancer, body, pool);
    created(world, VpcKind::Listener, balancer, &id)
}

fn add_pool(world: &mut World, balancer: &str, family: &str, body: &Value) -> Result<Answer, Refused> {
    check_pool(body, family)?;
    let others = world.of(VpcKind::Pool, "balancer", balancer);
    if others.len() >= MOST {
        return Err(over_quota("pools", MOST));
    }
    if others.iter().any(|it| it["name"] == body["name"]) {
        return Err(taken("A pool", text(body, "name")));
    }
    let id = insert_pool(world, balancer, body);
    created(world, VpcKind::Pool, balancer, &id)
}

/// A listener as a change leaves it, and that with what is judged of it: times that the change does not name are not.
fn patched_listener(world: &World, balancer: &str, id: &str, patch: &Value) -> Result<(Value, Value), Refused> {
    let mut live = found(world, VpcKind::Listener, balancer, id)?.clone();
    if let Some(pool) = patch["default_pool"]["id"].as_str() {
        found(world, VpcKind::Pool, balancer, pool)?;
        live["pool"] = json!(pool);
    }
    for key in [
        "connection_limit",
        "idle_connection_timeout",
        "port",
        "port_max",
        "port_min",
        "protocol",
        "accept_proxy_protocol",
    ] {
        if !patch[key].is_null() {
            live[key] = patch[key].clone();
        }
    }
    let (first, last) = ports_of(if patch["port"].is_null() { &live } else { patch });
    (live["port"], live["port_min"], live["port_max"]) = (json!(first), json!(first), json!(last));
    let others = world.of(VpcKind::Listener, "balancer", balancer);
    if others.iter().any(|it| it["id"] != live["id"] && share_a_port(it, &live)) {
        return Err(taken("A listener", &first.to_string()));
    }
    let mut judged = live.clone();
    judged["port"] = Value::Null;
    judged["idle_connection_timeout"] = patch["idle_connection_timeout"].clone();
    Ok((live, judged))
}

fn patch_pool(world: &mut World, balancer: &str, family: &str, id: &str, patch: &Value) -> Result<Answer, Refused> {
    let mut live = found(world, VpcKind::Pool, balancer, id)?.clone();
    for key in ["name", "algorithm", "protocol", "proxy_protocol", "health_monitor"] {
        merge(&mut live[key], &patch[key]);
    }
    // The description has no path of a check by TCP: that of before goes.
    if text(&live["health_monitor"], "type") == "tcp"
        && patch["health_monitor"]["url_path"].is_null()
        && let Some(monitor) = live["health_monitor"].as_object_mut()
    {
        monitor.remove("url_path");
    }
    check_pool(&live, family)?;
    let others = world.of(VpcKind::Pool, "balancer", balancer);
    if others.iter().any(|it| it["name"] == live["name"] && it["id"] != live["id"]) {
        return Err(taken("A pool", text(&live, "name")));
    }
    live["_revision"] = json!(world.next());
    put(world, VpcKind::Pool, id, live);
    one(world, VpcKind::Pool, balancer, id)
}

/// Changes a field as RFC 7396 has it, but that none is deleted: what a change does not name stays, in objects inside of it, too.
fn merge(live: &mut Value, change: &Value) {
    match change {
        Value::Null => {}
        Value::Object(fields) => fields.iter().for_each(|(key, value)| merge(&mut live[key], value)),
        other => live.clone_from(other),
    }
}

/// The first and the last port of a listener: it has one, or a range.
pub(super) fn ports_of(it: &Value) -> (u64, u64) {
    let port = |key: &str| it[key].as_u64();
    let first = port("port_min").or(port("port")).unwrap_or_default();
    (first, port("port_max").unwrap_or(first))
}

/// Whether two listeners take one port of one protocol.
pub(super) fn share_a_port(one: &Value, other: &Value) -> bool {
    let ((first, last), (other_first, other_last)) = (ports_of(one), ports_of(other));
    let is_udp = |it: &Value| text(it, "protocol") == "udp";
    is_udp(one) == is_udp(other) && first <= other_last && other_first <= last
}

/// Refuses a listener that cannot be, but for its pool.
pub(super) fn check_listener(body: &Value, family: &str, is_public: bool) -> Result<(), Refused> {
    let words: &[&str] = if family == "network" { &["tcp", "udp"] } else { &["http", "https", "tcp"] };
    word(body, "protocol", words)?;
    if body["port_min"].is_null() && body["port_max"].is_null() {
        number(body, "port", 1, 65_535)?;
    } else {
        let (first, last) = (number(body, "port_min", 1, 65_535)?, number(body, "port_max", 1, 65_535)?);
        if !body["port"].is_null() {
            return Err(bad_field("port", "it stands beside port_min and port_max"));
        }
        if first > last {
            return Err(bad_field("port_max", "it is less than port_min"));
        }
        if first < last && !(family == "network" && is_public) {
            return Err(bad_field("port_max", "public network load balancers alone have ranges of ports"));
        }
    }
    if family == "network" && !body["idle_connection_timeout"].is_null() {
        return Err(bad_field("idle_connection_timeout", "a network load balancer has none"));
    }
    if !body["connection_limit"].is_null() {
        number(body, "connection_limit", 1, 15_000)?;
    }
    if !body["idle_connection_timeout"].is_null() {
        number(body, "idle_connection_timeout", 50, 7_200)?;
    }
    Ok(())
}

/// Refuses a pool that cannot be.
pub(super) fn check_pool(body: &Value, family: &str) -> Result<(), Refused> {
    if let Some(text) = body["name"].as_str() {
        name("name", text)?;
    }
    let words: &[&str] = if family == "network" { &["tcp", "udp"] } else { &["http", "https", "tcp"] };
    word(body, "protocol", words)?;
    word(body, "algorithm", &["least_connections", "round_robin", "weighted_round_robin"])?;
    if !body["proxy_protocol"].is_null() {
        let words: &[&str] = if family == "network" { &["disabled"] } else { &["disabled", "v1", "v2"] };
        word(body, "proxy_protocol", words)?;
    }
    let monitor = &body["health_monitor"];
    word(monitor, "type", &["http", "https", "tcp"])?;
    let (delay, timeout) = (number(monitor, "delay", 2, 60)?, number(monitor, "timeout", 1, 59)?);
    number(monitor, "max_retries", 1, 10)?;
    if delay <= timeout {
        return Err(bad_field("health_monitor.delay", "it is not greater than the timeout"));
    }
    if !monitor["port"].is_null() {
        number(monitor, "port", 1, 65_535)?;
    }
    if text(monitor, "type") == "tcp" && !monitor["url_path"].is_null() {
        return Err(bad_field("health_monitor.url_path", "a check by TCP has none"));
    }
    check_members(body)
}

fn check_members(body: &Value) -> Result<(), Refused> {
    let members = list(body, "members");
    if members.len() > MOST_MEMBERS {
        return Err(over_quota("members of a pool", MOST_MEMBERS));
    }
    for (at, member) in members.iter().enumerate() {
        check_member(member)?;
        if members[..at].iter().any(|it| it["target"] == member["target"] && it["port"] == member["port"]) {
            return Err(taken("A member", &member["target"].to_string()));
        }
    }
    Ok(())
}

fn check_member(member: &Value) -> Result<(), Refused> {
    number(member, "port", 1, 65_535)?;
    match is_address(text(&member["target"], "address")) {
        true => Ok(()),
        false => Err(bad_field("target", "it has no address")),
    }
}

pub(super) fn insert_pool(world: &mut World, balancer: &str, body: &Value) -> String {
    let unnamed = format!("pool-{}", world.next());
    let made = json!({
        "balancer": balancer, "name": body["name"].as_str().unwrap_or(&unnamed), "protocol": body["protocol"],
        "algorithm": body["algorithm"], "health_monitor": body["health_monitor"],
        "proxy_protocol": body["proxy_protocol"].as_str().unwrap_or("disabled"),
    });
    let id = world.insert(VpcKind::Pool, made);
    for member in list(body, "members") {
        insert_member(world, balancer, &id, member);
    }
    id
}

fn insert_member(world: &mut World, balancer: &str, pool: &str, body: &Value) -> String {
    let address = text(&body["target"], "address");
    world.insert(
        VpcKind::Member,
        json!({ "balancer": balancer, "pool": pool, "port": body["port"], "address": address, "weight": body["weight"] }),
    )
}

/// `pool` is the id of its pool, or null.
pub(super) fn insert_listener(world: &mut World, balancer: &str, body: &Value, pool: &Value) -> String {
    let limit = body["connection_limit"].as_u64().unwrap_or(15_000);
    let timeout = body["idle_connection_timeout"].as_u64().unwrap_or(50);
    let (first, last) = ports_of(body);
    world.insert(
        VpcKind::Listener,
        json!({
            "balancer": balancer, "pool": pool, "port": first, "port_min": first, "port_max": last, "protocol": body["protocol"],
            "connection_limit": limit,
            "idle_connection_timeout": timeout, "accept_proxy_protocol": body["accept_proxy_protocol"].as_bool().unwrap_or_default(),
        }),
    )
}

fn members(world: &World, pool: &str) -> Vec<String> {
    world.of(VpcKind::Member, "pool", pool).into_iter().map(|it| text(it, "id").to_owned()).collect()
}

fn put(world: &mut World, kind: VpcKind, id: &str, body: Value) {
    if let Some(it) = world.get_mut(kind, id) {
        *it = body;
    }
}

fn found<'a>(world: &'a World, kind: VpcKind, balancer: &str, id: &str) -> Result<&'a Value, Refused> {
    let found = world.get(kind, id).filter(|it| text(it, "balancer") == balancer);
    found.ok_or_else(|| not_found(kind.one(), id))
}

fn all(world: &World, kind: VpcKind, field: &str, value: &str) -> Answer {
    let shown: Vec<Value> =
        world.of(kind, field, value).into_iter().map(|it| presented::one(world, kind, it)).collect();
    Answer::ok(&json!({ kind.many(): shown }))
}

fn one(world: &World, kind: VpcKind, balancer: &str, id: &str) -> Result<Answer, Refused> {
    let found = found(world, kind, balancer, id)?;
    let mut answer = Answer::ok(&presented::one(world, kind, found));
    if kind == VpcKind::Pool {
        answer.set("etag", &etags::etag(found));
    }
    Ok(answer)
}

fn created(world: &World, kind: VpcKind, balancer: &str, id: &str) -> Result<Answer, Refused> {
    let mut answer = one(world, kind, balancer, id)?;
    answer.status = StatusCode::CREATED;
    Ok(answer)
}

fn accepted() -> Answer {
    let mut answer = Answer::no_content();
    answer.status = StatusCode::ACCEPTED;
    answer
}
