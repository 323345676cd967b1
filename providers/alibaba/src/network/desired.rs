//! A Service in the words of the cloud. Pure.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::events::Warnings;
use aerostat_sdk::{Error, ExternalTrafficPolicy, LoadBalancer, Protocol, Result};

use super::annotations as own;
use super::names::NlbNames;
use super::parameters::NlbParameters;
use crate::api::network_groups::NlbServer;
use crate::api::network_listeners::NlbProtocol;
use crate::api::network_load_balancers::{NlbBalancer, NlbZone};
use crate::load_balancer::annotations as rows;
use crate::load_balancer::desired::instances;
use crate::load_balancer::reused::{given_groups, ignored_of_owner, part};
use crate::load_balancer::unserved;

/// The annotations that say how a load balancer is, and nothing of its parts.
const ATTRIBUTES: [&str; 8] = [
    rows::NAME.name,
    rows::ADDRESS_TYPE.name,
    rows::DELETE_PROTECTION.name,
    rows::MODIFICATION_PROTECTION.name,
    rows::TAGS.name,
    own::CROSS_ZONE.name,
    own::SECURITY_GROUPS.name,
    own::ZONES.name,
];

/// A load balancer as the Service asks for it.
#[derive(Debug)]
pub(super) struct NlbDesired {
    pub(super) ports: Vec<NlbDesiredPort>,
    /// Whether listeners are the Service's to write: those of somebody's own are only if an annotation says so.
    pub(super) listens: bool,
    pub(super) is_local: bool,
    pub(super) ignores_weights: bool,
    /// The ranges of clients that come in: none where all of them do.
    pub(super) ranges: Vec<String>,
    /// Security groups of somebody's own; `None`, if no annotation names any.
    pub(super) security_groups: Option<Vec<String>>,
    /// The zones that the annotation names; none of them where it stays as it is.
    pub(super) zones: Vec<NlbZone>,
    pub(super) warnings: Warnings,
    /// The weight of all machines together in groups of somebody's own.
    all_weight: Option<u32>,
    weight: u32,
    /// The instances of the nodes that take traffic, each once.
    instances: Vec<String>,
}

/// One of its ports: a listener, and the group that it sends to.
#[derive(Debug)]
pub(super) struct NlbDesiredPort {
    pub(super) port: u16,
    pub(super) protocol: NlbProtocol,
    pub(super) node_port: u16,
    pub(super) description: String,
    /// The name of its group, and the description of the machines in it.
    pub(super) group: String,
    /// The id of a group of somebody's own in its place.
    pub(super) given: Option<String>,
    pub(super) listening: NlbParameters,
    /// Certificates beside those; `None`, if no annotation names any: they stay as they are.
    pub(super) certificates: Option<Vec<String>>,
    pub(super) sending: NlbParameters,
}

impl NlbDesiredPort {
    /// The protocol between the load balancer and nodes: TLS ends at the listener.
    pub(super) fn group_protocol(&self) -> NlbProtocol {
        if self.protocol == NlbProtocol::Udp { NlbProtocol::Udp } else { NlbProtocol::Tcp }
    }
}

