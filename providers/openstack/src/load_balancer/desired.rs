//! A load balancer as its Service asks for it, decided from annotations, class and settings alone.

use std::net::IpAddr;

use aerostat_sdk::annotations::{self, Annotations};
use aerostat_sdk::form::{Custom, Form as _};
use aerostat_sdk::{AddressKind, Error, ExternalTrafficPolicy, IpFamily, LoadBalancer, Node, Protocol, Result};

use super::annotations::{
    CLASS, CONNECTION_LIMIT, ENABLE_MONITOR, FLAVOR, FLOATING_NETWORK, FLOATING_SUBNET, FLOATING_SUBNET_ID,
    FLOATING_TAGS, FORWARDED_FOR, HOSTNAME, INTERNAL, KEEP_FLOATING_IP, MEMBER_SUBNET, METHOD, MONITOR_DELAY,
    MONITOR_RETRIES, MONITOR_RETRIES_DOWN, MONITOR_TIMEOUT, NETWORK, PORT, PROXY_PROTOCOL, ProxyProtocol,
    SOURCE_RANGES, SUBNET, TIMEOUT_CLIENT, TIMEOUT_CONNECT, TIMEOUT_INSPECT, TIMEOUT_MEMBER, TLS, ZONE,
};
use crate::settings::{
    ContainerStore, FloatingSubnetChoice, LoadBalancerClassSettings, MonitorTimes, NetworkChoice, OctaviaSettings,
};

/// The driver that passes packets on without a proxy, and lacks what only a proxy can do.
pub(crate) const OVN: &str = "ovn";

/// Where a monitor asks nodes of Services with externalTrafficPolicy Local, and what it expects.
pub(crate) const HEALTH: (&str, &str) = (LoadBalancer::HEALTH_CHECK_PATH, "200");

/// Everything about a load balancer that its Service, its class and the settings say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DesiredBalancer {
    /// Whether it has no floating IP.
    pub(crate) is_internal: bool,
    /// The families of its addresses: the first is that of its nodes.
    pub(crate) families: Vec<IpFamily>,
    /// Where its address comes from.
    pub(crate) networks: NetworkChoice,
    /// The port whose address it gets.
    pub(crate) port: Option<String>,
    /// Its flavour.
    pub(crate) flavor: Option<String>,
    /// Its availability zone.
    pub(crate) zone: Option<String>,
    /// Whether its floating IP stays when the Service goes.
    pub(crate) keeps_floating_ip: bool,
    /// The name that the status shows instead of its address.
    pub(crate) hostname: Option<String>,
    /// How nodes are told of a client.
    pub(crate) proxy: ProxyProtocol,
    /// The certificate with which TLS ends at it.
    pub(crate) tls: Option<String>,
    /// Whether health is checked; `None` where nobody says so.
    pub(crate) monitor: Option<bool>,
    /// The port at which nodes tell whether they have pods of the Service.
    pub(crate) local_port: Option<u16>,
    /// Its ports.
    pub(crate) listeners: Vec<ServicePort>,
    /// Networks of clients that may reach it.
    pub(crate) ranges: Vec<String>,
    /// Whether clients are limited although its driver cannot do that.
    pub(crate) ranges_are_ignored: bool,
    /// How health is checked.
    pub(crate) times: MonitorTimes,
    /// How load is spread.
    pub(crate) method: &'static str,
    /// Whether clients stay with their node.
    pub(crate) is_sticky: bool,
}

/// One port.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServicePort {
    /// Its place in the Service, which its name has.
    pub(crate) index: usize,
    /// Its transport.
    pub(crate) transport: Protocol,
    /// Its protocol: "TCP", "UDP", "SCTP", "HTTP", "TERMINATED_HTTPS".
    pub(crate) protocol: &'static str,
    /// The port that clients dial.
    pub(crate) port: u16,
    /// Where nodes listen; `None` if they do not.
    pub(crate) node_port: Option<u16>,
    /// How many connections at a time.
    pub(crate) connection_limit: i64,
    /// Milliseconds: of client, connection, node, inspection.
    pub(crate) timeouts: [u32; 4],
    /// Whether requests get X-Forwarded-For.
    pub(crate) forwarded_for: bool,
    /// The protocol of its pool.
    pub(crate) pool_protocol: &'static str,
}

