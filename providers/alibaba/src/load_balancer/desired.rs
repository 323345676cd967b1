//! A Service in the words of the cloud. Pure.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::events::Warnings;
use aerostat_sdk::{Error, ExternalTrafficPolicy, IpFamily, IpMode, LoadBalancer, Node, Protocol, Result, SortedSet};

use super::annotations as rows;
use super::listening::ListenerParameters;
use super::names::PartNames;
use super::reused::{given_groups, ignored_of_owner, part};
use super::unserved;
use crate::api::listeners::SlbProtocol;
use crate::api::load_balancers::SlbBalancer;
use crate::api::server_groups::SlbServer;
use crate::machine::{AliMachine, takes_no_traffic};

/// The owner of a load balancer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SlbOwner {
    Service,
    /// A load balancer of somebody else, in which the Service has its parts.
    Another,
}

/// A load balancer as the Service asks for it.
#[derive(Debug, Default)]
pub(super) struct DesiredSlb {
    pub(super) ports: Vec<DesiredSlbPort>,
    /// Whether listeners are the Service's to write: those of somebody's own are only if an annotation says so.
    pub(super) listens: bool,
    pub(super) is_local: bool,
    pub(super) ignores_weights: bool,
    /// The ranges of clients that come in: none where all of them do.
    pub(super) ranges: Vec<String>,
    /// Further domains of ports with https, each with its certificate. None: they stay as they are.
    pub(super) domains: Vec<(String, String)>,
    /// Whether the status shows the elastic address that is bound to it.
    pub(super) is_elastic: bool,
    pub(super) warnings: Warnings,
    /// The weight of all machines together in groups of somebody's own.
    all_weight: Option<u32>,
    weight: u32,
    /// The instances of the nodes that take traffic, each once.
    instances: Vec<String>,
}

/// One of its ports: a listener.
#[derive(Debug)]
pub(super) struct DesiredSlbPort {
    pub(super) port: u16,
    pub(super) protocol: SlbProtocol,
    pub(super) node_port: u16,
    pub(super) description: String,
    /// The name of its group, and the description of the machines in it.
    pub(super) group: String,
    /// The id of a group of somebody's own in its place.
    pub(super) given: Option<String>,
    pub(super) parameters: ListenerParameters,
    /// The port that clients are sent to.
    pub(super) forward: Option<u16>,
}

impl DesiredSlb {
    /// As a Service asks for it, whose load balancer is `live` if it has one.
    ///
    /// # Errors
    ///
    /// `invalid`, where this cloud cannot serve it, or a value is not allowed.
    pub(super) fn of(
        service: &LoadBalancer,
        names: &PartNames,
        region: &str,
        live: Option<(&SlbBalancer, SlbOwner)>,
    ) -> Result<Self> {
        let annotations = Annotations::of(service);
        unserved::check(annotations)?;
        let is_reused = live.is_some_and(|(_, owner)| owner == SlbOwner::Another);
        let listens = !is_reused || annotations.get(&rows::OVERRIDES)?;
        let mut warnings = Warnings::default();
        let mut ports = ports(service, annotations, names)?;
        let numbers: Vec<(u16, u16)> = ports.iter().map(|it| (it.port, it.node_port)).collect();
        for (id, number) in given_groups(annotations, is_reused, &numbers)? {
            ports.iter_mut().filter(|it| it.port == number).for_each(|it| it.given = Some(id.clone()));
        }
        let is_local = matches!(service.external_traffic_policy, ExternalTrafficPolicy::Local(_));
        let mut ignored = ignored_of_owner(service, is_reused, listens, &ATTRIBUTES);
        warn(service, annotations, live.map(|(live, _)| live), &ports, &mut ignored, &mut warnings)?;
        if !ignored.is_empty() {
            warnings.add("ServiceFieldsIgnored", format_args!("this has no effect here: {}", ignored.join("; ")));
        }
        let instances = instances(&service.nodes, region, &mut warnings);
        Ok(Self {
            ports,
            listens,
            is_local,
            ignores_weights: annotations.get(&rows::IGNORE_WEIGHTS)?,
            ranges: if listens { ranges(service, annotations)? } else { Vec::new() },
            domains: domains(annotations)?,
            is_elastic: annotations.read(&rows::EXTERNAL_ADDRESS)?.is_some(),
            warnings,
            all_weight: if is_reused { annotations.read(&rows::ALL_WEIGHT)? } else { None },
            weight: annotations.get(&rows::WEIGHT)?,
            instances,
        })
    }

