//! Everything that a Service asks for, checked before anything is asked.

use std::net::Ipv4Addr;

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{Error, ExternalTrafficPolicy, IpFamily, LoadBalancer, Protocol, Result, events};

use super::annotations::{self, CLASSES, OTHER_FINALIZERS, RBS, SUBNET_LABEL};
use super::names::GceNames;
use crate::api::objects::{GceKind, GceObject};
use crate::machine::{MachinePlace, last_of};
use crate::settings::balancers::GceBalancerSettings;

/// The port of health checks where all nodes take traffic.
const KUBE_PROXY: u16 = 10_256;

/// A load balancer as it is to be.
#[derive(Clone, Debug)]
pub(super) struct GceGoal {
    pub(super) names: GceNames,
    pub(super) settings: GceBalancerSettings,
    pub(super) is_internal: bool,
    pub(super) is_udp: bool,
    pub(super) ports: Vec<u16>,
    pub(super) has_affinity: bool,
    /// `spec.loadBalancerIP`.
    pub(super) ip: Option<String>,
    pub(super) is_standard: bool,
    pub(super) check_port: u16,
    pub(super) is_local: bool,
    pub(super) sources: Vec<String>,
    /// Sorted.
    pub(super) nodes: Vec<MachinePlace>,
    /// The network tags of nodes; empty until they are known.
    pub(super) tags: Vec<String>,
    pub(super) has_global_access: bool,
    /// The reference of the subnet of its address.
    pub(super) subnet: Option<String>,
    pub(super) shares_backend: bool,
}

/// The reason of the event and of the condition of a Service with several protocols, as the vendor's controller gives it.
pub(super) const MIXED: &str = "LoadBalancerMixedProtocolNotSupported";

/// Why the Service's ports cannot be served by one load balancer, if they cannot.
pub(super) fn mixed_protocols(service: &LoadBalancer) -> Option<&'static str> {
    let first = service.ports.first()?.protocol;
    let is_mixed = service.ports.iter().any(|it| it.protocol != first);
    is_mixed.then_some("a load balancer has one protocol: make a Service for each")
}

/// Whether somebody else serves the Service. Nobody is asked.
pub(super) fn is_elsewhere(service: &LoadBalancer, settings: &GceBalancerSettings) -> Result<bool> {
    let is_other_class = |it: &String| !(settings.legacy_classes && CLASSES.contains(&&**it));
    let has_finalizer = service.finalizers().any(|it| OTHER_FINALIZERS.contains(&it));
    if service.load_balancer_class.as_ref().is_some_and(is_other_class) || has_finalizer {
        return Ok(true);
    }
    let is_rbs = Annotations::of(service).text(RBS.name) == Some("enabled");
    Ok(is_rbs && !annotations::is_internal(service)?)
}

impl GceGoal {
    /// # Errors
    ///
    /// `invalid` for what Compute Engine cannot do, naming it.
    pub(super) fn of(service: &LoadBalancer, settings: GceBalancerSettings) -> Result<Self> {
        let is_internal = annotations::is_internal(service)?;
        let read = Annotations::of(service);
        read.read(&RBS)?;
        let mut ports: Vec<u16> = service.ports.iter().map(|it| it.port).collect();
        ports.sort_unstable();
        ports.dedup();
        let first = service.ports.first().ok_or_else(|| Error::invalid("the Service has no port"))?.protocol;
        service.allow_protocols(&[Protocol::Tcp, Protocol::Udp])?;
        if !service.ip_families.is_empty() && !service.ip_families.contains(&IpFamily::Ipv4) {
            return Err(Error::invalid(
                "its load balancers have IPv4 addresses alone, and the Service's families lack IPv4",
            ));
        }
        let ip = service.load_balancer_ip.clone().filter(|it| !it.is_empty());
        if let Some(ip) = ip.as_ref().filter(|it| it.parse::<Ipv4Addr>().is_err()) {
            return Err(Error::invalid(format_args!("spec.loadBalancerIP {ip:?} is no IPv4 address")));
        }
        let former = read.read(&annotations::SOURCE_RANGES)?.unwrap_or_default();
        let sources = match (&service.source_ranges[..], &former[..]) {
            ([], []) => vec!["0.0.0.0/0".to_owned()],
            ([], former) => former.to_vec(),
            (given, _) => given.to_vec(),
        };
        let sources: Vec<String> = sources.into_iter().filter(|it| !it.contains(':')).collect();
        if sources.is_empty() {
            return Err(Error::invalid(
                "its load balancers have IPv4 addresses alone, and no source range is one of IPv4",
            ));
        }
        let is_standard = read.get(&annotations::NETWORK_TIER)?;
        let has_global_access = read.get(&annotations::GLOBAL_ACCESS)?;
        let subnet = read.read(&annotations::SUBNET)?;
        let named = subnet.or_else(|| settings.subnet.clone());
        let nodes = nodes(service, &settings, is_internal.then_some(named.as_deref()).flatten())?;
        let (is_local, check_port) = match service.external_traffic_policy {
            ExternalTrafficPolicy::Local(port) => (true, port),
            ExternalTrafficPolicy::Cluster => (false, KUBE_PROXY),
        };
        Ok(Self {
            names: GceNames::of(service)?,
            is_internal,
            is_udp: first == Protocol::Udp,
            ports,
            has_affinity: service.client_ip_affinity_seconds.is_some(),
            ip,
            is_standard: is_standard && !is_internal,
            check_port,
            is_local,
            sources,
            nodes,
            tags: settings.node_tags.clone(),
            has_global_access: has_global_access && is_internal,
            subnet: named.map(|it| settings.subnet_reference(&it)),
            shares_backend: annotations::shares_backend(service)? && is_internal && !is_local,
            settings,
        })
    }

