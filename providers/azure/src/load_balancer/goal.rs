//! The desired state of one Service, from the Service and the settings alone. Everything that can be refused without asking the cloud
//! is refused here, before anything is made.

use std::net::IpAddr;

use aerostat_sdk::annotations::{Annotations, exclusive};
use aerostat_sdk::form::Form;
use aerostat_sdk::key::Key;
use aerostat_sdk::{Error, ExternalTrafficPolicy, IpFamily, LoadBalancer, Node, Protocol, Result};

use super::annotations as rows;
use super::names::{AzureNames, OWN_TAGS, pool};
use super::private_link::LinkGoal;
use super::probes::{ProbeGoal, probe_of};
use super::security::SecurityGoal;
use crate::id::same;
use crate::settings::balancers::AzureBalancerSettings;

/// A Service of a batch, and its nodes.
#[derive(Clone, Debug)]
pub(crate) struct BatchService<'a> {
    pub(crate) service: &'a LoadBalancer,
    pub(crate) nodes: Vec<&'a Node>,
}

/// A Service as it is desired.
#[derive(Clone, Debug)]
pub(crate) struct ServiceGoal {
    /// `namespace/name`.
    pub(crate) owner: String,
    pub(crate) names: AzureNames,
    pub(crate) is_internal: bool,
    /// One for each family.
    pub(crate) frontends: Vec<FrontendGoal>,
    pub(crate) rules: Vec<RuleGoal>,
    pub(crate) probes: Vec<ProbeGoal>,
    /// `None`: it gets no rules that let clients in.
    pub(crate) security: Option<SecurityGoal>,
    /// The load balancers that it may be on; empty for any that takes Services.
    pub(crate) configurations: Vec<String>,
    /// Whether its pool is its own.
    pub(crate) own_pool: Option<String>,
    pub(crate) public: PublicGoal,
    /// Further addresses at which it is reached.
    pub(crate) additional: Vec<String>,
    pub(crate) link: Option<LinkGoal>,
}

/// A frontend as it is desired.
#[derive(Clone, Debug)]
pub(crate) struct FrontendGoal {
    pub(crate) family: IpFamily,
    /// Its name, unless it shares another Service's.
    pub(crate) name: String,
    pub(crate) address: AddressGoal,
}

/// Where a frontend's address comes from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum AddressGoal {
    /// A public address that is made for the Service.
    Own { name: String, prefix: Option<String> },
    /// A public address that is there, by its name.
    Named(String),
    /// A public address that is there, by its number.
    Numbered(String),
    /// An address of a subnet, perhaps a certain one.
    Private { subnet: Option<String>, ip: Option<String> },
}

/// Properties of public addresses of a Service.
#[derive(Clone, Debug, Default)]
pub(crate) struct PublicGoal {
    pub(crate) group: String,
    /// `None`: as it is. Empty: none.
    pub(crate) dns_label: Option<String>,
    pub(crate) ip_tags: Vec<(String, String)>,
    pub(crate) tags: Vec<(String, String)>,
}

/// A rule as it is desired.
#[derive(Clone, Debug)]
pub(crate) struct RuleGoal {
    pub(crate) family: IpFamily,
    pub(crate) name: String,
    /// "Tcp", "Udp" or "All".
    pub(crate) protocol: &'static str,
    pub(crate) port: u16,
    pub(crate) backend_port: u16,
    pub(crate) is_floating: bool,
    pub(crate) idle_minutes: u32,
    pub(crate) by_source: bool,
    /// `None` where there are no resets.
    pub(crate) reset: Option<bool>,
    pub(crate) no_outbound: bool,
    pub(crate) probe: Option<String>,
}

