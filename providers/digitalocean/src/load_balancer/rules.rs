//! From ports of the Service to forwarding rules.

use std::collections::BTreeSet;

use aerostat_sdk::{Error, LoadBalancer, Port, Protocol as Carried, Result};

use super::annotations::{
    Annotations, CERTIFICATE_ID, CERTIFICATE_NAME, HTTP_PORTS, HTTP2_PORTS, HTTP3_PORT, PROTOCOL, TLS_PASSTHROUGH,
    TLS_PORTS,
};
use super::certificate::Tls;
use super::remarks::Remarks;
use crate::api::load_balancers::{Kind, Protocol, Rule};

/// Ports that the load balancer keeps for itself.
const RESERVED: std::ops::RangeInclusive<u16> = 50_053..=50_055;

/// The most ports that one message names.
const NAMED: usize = 10;

/// Annotations that mean nothing where packets are passed through.
const PROXY_ONLY: [&str; 8] =
    [PROTOCOL, HTTP_PORTS, TLS_PORTS, HTTP2_PORTS, HTTP3_PORT, TLS_PASSTHROUGH, CERTIFICATE_ID, CERTIFICATE_NAME];

/// The rules for a Service's ports, in order.
///
/// # Errors
///
/// `invalid`, for ports that this kind of load balancer cannot serve as asked.
pub(super) fn rules(
    service: &LoadBalancer,
    annotations: Annotations<'_>,
    kind: Kind,
    tls: &Tls,
    remarks: &mut Remarks,
) -> Result<Vec<Rule>> {
    for port in &service.ports {
        if port.protocol == Carried::Sctp {
            return Err(Error::invalid(format_args!(
                "only TCP or UDP protocol is supported: port {} is SCTP",
                port.port
            )));
        }
        if RESERVED.contains(&port.port) {
            let (first, last) = (RESERVED.start(), RESERVED.end());
            return Err(Error::invalid(format_args!(
                "port {} cannot be used: {first} to {last} are reserved by the cloud",
                port.port
            )));
        }
    }
    let mut rules = match kind {
        Kind::RegionalNetwork | Kind::Other => passed_through(service, annotations, remarks),
        Kind::Regional => proxied(service, annotations, tls, remarks)?,
    };
    rules.sort();
    Ok(rules)
}

/// Packets keep their destination, so that it is the Service's own port that the nodes see.
fn passed_through(service: &LoadBalancer, annotations: Annotations<'_>, remarks: &mut Remarks) -> Vec<Rule> {
    let ignored = PROXY_ONLY.into_iter().find_map(|key| Some((key, annotations.text(key)?)));
    if let Some((key, value)) = ignored {
        remarks.tolerated(key, value, "has no effect on a REGIONAL_NETWORK load balancer");
    }
    let rule = |port: &Port| plain(port.port, carried(port), port.port);
    service.ports.iter().map(rule).collect()
}

fn proxied(
    service: &LoadBalancer,
    annotations: Annotations<'_>,
    tls: &Tls,
    remarks: &mut Remarks,
) -> Result<Vec<Rule>> {
    let protocols = Protocols::of(annotations, tls)?;
    protocols.check(service, remarks);
    let mut rules = Vec::new();
    for port in &service.ports {
        let node_port = node_port(port)?;
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
        let Tls::Certificate(id) = tls else {
            return Err(Error::invalid(format_args!(
                "annotation {HTTP3_PORT}: {wanted} needs a certificate: set {CERTIFICATE_ID} or {CERTIFICATE_NAME}, \
                 and not {TLS_PASSTHROUGH}"
            )));
        };
        match service.ports.iter().find(|it| it.port == wanted) {
            Some(port) => rules.push(Rule {
                certificate_id: Some(id.clone()),
                target_protocol: Protocol::Http,
                ..plain(wanted, Protocol::Http3, node_port(port)?)
            }),
            None => remarks.tolerated(HTTP3_PORT, &wanted.to_string(), "has no effect: the Service has no such port"),
        }
    }
    Ok(rules)
}

/// Which ports speak what.
struct Protocols {
    usual: Protocol,
    http: BTreeSet<u16>,
    https: BTreeSet<u16>,
    http2: BTreeSet<u16>,
    http3: Option<u16>,
}