    /// The letters of all that it consists of: `e` an external load balancer, `i` an internal one, `l` checks of its own, `d` a
    /// firewall that denies; and of what Services share: `x` the check of external ones, `y` that of internal ones, `g` instance
    /// groups, and a digit for each backend service.
    pub(super) fn letters(&self) -> String {
        let mut letters = vec![if self.is_internal { 'i' } else { 'e' }];
        letters.extend(self.is_local.then_some('l'));
        letters.extend((!self.is_local).then_some(if self.is_internal { 'y' } else { 'x' }));
        letters.extend(self.is_internal.then_some('g'));
        letters.extend(self.has_deny_firewall().then_some('d'));
        letters.extend(self.shares_backend.then(|| backend_letter(self.is_udp, self.has_affinity)));
        letters.sort_unstable();
        letters.into_iter().collect()
    }

    pub(super) fn has_deny_firewall(&self) -> bool {
        self.settings.deny_firewall && !self.is_internal
    }

    pub(super) fn check_kind(&self) -> GceKind {
        if self.is_internal { GceKind::HealthChecks } else { GceKind::HttpHealthChecks }
    }

    /// The health check of its nodes.
    pub(super) fn check(&self) -> GceObject {
        match self.is_local {
            true => self.names.own(self.check_kind()),
            false => self.names.shared_check(self.check_kind()),
        }
    }

    /// The firewall that lets its health checks in.
    pub(super) fn check_firewall(&self) -> GceObject {
        self.names.check_firewall(self.check_kind(), !self.is_local)
    }

    pub(super) fn rule(&self) -> GceObject {
        self.names.own(GceKind::ForwardingRules)
    }

    pub(super) fn address(&self) -> GceObject {
        self.names.own(GceKind::Addresses)
    }

    /// The target pool, or the backend service.
    pub(super) fn target(&self) -> GceObject {
        match (self.is_internal, self.shares_backend) {
            (false, _) => self.names.own(GceKind::TargetPools),
            (true, false) => self.names.own(GceKind::BackendServices),
            (true, true) => self.names.shared_backend(self.is_udp, self.has_affinity),
        }
    }

    /// The zones of its nodes, each once.
    pub(super) fn zones(&self) -> Vec<String> {
        let mut zones: Vec<String> = self.nodes.iter().map(|it| it.zone.clone()).collect();
        zones.dedup();
        zones
    }

    pub(super) fn affinity(&self) -> &'static str {
        if self.has_affinity { "CLIENT_IP" } else { "NONE" }
    }

    pub(super) fn protocol(&self) -> &'static str {
        if self.is_udp { "UDP" } else { "TCP" }
    }

    pub(super) fn tier(&self) -> &'static str {
        if self.is_standard { "STANDARD" } else { "PREMIUM" }
    }
}

/// The digit of a backend service that Services share.
fn backend_letter(is_udp: bool, has_affinity: bool) -> char {
    match (is_udp, has_affinity) {
        (false, false) => '1',
        (false, true) => '2',
        (true, false) => '3',
        (true, true) => '4',
    }
}

/// The backend services that Services share, of those whose digits are among `letters`.
pub(super) fn shared_backends(names: &GceNames, letters: &str) -> Vec<GceObject> {
    let all = [(false, false), (false, true), (true, false), (true, true)];
    let used = all.into_iter().filter(|(udp, affinity)| letters.contains(backend_letter(*udp, *affinity)));
    used.map(|(udp, affinity)| names.shared_backend(udp, affinity)).collect()
}

/// The digit of a backend service that a forwarding rule names, if Services share it.
pub(super) fn shared_letter(names: &GceNames, reference: &str) -> Option<char> {
    let all = [(false, false), (false, true), (true, false), (true, true)];
    let is_named = |(udp, affinity): &(bool, bool)| names.shared_backend(*udp, *affinity).name == last_of(reference);
    all.into_iter().find(is_named).map(|(udp, affinity)| backend_letter(udp, affinity))
}

/// The machines behind the nodes, sorted. Nodes that cannot be told are left out, with a warning.
fn nodes(service: &LoadBalancer, settings: &GceBalancerSettings, subnet: Option<&str>) -> Result<Vec<MachinePlace>> {
    let mut places = Vec::new();
    for node in &service.nodes {
        let in_other_subnet = node
            .labels
            .iter()
            .any(|(key, value)| key == SUBNET_LABEL && !value.is_empty() && subnet.is_some_and(|it| it != value));
        let place = node.provider_id.as_deref().map(|it| MachinePlace::parse(it, &settings.project.project));
        match place {
            _ if in_other_subnet => {}
            Some(Ok(place)) => places.push(place),
            Some(Err(why)) => events::warning(Some(&service.owner.uid), "NodeNotBalanced", why.why()),
            None => {
                let message = format!("node {} has no provider id yet, and takes no traffic", node.name);
                events::warning(Some(&service.owner.uid), "NodeNotBalanced", &message);
            }
        }
    }
    if places.is_empty() {
        return Err(LoadBalancer::without_nodes(""));
    }
    places.sort_unstable();
    places.dedup();
    Ok(places)
}
