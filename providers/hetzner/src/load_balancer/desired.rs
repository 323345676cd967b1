//! The desired load balancer of a Service, and its addresses.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::events::Warnings;
use aerostat_sdk::key::Key;
use aerostat_sdk::{Error, Ingress, IpMode, LoadBalancer, Result, SortedMap, SortedSet};

use super::annotations::{
    ALGORITHM, DISABLE_PRIVATE_INGRESS, DISABLE_PUBLIC_NETWORK, HOSTNAME, HetznerReading, IPV4_RDNS, IPV6_DISABLED,
    IPV6_RDNS, LOCATION, NAME, NETWORK_ZONE, PRIVATE_IPV4, PRIVATE_SUBNET, TYPE, USE_PRIVATE_IP,
};
use super::certificates::Certificates;
use super::services::services;
use super::targets::MachineTargets;
use crate::algorithm::Algorithm;
use crate::api::Labels;
use crate::api::load_balancers::{Algorithms, CreationBody, Kind, LoadBalancer as Live, Service};
use crate::settings::{BalancerSettings as Settings, NETWORK};

/// The type of load balancers for which nobody has chosen one.
const SMALLEST: &str = "lb11";

/// The desired load balancer of a Service.
#[derive(Debug)]
pub(super) struct Desired {
    pub(super) name: String,
    /// Absent: as it is.
    pub(super) kind: Option<String>,
    location: Option<String>,
    network_zone: Option<String>,
    /// Absent: as it is.
    pub(super) algorithm: Option<Algorithm>,
    /// Absent: as it is.
    pub(super) public: Option<bool>,
    /// Absent: as it is.
    pub(super) network: Option<Attachment>,
    pub(super) services: SortedMap<u16, Service>,
    pub(super) targets: MachineTargets,
    /// Absent: as they are.
    pub(super) rdns: [Option<String>; 2],
    status: ServiceStatusFields,
    pub(super) warnings: Warnings,
}

/// How it is attached to the cluster's network.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Attachment {
    pub(super) network: u64,
    /// Absent: the cloud chooses.
    pub(super) ip: Option<String>,
    pub(super) ip_range: Option<String>,
}

/// Fields of the Service's status.
#[derive(Debug)]
struct ServiceStatusFields {
    hostname: Option<String>,
    without_ipv6: bool,
    without_private: bool,
}

/// Answers that the cloud had to be asked for before.
pub(super) struct EarlierAnswers<'a> {
    /// The id of the cluster's network.
    pub(super) network: Option<u64>,
    /// Certificates of ports that speak HTTPS.
    pub(super) certificates: Option<&'a SortedSet<u64>>,
    /// Whether the health check of a Service with local pods is as the vendor's controller makes it.
    pub(super) as_the_vendor: bool,
}

impl Desired {
    /// The desired load balancer of `service`.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the wrong value.
    pub(super) fn of(
        service: &LoadBalancer,
        settings: &Settings,
        live: Option<&Live>,
        known: &EarlierAnswers<'_>,
    ) -> Result<Self> {
        let mut reading = HetznerReading::of(service, live);
        let annotations = &mut reading;
        let name = annotations.load_balancer_name(service, &NAME, |it| &it.name)?;
        let (location, network_zone) = place(annotations, settings);
        let services = services(service, annotations, settings, known.certificates, known.as_the_vendor)?;
        let use_private_ip = annotations.take(&USE_PRIVATE_IP).unwrap_or(settings.use_private_ip);
        let network = network(annotations, settings, known.network)?;
        if use_private_ip && network.is_none() {
            return Err(Error::invalid(format_args!(
                "use private ip: missing network id: annotation {} needs setting {}",
                USE_PRIVATE_IP.name, NETWORK.name
            )));
        }
        let disable_public = annotations.take(&DISABLE_PUBLIC_NETWORK).or(settings.disable_public_network);
        annotations.check()?;
        if disable_public == Some(true) && network.is_none() && live.is_none_or(|it| it.private_net.is_empty()) {
            return Err(Error::invalid(format_args!(
                "annotation {}: \"true\" needs setting {}: without a network nobody could reach it",
                DISABLE_PUBLIC_NETWORK.name, NETWORK.name
            )));
        }
        if !service.source_ranges.is_empty() {
            let why = "loadBalancerSourceRanges is not enforced: the cloud's load balancers have no firewall, and all \
                       clients may connect";
            annotations.warnings.add("LoadBalancerSourceRangesIgnored", why);
        }
        let desired = Self {
            name,
            kind: annotations.take(&TYPE).or_else(|| settings.kind.clone()),
            location,
            network_zone,
            algorithm: annotations.take(&ALGORITHM).or(settings.algorithm),
            public: disable_public.map(|it| !it),
            network,
            services,
            rdns: [annotations.take(&IPV4_RDNS), annotations.take(&IPV6_RDNS)],
            status: ServiceStatusFields {
                hostname: annotations.take(&HOSTNAME),
                without_ipv6: annotations.take(&IPV6_DISABLED).unwrap_or(settings.disable_ipv6),
                without_private: annotations.take(&DISABLE_PRIVATE_INGRESS).unwrap_or(settings.disable_private_ingress),
            },
            targets: MachineTargets::of(&service.nodes, use_private_ip, settings.robot, &mut annotations.warnings),
            warnings: Warnings::default(),
        };
        reading.check()?;
        Ok(Self { warnings: reading.warnings, ..desired })
    }

