//! Bodies of writes, as the vendor's controller makes them.

use aerostat_sdk::{Mark, Owner, Result};
use serde_json::{Value, json};

use super::compare::differs;
use super::names::{CLUSTER_LABEL, SERVICE_LABEL, described};
use super::wish::GceWish;
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

/// The forwarding rule. Without `ip` the API chooses an address.
pub(super) fn rule(wish: &GceWish, ip: Option<&str>, labels: &Value) -> Value {
    let target = wish.target().reference(&wish.settings.project);
    let mut body = json!({
        "name": wish.names.balancer, "description": wish.names.description(), "labels": labels,
        "IPProtocol": wish.protocol(),
    });
    if let Some(ip) = ip {
        body["IPAddress"] = json!(ip);
    }
    for (field, value) in wanted_rule(wish) {
        body[field] = value;
    }
    if wish.is_internal {
        body["backendService"] = json!(target);
        body["network"] = json!(wish.settings.network_reference());
    } else {
        body["target"] = json!(target);
    }
    body
}

/// The fields of a rule that differ between the two kinds, but for its target.
fn wanted_rule(wish: &GceWish) -> Vec<(&'static str, Value)> {
    if !wish.is_internal {
        let (first, last) = (wish.ports.first().copied().unwrap_or_default(), wish.ports.last().copied());
        let range = format!("{first}-{}", last.unwrap_or_default());
        return vec![("networkTier", json!(wish.tier())), ("portRange", json!(range))];
    }
    let mut fields = vec![("loadBalancingScheme", json!("INTERNAL"))];
    match wish.ports.len() > MOST_PORTS {
        true => fields.push(("allPorts", json!(true))),
        false => fields.push(("ports", wish.ports.iter().map(u16::to_string).collect())),
    }
    fields.extend(wish.subnet.as_ref().map(|it| ("subnetwork", json!(it))));
    fields.extend(wish.has_global_access.then_some(("allowGlobalAccess", json!(true))));
    fields
}

/// Whether a rule has to be made again to be as wished. Its address and global access apart.
pub(super) fn rule_differs(wish: &GceWish, shown: &Value) -> bool {
    let target = wish.target().reference(&wish.settings.project);
    let mut wanted = json!({ "IPProtocol": wish.protocol() });
    for (field, value) in wanted_rule(wish).into_iter().filter(|(it, _)| *it != "allowGlobalAccess") {
        wanted[field] = value;
    }
    wanted[if wish.is_internal { "backendService" } else { "target" }] = json!(target);
    let has_all = shown["allPorts"] == true;
    differs(&wanted, shown) || (has_all && wanted.get("allPorts").is_none())
}

/// The address that holds `ip` while the rule is made again.
pub(super) fn address(wish: &GceWish, ip: &str, labels: &Value) -> Value {
    let mut body = json!({
        "name": wish.names.balancer, "description": wish.names.description(), "labels": labels, "address": ip,
    });
    if wish.is_internal {
        body["addressType"] = json!("INTERNAL");
        if let Some(subnet) = &wish.subnet {
            body["subnetwork"] = json!(subnet);
        }
    } else {
        body["networkTier"] = json!(wish.tier());
    }
    body
}

/// The health check. Longer intervals and larger thresholds of the one that is there are kept.
pub(super) fn check(wish: &GceWish, shown: Option<&Value>) -> Value {
    let object = wish.check();
    let at_least = |field: &str, least: u64| shown.and_then(|it| it[field].as_u64()).map_or(least, |it| it.max(least));
    let mut body = json!({
        "name": object.name, "checkIntervalSec": at_least("checkIntervalSec", 8), "timeoutSec": at_least("timeoutSec", 1),
        "healthyThreshold": at_least("healthyThreshold", 1), "unhealthyThreshold": at_least("unhealthyThreshold", 3),
    });
    if object.kind == GceKind::HttpHealthChecks {
        body["description"] = json!(described(&object.name));
        body["port"] = json!(wish.check_port);
        body["requestPath"] = json!("/healthz");
        return body;
    }
    if wish.is_local {
        body["description"] = json!(wish.names.description());
    }
    body["type"] = json!("HTTP");
    body["httpHealthCheck"] = json!({ "port": wish.check_port, "requestPath": "/healthz" });
    body
}

