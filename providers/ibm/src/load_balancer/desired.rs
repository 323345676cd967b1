//! A Service in the words of the cloud. Pure.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::events::Warnings;
use aerostat_sdk::{Error, ExternalTrafficPolicy, IpFamily, LoadBalancer, Protocol, Result, SortedSet};

use super::annotations::{
    CHECK_DELAY, CHECK_PATH, CHECK_PORT, CHECK_PROTOCOL, CHECK_RETRIES, CHECK_TIMEOUT, FEATURES, IDLE_TIMEOUT, IP_TYPE,
    IbmCheck, IbmFeature, IbmReading, MEMBER_QUOTA, NAME, ZONE, check_selector,
};
use super::{members, names};
use crate::api::load_balancers::{VpcBalancer, VpcMember, VpcMemberTarget, VpcMonitor};
use crate::settings::IbmAccountSettings;

/// A load balancer as the Service asks for it.
#[derive(Debug)]
pub(super) struct DesiredVpcBalancer {
    pub(super) name: String,
    pub(super) is_public: bool,
    pub(super) has_proxy_protocol: bool,
    pub(super) idle_timeout: Option<u32>,
    pub(super) zone: Option<String>,
    pub(super) ports: Vec<DesiredVpcPort>,
    quota: Option<usize>,
    pub(super) warnings: Warnings,
}

/// One of its ports: a listener and its pool.
#[derive(Debug)]
pub(super) struct DesiredVpcPort {
    pub(super) port: u16,
    pub(super) node_port: u16,
    pub(super) pool: String,
    pub(super) monitor: VpcMonitor,
    /// Whether the monitor's path is the author's choice.
    pub(super) is_path_chosen: bool,
}

impl DesiredVpcBalancer {
    /// As a Service asks for it, whose load balancer is `live` if it has one.
    ///
    /// # Errors
    ///
    /// `invalid`, where this cloud cannot serve it, or a value is not allowed.
    pub(super) fn of(
        service: &LoadBalancer,
        settings: &IbmAccountSettings,
        live: Option<&VpcBalancer>,
    ) -> Result<Self> {
        let mut reading = IbmReading::of(service, live);
        check_selector(reading.annotations)?;
        let chosen = reading.read(&NAME)?;
        let annotations = reading.annotations;
        let features = annotations.read(&FEATURES)?.unwrap_or_default();
        let quota = annotations.get(&MEMBER_QUOTA)?;
        let mut desired = Self {
            name: chosen.unwrap_or_else(|| names::own(service, settings)),
            is_public: annotations.get(&IP_TYPE)?,
            has_proxy_protocol: features.contains(&IbmFeature::ProxyProtocol),
            idle_timeout: annotations.read(&IDLE_TIMEOUT)?,
            zone: annotations.read(&ZONE)?,
            ports: ports(service, annotations)?,
            quota: usize::try_from(quota).ok().filter(|it| *it > 0),
            warnings: reading.warnings,
        };
        desired.warn(service, live);
        Ok(desired)
    }

    fn warn(&mut self, service: &LoadBalancer, live: Option<&VpcBalancer>) {
        let word = |is_public| if is_public { "public" } else { "private" };
        if let Some(live) = live.filter(|it| it.is_public != self.is_public) {
            self.warnings.immutable("its type", word(live.is_public), word(self.is_public));
        }
        let mut ignored = Vec::new();
        if !service.source_ranges.is_empty() && service.source_ranges.iter().any(|it| it != "0.0.0.0/0") {
            ignored.push("loadBalancerSourceRanges: every client comes in");
        }
        if service.load_balancer_ip.is_some() {
            ignored.push("loadBalancerIP: the cloud chooses addresses");
        }
        if service.client_ip_affinity_seconds.is_some() {
            ignored.push("sessionAffinity ClientIP");
        }
        if !ignored.is_empty() {
            self.warnings.add("ServiceFieldsIgnored", format_args!("this has no effect here: {}", ignored.join("; ")));
        }
    }

    /// The addresses of the nodes that take traffic, of which `chosen` do so now.
    pub(super) fn addresses(&mut self, service: &LoadBalancer, chosen: &SortedSet<String>) -> Vec<String> {
        members::choose(&service.nodes, self.zone.as_deref(), self.quota, chosen, &mut self.warnings)
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

    /// Whether a pool's monitor does as this one: one of the vendor's controller checks another path, which kube-proxy answers as well.
    pub(super) fn is_monitored_by(&self, live: &VpcMonitor) -> bool {
        let path = |it: &VpcMonitor| it.url_path.clone().filter(|_| self.is_path_chosen);
        let without = |it: &VpcMonitor| VpcMonitor { url_path: path(it), ..it.clone() };
        without(live) == without(&self.monitor)
    }
}

fn ports(service: &LoadBalancer, annotations: Annotations<'_>) -> Result<Vec<DesiredVpcPort>> {
    if !service.ip_families.is_empty() && !service.ip_families.contains(&IpFamily::Ipv4) {
        return Err(Error::invalid("load balancers of IBM Cloud have IPv4 addresses alone: add IPv4 to ipFamilies"));
    }
    service.allow_protocols(&[Protocol::Tcp])?;
    let mut ports: Vec<DesiredVpcPort> = Vec::new();
    for port in &service.ports {
        let node_port = port.required_node_port()?;
        let (monitor, is_path_chosen) = monitor(service, annotations, node_port)?;
        ports.push(DesiredVpcPort {
            port: port.port,
            node_port,
            pool: names::pool(port, node_port),
            monitor,
            is_path_chosen,
        });
    }
    Ok(ports)
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
    let kind = written.unwrap_or(if local.is_some() { IbmCheck::Http } else { IbmCheck::Tcp });
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
    let own = if written.is_none() { local.unwrap_or(node_port) } else { node_port };
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
