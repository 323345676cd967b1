//! The end of a load balancer, or of a Service's part of it: one step at a time.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::backend::Removal;
use aerostat_sdk::{Change, Result};
use serde_json::json;

use super::annotations::KEEP_FLOATING_IP;
use super::context::BalancerCall;
use super::names;
use super::ownership::{self, BalancerRelation};
use super::plan::{is_own_listener, is_own_orphan, removal};
use crate::api::neutron;
use crate::api::octavia::{self, OctaviaBalancer, OctaviaListener, OctaviaPool, OctaviaWrite};

/// Takes one step. `is_part` says that the Service has a part of the load balancer, and not the whole.
///
/// # Errors
///
/// Whatever the cloud answered.
pub(crate) fn step(call: &BalancerCall<'_>, id: &str, is_part: bool) -> Result<Removal> {
    let Some(live) = octavia::balancer(id)? else { return Ok(Removal::Gone) };
    if let BalancerRelation::Foreign(word) = call.names.relation(&live) {
        return Ok(Removal::Foreign(ownership::others(&live, &word)));
    }
    if live.provisioning_status == "DELETED" {
        return Ok(Removal::Gone);
    }
    if !live.is_active() && !live.is_in_error() {
        let verb = if live.is_going() { "deletes" } else { "changes" };
        return Ok(Removal::Busy(format!("Octavia {verb} {}", live.title())));
    }
    let is_alone = call.names.others(&live) == 0;
    if !is_part && is_alone && is_own(call, &live) {
        return whole(call, &live);
    }
    let listeners = octavia::listeners(Some(&live.id))?;
    let is_of_cluster = call.names.clusters().iter().any(|it| names::is_of_cluster(&live.name, it));
    let are_own = listeners.iter().all(|it| is_own_listener(&call.names, !is_part, it));
    // The last Service of a load balancer whose own has gone before.
    if is_part && is_alone && is_of_cluster && are_own {
        return whole(call, &live);
    }
    part(call, &live, &listeners, is_part)
}

/// Whether what is remembered has the Service's name or mark: a person may have renamed it, and it is theirs then.
fn is_own(call: &BalancerCall<'_>, live: &OctaviaBalancer) -> bool {
    let mark = call.names.mark.to_string();
    call.names.has(&live.name) || live.tags().iter().any(|it| call.names.has(it) || *it == mark)
}

/// Deletes the load balancer, and before it the floating IP that was made for it.
fn whole(call: &BalancerCall<'_>, live: &OctaviaBalancer) -> Result<Removal> {
    if !call.settings.cascade
        && let Some(write) = next_part(live)?
    {
        return send(&write);
    }
    // What cannot be read asks for nothing to be deleted.
    let keeps = Annotations::of(call.service).get(&KEEP_FLOATING_IP).unwrap_or(true);
    if let Some(port) = live.vip_port_id.as_deref().filter(|_| !keeps) {
        for floating in neutron::floating_ips_by("port_id", port)? {
            if names::is_floating_ip_of(&floating.description, &call.names.clusters()) {
                neutron::delete_floating_ip(&floating.id)?;
            }
        }
    }
    let request = OctaviaWrite::delete(&["loadbalancers", &live.id]).request();
    let request = if call.settings.cascade { request.query("cascade", "true") } else { request };
    let response = request.answer()?;
    if crate::api::is_octavia_at_work(&response) {
        return Ok(Removal::Busy(response.complaint()));
    }
    if response.status() != 404 {
        response.accepted()?;
    }
    Ok(Removal::Busy(format!("Octavia deletes {}", live.title())))
}

/// The next part of a load balancer that is deleted without a cascade.
fn next_part(live: &OctaviaBalancer) -> Result<Option<OctaviaWrite>> {
    let pools = octavia::pools(Some(&live.id))?;
    if let Some(monitor) = pools.iter().find_map(|it| it.healthmonitor_id.as_deref()) {
        return Ok(Some(OctaviaWrite::delete(&["healthmonitors", monitor])));
    }
    if let Some(pool) = pools.first() {
        return Ok(Some(OctaviaWrite::delete(&["pools", &pool.id])));
    }
    let listeners = octavia::listeners(Some(&live.id))?;
    Ok(listeners.first().map(|it| OctaviaWrite::delete(&["listeners", &it.id])))
}

/// Takes the Service's part away: its listeners with their pools, then its tags.
fn part(
    call: &BalancerCall<'_>,
    live: &OctaviaBalancer,
    listeners: &[OctaviaListener],
    is_part: bool,
) -> Result<Removal> {
    let own = listeners.iter().find(|it| is_own_listener(&call.names, !is_part, it));
    let pools: Vec<OctaviaPool> = octavia::pools(Some(&live.id))?;
    if let Some(own) = own {
        return send(&removal(own, &pools));
    }
    if let Some(orphan) = pools.iter().find(|it| is_own_orphan(&call.names, it, listeners)) {
        return send(&OctaviaWrite::delete(&["pools", &orphan.id]));
    }
    let left = call.names.untagged(live);
    if live.tags.is_none() || left == live.tags() {
        return Ok(Removal::Gone);
    }
    let write = OctaviaWrite::put(&["loadbalancers", &live.id], json!({ "loadbalancer": { "tags": left } }));
    Ok(match write.request().change()? {
        Change::Done(_) => Removal::Gone,
        Change::Busy(why) => Removal::Busy(why),
    })
}

/// Sends a step: then Octavia is at work.
fn send(write: &OctaviaWrite) -> Result<Removal> {
    let request = write.request();
    let change = match write.body {
        Some(_) => request.change()?.map(drop),
        None => request.change_or_gone()?,
    };
    Ok(Removal::Busy(match change {
        Change::Done(()) => write.title(),
        Change::Busy(why) => why,
    }))
}
