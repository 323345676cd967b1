//! How targets are found to be well.

use aerostat_sdk::annotations::{Bool, Values as _, refused};
use aerostat_sdk::{Error, ExternalTrafficPolicy, LoadBalancer, Protocol, Result};

use super::annotations::{
    HEALTH_HEALTHY, HEALTH_INTERVAL, HEALTH_OVERRIDE, HEALTH_PATH, HEALTH_PORT, HEALTH_PROTOCOL, HEALTH_TIMEOUT,
    HEALTH_UNHEALTHY,
};
use super::reading::Reading;
use crate::api::load_balancers::{HealthCheck, HealthProtocol, LoadBalancer as Live};

/// Where kube-proxy says whether it is well.
const KUBE_PROXY: u16 = 10_256;
const HEALTHZ: &str = "/healthz";

/// The check that a Service asks for: kube-proxy's own, that of its local pods, or one of its ports.
pub(super) fn check(service: &LoadBalancer, annotations: &mut Reading<'_>) -> Result<HealthCheck> {
    let target = if annotations.annotations.has(HEALTH_OVERRIDE.name) {
        if let Some(value) = annotations.text(HEALTH_OVERRIDE.name).filter(|it| Bool.parse(it) == Some(false)) {
            annotations.warnings.tolerated(HEALTH_OVERRIDE.name, value, "counts as true: only its absence is false");
        }
        overridden(service, annotations)?
    } else {
        let meaning = format!("has no effect without annotation {}", HEALTH_OVERRIDE.name);
        if let Some(value) = annotations.text(HEALTH_PORT.name) {
            annotations.warnings.tolerated(HEALTH_PORT.name, value, &meaning);
        } else if let Some(value) = annotations.text(HEALTH_PATH.name) {
            annotations.warnings.tolerated(HEALTH_PATH.name, value, &meaning);
        } else if let Some(value) = annotations.text(HEALTH_PROTOCOL.name) {
            annotations.warnings.tolerated(HEALTH_PROTOCOL.name, value, &meaning);
        }
        let port = match service.external_traffic_policy {
            ExternalTrafficPolicy::Local(port) => port,
            ExternalTrafficPolicy::Cluster => KUBE_PROXY,
        };
        HealthCheck { port, path: Some(HEALTHZ.to_owned()), proxy_protocol: Some(false), ..HealthCheck::default() }
    };
    let interval = annotations.number(&HEALTH_INTERVAL, |it| it.health_check.check_interval_seconds)?;
    let timeout = annotations.number(&HEALTH_TIMEOUT, |it| it.health_check.response_timeout_seconds)?;
    let unhealthy = annotations.number(&HEALTH_UNHEALTHY, |it| it.health_check.unhealthy_threshold)?;
    let healthy = annotations.number(&HEALTH_HEALTHY, |it| it.health_check.healthy_threshold)?;
    Ok(HealthCheck {
        check_interval_seconds: Some(interval.unwrap_or(3)),
        response_timeout_seconds: Some(timeout.unwrap_or(5)),
        unhealthy_threshold: Some(unhealthy.unwrap_or(3)),
        healthy_threshold: Some(healthy.unwrap_or(5)),
        ..target
    })
}

fn overridden(service: &LoadBalancer, annotations: &mut Reading<'_>) -> Result<HealthCheck> {
    let port = match annotations.read(&HEALTH_PORT)? {
        None => service.ports.iter().find(|it| it.protocol == Protocol::Tcp),
        Some(wanted) => {
            let mut of_this_number = service.ports.iter().filter(|it| it.port == wanted);
            let found = of_this_number.find(|it| it.protocol == Protocol::Tcp);
            if found.is_none() {
                return Err(refused(HEALTH_PORT.name, &wanted.to_string(), "a TCP port of the Service"));
            }
            found
        }
    };
    let port = port.ok_or_else(|| Error::invalid("no health check port of protocol TCP found"))?;
    let node_port = port.node_port.ok_or_else(|| {
        Error::invalid(format_args!(
            "port {} has no node port, which annotation {} needs",
            port.port, HEALTH_OVERRIDE.name
        ))
    })?;
    let as_shown = |live: &Live, text: &str| live.health_check.path.clone().filter(|it| it == text);
    let path = annotations.read_or_keep(&HEALTH_PATH, as_shown)?;
    let protocol = annotations.read(&HEALTH_PROTOCOL)?;
    let usual = if path.is_some() { HealthProtocol::Http } else { HealthProtocol::Tcp };
    Ok(HealthCheck { protocol: protocol.unwrap_or(usual), port: node_port, path, ..HealthCheck::default() })
}
