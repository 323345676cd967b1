//! The load balancer that a Service describes, without the nodes behind it. No client, no clock, no log.

use std::collections::BTreeSet;
use std::sync::Arc;

use cloud_provider::{Description, IpFamily, LoadBalancer, Owner, Port, Protocol, Traffic};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use kube::ResourceExt;

use crate::service::status::{current, memo};

/// The length of a load balancer's default name.
const NAME: usize = 32;
/// For how long a client stays with its pod, if the Service does not say.
const AFFINITY: u32 = 10_800;

/// Whose load balancers are looked after, and in which cloud.
#[derive(Clone)]
pub(super) struct Cluster {
    /// `--cluster-name`.
    pub(super) name: String,
    /// What the cloud's provider says of itself.
    pub(super) description: Arc<Description>,
}

/// A Service that says nothing which could be done. The API server lets none of these through.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Invalid(String);

/// Upstream's default name of a load balancer: what can be told from a UID alone.
pub(super) fn name(uid: &str) -> String {
    std::iter::once('a').chain(uid.chars().filter(|it| *it != '-')).take(NAME).collect()
}

/// The load balancer that a Service asks for.
pub(super) fn wish(service: &Service, cluster: &Cluster) -> Result<LoadBalancer, Invalid> {
    let spec = service.spec.as_ref();
    Ok(LoadBalancer {
        ports: spec.and_then(|it| it.ports.as_deref()).map_or(Ok(Vec::new()), ports)?,
        source_ranges: source_ranges(spec)?,
        ..unwanted(service, cluster)
    })
}

/// The load balancer that a Service does not ask for any more: as much of it as can be told in any case.
pub(super) fn unwanted(service: &Service, cluster: &Cluster) -> LoadBalancer {
    let uid = service.metadata.uid.clone().unwrap_or_default();
    let spec = service.spec.as_ref();
    let text = |it: &Option<String>| it.clone().filter(|it| !it.is_empty());
    LoadBalancer {
        name: name(&uid),
        owner: Owner {
            cluster: cluster.name.clone(),
            namespace: service.namespace().unwrap_or_default(),
            name: service.name_any(),
            uid,
        },
        memo: memo(service).map(str::to_owned),
        current: current(service),
        class: spec.and_then(|it| it.load_balancer_class.clone()),
        ports: spec.and_then(|it| it.ports.as_deref()).and_then(|it| ports(it).ok()).unwrap_or_default(),
        nodes: Vec::new(),
        annotations: annotations(service, &cluster.description),
        source_ranges: source_ranges(spec).unwrap_or_default(),
        families: families(spec),
        address: spec.and_then(|it| text(&it.load_balancer_ip)),
        traffic: spec.map_or(Traffic::Cluster, traffic),
        affinity: spec.and_then(affinity),
    }
}

/// What makes two wishes of one Service different: all but what we write ourselves.
pub(super) fn essence(mut wish: LoadBalancer) -> LoadBalancer {
    wish.memo = None;
    wish.current.clear();
    wish.nodes.clear();
    wish
}

/// Those that the provider describes: a change of any other is no change of the wish.
fn annotations(service: &Service, description: &Description) -> Vec<(String, String)> {
    let is_read = |key: &str| description.annotations.iter().any(|it| it.key == key);
    let annotations = service.metadata.annotations.iter().flatten();
    annotations.filter(|(key, _)| is_read(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn ports(ports: &[ServicePort]) -> Result<Vec<Port>, Invalid> {
    let mut ports = ports.iter().map(port).collect::<Result<Vec<_>, _>>()?;
    ports.sort_by(|a, b| (a.port, a.protocol, &a.name).cmp(&(b.port, b.protocol, &b.name)));
    Ok(ports)
}

fn port(port: &ServicePort) -> Result<Port, Invalid> {
    let protocol = port.protocol.as_deref().unwrap_or("TCP");
    Ok(Port {
        name: port.name.clone().unwrap_or_default(),
        protocol: Protocol::parse(protocol).ok_or_else(|| Invalid(format!("unknown protocol {protocol:?}")))?,
        port: number(port.port)?,
        node_port: port.node_port.filter(|it| *it != 0).map(number).transpose()?,
        app_protocol: port.app_protocol.clone().filter(|it| !it.is_empty()),
    })
}

fn number(port: i32) -> Result<u16, Invalid> {
    u16::try_from(port).map_err(|_| Invalid(format!("{port} is no port")))
}

/// The API server takes white space around a range, and bits behind its prefix.
fn source_ranges(spec: Option<&ServiceSpec>) -> Result<Vec<String>, Invalid> {
    let ranges = spec.and_then(|it| it.load_balancer_source_ranges.as_deref()).unwrap_or_default();
    let range = |it: &String| match it.trim().parse::<IpNet>() {
        Ok(range) => Ok(range.trunc().to_string()),
        Err(_) => Err(Invalid(format!("spec.loadBalancerSourceRanges: {it:?} is no range of addresses"))),
    };
    let ranges = ranges.iter().map(range).collect::<Result<BTreeSet<_>, _>>()?;
    Ok(ranges.into_iter().collect())
}

fn families(spec: Option<&ServiceSpec>) -> Vec<IpFamily> {
    let families = spec.and_then(|it| it.ip_families.as_deref()).unwrap_or_default();
    families.iter().filter_map(|it| IpFamily::parse(it)).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Where a Service keeps traffic on the node that it came to, its health check says which nodes have a pod.
fn traffic(spec: &ServiceSpec) -> Traffic {
    let is_local = spec.external_traffic_policy.as_deref() == Some("Local");
    let is_load_balancer = spec.type_.as_deref() == Some("LoadBalancer");
    let port = spec.health_check_node_port.and_then(|it| u16::try_from(it).ok()).filter(|it| *it != 0);
    match port {
        Some(port) if is_local && is_load_balancer => Traffic::Local(port),
        _ => Traffic::Cluster,
    }
}

fn affinity(spec: &ServiceSpec) -> Option<u32> {
    if spec.session_affinity.as_deref() != Some("ClientIP") {
        return None;
    }
    let config = spec.session_affinity_config.as_ref().and_then(|it| it.client_ip.as_ref());
    let seconds = config.and_then(|it| it.timeout_seconds).and_then(|it| u32::try_from(it).ok());
    Some(seconds.unwrap_or(AFFINITY))
}
