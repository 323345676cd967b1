//! Tags on load balancers.

use aerostat_sdk::Result;
use serde_json::json;

use super::API;

/// Puts a tag on a load balancer, and makes the tag first where there is none.
pub(crate) fn put_on_load_balancer(tag: &str, id: &str) -> Result<()> {
    if !put(tag, id)? {
        API.post(["v2", "tags"]).json(&json!({ "name": tag })).send()?;
        put(tag, id)?;
    }
    Ok(())
}

/// Whether there is such a tag; then it is on the load balancer now.
fn put(tag: &str, id: &str) -> Result<bool> {
    let resources = json!({ "resources": [{ "resource_id": id, "resource_type": "load_balancer" }] });
    Ok(API.post(["v2", "tags", tag, "resources"]).json(&resources).find_response()?.is_some())
}
