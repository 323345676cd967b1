//! The desired state of a Service: the listeners, target groups and attributes of a Network Load Balancer. Pure.

use aerostat_sdk::{Error, ExternalTrafficPolicy, IpFamily, LoadBalancer, Port, Protocol, Result, SortedMap};

use super::names::GroupKey;
use crate::api::elbv2::Attributes;
use crate::api::elbv2::target_groups::TargetHealth;
use crate::load_balancer::annotations::{
    BACKEND_PROTOCOL, CROSS_ZONE, HEALTH_INTERVAL, HEALTH_PATH, HEALTH_PORT, HEALTH_PROTOCOL, HEALTH_TIMEOUT, HEALTHY,
    HealthPort, HealthProtocol, INTERNAL, LOG_BUCKET, LOG_ENABLED, LOG_PREFIX, SSL_POLICY, UNHEALTHY,
};
use crate::load_balancer::call::ServiceCall;
use crate::load_balancer::preflight;
use crate::settings::ProbeMode;

/// The attribute for sending to the nodes of all zones.
pub(super) const CROSS_ZONE_ENABLED: &str = "load_balancing.cross_zone.enabled";
/// The attribute for a log of access.
pub(super) const LOGS_ENABLED: &str = "access_logs.s3.enabled";
const LOGS_BUCKET: &str = "access_logs.s3.bucket";
const LOGS_PREFIX: &str = "access_logs.s3.prefix";

/// The port of checks that go where traffic goes.
pub(super) const TRAFFIC_PORT: &str = "traffic-port";

/// The desired state of a Service's load balancer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct DesiredNlb {
    pub(super) is_internal: bool,
    /// One of each port that has a node port, in the order of the Service.
    pub(super) listeners: Vec<DesiredListener>,
    /// Attributes of the load balancer.
    pub(super) attributes: Attributes,
    /// Attributes of all target groups; others stay.
    pub(super) group_attributes: Attributes,
}

/// A listener.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct DesiredListener {
    pub(super) port: u16,
    /// `TCP`, `UDP`, `TLS`.
    pub(super) protocol: &'static str,
    /// The policy of TLS. `None` leaves it to AWS, and as it is.
    pub(super) policy: Option<String>,
    /// The ARN of the certificate for TLS.
    pub(super) certificate: Option<String>,
    pub(super) group: DesiredGroup,
}

/// A target group.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct DesiredGroup {
    pub(super) name: String,
    /// `TCP`, `UDP`, `TLS`.
    pub(super) protocol: &'static str,
    /// The node port.
    pub(super) port: u16,
    /// Whether instances are reached by their IPv6 addresses.
    pub(super) is_ipv6: bool,
    pub(super) health: TargetHealth,
}

impl DesiredNlb {
    /// The desired state of the Service of a call.
    ///
    /// # Errors
    ///
    /// `invalid`, for what a Network Load Balancer cannot do, and for annotations that are not allowed.
    pub(super) fn of(call: &ServiceCall<'_>) -> Result<Self> {
        let health = health(call)?;
        let ports = call.service.ports.iter();
        let listeners = ports.filter_map(|it| listener(call, it, &health).transpose()).collect::<Result<_>>()?;
        Ok(Self {
            is_internal: call.annotations.read(&INTERNAL)?.unwrap_or(false),
            listeners,
            attributes: attributes(call)?,
            group_attributes: preflight::group_attributes(call)?.into_iter().collect(),
        })
    }
}

/// Whether a Service wants IPv6 addresses beside those of IPv4.
pub(super) fn wants_ipv6(service: &LoadBalancer) -> bool {
    service.ip_families.contains(&IpFamily::Ipv6)
}

/// `None` for a port without a node port: no node listens there.
fn listener(call: &ServiceCall<'_>, port: &Port, health: &TargetHealth) -> Result<Option<DesiredListener>> {
    let Some(node_port) = port.node_port else { return Ok(None) };
    let is_udp = port.protocol == Protocol::Udp;
    let certificate = call.certificate(port)?;
    let is_tls_to_nodes = certificate.is_some() && call.annotations.text(BACKEND_PROTOCOL.name) == Some("ssl");
    let plain = if is_udp { "UDP" } else { "TCP" };
    let protocol = if is_tls_to_nodes { "TLS" } else { plain };
    let key = GroupKey {
        cluster: call.settings.cluster.id(),
        owner: &call.service.owner,
        port: port.port,
        node_port,
        protocol,
        health_protocol: &health.protocol,
        interval: health.interval,
    };
    // Nodes of a Service with IPv6 alone listen on IPv6 addresses alone.
    let is_ipv6 = call.service.ip_families == [IpFamily::Ipv6];
    let group = DesiredGroup { name: key.name(), protocol, port: node_port, is_ipv6, health: health.clone() };
    let policy = call.annotations.text(SSL_POLICY.name).filter(|_| certificate.is_some());
    Ok(Some(DesiredListener {
        port: port.port,
        protocol: if certificate.is_some() { "TLS" } else { plain },
        policy: policy.map(str::to_owned),
        certificate,
        group,
    }))
}

