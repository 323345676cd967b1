//! How targets are found to be well.

use aerostat_sdk::{Error, LoadBalancer, Protocol, Result, Traffic};

use super::annotations::{
    Annotations, HEALTH_HEALTHY, HEALTH_INTERVAL, HEALTH_OVERRIDE, HEALTH_PATH, HEALTH_PORT, HEALTH_PROTOCOL,
    HEALTH_TIMEOUT, HEALTH_UNHEALTHY, boolean, refused,
};
use super::remarks::Remarks;
use crate::api::load_balancers::{HealthCheck, HealthProtocol};

/// Where kube-proxy says whether it is well.
const KUBE_PROXY: u16 = 10_256;
const HEALTHZ: &str = "/healthz";

/// The check that a Service asks for: kube-proxy's own, that of its local pods, or one of its ports.
pub(super) fn check(
    service: &LoadBalancer,
    annotations: Annotations<'_>,
    remarks: &mut Remarks,
) -> Result<HealthCheck> {
    let target = if annotations.has(HEALTH_OVERRIDE) {
        if let Some(value) = annotations.text(HEALTH_OVERRIDE).filter(|it| boolean(it) == Some(false)) {
            remarks.tolerated(HEALTH_OVERRIDE, value, "counts as true: only its absence is false");
        }
        overridden(service, annotations)?
    } else {
        let ignored =
            [HEALTH_PORT, HEALTH_PATH, HEALTH_PROTOCOL].into_iter().find_map(|key| Some((key, annotations.text(key)?)));
        if let Some((key, value)) = ignored {
            remarks.tolerated(key, value, &format!("has no effect without annotation {HEALTH_OVERRIDE}"));
        }
        let port = match service.traffic {
            Traffic::Local(port) => port,
            Traffic::Cluster => KUBE_PROXY,
        };
        HealthCheck { port, path: Some(HEALTHZ.to_owned()), proxy_protocol: Some(false), ..HealthCheck::default() }
    };
    Ok(HealthCheck {
        check_interval_seconds: Some(annotations.number(HEALTH_INTERVAL, 3..=300)?.unwrap_or(3)),
        response_timeout_seconds: Some(annotations.number(HEALTH_TIMEOUT, 3..=300)?.unwrap_or(5)),
        unhealthy_threshold: Some(annotations.number(HEALTH_UNHEALTHY, 2..=10)?.unwrap_or(3)),
        healthy_threshold: Some(annotations.number(HEALTH_HEALTHY, 2..=10)?.unwrap_or(5)),
        ..target
    })
}

fn overridden(service: &LoadBalancer, annotations: Annotations<'_>) -> Result<HealthCheck> {
    let port = match annotations.port(HEALTH_PORT)? {
        None => service.ports.iter().find(|it| it.protocol == Protocol::Tcp),
        Some(wanted) => {
            let mut of_this_number = service.ports.iter().filter(|it| it.port == wanted);
            let found = of_this_number.find(|it| it.protocol == Protocol::Tcp);
            if found.is_none() {
                return Err(refused(HEALTH_PORT, &wanted.to_string(), "a TCP port of the Service"));
            }
            found
        }
    };
    let port = port.ok_or_else(|| Error::invalid("no health check port of protocol TCP found"))?;
    let node_port = port.node_port.ok_or_else(|| {
        Error::invalid(format_args!("port {} has no node port, which annotation {HEALTH_OVERRIDE} needs", port.port))
    })?;
    let path = annotations
        .parsed(HEALTH_PATH, "a path that begins with /", |it| it.starts_with('/').then(|| it.to_owned()))?;
    let protocol = annotations.parsed(HEALTH_PROTOCOL, "tcp, http or https", |it| match it {
        "tcp" => Some(HealthProtocol::Tcp),
        "http" => Some(HealthProtocol::Http),
        "https" => Some(HealthProtocol::Https),
        _ => None,
    })?;
    let usual = if path.is_some() { HealthProtocol::Http } else { HealthProtocol::Tcp };
    Ok(HealthCheck { protocol: protocol.unwrap_or(usual), port: node_port, path, ..HealthCheck::default() })
}