impl ServiceGoal {
    /// The desired state of a Service.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the annotation or field, its value, and what is allowed.
    pub(crate) fn of(service: &LoadBalancer, settings: &AzureBalancerSettings) -> Result<Self> {
        let annotations = Annotations::of(service);
        let flag = |row: &Key<_>| annotations.get::<bool, _>(row);
        let is_internal = flag(&rows::INTERNAL)?;
        let subnet = annotations.read(&rows::INTERNAL_SUBNET)?.filter(|_| is_internal);
        let names = AzureNames::of(service, subnet.as_deref());
        let families = families(service);
        let public = PublicGoal {
            group: annotations.read(&rows::RESOURCE_GROUP)?.unwrap_or_else(|| settings.account.group.clone()),
            dns_label: dns_label(annotations)?,
            ip_tags: annotations.read(&rows::IP_TAGS)?.unwrap_or_default(),
            tags: settings.tags.iter().cloned().chain(tags(annotations)?).collect(),
        };
        let mut frontends = Vec::new();
        for (at, family) in families.iter().enumerate() {
            let is_second = is_second(&families, *family);
            let address = address(service, settings, &names, *family, is_internal, subnet.clone())?;
            debug_assert!(at < 2, "a Service has at most two families");
            frontends.push(FrontendGoal { family: *family, name: names.frontend(is_second), address });
        }
        let configurations = annotations.read(&rows::CONFIGURATIONS)?.unwrap_or_default();
        check_configurations(&configurations, settings)?;
        let mut goal = Self {
            owner: format!("{}/{}", service.owner.namespace, service.owner.name),
            is_internal,
            frontends,
            rules: Vec::new(),
            probes: Vec::new(),
            security: SecurityGoal::of(service, is_internal, &families)?,
            configurations,
            own_pool: own_pool(service, settings),
            public,
            additional: additional(service)?,
            link: LinkGoal::of(service, is_internal)?,
            names,
        };
        goal.add_rules(service, settings, &families)?;
        Ok(goal)
    }

    fn add_rules(
        &mut self,
        service: &LoadBalancer,
        settings: &AzureBalancerSettings,
        families: &[IpFamily],
    ) -> Result<()> {
        let annotations = Annotations::of(service);
        let idle_minutes = annotations.get(&rows::IDLE_TIMEOUT)?;
        let no_reset = annotations.get(&rows::NO_RESET)?;
        let no_floating = annotations.get(&rows::NO_FLOATING)?;
        let has_all_ports = annotations.get(&rows::HA_PORTS)?;
        if has_all_ports && !self.is_internal {
            return Err(Error::invalid(format_args!(
                "annotation {} is for internal load balancers: set {} to true",
                rows::HA_PORTS.name,
                rows::INTERNAL.name
            )));
        }
        check_ports(service)?;
        for family in families {
            let second = is_second(families, *family);
            let is_floating = !(no_floating || (self.is_internal && *family == IpFamily::Ipv6));
            for port in &service.ports {
                if port.protocol == Protocol::Sctp && !(self.is_internal && has_all_ports) {
                    return Err(Error::invalid(format_args!(
                        "port {} is SCTP, which an internal load balancer carries alone, with annotation {}",
                        port.port,
                        rows::HA_PORTS.name
                    )));
                }
                let probe = probe_of(service, settings, &self.names, port, second)?;
                if annotations.get_at(&rows::PORT_NO_RULE, port.port)? {
                    continue;
                }
                let is_carried = has_all_ports && self.rules.iter().any(|it| it.family == *family);
                if !is_carried {
                    let backend_port = if is_floating { port.port } else { port.required_node_port()? };
                    let (protocol, port_number, backend_port) = match (has_all_ports, port.protocol) {
                        (true, _) => ("All", 0, 0),
                        (false, Protocol::Udp) => ("Udp", port.port, backend_port),
                        (false, _) => ("Tcp", port.port, backend_port),
                    };
                    self.rules.push(RuleGoal {
                        family: *family,
                        name: self.names.rule(port.protocol, port.port, second),
                        protocol,
                        port: port_number,
                        backend_port,
                        is_floating,
                        idle_minutes,
                        by_source: service.client_ip_affinity_seconds.is_some(),
                        reset: (protocol != "Udp").then_some(!no_reset),
                        no_outbound: settings.no_outbound,
                        probe: probe.as_ref().map(|it| it.name.clone()),
                    });
                }
                if let Some(probe) =
                    probe.filter(|it| !is_carried && self.probes.iter().all(|other| other.name != it.name))
                {
                    self.probes.push(probe);
                }
            }
        }
        Ok(())
    }

