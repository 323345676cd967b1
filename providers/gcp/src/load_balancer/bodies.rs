//! Bodies of writes, as the vendor's controller makes them.

use aerostat_sdk::{Mark, Owner, Result};
use serde_json::{Value, json};

use super::compare::differs;
use super::goal::GceGoal;
use super::names::{CLUSTER_LABEL, SERVICE_LABEL, described};
use crate::api::objects::{GceKind, GceObject};
use crate::machine::MachinePlace;

/// The most ports that an internal forwarding rule names; with more it takes all.
const MOST_PORTS: usize = 5;
/// The most instances of a target pool that is made: further ones are added.
pub(super) const FIRST_INSTANCES: usize = 200;
/// The priority of firewalls that allow, and, below a firewall that denies, one less.
const PRIORITY: u32 = 1_000;

/// The marks of this Service, as labels.
///
/// # Errors
///
/// If the cluster is not known.
pub(super) fn labels(owner: &Owner) -> Result<Value> {
    let Mark { cluster, service } = owner.mark()?;
    Ok(json!({ CLUSTER_LABEL: cluster.to_ascii_lowercase(), SERVICE_LABEL: service.to_ascii_lowercase() }))
}

/// The labels of an object that is about to go, with these: somebody else's go on, over the address that is held, to the next rule.
pub(super) fn labels_beside(shown: &Value, ours: &Value) -> Value {
    let mut labels = shown["labels"].as_object().cloned().unwrap_or_default();
    labels.extend(ours.as_object().cloned().unwrap_or_default());
    Value::Object(labels)
}

/// The forwarding rule. Without `ip` the API chooses an address.
pub(super) fn rule(goal: &GceGoal, ip: Option<&str>, labels: &Value) -> Value {
    let target = goal.target().reference(&goal.settings.project);
    let mut body = json!({
        "name": goal.names.balancer, "description": goal.names.description(), "labels": labels,
        "IPProtocol": goal.protocol(),
    });
    if let Some(ip) = ip {
        body["IPAddress"] = json!(ip);
    }
    for (field, value) in wanted_rule(goal) {
        body[field] = value;
    }
    if goal.is_internal {
        body["backendService"] = json!(target);
        body["network"] = json!(goal.settings.network_reference());
    } else {
        body["target"] = json!(target);
    }
    body
}

/// The fields of a rule that differ between the two kinds, but for its target.
fn wanted_rule(goal: &GceGoal) -> Vec<(&'static str, Value)> {
    if !goal.is_internal {
        let (first, last) = (goal.ports.first().copied().unwrap_or_default(), goal.ports.last().copied());
        let range = format!("{first}-{}", last.unwrap_or_default());
        return vec![("networkTier", json!(goal.tier())), ("portRange", json!(range))];
    }
    let mut fields = vec![("loadBalancingScheme", json!("INTERNAL"))];
    match goal.ports.len() > MOST_PORTS {
        true => fields.push(("allPorts", json!(true))),
        false => fields.push(("ports", goal.ports.iter().map(u16::to_string).collect())),
    }
    fields.extend(goal.subnet.as_ref().map(|it| ("subnetwork", json!(it))));
    fields.extend(goal.has_global_access.then_some(("allowGlobalAccess", json!(true))));
    fields
}

/// Whether a rule has to be made again to be as wanted. Its address and global access apart.
pub(super) fn rule_differs(goal: &GceGoal, shown: &Value) -> bool {
    let target = goal.target().reference(&goal.settings.project);
    let mut wanted = json!({ "IPProtocol": goal.protocol() });
    for (field, value) in wanted_rule(goal).into_iter().filter(|(it, _)| *it != "allowGlobalAccess") {
        wanted[field] = value;
    }
    wanted[if goal.is_internal { "backendService" } else { "target" }] = json!(target);
    let has_all = shown["allPorts"] == true;
    differs(&wanted, shown) || (has_all && wanted.get("allPorts").is_none())
}

/// The address that holds `ip` while the rule is made again.
pub(super) fn address(goal: &GceGoal, ip: &str, labels: &Value) -> Value {
    let mut body = json!({
        "name": goal.names.balancer, "description": goal.names.description(), "labels": labels, "address": ip,
    });
    if goal.is_internal {
        body["addressType"] = json!("INTERNAL");
        if let Some(subnet) = &goal.subnet {
            body["subnetwork"] = json!(subnet);
        }
    } else {
        body["networkTier"] = json!(goal.tier());
    }
    body
}