    /// The type of a new load balancer, with a warning if nobody has chosen one.
    pub(super) fn chosen_kind(&mut self) -> String {
        self.kind.clone().unwrap_or_else(|| {
            let why = format!(
                "no type is chosen: {SMALLEST} is built; set annotation {} or setting {}",
                TYPE.name,
                crate::settings::TYPE.name
            );
            self.warnings.add("LoadBalancerTypeUnconfigured", why);
            SMALLEST.to_owned()
        })
    }

    /// Leaves out nodes that a load balancer of this type has no room for, and warns if the cloud will offer it no more.
    pub(super) fn fit_into(&mut self, kind: &Kind, live: Option<&Live>) {
        if let Some(end) = kind.deprecated.as_deref().filter(|_| live.is_none_or(|it| it.kind.name != kind.name)) {
            let why = format!("type {} is deprecated since {end}: choose another", kind.name);
            self.warnings.add("LoadBalancerTypeDeprecated", why);
        }
        self.targets.keep(kind.max_targets, live.map(|it| &*it.targets).unwrap_or_default(), &mut self.warnings);
    }

    /// The body of a creation with everything in it that a creation can have. An address or a subnet of the network can only be
    /// asked for afterwards, and so can whatever needs the network.
    pub(super) fn creation<'a>(&'a self, name: &'a str, kind: &'a str, labels: Labels) -> CreationBody<'a> {
        let later = self.network.as_ref().is_some_and(|it| it.ip.is_some() || it.ip_range.is_some());
        let targets = if later && self.targets.use_private_ip { Vec::new() } else { self.targets.all() };
        CreationBody {
            name,
            load_balancer_type: kind,
            algorithm: self.algorithm.map(|kind| Algorithms { kind }),
            location: self.location.as_deref(),
            network_zone: self.network_zone.as_deref().filter(|_| self.location.is_none()),
            labels,
            public_interface: self.public.filter(|_| !later),
            network: self.network.as_ref().filter(|_| !later).map(|it| it.network),
            services: self.services.values().collect(),
            targets,
        }
    }

    /// Where the Service is reached, now that its load balancer is as desired.
    pub(super) fn ingress(&self, live: &Live) -> Vec<Ingress> {
        let public = Some(&live.public_net).filter(|it| it.enabled);
        let ipv4 = public.and_then(|it| it.ipv4.ip.as_deref());
        let ipv6 = public.and_then(|it| it.ipv6.ip.as_deref()).filter(|_| !self.status.without_ipv6);
        let private =
            live.private_net.iter().filter_map(|it| it.ip.as_deref()).filter(|_| !self.status.without_private);
        let has_proxy = self.services.values().any(|it| it.proxyprotocol);
        let ip_mode = if has_proxy { IpMode::Proxy } else { IpMode::Vip };
        Ingress::list(self.status.hostname.as_deref(), [ipv4, ipv6].into_iter().flatten().chain(private), ip_mode)
    }

    /// Whether a new load balancer can be put somewhere.
    ///
    /// # Errors
    ///
    /// `invalid`, if nobody has said where.
    pub(super) fn has_place(&self) -> Result<()> {
        if self.location.is_some() || self.network_zone.is_some() {
            return Ok(());
        }
        Err(Error::invalid(format_args!(
            "neither {} nor {} set: say by an annotation or a setting where the load balancer is built",
            LOCATION.name, NETWORK_ZONE.name
        )))
    }
}

/// Certificates, as the annotations ask for them.
pub(super) fn certificates(service: &LoadBalancer, live: Option<&Live>) -> Result<Certificates> {
    Certificates::of(service, &mut HetznerReading::of(service, live))
}

/// The location and the network zone. A load balancer that there is stays where it is.
fn place(annotations: &mut HetznerReading<'_>, settings: &Settings) -> (Option<String>, Option<String>) {
    let said = [annotations.take(&LOCATION), annotations.take(&NETWORK_ZONE)];
    if let Some(live) = annotations.live {
        let shown = [&live.location.name, &live.location.network_zone];
        for ((field, said), shown) in ["location", "network zone"].into_iter().zip(&said).zip(shown) {
            if let Some(said) = said.as_ref().filter(|it| *it != shown && !shown.is_empty()) {
                annotations.warnings.immutable(field, shown, said);
            }
        }
    }
    let [location, network_zone] = said;
    let all = annotations.annotations;
    let location = location.or_else(|| unless_reset(all, &LOCATION, settings.location.as_ref()));
    let network_zone = network_zone.or_else(|| unless_reset(all, &NETWORK_ZONE, settings.network_zone.as_ref()));
    (location, network_zone)
}

/// The operator's choice, unless an empty annotation takes it back.
fn unless_reset<F>(annotations: Annotations<'_>, key: &Key<F>, setting: Option<&String>) -> Option<String> {
    setting.filter(|_| !annotations.has(key.name)).cloned()
}

fn network(
    annotations: &mut HetznerReading<'_>,
    settings: &Settings,
    network: Option<u64>,
) -> Result<Option<Attachment>> {
    let ip = annotations.take(&PRIVATE_IPV4);
    let ip_range = annotations.take(&PRIVATE_SUBNET).or_else(|| settings.private_subnet.clone());
    annotations.check()?;
    match (network, &ip) {
        (Some(network), _) => Ok(Some(Attachment { network, ip, ip_range })),
        (None, Some(_)) => {
            Err(Error::invalid(format_args!("annotation {} needs setting {}", PRIVATE_IPV4.name, NETWORK.name)))
        }
        (None, None) => Ok(None),
    }
}
