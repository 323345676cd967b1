//! The desired state of a Classic Load Balancer. Nothing is asked of AWS here.

use aerostat_sdk::annotations::{Annotations, refused};
use aerostat_sdk::events::Warnings;
use aerostat_sdk::{Error, IpFamily, Result, SortedSet};

use super::super::annotations::{
    BACKEND_PROTOCOL, BackendProtocol, CROSS_ZONE, DRAINING_ENABLED, DRAINING_TIMEOUT, IDLE_TIMEOUT, INTERNAL,
    LOG_BUCKET, LOG_ENABLED, LOG_INTERVAL, LOG_PREFIX, PROXY_PROTOCOL, SSL_POLICY,
};
use super::super::call::ServiceCall;
use super::super::security_groups::{self, IngressRule, Peers};
use super::super::{preflight, targets};
use super::health;
use crate::api::elb::model::{ClassicAttributes, ClassicHealthCheck, ClassicListener, ClassicProtocol};

/// The most seconds after which an idle connection ends.
const LONGEST_IDLE: u32 = 3_600;
/// After how many seconds it does, unless the Service says another number.
const IDLE: u32 = 60;

/// The desired state of a Service's Classic Load Balancer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct DesiredClassic {
    /// In the order of the Service's ports; at least one.
    pub(super) listeners: Vec<ClassicListener>,
    pub(super) health: ClassicHealthCheck,
    pub(super) attributes: ClassicAttributes,
    /// Whether the instances are told who the client is.
    pub(super) is_proxied: bool,
    /// AWS's policy for versions and ciphers of TLS; `None` leaves it as it is.
    pub(super) ssl_policy: Option<String>,
    /// Counts only at the creation.
    pub(super) is_internal: bool,
    /// The rules of a security group of its own.
    pub(super) rules: Vec<IngressRule>,
    /// The instances of the nodes, by id.
    pub(super) instances: SortedSet<String>,
}

impl DesiredClassic {
    /// The desired state of the Service's load balancer.
    ///
    /// # Errors
    ///
    /// `invalid`: a port or an annotation that a Classic Load Balancer cannot serve.
    pub(super) fn of(call: &ServiceCall<'_>, warnings: &mut Warnings) -> Result<Self> {
        let annotations = call.annotations;
        let listeners = listeners(call)?;
        let Some(first) = listeners.first() else {
            return Err(Error::invalid(
                "no port has a node port, through which the load balancer reaches it: leave \
                 allocateLoadBalancerNodePorts at true",
            ));
        };
        let backend = annotations.read(&BACKEND_PROTOCOL)?;
        Ok(Self {
            health: health::check(
                call,
                first.instance_port,
                matches!(backend, Some(BackendProtocol::Https | BackendProtocol::Ssl)),
            )?,
            attributes: attributes(annotations)?,
            is_proxied: annotations.read(&PROXY_PROTOCOL)?.is_some(),
            ssl_policy: annotations.read(&SSL_POLICY)?.map(str::to_owned),
            is_internal: annotations.read(&INTERNAL)?.unwrap_or(false),
            rules: rules(call)?,
            instances: targets::instances(&call.service.nodes, warnings),
            listeners,
        })
    }
}

/// One for each port with a node port. Where TLS ends, the protocol of the instances says whether the load balancer
/// looks into it.
fn listeners(call: &ServiceCall<'_>) -> Result<Vec<ClassicListener>> {
    let annotations = call.annotations;
    let backend = annotations.read(&BACKEND_PROTOCOL)?;
    let listener = |port: &aerostat_sdk::Port| {
        let Some(instance_port) = port.node_port.filter(|it| *it != 0) else { return Ok(None) };
        let certificate = call.certificate(port)?;
        let (protocol, instance_protocol) = match (&certificate, backend) {
            (Some(_), None | Some(BackendProtocol::Tcp)) => (ClassicProtocol::Ssl, ClassicProtocol::Tcp),
            (Some(_), Some(BackendProtocol::Http)) => (ClassicProtocol::Https, ClassicProtocol::Http),
            (Some(_), Some(BackendProtocol::Https)) => (ClassicProtocol::Https, ClassicProtocol::Https),
            (Some(_), Some(BackendProtocol::Ssl)) => (ClassicProtocol::Ssl, ClassicProtocol::Ssl),
            (None, Some(BackendProtocol::Http)) => (ClassicProtocol::Http, ClassicProtocol::Http),
            (None, _) => (ClassicProtocol::Tcp, ClassicProtocol::Tcp),
        };
        Ok(Some(ClassicListener { port: port.port, protocol, instance_port, instance_protocol, certificate }))
    };
    call.service.ports.iter().filter_map(|it| listener(it).transpose()).collect()
}

fn attributes(annotations: Annotations<'_>) -> Result<ClassicAttributes> {
    let idle_timeout = annotations.read(&IDLE_TIMEOUT)?.unwrap_or(IDLE);
    if idle_timeout > LONGEST_IDLE {
        let allowed = format!("a whole number from 1 to {LONGEST_IDLE}");
        return Err(refused(IDLE_TIMEOUT.name, &idle_timeout.to_string(), &allowed));
    }
    let log_enabled = annotations.read(&LOG_ENABLED)?.unwrap_or(false);
    let text = |text: Option<&str>| text.map(str::to_owned);
    Ok(ClassicAttributes {
        cross_zone: annotations.read(&CROSS_ZONE)?.unwrap_or(false),
        log_enabled,
        log_interval: annotations.read(&LOG_INTERVAL)?,
        log_bucket: text(annotations.read(&LOG_BUCKET)?),
        log_prefix: text(annotations.read(&LOG_PREFIX)?),
        draining_enabled: annotations.read(&DRAINING_ENABLED)?.unwrap_or(false),
        draining_timeout: annotations.read(&DRAINING_TIMEOUT)?,
        idle_timeout: Some(idle_timeout),
    })
}

/// Clients come to all ports from the source ranges, and may find out how long packets may be.
fn rules(call: &ServiceCall<'_>) -> Result<Vec<IngressRule>> {
    let ranges = preflight::source_ranges(call, &[IpFamily::Ipv4])?;
    let rule = |port: &aerostat_sdk::Port| IngressRule {
        protocol: security_groups::RuleProtocol::Tcp,
        ports: Some((port.port, port.port)),
        peers: Peers::Ranges(ranges.clone()),
        description: String::new(),
    };
    let mut rules: Vec<_> = call.service.ports.iter().map(rule).collect();
    rules.extend(IngressRule::path_mtu(&ranges, ""));
    Ok(rules)
}