    /// The name of its pool on a load balancer.
    pub(crate) fn pool(&self, settings: &AzureBalancerSettings, family: IpFamily) -> String {
        pool(self.own_pool.as_ref().unwrap_or(&settings.cluster), family)
    }
}

/// The families of a Service: IPv4 alone, if it says none.
fn families(service: &LoadBalancer) -> Vec<IpFamily> {
    if service.ip_families.is_empty() { vec![IpFamily::Ipv4] } else { service.ip_families.clone() }
}

/// Whether names of this family end with it: IPv6 has a suffix where a Service has IPv4, too.
fn is_second(families: &[IpFamily], family: IpFamily) -> bool {
    families.len() > 1 && family == IpFamily::Ipv6
}

/// The label: `None` without an annotation, empty where it takes the label off.
fn dns_label(annotations: Annotations<'_>) -> Result<Option<String>> {
    let Some(label) = annotations.read(&rows::DNS_LABEL)? else {
        return Ok(annotations.has(rows::DNS_LABEL.name).then(String::new));
    };
    let is_label = (3..=63).contains(&label.len())
        && label.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
        && label.starts_with(|it: char| it.is_ascii_lowercase())
        && !label.ends_with('-');
    match is_label {
        true => Ok(Some(label.to_owned())),
        false => Err(aerostat_sdk::annotations::refused(
            rows::DNS_LABEL.name,
            label,
            "a DNS label of 3 to 63 lower-case letters, digits and dashes",
        )),
    }
}

/// Where the address of a family comes from.
fn address(
    service: &LoadBalancer,
    settings: &AzureBalancerSettings,
    names: &AzureNames,
    family: IpFamily,
    is_internal: bool,
    subnet: Option<String>,
) -> Result<AddressGoal> {
    let annotations = Annotations::of(service);
    let (own, pip, prefix) = match family {
        IpFamily::Ipv4 => (&rows::IPV4, &rows::PIP_NAME, &rows::PIP_PREFIX),
        IpFamily::Ipv6 => (&rows::IPV6, &rows::PIP_NAME_IPV6, &rows::PIP_PREFIX_IPV6),
    };
    let is_of_family = |it: &String| it.parse::<IpAddr>().is_ok_and(|it| it.is_ipv6() == (family == IpFamily::Ipv6));
    let given = annotations.read(own)?;
    if let Some(wrong) = given.as_ref().filter(|it| !is_of_family(it)) {
        return Err(aerostat_sdk::annotations::refused(own.name, wrong, &own.allowed()));
    }
    let ip = given.or_else(|| service.load_balancer_ip.clone().filter(|it| is_of_family(it)));
    if is_internal {
        return Ok(AddressGoal::Private { subnet, ip });
    }
    // A Service of IPv6 alone may use the annotations without a family, as the vendor's controller lets it.
    let alone = family == IpFamily::Ipv6 && service.ip_families.len() == 1;
    let name = annotations.read(pip)?.or(annotations.read(&rows::PIP_NAME)?.filter(|_| alone));
    if let Some(name) = name {
        return Ok(AddressGoal::Named(name));
    }
    let prefix = annotations.read(prefix)?.or(annotations.read(&rows::PIP_PREFIX)?.filter(|_| alone));
    match (prefix, ip) {
        (Some(_), Some(_)) => Err(exclusive(&rows::PIP_PREFIX, own)),
        (None, Some(ip)) => Ok(AddressGoal::Numbered(ip)),
        (prefix, None) => {
            let is_second = family == IpFamily::Ipv6 && service.ip_families.len() > 1;
            let name = names.public(&settings.cluster, prefix.as_deref(), is_second);
            Ok(AddressGoal::Own { name, prefix })
        }
    }
}