impl Protocols {
    fn of(annotations: Annotations<'_>, tls: &Tls) -> Result<Self> {
        let usual = annotations.parsed(
            PROTOCOL,
            "tcp, http, https or http2 (for http3 there is an annotation of its own)",
            |it| match it {
                "tcp" => Some(Protocol::Tcp),
                "http" => Some(Protocol::Http),
                "https" => Some(Protocol::Https),
                "http2" => Some(Protocol::Http2),
                _ => None,
            },
        )?;
        let mut protocols = Self {
            usual: usual.unwrap_or(Protocol::Tcp),
            http: annotations.ports(HTTP_PORTS)?,
            https: annotations.ports(TLS_PORTS)?,
            http2: annotations.ports(HTTP2_PORTS)?,
            http3: annotations.port(HTTP3_PORT)?,
        };
        protocols.refuse_doubles()?;
        if *tls != Tls::None && protocols.https.is_empty() && !protocols.http2.contains(&443) {
            protocols.https.insert(443);
        }
        Ok(protocols)
    }

    /// A port cannot speak two protocols.
    fn refuse_doubles(&self) -> Result<()> {
        for (one, its, other, others) in [
            (HTTP_PORTS, &self.http, TLS_PORTS, &self.https),
            (HTTP_PORTS, &self.http, HTTP2_PORTS, &self.http2),
            (TLS_PORTS, &self.https, HTTP2_PORTS, &self.http2),
        ] {
            let both: Vec<_> = its.intersection(others).take(NAMED).map(u16::to_string).collect();
            if !both.is_empty() {
                let ports = both.join(",");
                return Err(Error::invalid(format_args!(
                    "annotations {one} and {other} both list {ports}: a port can be in one of them"
                )));
            }
        }
        Ok(())
    }

    /// Ports that are listed and that the Service does not have: no harm, and probably an error.
    fn check(&self, service: &LoadBalancer, remarks: &mut Remarks) {
        // A set: a Service may have thousands of ports, and an annotation may list as many.
        let existing: BTreeSet<u16> = service.ports.iter().map(|it| it.port).collect();
        for (key, ports) in [(HTTP_PORTS, &self.http), (TLS_PORTS, &self.https), (HTTP2_PORTS, &self.http2)] {
            let is_the_implied_one = key == TLS_PORTS && ports.len() == 1 && ports.contains(&443);
            if let Some(port) = ports.difference(&existing).next().filter(|_| !is_the_implied_one) {
                remarks.tolerated(key, &port.to_string(), "has no effect: the Service has no such port");
            }
        }
    }

    fn of_port(&self, port: u16) -> Protocol {
        if self.http2.contains(&port) {
            Protocol::Http2
        } else if self.https.contains(&port) {
            Protocol::Https
        } else if self.http.contains(&port) {
            Protocol::Http
        } else {
            self.usual
        }
    }
}

fn plain(entry_port: u16, protocol: Protocol, target_port: u16) -> Rule {
    Rule {
        entry_port,
        entry_protocol: protocol,
        target_port,
        target_protocol: protocol,
        certificate_id: None,
        tls_passthrough: false,
    }
}

fn secured(entry_port: u16, protocol: Protocol, target_port: u16, tls: &Tls) -> Result<Rule> {
    let rule = plain(entry_port, protocol, target_port);
    match tls {
        Tls::Certificate(id) => Ok(Rule { certificate_id: Some(id.clone()), target_protocol: Protocol::Http, ..rule }),
        Tls::Passthrough => Ok(Rule { tls_passthrough: true, ..rule }),
        Tls::None => Err(Error::invalid(format_args!(
            "port {entry_port} is to speak TLS: set one of the annotations {CERTIFICATE_ID}, {CERTIFICATE_NAME} and \
             {TLS_PASSTHROUGH}"
        ))),
    }
}

fn carried(port: &Port) -> Protocol {
    match port.protocol {
        Carried::Udp => Protocol::Udp,
        Carried::Tcp | Carried::Sctp => Protocol::Tcp,
    }
}

fn node_port(port: &Port) -> Result<u16> {
    port.node_port.ok_or_else(|| {
        Error::invalid(format_args!(
            "port {} has no node port, through which a REGIONAL load balancer reaches it: leave \
             allocateLoadBalancerNodePorts at true",
            port.port
        ))
    })
}
