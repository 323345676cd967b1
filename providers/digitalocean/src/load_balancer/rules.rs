//! Forwarding rules for the ports of a Service.

use aerostat_sdk::form::{List, Port as Number};
use aerostat_sdk::key::{Key, Row};
use aerostat_sdk::{Error, LoadBalancer, Port, Protocol as Carried, Result, SortedSet};

use super::annotations::{
    CERTIFICATE_ID, CERTIFICATE_NAME, DoReading, HTTP_PORTS, HTTP2_PORTS, HTTP3_PORT, PROTOCOL, TLS_PASSTHROUGH,
    TLS_PORTS,
};
use super::certificate::{Tls, contradiction};
use crate::api::load_balancers::{ForwardingRule, Kind, Protocol};

/// Ports that the cloud reserves.
const RESERVED: std::ops::RangeInclusive<u16> = 50_053..=50_055;

/// The most ports that one message names.
const NAMED: usize = 10;

/// Annotations without effect where packets are passed through.
const PROXY_ONLY: [&dyn Row; 8] = [
    &PROTOCOL,
    &HTTP_PORTS,
    &TLS_PORTS,
    &HTTP2_PORTS,
    &HTTP3_PORT,
    &TLS_PASSTHROUGH,
    &CERTIFICATE_ID,
    &CERTIFICATE_NAME,
];

/// The rules for a Service's ports, in order.
///
/// # Errors
///
/// `invalid`, for ports that this kind of load balancer cannot serve as asked.
pub(super) fn rules(
    service: &LoadBalancer,
    annotations: &mut DoReading<'_>,
    kind: Kind,
    tls: &Tls,
) -> Result<Vec<ForwardingRule>> {
    service.allow_protocols(&[Carried::Tcp, Carried::Udp])?;
    if let Some(Port { port: number, .. }) = service.ports.iter().find(|it| RESERVED.contains(&it.port)) {
        let (first, last) = (RESERVED.start(), RESERVED.end());
        let why = format_args!("port {number} cannot be used: {first} to {last} are reserved by the cloud");
        return Err(Error::invalid(why));
    }
    let mut rules = match kind {
        Kind::RegionalNetwork | Kind::Other => passed_through(service, annotations),
        Kind::Regional => proxied(service, annotations, tls)?,
    };
    rules.sort();
    Ok(rules)
}

/// Packets keep their destination: nodes receive them on the Service's port, not on the node port.
fn passed_through(service: &LoadBalancer, annotations: &mut DoReading<'_>) -> Vec<ForwardingRule> {
    annotations.without_effect(&PROXY_ONLY, "has no effect on a REGIONAL_NETWORK load balancer");
    let rule = |port: &Port| plain(port.port, carried(port), port.port);
    service.ports.iter().map(rule).collect()
}

fn proxied(service: &LoadBalancer, annotations: &mut DoReading<'_>, tls: &Tls) -> Result<Vec<ForwardingRule>> {
    let protocols = Protocols::of(annotations, tls)?;
    protocols.check(service, annotations);
    let mut rules = Vec::new();
    for port in &service.ports {
        let node_port = port.required_node_port()?;
        let protocol = match port.protocol {
            Carried::Udp => Protocol::Udp,
            Carried::Tcp | Carried::Sctp => protocols.of_port(port.port),
        };
        rules.push(match protocol {
            Protocol::Https | Protocol::Http2 => secured(port.port, protocol, node_port, tls)?,
            Protocol::Tcp | Protocol::Udp | Protocol::Http | Protocol::Http3 => plain(port.port, protocol, node_port),
        });
    }
    if let Some(wanted) = protocols.http3 {
        let Some(certificate) = tls.certificate() else {
            return Err(Error::invalid(format_args!(
                "annotation {}: {wanted} needs a certificate: set {} or {}, and not {}",
                HTTP3_PORT.name, CERTIFICATE_ID.name, CERTIFICATE_NAME.name, TLS_PASSTHROUGH.name
            )));
        };
        match service.ports.iter().find(|it| it.port == wanted) {
            Some(port) => rules.push(ForwardingRule {
                certificate_id: Some(certificate.clone()),
                target_protocol: Protocol::Http,
                ..plain(wanted, Protocol::Http3, port.required_node_port()?)
            }),
            None => {
                let meaning = "has no effect: the Service has no such port";
                annotations.tolerated(&HTTP3_PORT, &wanted.to_string(), meaning);
            }
        }
    }
    if let Tls::Contradiction(other) = tls {
        let meaning = format!("has no effect, and neither has {other}: no port speaks TLS");
        annotations.tolerated(&TLS_PASSTHROUGH, "true", &meaning);
    }
    Ok(rules)
}