    /// Whether the cluster's own traffic may reach nodes without it: not where it ends connections, or tells nodes the client.
    pub(super) fn ip_mode(&self) -> IpMode {
        let is_needed = |port: &DesiredSlbPort| {
            let ends = matches!(port.protocol, SlbProtocol::Http | SlbProtocol::Https);
            ends || port.parameters.value("ProxyProtocolV2Enabled") == Some("true")
        };
        if self.ports.iter().any(is_needed) { IpMode::Proxy } else { IpMode::Vip }
    }

    /// Whether there is an instance to send to.
    pub(super) fn has_instances(&self) -> bool {
        !self.instances.is_empty()
    }

    /// The machines of a group: with their parts of a weight for all of them, where the group is somebody's own.
    pub(super) fn servers(&self, group: &DesiredSlbGroup<'_>) -> Vec<SlbServer> {
        let all = self.all_weight.filter(|_| group.given.is_some());
        let weight = part(all, self.weight, self.instances.len());
        let server = |id: &String| SlbServer {
            instance: id.clone(),
            port: group.node_port,
            weight,
            description: group.name.to_owned(),
        };
        self.instances.iter().map(server).collect()
    }

    /// How many instances take traffic.
    pub(super) fn count(&self) -> usize {
        self.instances.len()
    }

    /// A number that other desired groups and listeners, or another release, hardly have.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hash = self.weight.into();
        mix(&mut hash, env!("CARGO_PKG_VERSION"));
        for port in &self.ports {
            for word in [&port.description, port.protocol.word(), &port.group] {
                mix(&mut hash, word);
            }
            for (name, value) in port.parameters.all() {
                mix(&mut hash, name);
                mix(&mut hash, value);
            }
        }
        for id in &self.instances {
            mix(&mut hash, id);
        }
        hash
    }

    /// The groups, each once.
    pub(super) fn groups(&self) -> Vec<DesiredSlbGroup<'_>> {
        let mut groups: Vec<DesiredSlbGroup<'_>> = Vec::new();
        for port in self.ports.iter().filter(|it| it.forward.is_none()) {
            let group = port.sends_to();
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }
}

/// A group that ports send to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct DesiredSlbGroup<'a> {
    pub(super) name: &'a str,
    pub(super) node_port: u16,
    /// The id of one of somebody's own.
    pub(super) given: Option<&'a str>,
}

impl DesiredSlbPort {
    /// Its group.
    pub(super) fn sends_to(&self) -> DesiredSlbGroup<'_> {
        DesiredSlbGroup { name: &self.group, node_port: self.node_port, given: self.given.as_deref() }
    }
}