impl NlbDesired {
    /// As a Service asks for it, whose load balancer is `live` if it has one.
    ///
    /// # Errors
    ///
    /// `invalid`, where this cloud cannot serve it, or a value is not allowed.
    pub(super) fn of(
        service: &LoadBalancer,
        names: &NlbNames,
        region: &str,
        live: Option<&NlbBalancer>,
        is_reused: bool,
    ) -> Result<Self> {
        let annotations = Annotations::of(service);
        own::check(annotations)?;
        unserved::check(annotations)?;
        let listens = !is_reused || annotations.get(&rows::OVERRIDES)?;
        let mut warnings = Warnings::default();
        let mut ports = ports(service, annotations, names)?;
        let numbers: Vec<(u16, u16)> = ports.iter().map(|it| (it.port, it.node_port)).collect();
        for (id, number) in given_groups(annotations, is_reused, &numbers)? {
            ports.iter_mut().filter(|it| it.port == number).for_each(|it| it.given = Some(id.clone()));
        }
        // Its owner says who comes in, too.
        let mut ignored = ignored_of_owner(service, is_reused, false, &ATTRIBUTES);
        warn(service, annotations, live, &ports, &mut ignored, &mut warnings)?;
        if !ignored.is_empty() {
            warnings.add("ServiceFieldsIgnored", format_args!("this has no effect here: {}", ignored.join("; ")));
        }
        let is_open = service.source_ranges.iter().any(|it| it == "0.0.0.0/0");
        let ranges = service.source_ranges.iter().filter(|it| !is_open && !it.contains(':'));
        let mut ranges: Vec<String> = ranges.cloned().collect();
        if ranges.is_empty() && !is_open && !service.source_ranges.is_empty() {
            return Err(Error::invalid("loadBalancerSourceRanges: only ranges of IPv4 can be let in"));
        }
        if is_reused {
            ranges.clear();
        }
        let instances = instances(&service.nodes, region, &mut warnings);
        Ok(Self {
            ports,
            listens,
            is_local: matches!(service.external_traffic_policy, ExternalTrafficPolicy::Local(_)),
            ignores_weights: annotations.get(&rows::IGNORE_WEIGHTS)?,
            ranges,
            security_groups: if is_reused { None } else { security_groups(annotations)? },
            zones: if is_reused { None } else { annotations.read(&own::ZONES)? }.unwrap_or_default(),
            warnings,
            all_weight: if is_reused { annotations.read(&rows::ALL_WEIGHT)? } else { None },
            weight: annotations.get(&rows::WEIGHT)?,
            instances,
        })
    }

    /// Whether there is an instance to send to.
    pub(super) fn has_instances(&self) -> bool {
        !self.instances.is_empty()
    }

    /// The machines of a port's group.
    pub(super) fn servers(&self, port: &NlbDesiredPort) -> Vec<NlbServer> {
        let weight = part(self.all_weight.filter(|_| port.given.is_some()), self.weight, self.instances.len());
        let server = |id: &String| NlbServer {
            instance: id.clone(),
            port: port.node_port,
            weight,
            description: port.group.clone(),
            is_leaving: false,
        };
        self.instances.iter().map(server).collect()
    }
}

/// The security groups of somebody's own: none of them where the annotation is there and empty.
fn security_groups(annotations: Annotations<'_>) -> Result<Option<Vec<String>>> {
    let named = annotations.read(&own::SECURITY_GROUPS)?;
    Ok(named.or_else(|| annotations.has(own::SECURITY_GROUPS.name).then(Vec::new)))
}

/// The further certificates of ports with tcpssl: none of them where the annotation is there and empty.
fn more_certificates(annotations: Annotations<'_>) -> Result<Option<Vec<String>>> {
    let named = annotations.read(&own::MORE_CERTIFICATES)?;
    Ok(named.or_else(|| annotations.has(own::MORE_CERTIFICATES.name).then(Vec::new)))
}

/// The zones of a load balancer.
///
/// # Errors
///
/// `invalid`, if the annotation is missing, or a value is not allowed.
pub(super) fn zones(service: &LoadBalancer) -> Result<Vec<NlbZone>> {
    let zones = Annotations::of(service).read(&own::ZONES)?.unwrap_or_default();
    if zones.is_empty() {
        return Err(Error::invalid(format_args!(
            "annotation {} is missing: a Network Load Balancer needs a zone and a vSwitch, better two of them: \
             cn-hangzhou-b:vsw-1,cn-hangzhou-g:vsw-2",
            own::ZONES.name
        )));
    }
    Ok(zones)
}