/// The annotations that list ports, and the protocol of these ports.
const LISTS: [(&Key<List<Number>>, Protocol); 3] =
    [(&HTTP_PORTS, Protocol::Http), (&TLS_PORTS, Protocol::Https), (&HTTP2_PORTS, Protocol::Http2)];

/// The protocol of each port.
struct Protocols {
    usual: Protocol,
    /// Those of each of the [`LISTS`].
    listed: [SortedSet<u16>; 3],
    http3: Option<u16>,
}

impl Protocols {
    fn of(annotations: &mut DoReading<'_>, tls: &Tls) -> Result<Self> {
        let mut listed = <[SortedSet<u16>; 3]>::default();
        for ((key, _), ports) in LISTS.into_iter().zip(&mut listed) {
            ports.extend(annotations.read(key)?.unwrap_or_default());
        }
        let usual = annotations.read(&PROTOCOL)?.unwrap_or(Protocol::Tcp);
        let http3 = annotations.read(&HTTP3_PORT)?;
        // A port cannot speak two protocols.
        for (one, other) in [(0, 1), (0, 2), (1, 2)] {
            let both: Vec<_> = listed[one].intersection(&listed[other]).take(NAMED).map(u16::to_string).collect();
            if !both.is_empty() {
                let (one, other, ports) = (LISTS[one].0.name, LISTS[other].0.name, both.join(","));
                return Err(Error::invalid(format_args!(
                    "annotations {one} and {other} both list {ports}: a port can be in one of them"
                )));
            }
        }
        let [_, https, http2] = &mut listed;
        if *tls != Tls::None && https.is_empty() && !http2.contains(&443) {
            https.insert(443);
        }
        Ok(Self { usual, listed, http3 })
    }

    /// Warns of ports that are listed and that the Service does not have: probably a mistake.
    fn check(&self, service: &LoadBalancer, annotations: &mut DoReading<'_>) {
        // A set: a Service may have thousands of ports, and an annotation may list as many.
        let existing: SortedSet<u16> = service.ports.iter().map(|it| it.port).collect();
        for ((key, protocol), ports) in LISTS.into_iter().zip(&self.listed) {
            let is_the_implied_one = protocol == Protocol::Https && ports.len() == 1 && ports.contains(&443);
            if let Some(port) = ports.difference(&existing).next().filter(|_| !is_the_implied_one) {
                annotations.tolerated(key, &port.to_string(), "has no effect: the Service has no such port");
            }
        }
    }

    fn of_port(&self, port: u16) -> Protocol {
        // The last list with the port wins: a certificate makes 443 speak HTTPS.
        let list = LISTS.into_iter().zip(&self.listed).rev().find(|(_, ports)| ports.contains(&port));
        list.map_or(self.usual, |((_, protocol), _)| protocol)
    }
}

fn plain(entry_port: u16, protocol: Protocol, target_port: u16) -> ForwardingRule {
    ForwardingRule {
        entry_port,
        entry_protocol: protocol,
        target_port,
        target_protocol: protocol,
        certificate_id: None,
        tls_passthrough: false,
    }
}

fn secured(entry_port: u16, protocol: Protocol, target_port: u16, tls: &Tls) -> Result<ForwardingRule> {
    let rule = plain(entry_port, protocol, target_port);
    match tls {
        Tls::Id(id) | Tls::Name(id) => {
            Ok(ForwardingRule { certificate_id: Some(id.clone()), target_protocol: Protocol::Http, ..rule })
        }
        Tls::Passthrough => Ok(ForwardingRule { tls_passthrough: true, ..rule }),
        Tls::Contradiction(other) => Err(contradiction(other)),
        Tls::None => Err(Error::invalid(format_args!(
            "port {entry_port} is to speak TLS: set one of the annotations {}, {} and {}",
            CERTIFICATE_ID.name, CERTIFICATE_NAME.name, TLS_PASSTHROUGH.name
        ))),
    }
}

fn carried(port: &Port) -> Protocol {
    match port.protocol {
        Carried::Udp => Protocol::Udp,
        Carried::Tcp | Carried::Sctp => Protocol::Tcp,
    }
}
