//! Backend services of a region.

use serde_json::{Value, json};

use super::fields::{default, refer, refer_all, resolved, word};
use super::groups;
use crate::clouds::gcp::collection::Collection;
use crate::clouds::gcp::errors::{self, Refusal};
use crate::clouds::gcp::place::{Place, link};
use crate::clouds::gcp::world::{World, text};

pub(super) fn prepare(world: &World, place: &Place, body: &mut Value) -> Result<(), Refusal> {
    default(body, "loadBalancingScheme", json!("EXTERNAL"));
    word(body, "loadBalancingScheme", &["EXTERNAL", "INTERNAL"])?;
    default(body, "protocol", json!("TCP"));
    word(body, "protocol", &["TCP", "UDP", "UNSPECIFIED"])?;
    default(body, "sessionAffinity", json!("NONE"));
    word(
        body,
        "sessionAffinity",
        &["NONE", "CLIENT_IP", "CLIENT_IP_PROTO", "CLIENT_IP_PORT_PROTO", "CLIENT_IP_NO_DESTINATION"],
    )?;
    default(body, "timeoutSec", json!(30));
    default(body, "connectionDraining", json!({ "drainingTimeoutSec": 0 }));
    refer(world, place, body, "network", &[Collection::Networks])?;
    let checks = refer_all(world, place, body, "healthChecks", &[Collection::HealthChecks])?;
    if checks.len() != 1 {
        return Err(errors::invalid("resource.healthChecks", "", "A backend service has exactly one health check."));
    }
    let mut backends = body["backends"].as_array().cloned().unwrap_or_default();
    let mut named = Vec::new();
    for backend in &mut backends {
        let group = resolved(world, place, text(backend, "group"), "backends[].group", &[Collection::InstanceGroups])?;
        if named.contains(&group) {
            return Err(errors::invalid("resource.backends", &group, "Duplicate instance group."));
        }
        groups::check_alone(world, &group, &named)?;
        backend["group"] = json!(link(&group));
        default(backend, "balancingMode", json!("CONNECTION"));
        word(backend, "balancingMode", &["CONNECTION"])?;
        named.push(group);
    }
    body["backends"] = json!(backends);
    Ok(())
}
