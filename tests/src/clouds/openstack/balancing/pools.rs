//! Pools of Octavia.

use serde_json::{Value, json};

use crate::simulator::Answer;

use super::objects::{begin, claimed, found, over_quota, wanted, write};
use super::presented;
use super::values::{METHODS, fields, over, word};
use crate::clouds::openstack::errors::{self, Refused};
use crate::clouds::openstack::kind::Kind;
use crate::clouds::openstack::world::{World, text};

/// The protocols of a pool.
const PROTOCOLS: [&str; 7] = ["HTTP", "HTTPS", "PROXY", "PROXYV2", "SCTP", "TCP", "UDP"];

/// The fields of a request that are places of other objects.
const PLACES: [&str; 6] = ["listener_id", "listeners", "loadbalancer_id", "loadbalancers", "members", "healthmonitor"];

/// `POST /pools`.
pub(super) fn create(world: &mut World, body: &Value) -> Result<Answer, Refused> {
    let asked = wanted(body, Kind::Pool)?;
    let nested = asked["members"].as_array().is_some_and(|it| !it.is_empty()) || asked["healthmonitor"].is_object();
    let listener = asked["listener_id"].as_str();
    let balancer = match listener {
        Some(listener) => {
            let found = found(world, Kind::Listener, listener)?;
            if !text(found, "default_pool_id").is_empty() {
                return Err(errors::octavia(409, &format!("Listener {listener} already has a default pool.")));
            }
            text(found, "_balancer").to_owned()
        }
        None => text(asked, "loadbalancer_id").to_owned(),
    };
    found(world, Kind::LoadBalancer, &balancer)?;
    if nested {
        return Err(errors::octavia(500, "'dict' object has no attribute '_sa_instance_state'"));
    }
    if let Some(listener) = listener {
        claimed(world, Kind::Listener, listener)?;
    }
    claimed(world, Kind::LoadBalancer, &balancer)?;
    if !world.allows(Kind::Pool, 1) {
        return Err(over_quota(Kind::Pool));
    }
    let id = add(world, &balancer, asked)?;
    if let Some(it) = listener.and_then(|it| world.get_mut(Kind::Listener, it)) {
        it["default_pool_id"] = json!(id);
    }
    begin(world, &balancer, None, listener);
    let made = found(world, Kind::Pool, &id)?;
    Ok(Answer::created(&json!({ "pool": presented::one(world, Kind::Pool, made) })))
}

/// `PUT /pools/{id}`.
pub(super) fn update(world: &mut World, id: &str, body: &Value) -> Result<Answer, Refused> {
    let asked = wanted(body, Kind::Pool)?;
    found(world, Kind::Pool, id)?;
    check(asked)?;
    let balancer = claimed(world, Kind::Pool, id)?;
    let answer = write(world, Kind::Pool, id, fields(asked, &PLACES))?;
    begin(world, &balancer, Some(id), None);
    Ok(answer)
}

/// Adds a pool to a load balancer that is claimed. Answers its id.
pub(super) fn add(world: &mut World, balancer: &str, asked: &Value) -> Result<String, Refused> {
    check(asked)?;
    let stamp = world.stamp();
    let defaults = json!({
        "name": "", "description": "", "provisioning_status": "PENDING_CREATE", "operating_status": "OFFLINE",
        "admin_state_up": true, "session_persistence": null, "created_at": stamp, "updated_at": null, "tags": [],
        "tls_container_ref": null, "ca_tls_container_ref": null, "crl_container_ref": null, "tls_enabled": false,
        "tls_ciphers": null, "tls_versions": null, "alpn_protocols": null, "_balancer": balancer,
    });
    let mut made = over(defaults, fields(asked, &PLACES));
    if made["session_persistence"].is_object() {
        let asked = made["session_persistence"].clone();
        made["session_persistence"] = json!({
            "type": asked["type"], "cookie_name": asked["cookie_name"],
            "persistence_timeout": asked["persistence_timeout"], "persistence_granularity": asked["persistence_granularity"],
        });
    }
    Ok(world.insert(Kind::Pool, made))
}

fn check(asked: &Value) -> Result<(), Refused> {
    word(asked, "protocol", &PROTOCOLS)?;
    word(asked, "lb_algorithm", &METHODS)
}
