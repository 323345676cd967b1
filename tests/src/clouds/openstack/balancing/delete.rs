//! Deletions of Octavia's objects.

use serde_json::Value;

use crate::simulator::Answer;

use super::objects::{begin, claimed, found};
use crate::clouds::openstack::errors::{self, Refused};
use crate::clouds::openstack::kind::Kind;
use crate::clouds::openstack::pending::is_pending;
use crate::clouds::openstack::world::{World, text};

/// `DELETE /loadbalancers/{id}`: with all that is in it, if it says `cascade`.
pub(super) fn balancer(world: &mut World, id: &str, cascade: bool) -> Result<Answer, Refused> {
    let object = found(world, Kind::LoadBalancer, id)?;
    if is_pending(object) {
        let message = format!("Invalid state {} of loadbalancer resource {id}", text(object, "provisioning_status"));
        return Err(errors::octavia(409, &message));
    }
    let has = |kind| world.with(kind, "_balancer", id).next().is_some();
    if !cascade && (has(Kind::Listener) || has(Kind::Pool)) {
        let message = format!("Cannot delete Load Balancer {id} - it has children");
        return Err(errors::octavia_validation(&message));
    }
    world.begin(id, "PENDING_DELETE");
    Ok(Answer::no_content())
}

/// `DELETE` of a listener, a pool with its members and its monitor, a member or a monitor.
pub(super) fn part(world: &mut World, kind: Kind, id: &str) -> Result<Answer, Refused> {
    let object = found(world, kind, id)?;
    let pool = text(object, "_pool").to_owned();
    let balancer = claimed(world, kind, id)?;
    world.set_status(kind, id, "PENDING_DELETE");
    match kind {
        Kind::Pool => {
            for listener in world.ids(Kind::Listener, |it| text(it, "default_pool_id") == id) {
                if let Some(it) = world.get_mut(Kind::Listener, &listener) {
                    it["default_pool_id"] = Value::Null;
                }
                begin(world, &balancer, None, Some(&listener));
            }
            for kind in [Kind::Member, Kind::HealthMonitor] {
                for part in world.ids(kind, |it| text(it, "_pool") == id) {
                    world.set_status(kind, &part, "PENDING_DELETE");
                }
            }
            begin(world, &balancer, None, None);
        }
        Kind::Member | Kind::HealthMonitor => begin(world, &balancer, Some(&pool), None),
        _ => begin(world, &balancer, None, None),
    }
    Ok(Answer::no_content())
}
