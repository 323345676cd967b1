//! A Service in the words of the cloud. Pure.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::events::Warnings;
use aerostat_sdk::{Error, ExternalTrafficPolicy, IpFamily, LoadBalancer, Protocol, Result, SortedSet};

use super::annotations::{
    CHECK_DELAY, CHECK_PATH, CHECK_PORT, CHECK_PROTOCOL, CHECK_RETRIES, CHECK_TIMEOUT, CHECK_UDP, FEATURES,
    IDLE_TIMEOUT, IP_TYPE, IbmCheck, IbmFeature, IbmReading, MEMBER_QUOTA, NAME, NODE_SELECTOR, PORT_RANGE, VpcPorts,
    ZONE, check_selector,
};
use super::{members, names, ranges};
use crate::api::load_balancers::{VpcBalancer, VpcMember, VpcMemberTarget, VpcMonitor};
use crate::settings::IbmAccountSettings;

/// A load balancer as the Service asks for it.
#[derive(Debug)]
pub(super) struct DesiredVpcBalancer {
    /// The name under which it is made.
    pub(super) name: String,
    /// The name that its author chose.
    pub(super) chosen_name: Option<String>,
    pub(super) is_public: bool,
    /// Whether it is a network load balancer: the one that is there decides.
    pub(super) is_network: bool,
    /// The protocol of all ports: `tcp` or `udp`.
    pub(super) protocol: &'static str,
    pub(super) has_proxy_protocol: bool,
    pub(super) idle_timeout: Option<u32>,
    /// The zone of the nodes that take traffic.
    zone: Option<String>,
    /// Whether a label that its author chose says which nodes take traffic: then neither the zone nor the label of the edge does.
    is_selected: bool,
    pub(super) ports: Vec<DesiredVpcPort>,
    quota: Option<usize>,
    pub(super) warnings: Warnings,
}

/// One of its ports: a listener and its pool.
#[derive(Debug)]
pub(super) struct DesiredVpcPort {
    pub(super) port: u16,
    /// The last port of a range that begins with it; the port itself without one.
    pub(super) last: u16,
    pub(super) node_port: u16,
    pub(super) pool: String,
    pub(super) monitor: VpcMonitor,
    /// Whether the monitor's path is the author's choice.
    pub(super) is_path_chosen: bool,
}

impl DesiredVpcBalancer {
    /// As a Service asks for it, whose load balancer is `live` if it has one. `has_group`: whether it has a security group for source ranges.
    ///
    /// # Errors
    ///
    /// `invalid`, where this cloud cannot serve it, or a value is not allowed.
    pub(super) fn of(
        service: &LoadBalancer,
        settings: &IbmAccountSettings,
        has_group: bool,
        live: Option<&VpcBalancer>,
    ) -> Result<Self> {
        let mut reading = IbmReading::of(service, live);
        check_selector(reading.annotations)?;
        // The vendor's controller takes names that are not allowed here.
        let chosen_name = reading.read_or_keep(&NAME, |live, text| (live.name == text).then(|| text.to_owned()))?;
        let annotations = reading.annotations;
        let is_selected = annotations.text(NODE_SELECTOR.name).is_some();
        let features = annotations.read(&FEATURES)?.unwrap_or_default();
        let quota = annotations.get(&MEMBER_QUOTA)?;
        let asks_for_network = features.contains(&IbmFeature::Network);
        let is_network = live.map_or(asks_for_network, VpcBalancer::is_network);
        let protocol = protocol(service, is_network, live)?;
        let mut desired = Self {
            name: names::own(service, settings),
            chosen_name,
            is_public: annotations.get(&IP_TYPE)?,
            is_network,
            protocol,
            has_proxy_protocol: features.contains(&IbmFeature::ProxyProtocol),
            idle_timeout: annotations.read(&IDLE_TIMEOUT)?,
            zone: annotations.read(&ZONE)?.filter(|_| !is_selected),
            is_selected,
            ports: ports(service, annotations)?,
            quota: usize::try_from(quota).ok().filter(|it| *it > 0),
            warnings: reading.warnings,
        };
        if is_network {
            desired.check_network()?;
        }
        if let Some(ranges) = annotations.read(&PORT_RANGE)? {
            let is_public = live.map_or(desired.is_public, |it| it.is_public);
            desired.widen(&ranges, is_network && is_public)?;
        }
        if is_network != asks_for_network {
            let word = |is_network| if is_network { "a network load balancer" } else { "an application load balancer" };
            desired.warnings.immutable("its kind", word(is_network), word(asks_for_network));
        }
        desired.warn(service, live, has_group);
        Ok(desired)
    }

