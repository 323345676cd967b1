//! The parts of a load balancer as Octavia shows them: of it alone, or, where all were listed a moment ago, picked out of the lists.

use aerostat_sdk::{LoadBalancer, Result};

use crate::api::octavia::{self, OctaviaBalancer, OctaviaListener, OctaviaMonitor, OctaviaPool};

/// The load balancer with this id.
///
/// # Errors
///
/// Whatever Octavia answered.
pub(crate) fn balancer(service: &LoadBalancer, id: &str) -> Result<Option<OctaviaBalancer>> {
    if service.is_listed()
        && let Some(listed) = octavia::balancers()?.into_iter().find(|it| it.id == id)
    {
        return Ok(Some(listed));
    }
    octavia::balancer(id)
}

/// Its listeners.
///
/// # Errors
///
/// Whatever Octavia answered.
pub(crate) fn listeners(service: &LoadBalancer, id: &str) -> Result<Vec<OctaviaListener>> {
    if service.is_listed() {
        return Ok(octavia::listeners(None)?.into_iter().filter(|it| it.is_of(id)).collect());
    }
    octavia::listeners(Some(id))
}

/// Its pools.
///
/// # Errors
///
/// Whatever Octavia answered.
pub(crate) fn pools(service: &LoadBalancer, id: &str) -> Result<Vec<OctaviaPool>> {
    if service.is_listed() {
        return Ok(octavia::pools(None)?.into_iter().filter(|it| it.is_of(id)).collect());
    }
    octavia::pools(Some(id))
}

/// The monitors of these pools.
///
/// # Errors
///
/// Whatever Octavia answered.
pub(crate) fn monitors(service: &LoadBalancer, pools: &[&OctaviaPool]) -> Result<Vec<OctaviaMonitor>> {
    let with_monitor: Vec<_> = pools.iter().filter(|it| it.healthmonitor_id.is_some()).collect();
    match with_monitor.as_slice() {
        [] => Ok(Vec::new()),
        [one] if !service.is_listed() => octavia::monitors(Some(&one.id)),
        _ => octavia::monitors(None),
    }
}
