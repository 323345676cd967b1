//! Health probes of ports.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{Error, ExternalTrafficPolicy, LoadBalancer, Port, Protocol, Result};

use super::annotations::{self as rows, ProbeProtocol};
use super::names::{AzureNames, SHARED_PROBE};
use crate::settings::balancers::AzureBalancerSettings;

/// The least product of interval and count that is too long, in seconds.
const TOO_LONG: u32 = 120;

/// A health probe as it is desired.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ProbeGoal {
    pub(crate) name: String,
    pub(crate) protocol: ProbeProtocol,
    pub(crate) port: u16,
    /// `None` for TCP.
    pub(crate) path: Option<String>,
    pub(crate) interval: u32,
    pub(crate) count: u32,
}

/// The probe of a port; `None` if it has none. Its values are checked also where it has none.
///
/// # Errors
///
/// `invalid`, naming the annotation, its value, and the allowed values.
pub(crate) fn probe_of(
    service: &LoadBalancer,
    settings: &AzureBalancerSettings,
    names: &AzureNames,
    port: &Port,
    is_second: bool,
) -> Result<Option<ProbeGoal>> {
    let annotations = Annotations::of(service);
    let suffix = if is_second { "-IPv6" } else { "" };
    let interval = match annotations.read_at(&rows::PORT_INTERVAL, port.port)? {
        Some(interval) => interval,
        None => annotations.get(&rows::PROBE_INTERVAL)?,
    };
    let count = match annotations.read_at(&rows::PORT_COUNT, port.port)? {
        Some(count) => count,
        None => annotations.get(&rows::PROBE_COUNT)?,
    };
    if interval * count >= TOO_LONG {
        return Err(Error::invalid(format_args!(
            "health probes of port {}: {count} of them every {interval} seconds are {} seconds, and have to be less than {TOO_LONG}: \
             correct annotation {} or {}",
            port.port,
            interval * count,
            rows::PROBE_INTERVAL.name,
            rows::PROBE_COUNT.name
        )));
    }
    let own = own_probe(service, names, port, is_second)?;
    if annotations.get_at(&rows::PORT_NO_PROBE, port.port)? {
        return Ok(None);
    }
    if let ExternalTrafficPolicy::Local(check) = service.external_traffic_policy {
        let name = names.rule(Protocol::Tcp, check, is_second);
        let path = Some(LoadBalancer::HEALTH_CHECK_PATH.to_owned());
        return Ok(Some(ProbeGoal { name, protocol: ProbeProtocol::Http, port: check, path, interval, count }));
    }
    if let Some((port, path)) = &settings.shared_probe {
        let name = format!("{SHARED_PROBE}{suffix}");
        let path = Some(path.clone());
        // It is everybody's, and has nobody's values.
        return Ok(Some(ProbeGoal { name, protocol: ProbeProtocol::Http, port: *port, path, interval: 5, count: 2 }));
    }
    Ok(own.map(|own| ProbeGoal { interval, count, ..own }))
}

/// The probe of a port's node port.
fn own_probe(service: &LoadBalancer, names: &AzureNames, port: &Port, is_second: bool) -> Result<Option<ProbeGoal>> {
    let annotations = Annotations::of(service);
    let named = annotations.read_at(&rows::PORT_PROTOCOL, port.port)?;
    let of_service = annotations.get(&rows::PROBE_PROTOCOL)?;
    let of_port = port.app_protocol.as_deref().and_then(ProbeProtocol::of);
    let protocol = named.or(of_port).unwrap_or(of_service);
    let path = match annotations.read_at(&rows::PORT_PATH, port.port)? {
        Some(path) => path,
        None => annotations.get(&rows::PROBE_PATH)?,
    };
    let asked = match annotations.read_at(&rows::PORT_PORT, port.port)? {
        None => port,
        Some(text) => {
            let asked =
                service.ports.iter().find(|it| it.port.to_string() == text || (it.name == text && !text.is_empty()));
            asked.ok_or_else(|| {
                let name = rows::PORT_PORT.name.replacen('*', &port.port.to_string(), 1);
                aerostat_sdk::annotations::refused(&name, text, "a port of the Service, by its number or name")
            })?
        }
    };
    if port.protocol != Protocol::Tcp {
        return Ok(None);
    }
    let has_path = protocol != ProbeProtocol::Tcp;
    Ok(Some(ProbeGoal {
        name: names.rule(port.protocol, port.port, is_second),
        protocol,
        port: asked.required_node_port()?,
        path: has_path.then_some(path),
        interval: 0,
        count: 0,
    }))
}