    /// Refuses what network load balancers do not have: packets reach nodes as clients sent them.
    fn check_network(&self) -> Result<()> {
        if self.has_proxy_protocol {
            return Err(Error::invalid(format_args!(
                "annotation {}: a network load balancer has no proxy-protocol: nodes see who the client is without it",
                FEATURES.name
            )));
        }
        if self.idle_timeout.is_some() {
            return Err(Error::invalid(format_args!(
                "annotation {}: a network load balancer has no such timeout",
                IDLE_TIMEOUT.name
            )));
        }
        Ok(())
    }

    /// Gives the ports the ranges that begin with them. `is_able`: whether the load balancer takes ranges.
    fn widen(&mut self, ranges: &[VpcPorts], is_able: bool) -> Result<()> {
        let refused =
            |why: std::fmt::Arguments<'_>| Err(Error::invalid(format_args!("annotation {}: {why}", PORT_RANGE.name)));
        if !is_able {
            return refused(format_args!(
                "public network load balancers alone take ranges: annotation {}: nlb",
                FEATURES.name
            ));
        }
        for (first, last) in ranges {
            let Some(port) = self.ports.iter_mut().find(|it| it.port == *first) else {
                return refused(format_args!("{first}-{last} begins with {first}, which is no port of the Service"));
            };
            if port.last != port.port {
                return refused(format_args!("two ranges begin with {first}"));
            }
            port.last = *last;
        }
        let overlap = |one: &DesiredVpcPort| self.ports.iter().find(|it| one.port < it.port && it.port <= one.last);
        let both = self.ports.iter().find_map(|it| overlap(it).map(|other| (it, other)));
        match both {
            Some((it, other)) => refused(format_args!(
                "{}-{} takes in port {}, which is a port of the Service by itself",
                it.port, it.last, other.port
            )),
            None => Ok(()),
        }
    }

    fn warn(&mut self, service: &LoadBalancer, live: Option<&VpcBalancer>, has_group: bool) {
        let word = |is_public| if is_public { "public" } else { "private" };
        if let Some(live) = live.filter(|it| it.is_public != self.is_public) {
            self.warnings.immutable("its type", word(live.is_public), word(self.is_public));
        }
        let mut ignored = Vec::new();
        if ranges::are_restricted(service) && !has_group {
            ignored.push("loadBalancerSourceRanges: security groups of the load balancer say who comes in");
        }
        if service.load_balancer_ip.is_some() {
            ignored.push("loadBalancerIP: the cloud chooses addresses");
        }
        if service.client_ip_affinity_seconds.is_some() {
            ignored.push("sessionAffinity ClientIP");
        }
        if !ignored.is_empty() {
            self.warnings.add(ranges::IGNORED, format_args!("this has no effect here: {}", ignored.join("; ")));
        }
    }

    /// Whether there may be more nodes than take traffic.
    pub(super) fn chooses(&self, service: &LoadBalancer) -> bool {
        self.quota.is_some() || service.nodes.len() > members::MOST
    }

    /// The addresses of the nodes that take traffic, of which `chosen` do so now.
    pub(super) fn addresses(&mut self, service: &LoadBalancer, chosen: &SortedSet<String>) -> Vec<String> {
        let is_edge_alone = self.is_edge_alone(service);
        members::choose(&service.nodes, self.zone.as_deref(), is_edge_alone, self.quota, chosen, &mut self.warnings)
    }