fn ports(service: &LoadBalancer, annotations: Annotations<'_>, names: &NlbNames) -> Result<Vec<NlbDesiredPort>> {
    service.allow_protocols(&[Protocol::Tcp, Protocol::Udp])?;
    let protocols = annotations.read(&own::PROTOCOLS)?.unwrap_or_default();
    if let Some((_, other)) = protocols.iter().find(|(_, it)| service.ports.iter().all(|own| own.port != *it)) {
        return Err(Error::invalid(format_args!(
            "annotation {}: port {other} is none of the Service",
            own::PROTOCOLS.name
        )));
    }
    let mut ports: Vec<NlbDesiredPort> = Vec::new();
    for port in &service.ports {
        let plain = if port.protocol == Protocol::Udp { NlbProtocol::Udp } else { NlbProtocol::Tcp };
        let fits = |it: NlbProtocol| (it == NlbProtocol::Udp) == (plain == NlbProtocol::Udp);
        let chosen = protocols.iter().filter(|(_, it)| *it == port.port).map(|(protocol, _)| *protocol);
        let is_alone = service.ports.iter().filter(|it| it.port == port.port).count() == 1;
        if let Some(other) = chosen.clone().find(|it| is_alone && !fits(*it)) {
            return Err(Error::invalid(format_args!(
                "annotation {}: port {} of the Service carries {}, and {} is not that",
                own::PROTOCOLS.name,
                port.port,
                port.protocol.as_str(),
                other.word()
            )));
        }
        let protocol = chosen.clone().find(|it| fits(*it)).unwrap_or(plain);
        let node_port = port.required_node_port()?;
        let listening = NlbParameters::of_listener(annotations, protocol)?;
        if protocol == NlbProtocol::TcpSsl && listening.pairs().all(|(name, _)| name != "CertificateIds.1") {
            return Err(Error::invalid(format_args!(
                "annotation {} is missing: port {} has tcpssl, which needs a certificate",
                own::CERTIFICATES.name,
                port.port
            )));
        }
        ports.push(NlbDesiredPort {
            port: port.port,
            protocol,
            node_port,
            description: names.listener(port.port, protocol),
            group: names.group(node_port, protocol),
            given: None,
            listening,
            certificates: if protocol == NlbProtocol::TcpSsl { more_certificates(annotations)? } else { None },
            sending: NlbParameters::of_group(service, protocol)?,
        });
    }
    Ok(ports)
}

/// Says what has no effect here.
fn warn(
    service: &LoadBalancer,
    annotations: Annotations<'_>,
    live: Option<&NlbBalancer>,
    ports: &[NlbDesiredPort],
    ignored: &mut Vec<String>,
    warnings: &mut Warnings,
) -> Result<()> {
    let version = annotations.read(&rows::IP_VERSION)?;
    if version == Some("ipv6") {
        return Err(Error::invalid(format_args!(
            "annotation {}: ipv6 is for Classic Load Balancers: a Network one has ipv4 or DualStack",
            rows::IP_VERSION.name
        )));
    }
    let is_dual = version.is_some_and(|it| it == "DualStack")
        || live.is_some_and(|it| it.ip_version.eq_ignore_ascii_case("DualStack"));
    if annotations.read(&own::IPV6_ADDRESS_TYPE)?.is_some_and(|it| it.starts_with("Enable")) && !is_dual {
        ignored.push(format!("annotation {}: its addresses are of IPv4", own::IPV6_ADDRESS_TYPE.name));
    }
    let links = [own::LINK_ENDPOINT, own::LINK_SERVICE, own::LINK_NETWORK];
    if annotations.read(&rows::PROXY_PROTOCOL)? != Some("true")
        && let Some(link) =
            links.iter().find(|it| annotations.text(it.name).is_some_and(|it| it.eq_ignore_ascii_case("on")))
    {
        ignored.push(format!("annotation {}: annotation {} is not on", link.name, rows::PROXY_PROTOCOL.name));
    }
    if annotations.text(rows::EXTERNAL_ADDRESS.name).is_some() {
        ignored.push(format!("annotation {}: a Network Load Balancer has a name", rows::EXTERNAL_ADDRESS.name));
    }
    if let Some(live) = live
        && let Some(version) =
            version.filter(|it| !live.ip_version.is_empty() && !live.ip_version.eq_ignore_ascii_case(it))
    {
        warnings.immutable("the family of its addresses", &live.ip_version, version);
    }
    if service.source_ranges.iter().any(|it| it.contains(':')) {
        ignored.push("IPv6 ranges of loadBalancerSourceRanges: their clients are kept out".to_owned());
    }
    if service.load_balancer_ip.is_some() {
        ignored.push(format!("loadBalancerIP: annotation {} names addresses", own::ZONES.name));
    }
    if service.client_ip_affinity_seconds.is_some() {
        ignored.push(format!("sessionAffinity ClientIP: annotation {} has sch", rows::SCHEDULER.name));
    }
    let is_local = matches!(service.external_traffic_policy, ExternalTrafficPolicy::Local(_));
    if is_local && let Some(udp) = ports.iter().find(|it| it.protocol == NlbProtocol::Udp) {
        ignored.push(format!(
            "externalTrafficPolicy Local at port {} with udp: there are no checks by HTTP, and nodes without pods get packets, too",
            udp.port
        ));
    }
    Ok(())
}
