//! Things that annotations may name and that are not the Service's own: those that the operator's settings allow to
//! authors of Services.

use aerostat_sdk::{Error, ExternalTrafficPolicy, Result};

use super::annotations::{
    ADDITIONAL_TAGS, ELASTIC_IPS, EXTRA_SECURITY_GROUPS, HEALTH_PORT, HealthPort, LOG_BUCKET, LOG_ENABLED,
    LoadBalancerKind, SECURITY_GROUPS, pairs,
};
use super::call::ServiceCall;
use crate::settings::{ClusterMarks, NetworkGroups};
use crate::tags::{CLUSTER_UID, KEPT, SERVICE_UID};

/// The beginning of the keys of clusters' tags.
const CLUSTERS: &str = "kubernetes.io/cluster/";

/// Refuses a security group, elastic IP, bucket, port or tag that the Service names, and that neither is its own nor allowed by the
/// operator. What makes no difference is not refused.
///
/// # Errors
///
/// `invalid`, naming the annotation, the value and the setting.
pub(super) fn check(call: &ServiceCall<'_>, kind: LoadBalancerKind) -> Result<()> {
    let (annotations, settings) = (call.annotations, &call.settings);
    if kind == LoadBalancerKind::Classic || settings.network_groups == NetworkGroups::Managed {
        for key in [&SECURITY_GROUPS, &EXTRA_SECURITY_GROUPS] {
            for group in annotations.read(key)?.unwrap_or_default() {
                settings.allowed_groups.check(key.name, &group)?;
            }
        }
    }
    if kind == LoadBalancerKind::Network && !call.is_known() {
        elastic_ips(call)?;
    }
    if let Some(bucket) = annotations.text(LOG_BUCKET.name)
        && annotations.get(&LOG_ENABLED)?
    {
        settings.allowed_log_buckets.check(LOG_BUCKET.name, bucket)?;
    }
    if let Some(HealthPort::Number(port)) = annotations.read(&HEALTH_PORT)?.filter(|it| !is_own_port(call, it)) {
        settings.allowed_health_ports.check(HEALTH_PORT.name, &port.to_string())?;
    }
    tags(call)
}

/// Elastic IPs for a Network Load Balancer that is made. One that there is keeps what it has.
///
/// # Errors
///
/// As [`check`].
pub(super) fn elastic_ips(call: &ServiceCall<'_>) -> Result<Option<Vec<String>>> {
    let allocations = call.annotations.read(&ELASTIC_IPS)?;
    for allocation in allocations.iter().flatten() {
        call.settings.allowed_elastic_ips.check(ELASTIC_IPS.name, allocation)?;
    }
    Ok(allocations)
}

/// Whether nodes may be opened at a port that is checked.
pub(super) fn is_health_port(call: &ServiceCall<'_>, port: u16) -> bool {
    is_own_port(call, &HealthPort::Number(port)) || call.settings.allowed_health_ports.has(&port.to_string())
}

/// Whether a port is the Service's own on the nodes: a node port, the port of its health checks, or that of kube-proxy where the
/// operator has it asked.
fn is_own_port(call: &ServiceCall<'_>, port: &HealthPort) -> bool {
    let HealthPort::Number(port) = port else { return true };
    let health = match call.service.external_traffic_policy {
        ExternalTrafficPolicy::Local(port) => Some(port),
        ExternalTrafficPolicy::Cluster => call.settings.shared_probe_port(),
    };
    call.service.ports.iter().filter_map(|it| it.node_port).chain(health).any(|it| it == *port)
}

/// Refuses tags that say whose something is, or that it is kept: the marks of a cluster or of a Service are not an author's to
/// write.
fn tags(call: &ServiceCall<'_>) -> Result<()> {
    let key = ADDITIONAL_TAGS.name;
    for (name, _) in call.annotations.text(key).map(pairs).unwrap_or_default() {
        if name.starts_with(CLUSTERS) || [ClusterMarks::LEGACY_TAG, CLUSTER_UID, KEPT, SERVICE_UID].contains(&&*name) {
            return Err(Error::invalid(format_args!(
                "annotation {key}: the tag {name:?} says to which cluster or Service something belongs, and is not for authors of \
                 Services to write: take it off"
            )));
        }
    }
    Ok(())
}