/// A member of a pool.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct DesiredMember {
    /// Its node.
    pub(crate) name: String,
    /// The node's address.
    pub(crate) address: String,
}

/// A monitor of a pool.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct DesiredMonitor {
    /// "TCP", "UDP-CONNECT", "SCTP", "HTTP".
    pub(crate) kind: &'static str,
    /// How often, and how long.
    pub(crate) times: MonitorTimes,
}

impl DesiredBalancer {
    /// The load balancer that the Service asks for.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the annotation, its value and the allowed values; or what cannot be together.
    pub(crate) fn of(service: &LoadBalancer, settings: &OctaviaSettings) -> Result<Self> {
        let texts = Annotations::of(service);
        let internal = texts.get(&INTERNAL)?;
        let proxy = texts.get(&PROXY_PROTOCOL)?;
        let forwarded_for = texts.get(&FORWARDED_FOR)?;
        if proxy != ProxyProtocol::Off && forwarded_for {
            return Err(Error::invalid(format_args!(
                "annotations {} and {} cannot be used together",
                PROXY_PROTOCOL.name, FORWARDED_FOR.name
            )));
        }
        let tls = tls(texts, settings)?;
        let families = if service.ip_families.is_empty() { vec![IpFamily::Ipv4] } else { service.ip_families.clone() };
        let ovn = settings.provider == OVN;
        let wanted_ranges = source_ranges(service)?;
        let is_limited = !wanted_ranges.is_empty();
        let method = texts.read(&METHOD)?.or(settings.method);
        let timeouts = [
            texts.get(&TIMEOUT_CLIENT)?,
            texts.get(&TIMEOUT_CONNECT)?,
            texts.get(&TIMEOUT_MEMBER)?,
            texts.get(&TIMEOUT_INSPECT)?,
        ];
        let connection_limit = texts.get(&CONNECTION_LIMIT)?;
        let speaks = PortSpeech { tls: tls.is_some(), forwarded_for, proxy };
        let listeners = service.ports.iter().enumerate().map(|(index, port)| ServicePort {
            index,
            transport: port.protocol,
            protocol: speaks.of_listener(port.protocol),
            port: port.port,
            node_port: port.node_port,
            connection_limit,
            timeouts,
            forwarded_for,
            pool_protocol: speaks.of_pool(port.protocol),
        });
        let local_port = match service.external_traffic_policy {
            ExternalTrafficPolicy::Local(port) if port != 0 && !ovn => Some(port),
            _ => None,
        };
        Ok(Self {
            is_internal: settings.internal || internal,
            networks: networks(texts, settings)?,
            port: texts.read(&PORT)?,
            flavor: texts.read(&FLAVOR)?.or_else(|| settings.flavor.clone()),
            zone: texts.read(&ZONE)?.or_else(|| settings.zone.clone()),
            keeps_floating_ip: texts.get(&KEEP_FLOATING_IP)?,
            hostname: texts.read(&HOSTNAME)?,
            proxy,
            tls,
            monitor: texts.read(&ENABLE_MONITOR)?.or(settings.create_monitor),
            local_port,
            listeners: listeners.collect(),
            ranges: ranges(wanted_ranges, &families)?,
            ranges_are_ignored: is_limited && ovn && !settings.manage_groups,
            families,
            times: MonitorTimes {
                delay: texts.read(&MONITOR_DELAY)?.unwrap_or(settings.monitor.delay),
                timeout: texts.read(&MONITOR_TIMEOUT)?.unwrap_or(settings.monitor.timeout),
                retries: texts.read(&MONITOR_RETRIES)?.unwrap_or(settings.monitor.retries),
                retries_down: texts.read(&MONITOR_RETRIES_DOWN)?.unwrap_or(settings.monitor.retries_down),
            },
            method: method.unwrap_or(if ovn { "SOURCE_IP_PORT" } else { "ROUND_ROBIN" }),
            is_sticky: service.client_ip_affinity_seconds.is_some(),
        })
    }