    /// Whether nodes for traffic from outside alone take it.
    fn is_edge_alone(&self, service: &LoadBalancer) -> bool {
        !self.is_selected && members::edges(&service.nodes)
    }

    /// The end of the sentence that no node takes traffic: which of the ready ones could not, and the next step. Empty where there is none.
    pub(super) fn why_none(&self, service: &LoadBalancer) -> String {
        if service.nodes.is_empty() {
            let selected = service.annotation(NODE_SELECTOR.name);
            return selected.map_or_else(String::new, |label| {
                format!(": annotation {} takes those with {label:?} alone", NODE_SELECTOR.name)
            });
        }
        let edge =
            if self.is_edge_alone(service) { format!(" with label {}=edge", members::EDGE) } else { String::new() };
        match &self.zone {
            Some(zone) => format!(
                ": none{edge} is in zone {zone}, which annotation {} names: correct it, or add nodes there",
                ZONE.name
            ),
            None => format!(": none{edge} has an internal IPv4 address: look at the addresses of the nodes"),
        }
    }

    /// Whether a load balancer has as many listeners as ports, and the pools of these ports alone, by their names.
    pub(super) fn has_parts_of(&self, live: &VpcBalancer) -> bool {
        let is_there = |port: &DesiredVpcPort| live.pools.iter().any(|it| it.name == port.pool);
        [live.listeners.len(), live.pools.len()] == [self.ports.len(); 2] && self.ports.iter().all(is_there)
    }

    /// The word for the PROXY protocol.
    pub(super) fn proxy_protocol(&self) -> &'static str {
        if self.has_proxy_protocol { "v1" } else { "disabled" }
    }
}

impl DesiredVpcPort {
    /// Its members, at these addresses.
    pub(super) fn members(&self, addresses: &[String]) -> Vec<VpcMember> {
        let member = |it: &String| VpcMember { port: self.node_port, target: VpcMemberTarget { address: it.clone() } };
        addresses.iter().map(member).collect()
    }

    /// Whether a pool's monitor does as this one: one of the vendor's controller checks `/`, which kube-proxy answers as well. A check by TCP has
    /// no path; one that was by HTTP may show its path of before, because a change of other fields lets it stay (RFC 7396).
    pub(super) fn is_monitored_by(&self, live: &VpcMonitor) -> bool {
        let is_vendors = !self.is_path_chosen && live.url_path.as_deref() == Some("/");
        let is_as_good = is_vendors || live.kind == "tcp";
        let url_path = if is_as_good { self.monitor.url_path.clone() } else { live.url_path.clone() };
        VpcMonitor { url_path, ..live.clone() } == self.monitor
    }
}

/// A Service as far as it decides which nodes take traffic: annotations that choose nodes, and no other. Without a check one of UDP is refused; by
/// which port nodes are checked chooses none.
pub(super) fn choosing_nodes(service: &LoadBalancer) -> LoadBalancer {
    let mut chosen = service.clone();
    chosen.annotations.retain(|(key, _)| [ZONE.name, MEMBER_QUOTA.name, NODE_SELECTOR.name].contains(&&**key));
    if has_udp(&chosen) {
        chosen.annotations.push((CHECK_UDP.name.to_owned(), "1".to_owned()));
    }
    chosen
}

fn has_udp(service: &LoadBalancer) -> bool {
    service.ports.iter().any(|it| it.protocol == Protocol::Udp)
}

fn ports(service: &LoadBalancer, annotations: Annotations<'_>) -> Result<Vec<DesiredVpcPort>> {
    if !service.ip_families.is_empty() && !service.ip_families.contains(&IpFamily::Ipv4) {
        return Err(Error::invalid("load balancers of IBM Cloud have IPv4 addresses alone: add IPv4 to ipFamilies"));
    }
    let mut ports: Vec<DesiredVpcPort> = Vec::new();
    for port in &service.ports {
        let node_port = port.required_node_port()?;
        let (monitor, is_path_chosen) = monitor(service, annotations, node_port)?;
        ports.push(DesiredVpcPort {
            port: port.port,
            last: port.port,
            node_port,
            pool: names::pool(port, node_port),
            monitor,
            is_path_chosen,
        });
    }
    Ok(ports)
}

