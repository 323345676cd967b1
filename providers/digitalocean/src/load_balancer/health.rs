//! Health checks of targets.

use aerostat_sdk::annotations::refused;
use aerostat_sdk::form::{Bool, Form as _};
use aerostat_sdk::{Error, LoadBalancer, Protocol, Result};

use super::annotations::{
    DoReading, HEALTH_HEALTHY, HEALTH_INTERVAL, HEALTH_OVERRIDE, HEALTH_PATH, HEALTH_PORT, HEALTH_PROTOCOL,
    HEALTH_TIMEOUT, HEALTH_UNHEALTHY,
};
use crate::api::load_balancers::{HealthCheck, HealthProtocol, LoadBalancer as Live};

/// The health check for a Service: of kube-proxy, of the Service's local pods, or of one of its ports.
pub(super) fn check(service: &LoadBalancer, annotations: &mut DoReading<'_>) -> Result<HealthCheck> {
    let target = if annotations.annotations.has(HEALTH_OVERRIDE.name) {
        if let Some(value) = annotations.text(&HEALTH_OVERRIDE).filter(|it| Bool.parse(it) == Some(false)) {
            annotations.tolerated(&HEALTH_OVERRIDE, value, "counts as true: only its absence is false");
        }
        overridden(service, annotations)?
    } else {
        let meaning = format!("has no effect without annotation {}", HEALTH_OVERRIDE.name);
        annotations.without_effect(&[&HEALTH_PORT, &HEALTH_PATH, &HEALTH_PROTOCOL], &meaning);
        let (port, path) = (service.health_check_port(), Some(LoadBalancer::HEALTH_CHECK_PATH.to_owned()));
        HealthCheck { port, path, proxy_protocol: Some(false), ..HealthCheck::default() }
    };
    let mut number = |key, shown: fn(&HealthCheck) -> Option<u32>| {
        annotations.read_or_shown(key, |live: &Live| shown(&live.health_check))
    };
    Ok(HealthCheck {
        check_interval_seconds: number(&HEALTH_INTERVAL, |it| it.check_interval_seconds)?,
        response_timeout_seconds: number(&HEALTH_TIMEOUT, |it| it.response_timeout_seconds)?,
        unhealthy_threshold: number(&HEALTH_UNHEALTHY, |it| it.unhealthy_threshold)?,
        healthy_threshold: number(&HEALTH_HEALTHY, |it| it.healthy_threshold)?,
        ..target
    })
}

fn overridden(service: &LoadBalancer, annotations: &mut DoReading<'_>) -> Result<HealthCheck> {
    let port = match annotations.read(&HEALTH_PORT)? {
        None => service.ports.iter().find(|it| it.protocol == Protocol::Tcp),
        Some(number) => {
            let found = service.ports.iter().find(|it| it.port == number && it.protocol == Protocol::Tcp);
            Some(found.ok_or_else(|| refused(HEALTH_PORT.name, &number.to_string(), "a TCP port of the Service"))?)
        }
    };
    let port = port.ok_or_else(|| Error::invalid("no health check port of protocol TCP found"))?;
    let as_shown = |live: &Live, text: &str| live.health_check.path.clone().filter(|it| it == text);
    let path = annotations.read_or_keep(&HEALTH_PATH, as_shown)?;
    let protocol = annotations.read(&HEALTH_PROTOCOL)?;
    let usual = if path.is_some() { HealthProtocol::Http } else { HealthProtocol::Tcp };
    Ok(HealthCheck {
        protocol: protocol.unwrap_or(usual),
        port: port.required_node_port()?,
        path,
        ..HealthCheck::default()
    })
}