    /// Whether health is checked. `by_default` says whether it is where nobody says so and traffic is for local pods alone: then each
    /// node without a pod would get its share.
    pub(crate) fn has_monitor(&self, by_default: bool) -> bool {
        self.monitor.unwrap_or(by_default && self.local_port.is_some())
    }

    /// The monitor of a port's pool, if health is checked.
    pub(crate) fn monitor_of(&self, listener: &ServicePort, by_default: bool) -> Option<DesiredMonitor> {
        if !self.has_monitor(by_default) {
            return None;
        }
        let kind = match (self.local_port, listener.transport) {
            (Some(_), Protocol::Tcp | Protocol::Udp) => "HTTP",
            (_, Protocol::Tcp) => "TCP",
            (_, Protocol::Udp) => "UDP-CONNECT",
            (_, Protocol::Sctp) => "SCTP",
        };
        Some(DesiredMonitor { kind, times: self.times })
    }

    /// The port at which the members of a pool are asked, where it is not that of the traffic.
    pub(crate) fn monitor_port(&self, listener: &ServicePort, by_default: bool) -> Option<u16> {
        let is_asked = self.has_monitor(by_default) && listener.transport != Protocol::Sctp;
        self.local_port.filter(|_| is_asked)
    }

    /// The family of its first address, and of its nodes.
    pub(crate) fn family(&self) -> IpFamily {
        self.families.first().copied().unwrap_or(IpFamily::Ipv4)
    }
}

/// The choices that decide about protocols.
#[derive(Clone, Copy)]
struct PortSpeech {
    tls: bool,
    forwarded_for: bool,
    proxy: ProxyProtocol,
}

impl PortSpeech {
    fn of_listener(self, transport: Protocol) -> &'static str {
        match transport {
            Protocol::Tcp if self.tls => "TERMINATED_HTTPS",
            Protocol::Tcp if self.forwarded_for => "HTTP",
            other => other.as_str(),
        }
    }

    fn of_pool(self, transport: Protocol) -> &'static str {
        match (transport, self.proxy) {
            (Protocol::Tcp, ProxyProtocol::V1) => "PROXY",
            (Protocol::Tcp, ProxyProtocol::V2) => "PROXYV2",
            (Protocol::Tcp, ProxyProtocol::Off) if self.tls || self.forwarded_for => "HTTP",
            (other, _) => other.as_str(),
        }
    }
}

/// The certificate with which TLS ends at it.
fn tls(texts: Annotations<'_>, settings: &OctaviaSettings) -> Result<Option<String>> {
    let chosen = texts.read(&TLS)?;
    if let Some(chosen) = &chosen {
        settings.allowed_tls.check(TLS.name, chosen)?;
    }
    let tls = chosen.or_else(|| settings.default_tls.clone());
    match tls {
        Some(tls) if settings.container_store == ContainerStore::None => Err(Error::invalid(format_args!(
            "TLS with {tls} cannot end at the load balancer: setting loadBalancers.containerStore is none; barbican lets it be looked for"
        ))),
        tls => Ok(tls),
    }
}

