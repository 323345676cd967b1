//! Instances whose primary network interface lets packets of pods through, and those whose does not yet.

use aerostat_sdk::{Result, SortedMap, SortedSet};

use crate::api::{PAGE, instances, interfaces};

/// Each of these instances with its primary interface while that checks source and destination; with nothing once it does not. Without those
/// that show no such interface, and those whose interface is not shown.
pub(super) fn of(region: &str, vpc: &str, instances: &[&str]) -> Result<SortedMap<String, Option<String>>> {
    let ids: SortedSet<&str> = instances.iter().copied().collect();
    let mut known = SortedMap::new();
    if ids.len() > PAGE as usize {
        // All of the VPC are fewer requests.
        for it in interfaces::primary(region, vpc)? {
            known.insert(it.instance, it.is_checking.then_some(it.id));
        }
    }
    // An instance may be elsewhere, or new. Those beyond a page are left for a later call.
    let others = ids.iter().copied().filter(|it| !known.contains_key(*it));
    let others: Vec<&str> = others.take(PAGE as usize).collect();
    if others.is_empty() {
        return Ok(known);
    }
    let found = instances::by_ids(region, &others)?;
    let interfaces: Vec<&str> = found.iter().filter_map(|it| it.interface.as_deref()).collect();
    if interfaces.is_empty() {
        return Ok(known);
    }
    // One that is not shown is unknown, and may check.
    for own in interfaces::by_ids(region, &interfaces)? {
        for it in found.iter().filter(|it| it.interface.as_ref() == Some(&own.id)) {
            known.insert(it.id.clone(), own.is_checking.then(|| own.id.clone()));
        }
    }
    Ok(known)
}