/// The health check. Longer intervals and larger thresholds of the one that is there are kept.
pub(super) fn check(goal: &GceGoal, shown: Option<&Value>) -> Value {
    let object = goal.check();
    let at_least = |field: &str, least: u64| shown.and_then(|it| it[field].as_u64()).map_or(least, |it| it.max(least));
    let mut body = json!({
        "name": object.name, "checkIntervalSec": at_least("checkIntervalSec", 8), "timeoutSec": at_least("timeoutSec", 1),
        "healthyThreshold": at_least("healthyThreshold", 1), "unhealthyThreshold": at_least("unhealthyThreshold", 3),
    });
    if object.kind == GceKind::HttpHealthChecks {
        body["description"] = json!(described(&object.name));
        body["port"] = json!(goal.check_port);
        body["requestPath"] = json!("/healthz");
        return body;
    }
    if goal.is_local {
        body["description"] = json!(goal.names.description());
    }
    body["type"] = json!("HTTP");
    body["httpHealthCheck"] = json!({ "port": goal.check_port, "requestPath": "/healthz" });
    body
}

/// The target pool with its first instances.
pub(super) fn pool(goal: &GceGoal) -> Value {
    let first: Vec<String> =
        goal.nodes.iter().take(FIRST_INSTANCES).map(|it| it.reference(&goal.settings.project.project)).collect();
    json!({
        "name": goal.names.balancer, "description": goal.names.description(), "instances": first,
        "healthChecks": [goal.check().reference(&goal.settings.project)], "sessionAffinity": goal.affinity(),
    })
}

/// The backend service.
pub(super) fn backend(goal: &GceGoal) -> Value {
    let group = |zone: &String| GceObject::group(zone, &goal.names.group()).reference(&goal.settings.project);
    let backends: Vec<Value> = goal.zones().iter().map(|zone| json!({ "group": group(zone) })).collect();
    let mut body = json!({
        "name": goal.target().name, "backends": backends, "protocol": goal.protocol(), "loadBalancingScheme": "INTERNAL",
        "healthChecks": [goal.check().reference(&goal.settings.project)], "sessionAffinity": goal.affinity(),
    });
    if !goal.shares_backend {
        body["description"] = json!(goal.names.description());
    }
    body
}

/// Instances for a verb of a target pool or an instance group.
pub(super) fn instances<'a>(goal: &GceGoal, places: impl IntoIterator<Item = &'a MachinePlace>) -> Value {
    let project = &goal.settings.project.project;
    let each = places.into_iter().map(|it| json!({ "instance": it.reference(project) }));
    json!({ "instances": each.collect::<Vec<_>>() })
}

/// The firewall that lets clients in to `ip`.
pub(super) fn firewall(goal: &GceGoal, ip: &str) -> Value {
    let mut body = json!({
        "name": goal.names.firewall().name, "description": goal.names.firewall_description(ip),
        "network": goal.settings.network_reference(), "sourceRanges": goal.sources, "destinationRanges": [ip],
        "targetTags": goal.tags,
        "allowed": [{ "IPProtocol": goal.protocol().to_ascii_lowercase(), "ports": port_ranges(&goal.ports) }],
    });
    if !goal.is_internal {
        body["priority"] = json!(PRIORITY - u32::from(goal.has_deny_firewall()));
    }
    body
}

/// The firewall that keeps out whatever else comes to `ip`.
pub(super) fn deny_firewall(goal: &GceGoal, ip: &str) -> Value {
    json!({
        "name": goal.names.deny_firewall().name, "description": goal.names.firewall_description(ip),
        "network": goal.settings.network_reference(), "sourceRanges": ["0.0.0.0/0"], "destinationRanges": [ip],
        "targetTags": goal.tags, "denied": [{ "IPProtocol": "all" }], "priority": PRIORITY,
    })
}

/// The firewall that lets health checks in. The one that Services share has no destination: their addresses are many.
pub(super) fn check_firewall(goal: &GceGoal, ip: Option<&str>) -> Value {
    let mut body = json!({
        "name": goal.check_firewall().name, "network": goal.settings.network_reference(), "targetTags": goal.tags,
        "sourceRanges": goal.settings.check_sources,
        "allowed": [{ "IPProtocol": "tcp", "ports": [goal.check_port.to_string()] }],
    });
    if !goal.is_internal {
        body["priority"] = json!(PRIORITY);
        match (goal.is_local, ip) {
            (true, Some(ip)) => {
                body["description"] = json!(goal.names.firewall_description(ip));
                body["destinationRanges"] = json!([ip]);
            }
            _ => body["description"] = json!(format!(r#"{{"kubernetes.io/cluster-id":"{}"}}"#, goal.names.cluster)),
        }
    }
    body
}

/// Ports as firewalls take them: those that follow each other are one range. `ports` is sorted.
fn port_ranges(ports: &[u16]) -> Vec<String> {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for port in ports {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*port) => *last = *port,
            _ => ranges.push((*port, *port)),
        }
    }
    let text = |(first, last): (u16, u16)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_that_follow_each_other_are_one_range() {
        assert_eq!(port_ranges(&[1, 2, 3, 4, 5, 80]), ["1-5", "80"]);
        assert_eq!(port_ranges(&[80, 443]), ["80", "443"]);
        assert_eq!(port_ranges(&[65_534, 65_535]), ["65534-65535"]);
    }
}