/// How nodes are checked: a connection to the node port; where only nodes with pods take traffic, what kube-proxy says
/// of these; or kube-proxy itself, as the operator chose.
fn health(call: &ServiceCall<'_>) -> Result<TargetHealth> {
    let annotations = call.annotations;
    let local = match call.service.external_traffic_policy {
        ExternalTrafficPolicy::Local(port) => Some(port),
        ExternalTrafficPolicy::Cluster => None,
    };
    let protocol = match annotations.read(&HEALTH_PROTOCOL)? {
        None if local.is_some() => "HTTP",
        None | Some(HealthProtocol::Tcp) => "TCP",
        Some(HealthProtocol::Http) => "HTTP",
        Some(HealthProtocol::Https) => "HTTPS",
        Some(HealthProtocol::Ssl) => return Err(unsupported_ssl()),
    };
    let path = annotations.read(&HEALTH_PATH)?;
    let path = path.unwrap_or_else(|| if local.is_some() { LoadBalancer::HEALTH_CHECK_PATH } else { "/" }.to_owned());
    let port = match (annotations.read(&HEALTH_PORT)?, local) {
        (Some(HealthPort::Number(port)), _) | (None, Some(port)) => port.to_string(),
        (Some(HealthPort::Traffic), _) | (None, None) => TRAFFIC_PORT.to_owned(),
    };
    let (interval, threshold) = if local.is_some() { (10, 2) } else { (30, 3) };
    let health = TargetHealth {
        protocol: protocol.to_owned(),
        port,
        path: (protocol != "TCP").then_some(path),
        interval: annotations.read(&HEALTH_INTERVAL)?.unwrap_or(interval),
        timeout: annotations.read(&HEALTH_TIMEOUT)?,
        healthy: annotations.read(&HEALTHY)?.unwrap_or(threshold),
        unhealthy: annotations.read(&UNHEALTHY)?.unwrap_or(threshold),
    };
    // AWS accepts some time-outs that equal the interval (aws/aws-cdk#26031): only longer ones are refused here.
    if let Some(timeout) = health.timeout.filter(|it| *it > health.interval) {
        return Err(Error::invalid(format_args!(
            "health checks would time out after {timeout} s and begin every {} s: annotation {} has to be at most \
             annotation {}",
            health.interval, HEALTH_TIMEOUT.name, HEALTH_INTERVAL.name
        )));
    }
    // With Shared the operator's word wins over annotations: the vendor's controller has it so.
    Ok(match (call.settings.probe_mode, local) {
        (ProbeMode::Shared, None) => TargetHealth {
            protocol: "HTTP".to_owned(),
            port: call.settings.probe_port.to_string(),
            path: Some(call.settings.probe_path.clone()),
            ..health
        },
        _ => health,
    })
}

fn unsupported_ssl() -> aerostat_sdk::Error {
    aerostat_sdk::annotations::refused(
        HEALTH_PROTOCOL.name,
        "ssl",
        "tcp, http or https, which a Network Load Balancer has",
    )
}

fn attributes(call: &ServiceCall<'_>) -> Result<Attributes> {
    let annotations = call.annotations;
    let logs = annotations.get(&LOG_ENABLED)?;
    let mut attributes = SortedMap::new();
    let mut set = |key: &str, value: String| _ = attributes.insert(key.to_owned(), value);
    set(CROSS_ZONE_ENABLED, annotations.get(&CROSS_ZONE)?.to_string());
    set(LOGS_ENABLED, logs.to_string());
    // AWS takes no empty bucket: where there is no log, both stay as they are.
    if logs {
        set(LOGS_BUCKET, annotations.text(LOG_BUCKET.name).unwrap_or_default().to_owned());
        set(LOGS_PREFIX, annotations.text(LOG_PREFIX.name).unwrap_or_default().to_owned());
    }
    Ok(attributes)
}