fn check_configurations(named: &[String], settings: &AzureBalancerSettings) -> Result<()> {
    let unknown = |it: &&String| settings.several.iter().all(|other| !other.name.eq_ignore_ascii_case(it));
    match named.iter().find(unknown).filter(|_| !settings.several.is_empty()) {
        Some(name) => Err(Error::invalid(format_args!(
            "annotation {}: there is no load balancer {name:?}: those of the settings are {}",
            rows::CONFIGURATIONS.name,
            settings.several.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ")
        ))),
        None => Ok(()),
    }
}

/// The name of a pool that is the Service's own: on one of several load balancers, where only nodes with its pods take traffic.
fn own_pool(service: &LoadBalancer, settings: &AzureBalancerSettings) -> Option<String> {
    let is_local = matches!(service.external_traffic_policy, ExternalTrafficPolicy::Local(_));
    (is_local && !settings.several.is_empty()).then(|| format!("{}-{}", service.owner.namespace, service.owner.name))
}

/// Further addresses of an external one.
/// The tags that an author gives a public address: marks of ownership are none.
fn tags(annotations: Annotations<'_>) -> Result<Vec<(String, String)>> {
    let tags = annotations.read(&rows::PIP_TAGS)?.unwrap_or_default();
    match tags.iter().find(|(name, _)| OWN_TAGS.iter().any(|it| same(it, name))) {
        Some((name, _)) => Err(Error::invalid(format_args!(
            "annotation {} has tag {name}, by which owners of public addresses are known: leave it out",
            rows::PIP_TAGS.name
        ))),
        None => Ok(tags),
    }
}

fn additional(service: &LoadBalancer) -> Result<Vec<String>> {
    Ok(Annotations::of(service).read(&rows::ADDITIONAL)?.unwrap_or_default())
}

/// Adds the ports for which a Service has annotations of a row, each with the row's name.
fn add_ports<'a, F: Form>(
    named: &mut Vec<(&'a str, &'a str)>,
    annotations: Annotations<'a>,
    row: &Key<F>,
) -> Result<()> {
    for (port, _) in annotations.read_each(row)? {
        named.push((port, row.name));
    }
    Ok(())
}

/// Refuses annotations for ports that the Service does not have.
fn check_ports(service: &LoadBalancer) -> Result<()> {
    let annotations = Annotations::of(service);
    let mut named: Vec<(&str, &str)> = Vec::new();
    for row in [&rows::PORT_NO_RULE, &rows::PORT_NO_PROBE] {
        add_ports(&mut named, annotations, row)?;
    }
    for row in [&rows::PORT_INTERVAL, &rows::PORT_COUNT] {
        add_ports(&mut named, annotations, row)?;
    }
    add_ports(&mut named, annotations, &rows::PORT_PROTOCOL)?;
    add_ports(&mut named, annotations, &rows::PORT_PORT)?;
    add_ports(&mut named, annotations, &rows::PORT_PATH)?;
    let has = |number: &str| service.ports.iter().any(|it| it.port.to_string() == number);
    match named.iter().find(|(number, _)| number.parse::<u16>().is_err()) {
        Some((number, row)) => {
            Err(Error::invalid(format_args!("annotation {}: {number:?} is no port", row.replacen('*', number, 1))))
        }
        None => {
            let missing = named.iter().find(|(number, _)| !has(number));
            if let Some((number, row)) = missing {
                let message = format!(
                    "annotation {} has no effect: the Service has no port {number}",
                    row.replacen('*', number, 1)
                );
                aerostat_sdk::events::warning(None, "AnnotationTolerated", &message);
            }
            Ok(())
        }
    }
}
