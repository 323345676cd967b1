//! Objects of Octavia: how each kind is found, claimed and changed.

use serde_json::{Value, json};

use super::presented;
use crate::clouds::openstack::errors::{self, Refused, under};
use crate::clouds::openstack::kind::Kind;
use crate::clouds::openstack::pending::is_pending;
use crate::clouds::openstack::service::Service;
use crate::clouds::openstack::world::{World, text};
use crate::simulator::Answer;

/// An object of whoever asks.
pub(super) fn found<'a>(world: &'a World, kind: Kind, id: &str) -> Result<&'a Value, Refused> {
    let for_all = matches!(kind, Kind::LoadBalancerFlavor | Kind::AvailabilityZone);
    let found = world.get(kind, id).filter(|it| for_all || text(it, "project_id") == world.project);
    let spelled = match kind {
        Kind::HealthMonitor => "Health Monitor",
        other => other.called(),
    };
    found.ok_or_else(|| errors::octavia(404, &format!("{spelled} {id} not found.")))
}

/// Claims an object for a change: it, whatever is around it, and the load balancer must be at rest. Answers the load balancer's id.
pub(super) fn claimed(world: &World, kind: Kind, id: &str) -> Result<String, Refused> {
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
pub(super) fn begin(world: &mut World, balancer: &str, pool: Option<&str>, listener: Option<&str>) {
    let mut listeners: Vec<String> = listener.map(str::to_owned).into_iter().collect();
    if let Some(pool) = pool {
        listeners.extend(world.ids(Kind::Listener, |it| text(it, "default_pool_id") == pool));
        touch(world, Kind::Pool, pool);
    }
    listeners.iter().for_each(|id| touch(world, Kind::Listener, id));
    world.begin(balancer, "PENDING_UPDATE");
}

pub(super) fn touch(world: &mut World, kind: Kind, id: &str) {
    if world.get(kind, id).is_some_and(|it| !is_pending(it)) {
        world.set_status(kind, id, "PENDING_UPDATE");
    }
}

/// Writes fields of an object that changes. Answers it.
pub(super) fn write(world: &mut World, kind: Kind, id: &str, fields: Vec<(String, Value)>) -> Result<Answer, Refused> {
    world.set_status(kind, id, "PENDING_UPDATE");
    if let Some(object) = world.get_mut(kind, id) {
        fields.into_iter().for_each(|(key, value)| object[key] = value);
    }
    Ok(Answer::ok(&json!({ kind.one(): presented::one(world, kind, found(world, kind, id)?) })))
}

pub(super) fn no_path() -> Refused {
    errors::octavia(404, "The resource could not be found.")
}

pub(super) fn wanted(body: &Value, kind: Kind) -> Result<&Value, Refused> {
    under(body, kind.one(), Service::LoadBalancer)
}

pub(super) fn over_quota(kind: Kind) -> Refused {
    errors::octavia(403, &format!("Quota has been met for resources: {}", kind.called()))
}

pub(super) fn unsupported(driver: &str) -> Refused {
    errors::octavia(
        501,
        &format!("Provider '{driver}' does not support a requested option: this driver makes one object at a time"),
    )
}