/// Where its address and its floating IP come from. Of its own network annotations win over the class, and the class over settings; of the
/// floating IP's the class wins over annotations.
fn networks(texts: Annotations<'_>, settings: &OctaviaSettings) -> Result<NetworkChoice> {
    let class = match texts.read(&CLASS)? {
        None => LoadBalancerClassSettings::default(),
        Some(name) => LoadBalancerClassSettings::find(&name)?
            .ok_or_else(|| annotations::refused(CLASS.name, &name, "a class of settings loadBalancers.classes"))?,
    };
    let (class, base) = (class.networks, &settings.networks);
    let of_annotations = FloatingSubnetChoice {
        id: texts.read(&FLOATING_SUBNET_ID)?,
        pattern: texts.read(&FLOATING_SUBNET)?,
        tags: texts.read(&FLOATING_TAGS)?,
    };
    let subnet = texts.read(&SUBNET)?.or(class.subnet).or_else(|| base.subnet.clone());
    let member_subnet = texts.read(&MEMBER_SUBNET)?.or(class.member_subnet).or_else(|| base.member_subnet.clone());
    let choices = [class.floating_subnet, of_annotations, base.floating_subnet.clone()];
    Ok(NetworkChoice {
        network: texts.read(&NETWORK)?.or(class.network).or_else(|| base.network.clone()),
        // A setting for all load balancers says where nodes are, whatever an annotation says of one's own address.
        member_subnet: member_subnet.or_else(|| base.subnet.clone()).or_else(|| subnet.clone()),
        subnet,
        floating_network: class
            .floating_network
            .or(texts.read(&FLOATING_NETWORK)?)
            .or_else(|| base.floating_network.clone()),
        floating_subnet: choices.into_iter().find(|it| !it.is_empty()).unwrap_or_default(),
    })
}

/// Networks of clients, of the Service or of its annotation.
fn source_ranges(service: &LoadBalancer) -> Result<Vec<String>> {
    if !service.source_ranges.is_empty() {
        return Ok(service.source_ranges.clone());
    }
    let Some(text) = Annotations::of(service).text(SOURCE_RANGES.name) else { return Ok(Vec::new()) };
    let network = Custom::cidr("");
    let ranges = text.split(',').map(str::trim).filter(|it| !it.is_empty());
    let mut read = ranges
        .map(|range| {
            network
                .parse(range)
                .ok_or_else(|| annotations::refused(SOURCE_RANGES.name, text, "networks such as 192.0.2.0/24"))
        })
        .collect::<Result<Vec<_>>>()?;
    aerostat_sdk::sorted::sort(&mut read);
    read.dedup();
    Ok(read)
}

/// The ranges that can hold for addresses of these families. Octavia refuses those of another family; without any, everybody would come in.
fn ranges(wanted: Vec<String>, families: &[IpFamily]) -> Result<Vec<String>> {
    if wanted.is_empty() {
        return Ok(families.iter().map(|it| all_of(*it).to_owned()).collect());
    }
    let kept: Vec<_> =
        wanted.iter().filter(|it| family_of(it).is_some_and(|it| families.contains(&it))).cloned().collect();
    if kept.is_empty() {
        return Err(Error::invalid(format_args!(
            "none of the source ranges {} is of a family of the Service's addresses: nobody could reach it",
            wanted.join(", ")
        )));
    }
    Ok(kept)
}

/// The whole world.
fn all_of(family: IpFamily) -> &'static str {
    match family {
        IpFamily::Ipv4 => "0.0.0.0/0",
        IpFamily::Ipv6 => "::/0",
    }
}

/// The family of an address, or of a network; `None` if it is neither.
pub(crate) fn family_of(text: &str) -> Option<IpFamily> {
    let address = text.split('/').next().unwrap_or_default();
    let address: IpAddr = address.parse().ok()?;
    Some(if address.is_ipv4() { IpFamily::Ipv4 } else { IpFamily::Ipv6 })
}

/// The members that nodes are: each by its InternalIP of this family, or else its ExternalIP. Nodes without are left out, and a second
/// one with an address that there is already: Octavia takes it once.
pub(crate) fn members(nodes: &[Node], family: IpFamily) -> Vec<DesiredMember> {
    let mut members: Vec<DesiredMember> = Vec::with_capacity(nodes.len());
    for node in nodes {
        if let Some(address) = node_address(node, family) {
            members.push(DesiredMember { name: node.name.clone(), address: address.to_owned() });
        }
    }
    aerostat_sdk::sorted::sort(&mut members);
    let mut taken: aerostat_sdk::SortedSet<String> = aerostat_sdk::SortedSet::new();
    members.retain(|it| taken.insert(it.address.clone()));
    members
}

/// The address at which a node is reached.
pub(crate) fn node_address(node: &Node, family: IpFamily) -> Option<&str> {
    node.address(AddressKind::InternalIp, family).or_else(|| node.address(AddressKind::ExternalIp, family))
}
