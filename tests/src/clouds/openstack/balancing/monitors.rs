//! Health monitors of Octavia: one for a pool.

use serde_json::{Value, json};

use crate::simulator::Answer;

use super::objects::{begin, claimed, found, over_quota, wanted, write};
use super::presented;
use super::values::{fields, number, over, word};
use crate::clouds::openstack::errors::{self, Refused};
use crate::clouds::openstack::kind::Kind;
use crate::clouds::openstack::world::{World, text};

/// The ways in which members are asked.
const TYPES: [&str; 7] = ["HTTP", "HTTPS", "PING", "SCTP", "TCP", "TLS-HELLO", "UDP-CONNECT"];

/// `POST /healthmonitors`.
pub(super) fn create(world: &mut World, body: &Value) -> Result<Answer, Refused> {
    let asked = wanted(body, Kind::HealthMonitor)?;
    let pool = text(asked, "pool_id").to_owned();
    found(world, Kind::Pool, &pool)?;
    let balancer = claimed(world, Kind::Pool, &pool)?;
    if world.with(Kind::HealthMonitor, "_pool", &pool).next().is_some() {
        return Err(errors::octavia(409, &format!("This pool already has a health monitor: {pool}")));
    }
    if !world.allows(Kind::HealthMonitor, 1) {
        return Err(over_quota(Kind::HealthMonitor));
    }
    let id = add(world, &balancer, &pool, asked)?;
    begin(world, &balancer, Some(&pool), None);
    let made = found(world, Kind::HealthMonitor, &id)?;
    Ok(Answer::created(&json!({ "healthmonitor": presented::one(world, Kind::HealthMonitor, made) })))
}

/// `PUT /healthmonitors/{id}`.
pub(super) fn update(world: &mut World, id: &str, body: &Value) -> Result<Answer, Refused> {
    let asked = wanted(body, Kind::HealthMonitor)?;
    let pool = text(found(world, Kind::HealthMonitor, id)?, "_pool").to_owned();
    check(asked)?;
    let balancer = claimed(world, Kind::HealthMonitor, id)?;
    let answer = write(world, Kind::HealthMonitor, id, fields(asked, &["pool_id", "type"]))?;
    begin(world, &balancer, Some(&pool), None);
    Ok(answer)
}

/// Adds a monitor to a pool that is claimed. Answers its id.
pub(super) fn add(world: &mut World, balancer: &str, pool: &str, asked: &Value) -> Result<String, Refused> {
    check(asked)?;
    let http = text(asked, "type").starts_with("HTTP");
    let only_http = |value: &str| if http { json!(value) } else { Value::Null };
    let stamp = world.stamp();
    let defaults = json!({
        "name": "", "max_retries_down": 3, "http_method": only_http("GET"), "url_path": only_http("/"),
        "expected_codes": only_http("200"), "admin_state_up": true, "provisioning_status": "PENDING_CREATE",
        "operating_status": "OFFLINE", "created_at": stamp, "updated_at": null, "tags": [], "http_version": null,
        "domain_name": null, "_pool": pool, "_balancer": balancer,
    });
    Ok(world.insert(Kind::HealthMonitor, over(defaults, fields(asked, &["pool_id"]))))
}

fn check(asked: &Value) -> Result<(), Refused> {
    word(asked, "type", &TYPES)?;
    number(asked, "delay", (0, i64::from(i32::MAX)))?;
    number(asked, "timeout", (0, i64::from(i32::MAX)))?;
    number(asked, "max_retries", (1, 10))?;
    number(asked, "max_retries_down", (1, 10))
}