/// The target pool with its first instances.
pub(super) fn pool(wish: &GceWish) -> Value {
    let first: Vec<String> =
        wish.nodes.iter().take(FIRST_INSTANCES).map(|it| it.reference(&wish.settings.project.project)).collect();
    json!({
        "name": wish.names.balancer, "description": wish.names.description(), "instances": first,
        "healthChecks": [wish.check().reference(&wish.settings.project)], "sessionAffinity": wish.affinity(),
    })
}

/// The backend service.
pub(super) fn backend(wish: &GceWish) -> Value {
    let group = |zone: &String| GceObject::group(zone, &wish.names.group()).reference(&wish.settings.project);
    let backends: Vec<Value> = wish.zones().iter().map(|zone| json!({ "group": group(zone) })).collect();
    let mut body = json!({
        "name": wish.target().name, "backends": backends, "protocol": wish.protocol(), "loadBalancingScheme": "INTERNAL",
        "healthChecks": [wish.check().reference(&wish.settings.project)], "sessionAffinity": wish.affinity(),
    });
    if !wish.shares_backend {
        body["description"] = json!(wish.names.description());
    }
    body
}

/// Instances for a verb of a target pool or an instance group.
pub(super) fn instances<'a>(wish: &GceWish, places: impl IntoIterator<Item = &'a MachinePlace>) -> Value {
    let project = &wish.settings.project.project;
    let each = places.into_iter().map(|it| json!({ "instance": it.reference(project) }));
    json!({ "instances": each.collect::<Vec<_>>() })
}

/// The firewall that lets clients in to `ip`.
pub(super) fn firewall(wish: &GceWish, ip: &str) -> Value {
    let mut body = json!({
        "name": wish.names.firewall().name, "description": wish.names.firewall_description(ip),
        "network": wish.settings.network_reference(), "sourceRanges": wish.sources, "destinationRanges": [ip],
        "targetTags": wish.tags,
        "allowed": [{ "IPProtocol": wish.protocol().to_ascii_lowercase(), "ports": port_ranges(&wish.ports) }],
    });
    if !wish.is_internal {
        body["priority"] = json!(PRIORITY - u32::from(wish.has_deny_firewall()));
    }
    body
}

/// The firewall that keeps out whatever else comes to `ip`.
pub(super) fn deny_firewall(wish: &GceWish, ip: &str) -> Value {
    json!({
        "name": wish.names.deny_firewall().name, "description": wish.names.firewall_description(ip),
        "network": wish.settings.network_reference(), "sourceRanges": ["0.0.0.0/0"], "destinationRanges": [ip],
        "targetTags": wish.tags, "denied": [{ "IPProtocol": "all" }], "priority": PRIORITY,
    })
}

/// The firewall that lets health checks in. The one that Services share has no destination: their addresses are many.
pub(super) fn check_firewall(wish: &GceWish, ip: Option<&str>) -> Value {
    let mut body = json!({
        "name": wish.check_firewall().name, "network": wish.settings.network_reference(), "targetTags": wish.tags,
        "sourceRanges": wish.settings.check_sources,
        "allowed": [{ "IPProtocol": "tcp", "ports": [wish.check_port.to_string()] }],
    });
    if !wish.is_internal {
        body["priority"] = json!(PRIORITY);
        match (wish.is_local, ip) {
            (true, Some(ip)) => {
                body["description"] = json!(wish.names.firewall_description(ip));
                body["destinationRanges"] = json!([ip]);
            }
            _ => body["description"] = json!(format!(r#"{{"kubernetes.io/cluster-id":"{}"}}"#, wish.names.cluster)),
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