/// The protocol of a Service's ports: one for all, and UDP only where the load balancer's profile has it.
fn protocol(service: &LoadBalancer, is_network: bool, live: Option<&VpcBalancer>) -> Result<&'static str> {
    service.allow_protocols(&[Protocol::Tcp, Protocol::Udp])?;
    let Some(udp) = service.ports.iter().find(|it| it.protocol == Protocol::Udp) else { return Ok("tcp") };
    if let Some(live) = live.filter(|it| !it.takes_udp()) {
        return Err(Error::invalid(format_args!(
            "port {} is UDP, which {} does not take: delete the Service, and make it again with {}: nlb",
            udp.port,
            live.title(),
            FEATURES.name
        )));
    }
    if !is_network {
        return Err(Error::invalid(format_args!(
            "port {} is UDP, which application load balancers do not take: UDP needs annotation {}: nlb",
            udp.port, FEATURES.name
        )));
    }
    match service.ports.iter().find(|it| it.protocol == Protocol::Tcp) {
        None => Ok("udp"),
        Some(tcp) => Err(Error::invalid(format_args!(
            "port {} is UDP and port {} TCP: a network load balancer takes one of the two, so make two Services of it",
            udp.port, tcp.port
        ))),
    }
}

/// The check of a port's nodes, and whether its path is the author's choice.
fn monitor(service: &LoadBalancer, annotations: Annotations<'_>, node_port: u16) -> Result<(VpcMonitor, bool)> {
    let local = match service.external_traffic_policy {
        ExternalTrafficPolicy::Local(port) => Some(port),
        ExternalTrafficPolicy::Cluster => None,
    };
    let written = annotations.read(&CHECK_PROTOCOL)?;
    let port = annotations.read(&CHECK_PORT)?;
    if port.is_some() && written.is_none() {
        return Err(Error::invalid(format_args!(
            "annotation {} needs annotation {}: write both",
            CHECK_PORT.name, CHECK_PROTOCOL.name
        )));
    }
    let is_local = local.is_some() && annotations.read(&CHECK_UDP)?.is_none();
    let kind = written.unwrap_or(if is_local { IbmCheck::Http } else { IbmCheck::Tcp });
    let path = annotations.read(&CHECK_PATH)?;
    let is_path_chosen = path.is_some();
    let usual = if local.is_some() && written.is_none() { "/healthz" } else { "/" };
    let (delay, timeout) = (annotations.get(&CHECK_DELAY)?, annotations.get(&CHECK_TIMEOUT)?);
    if delay <= timeout {
        return Err(Error::invalid(format_args!(
            "annotation {} ({delay}) has to be more than annotation {} ({timeout})",
            CHECK_DELAY.name, CHECK_TIMEOUT.name
        )));
    }
    let own = match (has_udp(service), annotations.read(&CHECK_UDP)?) {
        (false, Some(_)) => {
            return Err(Error::invalid(format_args!("annotation {} is for Services of UDP alone", CHECK_UDP.name)));
        }
        (true, Some(chosen)) => chosen,
        (_, None) if written.is_none() && local.is_some() => local.unwrap_or(node_port),
        // A node port of UDP answers no check.
        (true, None) if port.is_none() => {
            return Err(Error::invalid(format_args!(
                "a Service of UDP needs annotation {}: a TCP port of nodes by which they are checked",
                CHECK_UDP.name
            )));
        }
        (_, None) => node_port,
    };
    let monitor = VpcMonitor {
        delay,
        max_retries: annotations.get(&CHECK_RETRIES)?,
        port: Some(port.unwrap_or(own)),
        timeout,
        kind: match kind {
            IbmCheck::Http => "http",
            IbmCheck::Https => "https",
            IbmCheck::Tcp => "tcp",
        }
        .to_owned(),
        url_path: (kind != IbmCheck::Tcp).then(|| path.unwrap_or_else(|| usual.to_owned())),
    };
    Ok((monitor, is_path_chosen))
}
