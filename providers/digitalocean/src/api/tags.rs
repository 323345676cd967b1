//! Tags on load balancers.

use aerostat_sdk::Result;
use serde::Serialize;

use super::API;

/// Puts a tag on a load balancer, and makes the tag first where there is none.
pub(crate) fn put_on_load_balancer(tag: &str, id: &str) -> Result<()> {
    if !put(tag, id)? {
        #[derive(Serialize)]
        struct Tag<'a> {
            name: &'a str,
        }
        API.post(["v2", "tags"]).json(&Tag { name: tag }).send()?;
        put(tag, id)?;
    }
    Ok(())
}

/// Whether there is such a tag; then it is on the load balancer now.
fn put(tag: &str, id: &str) -> Result<bool> {
    #[derive(Serialize)]
    struct Resources<'a> {
        resources: [Resource<'a>; 1],
    }
    #[derive(Serialize)]
    struct Resource<'a> {
        resource_id: &'a str,
        resource_type: &'a str,
    }
    let resources = Resources { resources: [Resource { resource_id: id, resource_type: "load_balancer" }] };
    let response = API.post(["v2", "tags", tag, "resources"]).json(&resources).answer()?;
    if response.status() == 404 {
        return super::refusal(&response).map_or(Ok(false), Err);
    }
    response.accepted().map(|_| true)
}
