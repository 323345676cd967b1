//! Octavia's objects as answers show them.

use serde_json::{Value, json};

use crate::clouds::openstack::kind::Kind;
use crate::clouds::openstack::world::{World, reference, shown, text};

/// An object with references to what belongs to it.
pub(super) fn one(world: &World, kind: Kind, object: &Value) -> Value {
    let mut shown = shown(object);
    let id = text(object, "id");
    let references = |kind, key: &str| Value::Array(world.with(kind, key, id).map(reference).collect());
    match kind {
        Kind::LoadBalancer => {
            shown["listeners"] = references(Kind::Listener, "_balancer");
            shown["pools"] = references(Kind::Pool, "_balancer");
        }
        Kind::Listener => {
            shown["loadbalancers"] = json!([{ "id": object["_balancer"] }]);
            shown["l7policies"] = json!([]);
        }
        Kind::Pool => {
            shown["loadbalancers"] = json!([{ "id": object["_balancer"] }]);
            shown["listeners"] = references(Kind::Listener, "default_pool_id");
            shown["members"] = references(Kind::Member, "_pool");
            if let Some(monitor) = world.with(Kind::HealthMonitor, "_pool", id).next() {
                shown["healthmonitor_id"] = monitor["id"].clone();
            }
        }
        Kind::HealthMonitor => shown["pools"] = json!([{ "id": object["_pool"] }]),
        Kind::LoadBalancerFlavor | Kind::AvailabilityZone => {
            shown.as_object_mut().map(|it| (it.remove("project_id"), it.remove("tenant_id")));
        }
        _ => {}
    }
    shown
}

/// A load balancer that was made in one request: with everything in it, not only references.
pub(super) fn whole(world: &World, balancer: &Value) -> Value {
    let mut shown = one(world, Kind::LoadBalancer, balancer);
    let id = text(balancer, "id");
    let listeners = world.with(Kind::Listener, "_balancer", id).map(|listener| {
        let mut shown = one(world, Kind::Listener, listener);
        shown.as_object_mut().map(|listener| listener.remove("loadbalancers"));
        shown
    });
    shown["listeners"] = listeners.collect();
    let pools = world.with(Kind::Pool, "_balancer", id).map(|pool| {
        let mut shown = one(world, Kind::Pool, pool);
        let pool = text(pool, "id");
        shown["members"] =
            world.with(Kind::Member, "_pool", pool).map(crate::clouds::openstack::world::shown).collect();
        let monitor = world.with(Kind::HealthMonitor, "_pool", pool).next();
        shown["healthmonitor"] = monitor.map_or(Value::Null, crate::clouds::openstack::world::shown);
        shown.as_object_mut().map(|pool| (pool.remove("loadbalancers"), pool.remove("healthmonitor_id")));
        shown
    });
    shown["pools"] = pools.collect();
    shown
}

/// The tree of states: with no more of each object than its state.
pub(super) fn tree(world: &World, balancer: &Value) -> Value {
    let mut tree = state(balancer);
    let id = text(balancer, "id");
    let listeners = world.with(Kind::Listener, "_balancer", id).map(|listener| {
        let mut shown = state(listener);
        let pools = world.with(Kind::Pool, "id", text(listener, "default_pool_id"));
        shown["pools"] = pools.map(|it| pool(world, it)).collect();
        shown
    });
    tree["listeners"] = listeners.collect();
    let alone = world
        .with(Kind::Pool, "_balancer", id)
        .filter(|it| world.with(Kind::Listener, "default_pool_id", text(it, "id")).next().is_none());
    let alone: Vec<Value> = alone.map(|it| pool(world, it)).collect();
    if !alone.is_empty() {
        tree["pools"] = Value::Array(alone);
    }
    tree
}

fn pool(world: &World, pool: &Value) -> Value {
    let mut shown = state(pool);
    let id = text(pool, "id");
    shown["health_monitor"] = Value::Null;
    if let Some(monitor) = world.with(Kind::HealthMonitor, "_pool", id).next() {
        let mut monitor_shown = state(monitor);
        monitor_shown["type"] = monitor["type"].clone();
        shown["health_monitor"] = monitor_shown;
    }
    let members = world.with(Kind::Member, "_pool", id).map(|member| {
        let mut shown = state(member);
        shown["address"] = member["address"].clone();
        shown["protocol_port"] = member["protocol_port"].clone();
        shown
    });
    shown["members"] = members.collect();
    shown
}

fn state(object: &Value) -> Value {
    json!({
        "id": object["id"], "name": object["name"], "operating_status": object["operating_status"],
        "provisioning_status": object["provisioning_status"],
    })
}
