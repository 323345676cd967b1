//! How the instances behind a Classic Load Balancer are checked.

use aerostat_sdk::annotations::refused;
use aerostat_sdk::{Error, ExternalTrafficPolicy, LoadBalancer, Result};

use super::super::annotations::{
    HEALTH_INTERVAL, HEALTH_PATH, HEALTH_PORT, HEALTH_PROTOCOL, HEALTH_TIMEOUT, HEALTHY, HealthPort, HealthProtocol,
    UNHEALTHY,
};
use super::super::call::ServiceCall;
use crate::api::elb::model::ClassicHealthCheck;
use crate::settings::ProbeMode;

/// In seconds, as all defaults of the vendor's controller.
const INTERVAL: u32 = 10;
const TIMEOUT: u32 = 5;
const UNHEALTHY_CHECKS: u32 = 6;
const HEALTHY_CHECKS: u32 = 2;
/// The most seconds after which a check is bad.
const LONGEST_TIMEOUT: u32 = 60;

/// The check that a Service asks for. `traffic_port` is the instances' port of its first listener; `is_tls` says that
/// they speak TLS there.
///
/// # Errors
///
/// `invalid` for an annotation that cannot be served.
pub(super) fn check(call: &ServiceCall<'_>, traffic_port: u16, is_tls: bool) -> Result<ClassicHealthCheck> {
    let annotations = call.annotations;
    let check = ClassicHealthCheck {
        target: target(call, traffic_port, is_tls)?,
        interval: annotations.read(&HEALTH_INTERVAL)?.unwrap_or(INTERVAL),
        timeout: annotations.read(&HEALTH_TIMEOUT)?.unwrap_or(TIMEOUT),
        unhealthy: annotations.read(&UNHEALTHY)?.unwrap_or(UNHEALTHY_CHECKS),
        healthy: annotations.read(&HEALTHY)?.unwrap_or(HEALTHY_CHECKS),
    };
    if check.timeout > LONGEST_TIMEOUT {
        let allowed = format!("2 to {LONGEST_TIMEOUT} seconds with a Classic Load Balancer");
        return Err(refused(HEALTH_TIMEOUT.name, &check.timeout.to_string(), &allowed));
    }
    if check.timeout >= check.interval {
        return Err(Error::invalid(format_args!(
            "health checks would time out after {} s and begin every {} s: annotation {} has to be less than \
             annotation {}",
            check.timeout, check.interval, HEALTH_TIMEOUT.name, HEALTH_INTERVAL.name
        )));
    }
    Ok(check)
}

/// The port of the instances that is checked, where traffic goes to this one.
///
/// # Errors
///
/// `invalid` for an annotation that is no port.
pub(super) fn port(call: &ServiceCall<'_>, traffic_port: u16) -> Result<u16> {
    Ok(match (call.annotations.read(&HEALTH_PORT)?, call.service.external_traffic_policy) {
        (Some(HealthPort::Number(port)), _) => port,
        (Some(HealthPort::Traffic), ExternalTrafficPolicy::Local(_)) => traffic_port,
        (None, ExternalTrafficPolicy::Local(port)) => port,
        (Some(HealthPort::Traffic) | None, ExternalTrafficPolicy::Cluster) => {
            call.settings.shared_probe_port().unwrap_or(traffic_port)
        }
    })
}

/// The health check: the Service's own answer about this node where only its own pods get traffic; kube-proxy, if the
/// operator says so; otherwise whether the first port takes connections. Annotations say otherwise.
fn target(call: &ServiceCall<'_>, traffic_port: u16, is_tls: bool) -> Result<String> {
    let (annotations, settings) = (call.annotations, &call.settings);
    let port = port(call, traffic_port)?;
    let (protocol, path) = match (call.service.external_traffic_policy, settings.probe_mode) {
        (ExternalTrafficPolicy::Local(_), _) => (HealthProtocol::Http, LoadBalancer::HEALTH_CHECK_PATH),
        (ExternalTrafficPolicy::Cluster, ProbeMode::Shared) => (HealthProtocol::Http, &*settings.probe_path),
        (ExternalTrafficPolicy::Cluster, ProbeMode::ServiceNodePort) if is_tls => (HealthProtocol::Ssl, "/"),
        (ExternalTrafficPolicy::Cluster, ProbeMode::ServiceNodePort) => (HealthProtocol::Tcp, "/"),
    };
    let asked_path = annotations.read(&HEALTH_PATH)?;
    let path = asked_path.as_deref().unwrap_or(path);
    Ok(match annotations.read(&HEALTH_PROTOCOL)?.unwrap_or(protocol) {
        HealthProtocol::Tcp => format!("TCP:{port}"),
        HealthProtocol::Ssl => format!("SSL:{port}"),
        HealthProtocol::Http => format!("HTTP:{port}{path}"),
        HealthProtocol::Https => format!("HTTPS:{port}{path}"),
    })
}

/// The port of the instances that a live check asks, as in `HTTP:8080/healthz`.
pub(super) fn live_port(live: &ClassicHealthCheck) -> Option<u16> {
    let (_, rest) = live.target.split_once(':')?;
    rest.split('/').next()?.parse().ok()
}

/// Whether a check is as desired: AWS keeps the protocol in the case in which somebody wrote it.
pub(super) fn is_same(live: &ClassicHealthCheck, desired: &ClassicHealthCheck) -> bool {
    let parts = |check: &ClassicHealthCheck| {
        let (protocol, rest) = check.target.split_once(':').unwrap_or_default();
        (protocol.to_ascii_uppercase(), rest.to_owned(), check.interval, check.timeout, check.unhealthy, check.healthy)
    };
    parts(live) == parts(desired)
}