/// Adds a word and its end to a hash, as FNV-1a does.
fn mix(hash: &mut u64, word: &str) {
    for byte in word.bytes().chain([0]) {
        *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
}

/// The annotations that say how a load balancer is, and nothing of its parts.
const ATTRIBUTES: [&str; 7] = [
    rows::NAME.name,
    rows::SPEC.name,
    rows::CHARGE.name,
    rows::BANDWIDTH.name,
    rows::DELETE_PROTECTION.name,
    rows::MODIFICATION_PROTECTION.name,
    rows::TAGS.name,
];

fn ports(service: &LoadBalancer, annotations: Annotations<'_>, names: &PartNames) -> Result<Vec<DesiredSlbPort>> {
    service.allow_protocols(&[Protocol::Tcp, Protocol::Udp])?;
    let protocols = annotations.read(&rows::PROTOCOLS)?.unwrap_or_default();
    let forwards = annotations.read(&rows::FORWARD)?.unwrap_or_default();
    let is_port = |number: u16| service.ports.iter().any(|it| it.port == number);
    let named = protocols.iter().map(|(_, port)| *port).chain(forwards.iter().flat_map(|(from, to)| [*from, *to]));
    if let Some(other) = named.into_iter().find(|it| !is_port(*it)) {
        return Err(Error::invalid(format_args!(
            "annotations {} and {}: port {other} is none of the Service",
            rows::PROTOCOLS.name,
            rows::FORWARD.name
        )));
    }
    let mut ports: Vec<DesiredSlbPort> = Vec::new();
    for port in &service.ports {
        let chosen = protocols.iter().find(|(_, it)| *it == port.port).map(|(protocol, _)| *protocol);
        let own = if port.protocol == Protocol::Udp { SlbProtocol::Udp } else { SlbProtocol::Tcp };
        let protocol = match chosen {
            Some(chosen) if (chosen == SlbProtocol::Udp) == (own == SlbProtocol::Udp) => chosen,
            // A port has one number for tcp and udp.
            Some(_) if service.ports.iter().filter(|it| it.port == port.port).count() > 1 => own,
            Some(chosen) => {
                return Err(Error::invalid(format_args!(
                    "annotation {}: port {} of the Service carries {}, and {} is not that",
                    rows::PROTOCOLS.name,
                    port.port,
                    port.protocol.as_str(),
                    chosen.word()
                )));
            }
            None => own,
        };
        let forward = forwards.iter().find(|(from, _)| *from == port.port).map(|(_, to)| *to);
        let forward = forward.filter(|_| protocol == SlbProtocol::Http);
        let parameters = ListenerParameters::of(service, protocol)?;
        if protocol == SlbProtocol::Https && parameters.value("ServerCertificateId").is_none() {
            return Err(Error::invalid(format_args!(
                "annotation {} is missing: port {} has https, which needs a certificate",
                rows::CERTIFICATE.name,
                port.port
            )));
        }
        let node_port = port.required_node_port()?;
        ports.push(DesiredSlbPort {
            port: port.port,
            protocol,
            node_port,
            description: names.listener(port.port),
            group: names.group(node_port),
            given: None,
            parameters,
            forward,
        });
    }
    let is_https = |number: u16| ports.iter().any(|it| it.port == number && it.protocol == SlbProtocol::Https);
    let is_http = |number: u16| ports.iter().any(|it| it.port == number && it.protocol == SlbProtocol::Http);
    if let Some((from, to)) = forwards.iter().find(|(from, to)| !is_http(*from) || !is_https(*to)) {
        return Err(Error::invalid(format_args!(
            "annotation {}: {from}:{to} is not a port with http and one with https: say so in annotation {}",
            rows::FORWARD.name,
            rows::PROTOCOLS.name
        )));
    }
    Ok(ports)
}

/// Further domains of ports with https.
///
/// # Errors
///
/// `invalid`, if one of them has two certificates.
fn domains(annotations: Annotations<'_>) -> Result<Vec<(String, String)>> {
    let all = annotations.read(&rows::DOMAINS)?.unwrap_or_default();
    let is_named = |at: usize, domain: &str| all[..at].iter().any(|it| it.0 == domain);
    match all.iter().enumerate().find(|(at, (domain, _))| is_named(*at, domain)) {
        Some((_, (domain, _))) => {
            Err(Error::invalid(format_args!("annotation {}: {domain} stands there twice", rows::DOMAINS.name)))
        }
        None => Ok(all),
    }
}

/// Whether an annotation says who comes in.
fn names_list(annotations: Annotations<'_>) -> bool {
    [rows::ACL_STATUS.name, rows::ACL_ID.name, rows::ACL_TYPE.name].iter().any(|it| annotations.text(it).is_some())
}

/// The ranges of clients that a list of ours lets in.
///
/// # Errors
///
/// `invalid`, if none of them is one of IPv4: then nobody would come in, or everybody.
fn ranges(service: &LoadBalancer, annotations: Annotations<'_>) -> Result<Vec<String>> {
    let is_open = service.source_ranges.iter().any(|it| it == "0.0.0.0/0");
    if service.source_ranges.is_empty() || is_open || names_list(annotations) {
        return Ok(Vec::new());
    }
    let ranges: Vec<String> = service.source_ranges.iter().filter(|it| !it.contains(':')).cloned().collect();
    match ranges.is_empty() {
        true => Err(Error::invalid("loadBalancerSourceRanges: only ranges of IPv4 can be let in")),
        false => Ok(ranges),
    }
}

/// Says what has no effect here.
fn warn(
    service: &LoadBalancer,
    annotations: Annotations<'_>,
    live: Option<&SlbBalancer>,
    ports: &[DesiredSlbPort],
    ignored: &mut Vec<String>,
    warnings: &mut Warnings,
) -> Result<()> {
    let address_type = annotations.get(&rows::ADDRESS_TYPE)?;
    let version = annotations.get(&rows::IP_VERSION)?;
    if version == "DualStack" {
        return Err(Error::invalid(format_args!(
            "annotation {}: {version} is for Network Load Balancers: a Classic one has ipv4 or ipv6",
            rows::IP_VERSION.name
        )));
    }
    if let Some(live) = live {
        let is_chosen = annotations.text(rows::ADDRESS_TYPE.name).is_some();
        if is_chosen && !live.address_type.is_empty() && live.address_type != address_type {
            warnings.immutable("its address type", &live.address_type, address_type);
        }
        let is_chosen = annotations.text(rows::IP_VERSION.name).is_some();
        if is_chosen && !live.ip_version.is_empty() && live.ip_version != version {
            warnings.immutable("the family of its address", &live.ip_version, version);
        }
    }
    let family = if version == "ipv6" { IpFamily::Ipv6 } else { IpFamily::Ipv4 };
    if !service.ip_families.is_empty() && !service.ip_families.contains(&family) {
        ignored.push(format!("ipFamilies: annotation {} says which address there is", rows::IP_VERSION.name));
    }
    if !service.source_ranges.is_empty() && names_list(annotations) {
        ignored.push(format!("loadBalancerSourceRanges: annotation {} names a list of access", rows::ACL_ID.name));
    }
    if service.load_balancer_ip.is_some() {
        ignored.push(format!("loadBalancerIP: annotation {} names an address", rows::ADDRESS.name));
    }
    if service.client_ip_affinity_seconds.is_some() {
        ignored.push("sessionAffinity ClientIP".to_owned());
    }
    let is_local = matches!(service.external_traffic_policy, ExternalTrafficPolicy::Local(_));
    if is_local && let Some(udp) = ports.iter().find(|it| it.protocol == SlbProtocol::Udp) {
        ignored.push(format!(
            "externalTrafficPolicy Local at port {} with udp: there are no checks by HTTP, and nodes without pods get packets, too",
            udp.port
        ));
    }
    Ok(())
}

/// A Service of which only the machines count, where something else that it asks for is refused: with the annotations that say how much traffic
/// they take, and with these.
pub(crate) fn of_machines(service: &LoadBalancer, further: &[&str]) -> LoadBalancer {
    let mut chosen = service.clone();
    let weights = [rows::WEIGHT.name, rows::IGNORE_WEIGHTS.name];
    chosen.annotations.retain(|(key, _)| weights.contains(&&**key) || further.contains(&&**key));
    chosen.source_ranges.clear();
    chosen
}

/// The instances of nodes, each once and in the order of their ids. Nodes that say so are left out, and nothing is told.
pub(crate) fn instances(nodes: &[Node], region: &str, warnings: &mut Warnings) -> Vec<String> {
    let (mut instances, mut others) = (SortedSet::new(), Vec::new());
    for node in nodes.iter().filter(|it| !takes_no_traffic(it)) {
        match node.provider_id.as_deref().map(|it| AliMachine::parse(it, region)) {
            Some(Ok(AliMachine::Instance(id))) => {
                instances.insert(id.to_owned());
            }
            _ => others.push(node.name.as_str()),
        }
    }
    if !others.is_empty() {
        let names = aerostat_sdk::nodes::named(&others);
        warnings.add("NodesSkipped", format_args!("{names} can take no traffic: no instance of ECS in {region}"));
    }
    instances.into_iter().collect()
}
