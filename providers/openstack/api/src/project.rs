//! The project that the token is for.

use aerostat_sdk::Result;
use serde_json::Value;

use crate::clients::NEUTRON;
use crate::fields::word;
use crate::region::region;

/// The project that the token is for, and the region: in another one, nothing of this cluster is seen. Every module says it so.
///
/// # Errors
///
/// The error that Neutron answered.
pub fn identity() -> Result<String> {
    let region = region()?;
    let response = NEUTRON.get(["quotas", "project"]).send()?;
    let shown: Value = response.json_in("project")?;
    let project = word(&shown, "project_id").ok_or_else(|| response.unreadable(&"it names no project"))?;
    Ok(format!("project {project}, region {region}"))
}
