//! Reads of Octavia.

use aerostat_sdk::http::Request;
use aerostat_sdk::{Error, Result};
use openstack_api::fields::{FromFields as _, object, objects};
use openstack_api::lists::{listed, shown_after};
use serde_json::Value;

use super::model::{OctaviaBalancer, OctaviaListener, OctaviaMember, OctaviaMonitor, OctaviaPool};
use super::paths::path;
use crate::api::OCTAVIA;

/// All objects of one kind in the project, as they are shown: "listeners".
///
/// # Errors
///
/// Whatever Octavia answered.
pub(crate) fn all(kind: &str) -> Result<Vec<Value>> {
    listed(&of_balancer(kind, None), kind)
}

/// The load balancer with this id.
///
/// # Errors
///
/// Whatever Octavia answered.
pub(crate) fn balancer(id: &str) -> Result<Option<OctaviaBalancer>> {
    OCTAVIA.get(path(&["loadbalancers", id])).find_response()?.map(|it| object(&it, "loadbalancer")).transpose()
}

/// All load balancers of the project.
///
/// # Errors
///
/// Whatever Octavia answered.
pub(crate) fn balancers() -> Result<Vec<OctaviaBalancer>> {
    objects(&OCTAVIA.get(path(&["loadbalancers"])), "loadbalancers")
}

/// The load balancers among these objects.
pub(crate) fn read_balancers(shown: &[Value]) -> Vec<OctaviaBalancer> {
    shown.iter().filter_map(OctaviaBalancer::from_fields).collect()
}

/// The load balancers with this name, also those that are going.
///
/// # Errors
///
/// Whatever Octavia answered.
pub(crate) fn balancers_named(name: &str) -> Result<Vec<OctaviaBalancer>> {
    objects(&OCTAVIA.get(path(&["loadbalancers"])).query("name", name), "loadbalancers")
}

/// Whether any load balancer of this driver has a tag.
///
/// # Errors
///
/// Whatever Octavia answered.
pub(crate) fn has_tagged(driver: &str, tag: &str) -> Result<bool> {
    let request = OCTAVIA.get(path(&["loadbalancers"])).query("provider", driver).query("tags", tag);
    Ok(!shown_after(request, "loadbalancers", None, 1)?.0.is_empty())
}

/// Listeners of one load balancer, or of all.
///
/// # Errors
///
/// Whatever Octavia answered.
pub(crate) fn listeners(of: Option<&str>) -> Result<Vec<OctaviaListener>> {
    objects(&of_balancer("listeners", of), "listeners")
}

/// Pools of one load balancer, or of all.
///
/// # Errors
///
/// Whatever Octavia answered.
pub(crate) fn pools(of: Option<&str>) -> Result<Vec<OctaviaPool>> {
    objects(&of_balancer("pools", of), "pools")
}

/// The monitor of one pool, or all monitors of the project: they cannot be asked for by load balancer.
///
/// # Errors
///
/// Whatever Octavia answered.
pub(crate) fn monitors(pool: Option<&str>) -> Result<Vec<OctaviaMonitor>> {
    let request = OCTAVIA.get(path(&["healthmonitors"]));
    let request = match pool {
        Some(pool) => request.query("pool_id", pool),
        None => request,
    };
    objects(&request, "healthmonitors")
}

fn of_balancer(kind: &str, of: Option<&str>) -> Request {
    let request = OCTAVIA.get(path(&[kind]));
    match of {
        Some(id) => request.query("loadbalancer_id", id),
        None => request,
    }
}

/// The members of a pool.
///
/// # Errors
///
/// Whatever Octavia answered.
pub(crate) fn members(pool: &str) -> Result<Vec<OctaviaMember>> {
    objects(&OCTAVIA.get(path(&["pools", pool, "members"])), "members")
}

/// The members of all pools of a load balancer that a listener has, with the ids of the pools: name, address and port alone.
///
/// # Errors
///
/// Whatever Octavia answered.
pub(crate) fn status_members(balancer: &str) -> Result<Vec<(String, Vec<OctaviaMember>)>> {
    let response = OCTAVIA.get(path(&["loadbalancers", balancer, "status"])).send()?;
    let statuses: Value = response.json_in("statuses")?;
    let mut all = Vec::new();
    for listener in statuses["loadbalancer"]["listeners"].as_array().into_iter().flatten() {
        for pool in listener["pools"].as_array().into_iter().flatten() {
            let id = pool["id"].as_str().unwrap_or_default().to_owned();
            let members = pool["members"].as_array().into_iter().flatten();
            all.push((id, members.filter_map(OctaviaMember::from_fields).collect()));
        }
    }
    Ok(all)
}

/// The minor version of the API: 30 of "v2.30". Octavia lists its versions in their order.
///
/// # Errors
///
/// Whatever Octavia answered.
pub(crate) fn minor_version() -> Result<u32> {
    let response = OCTAVIA.get([""; 0]).answer()?;
    // 300 is what lists of versions are answered with in places.
    let response = if response.status() == 300 { response } else { response.accepted()? };
    let versions: Value = response.json_in("versions")?;
    let minor = versions
        .as_array()
        .and_then(|it| it.last())
        .and_then(|it| it["id"].as_str()?.strip_prefix("v2.")?.parse().ok());
    minor.ok_or_else(|| Error::unavailable("Octavia lists no version 2 of its API"))
}
