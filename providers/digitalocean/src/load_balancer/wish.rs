//! What a Service asks for, as all that a creation or a replacement says.

use std::collections::BTreeMap;

use aerostat_sdk::{Error, LoadBalancer, Result};

use super::annotations::{
    ALGORITHM, Annotations, HOSTNAME, IDLE_TIMEOUT, IP, KEEPALIVE, NAME, NETWORK, NETWORK_STACK, NO_DNS_RECORDS,
    PROXY_PROTOCOL, REDIRECT, SIZE_SLUG, SIZE_UNIT, STICKY_COOKIE_NAME, STICKY_COOKIE_TTL, STICKY_TYPE, SUBNET, TYPE,
    refused,
};
use super::certificate::Wanted;
use super::nodes::{self, Targets};
use super::remarks::Remarks;
use super::{firewall, health, rules};
use crate::api::load_balancers::{
    Algorithm, Kept, Kind, LoadBalancer as Live, Network, Size, Slug, Spec, Stack, StickyKind, StickySessions,
};
use crate::settings::{Settings, kind, uuid};

/// The longest name that the cloud takes.
const LONGEST_NAME: usize = 255;

/// A wish, and what it takes to fulfil it.
#[derive(Debug)]
pub(super) struct Wish {
    /// With the name of a certificate where its id is not known yet.
    pub(super) spec: Spec,
    pub(super) certificate: Wanted,
    /// Shown in the Service's status in the place of addresses.
    pub(super) hostname: Option<String>,
    pub(super) remarks: Remarks,
}

impl Wish {
    /// What `service` asks for. Of one that is `live`, what cannot be changed stays as it is, and what nobody asks for.
    ///
    /// # Errors
    ///
    /// `invalid`, naming what cannot be meant; `unavailable` if there is no node yet.
    pub(super) fn of(service: &LoadBalancer, settings: &Settings, live: Option<&Live>) -> Result<Self> {
        let annotations = Annotations(&service.annotations);
        let mut remarks = Remarks::default();
        let kind = chosen_kind(annotations, settings, live, &mut remarks)?;
        let network = chosen_network(annotations, live, &mut remarks)?;
        let certificate = match kind {
            Kind::Regional => Wanted::of(annotations, &mut remarks)?,
            // Packets are passed through: what is inside is not its business.
            Kind::RegionalNetwork | Kind::Other => Wanted::None,
        };
        let forwarding_rules = rules::rules(service, annotations, kind, &certificate.unresolved(), &mut remarks)?;
        let region = region(service, settings, live)?;
        let nodes = nodes::in_region(&service.nodes, &region, &mut remarks);
        let targets = Targets::of(&nodes, kind, network, &mut remarks)?;
        let spec = Spec {
            name: name(service, annotations)?,
            region,
            kind,
            network,
            network_stack: stack(annotations, kind, network, &targets, live, &mut remarks)?,
            size: size(annotations, live, &mut remarks)?,
            algorithm: algorithm(annotations, &mut remarks),
            forwarding_rules,
            health_check: health::check(service, annotations, &mut remarks)?,
            sticky_sessions: sticky_sessions(annotations, &mut remarks)?,
            droplet_ids: targets.droplets,
            tags: tags(settings, live),
            redirect_http_to_https: annotations.flag(REDIRECT)?,
            enable_proxy_protocol: annotations.flag(PROXY_PROTOCOL)?,
            enable_backend_keepalive: annotations.flag(KEEPALIVE)?,
            disable_lets_encrypt_dns_records: annotations.flag(NO_DNS_RECORDS)?,
            http_idle_timeout_seconds: idle_timeout(annotations, &mut remarks)?,
            vpc_uuid: vpc(settings, live, &mut remarks),
            subnet_uuid: subnet(annotations, live, &mut remarks)?,
            firewall: firewall::firewall(service, annotations)?,
            ip: annotations.parsed(IP, "an IPv4 address", ipv4)?.filter(|_| live.is_none()),
            kept: live.map_or_else(Kept::default, |it| it.kept.clone()),
        };
        let hostname = annotations.parsed(HOSTNAME, "a DNS name such as lb.example.com", hostname)?;
        Ok(Self { spec, certificate, hostname, remarks })
    }
}

fn chosen_kind(
    annotations: Annotations<'_>,
    settings: &Settings,
    live: Option<&Live>,
    remarks: &mut Remarks,
) -> Result<Kind> {
    let wanted = annotations.parsed(TYPE, "REGIONAL or REGIONAL_NETWORK", kind)?;
    let Some(live) = live else { return Ok(wanted.unwrap_or(settings.default_kind)) };
    let word = |kind| match kind {
        Kind::Regional => Ok("REGIONAL"),
        Kind::RegionalNetwork => Ok("REGIONAL_NETWORK"),
        Kind::Other => Err(live.unsupported()),
    };
    if let Some(wanted) = wanted.filter(|it| *it != live.kind) {
        remarks.kept("type", word(live.kind)?, word(wanted)?);
    }
    word(live.kind).map(|_| live.kind)
}

fn chosen_network(annotations: Annotations<'_>, live: Option<&Live>, remarks: &mut Remarks) -> Result<Network> {
    let wanted = annotations.parsed(NETWORK, "EXTERNAL or INTERNAL", |it| match it {
        "EXTERNAL" => Some(Network::External),
        "INTERNAL" => Some(Network::Internal),
        _ => None,
    })?;
    let wanted = wanted.unwrap_or_default();
    let Some(live) = live else { return Ok(wanted) };
    let word = |network| match network {
        Network::External => "EXTERNAL",
        Network::Internal => "INTERNAL",
    };
    if wanted != live.network {
        remarks.kept("network", word(live.network), word(wanted));
    }
    Ok(live.network)
}

fn stack(
    annotations: Annotations<'_>,
    kind: Kind,
    network: Network,
    targets: &Targets,
    live: Option<&Live>,
    remarks: &mut Remarks,
) -> Result<Stack> {
    let wanted = annotations.parsed(NETWORK_STACK, "IPV4 or DUALSTACK", |it| match it {
        "IPV4" => Some(Stack::Ipv4),
        "DUALSTACK" => Some(Stack::DualStack),
        _ => None,
    })?;
    if wanted == Some(Stack::DualStack) && network == Network::Internal {
        return Err(refused(NETWORK_STACK, "DUALSTACK", "possible with an INTERNAL load balancer: IPV4"));
    }
    // Packets that are passed through reach only nodes with an address of their family.
    let reaches_all = kind == Kind::Regional || targets.dual_stack;
    let Some(live) = live else {
        return match wanted {
            Some(Stack::DualStack) if !reaches_all => {
                let allowed =
                    "possible while a node lacks a public IPv6 address: IPV4, or a load balancer of type REGIONAL";
                Err(refused(NETWORK_STACK, "DUALSTACK", allowed))
            }
            Some(wanted) => Ok(wanted),
            None if network == Network::External && reaches_all => Ok(Stack::DualStack),
            None => Ok(Stack::Ipv4),
        };
    };
    match (live.network_stack, wanted) {
        (Stack::DualStack, Some(Stack::Ipv4)) => remarks.kept("network stack", "DUALSTACK", "IPV4"),
        (Stack::Ipv4, Some(Stack::DualStack)) => remarks.kept("network stack", "IPV4", "DUALSTACK"),
        (Stack::DualStack, _) if !reaches_all => remarks.add(
            "LoadBalancerImmutable",
            "network stack stays DUALSTACK, although a node lacks a public IPv6 address: what arrives by IPv6 does \
             not reach it"
                .to_owned(),
        ),
        (Stack::DualStack | Stack::Ipv4, _) => {}
    }
    Ok(live.network_stack)
}

fn name(service: &LoadBalancer, annotations: Annotations<'_>) -> Result<String> {
    let allowed = "a name of at most 255 letters, digits, dots and dashes that begins with a letter or digit and \
        does not end with a dash";
    let chosen = annotations.parsed(NAME, allowed, |it| {
        let good = it.len() <= LONGEST_NAME
            && it.starts_with(|it: char| it.is_ascii_alphanumeric())
            && it.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'-'))
            && !it.ends_with('-');
        good.then_some(it)
    })?;
    let Some(chosen) = chosen else { return Ok(service.name.clone()) };
    if is_default_name(chosen) && !chosen.eq_ignore_ascii_case(&service.name) {
        let allowed = "free to choose: it is what the load balancer of the Service with this UID is called by default";
        return Err(refused(NAME, chosen, allowed));
    }
    Ok(chosen.to_owned())
}

/// Whether it has the form of the name that proves whose a load balancer is: "a", and a UID without its dashes and its end.
fn is_default_name(name: &str) -> bool {
    name.len() == 32 && name.starts_with(['a', 'A']) && name.bytes().all(|it| it.is_ascii_hexdigit())
}

/// Where it is, or is to be: where the operator says, or else where most of the nodes are.
fn region(service: &LoadBalancer, settings: &Settings, live: Option<&Live>) -> Result<String> {
    if let Some(region) = live.and_then(|it| it.region.as_ref()) {
        return Ok(region.slug.clone());
    }
    if let Some(region) = &settings.region {
        return Ok(region.clone());
    }
    let mut nodes_of: BTreeMap<&str, usize> = BTreeMap::new();
    for region in service.nodes.iter().filter_map(|it| it.region.as_deref()) {
        *nodes_of.entry(region).or_default() += 1;
    }
    let most = nodes_of.values().max().copied().unwrap_or_default();
    let regions: Vec<_> = nodes_of.into_iter().filter(|(_, nodes)| *nodes == most).map(|(region, _)| region).collect();
    match regions[..] {
        [region] => Ok(region.to_owned()),
        [] if service.nodes.is_empty() => Err(nodes::none(&[], &[])),
        [] => Err(Error::invalid(
            "the region is not known: the cloud tells none of any node, and setting region is missing",
        )),
        [one, another, ..] => Err(Error::invalid(format_args!(
            "the region is not clear: as many nodes are in {one} as in {another}; set setting region"
        ))),
    }
}

fn size(annotations: Annotations<'_>, live: Option<&Live>, remarks: &mut Remarks) -> Result<Option<Size>> {
    let slug = annotations.parsed(SIZE_SLUG, "lb-small, lb-medium or lb-large", Slug::named)?;
    let unit = annotations.number(SIZE_UNIT, 0..=100)?;
    if unit == Some(0) {
        remarks.tolerated(SIZE_UNIT, "0", "counts as not set: the least is 1");
    }
    match (slug, unit.filter(|it| *it != 0)) {
        (Some(_), Some(_)) => {
            Err(Error::invalid(format_args!("annotations {SIZE_SLUG} and {SIZE_UNIT} cannot both be set")))
        }
        (Some(slug), None) => Ok(Some(Size::Slug(slug))),
        (None, Some(units)) => Ok(Some(Size::Unit(units))),
        // Nobody asks: it may have been changed in the panel.
        (None, None) => Ok(live.and_then(live_size)),
    }
}

/// The size that it has.
pub(super) fn live_size(live: &Live) -> Option<Size> {
    let slug = || live.size.as_deref().and_then(Slug::named).map(Size::Slug);
    live.size_unit.map(Size::Unit).or_else(slug)
}

fn algorithm(annotations: Annotations<'_>, remarks: &mut Remarks) -> Algorithm {
    match annotations.text(ALGORITHM) {
        Some("least_connections") => Algorithm::LeastConnections,
        None | Some("round_robin") => Algorithm::RoundRobin,
        Some(other) => {
            remarks.tolerated(ALGORITHM, other, "counts as round_robin: it is neither that nor least_connections");
            Algorithm::RoundRobin
        }
    }
}

fn sticky_sessions(annotations: Annotations<'_>, remarks: &mut Remarks) -> Result<StickySessions> {
    match annotations.text(STICKY_TYPE) {
        Some("cookies") => {}
        None | Some("none") => return Ok(StickySessions::default()),
        Some(other) => {
            remarks.tolerated(STICKY_TYPE, other, "counts as none: it is neither that nor cookies");
            return Ok(StickySessions::default());
        }
    }
    let missing = |key| Error::invalid(format_args!("annotation {STICKY_TYPE}: \"cookies\" needs annotation {key}"));
    let name = annotations.text(STICKY_COOKIE_NAME).ok_or_else(|| missing(STICKY_COOKIE_NAME))?;
    let ttl = annotations.number(STICKY_COOKIE_TTL, 1..=u32::MAX)?.ok_or_else(|| missing(STICKY_COOKIE_TTL))?;
    Ok(StickySessions { kind: StickyKind::Cookies, cookie_name: Some(name.to_owned()), cookie_ttl_seconds: Some(ttl) })
}

fn idle_timeout(annotations: Annotations<'_>, remarks: &mut Remarks) -> Result<Option<u32>> {
    let seconds = annotations.parsed(IDLE_TIMEOUT, "a whole number of seconds from 30 to 600", |it| {
        it.parse().ok().filter(|it| *it == 0 || (30..=600).contains(it))
    })?;
    if seconds == Some(0) {
        remarks.tolerated(IDLE_TIMEOUT, "0", "counts as not set: 60 seconds");
    }
    Ok(seconds.filter(|it| *it != 0))
}

/// The cluster's tag, beside those that it has.
fn tags(settings: &Settings, live: Option<&Live>) -> Vec<String> {
    let mut tags = live.and_then(|it| it.tags.clone()).unwrap_or_default();
    if let Some(tag) = settings.cluster.tag()
        && !tags.iter().any(|it| it == tag)
    {
        tags.push(tag.to_owned());
    }
    tags
}

fn vpc(settings: &Settings, live: Option<&Live>, remarks: &mut Remarks) -> Option<String> {
    let Some(live) = live else { return settings.vpc.clone() };
    if let (Some(is), Some(wanted)) = (&live.vpc_uuid, &settings.vpc)
        && !is.eq_ignore_ascii_case(wanted)
    {
        remarks.kept("VPC", is, wanted);
    }
    live.vpc_uuid.clone()
}

fn subnet(annotations: Annotations<'_>, live: Option<&Live>, remarks: &mut Remarks) -> Result<Option<String>> {
    let wanted = annotations.parsed(SUBNET, "the UUID of a subnet", uuid)?;
    let Some(is) = live.and_then(|it| it.subnet_uuid.as_ref()) else { return Ok(wanted) };
    if let Some(wanted) = wanted.filter(|it| !is.eq_ignore_ascii_case(it)) {
        remarks.kept("subnet", is, &wanted);
    }
    Ok(Some(is.clone()))
}

fn ipv4(text: &str) -> Option<String> {
    text.parse::<std::net::Ipv4Addr>().is_ok().then(|| text.to_owned())
}

/// A name that may stand in the status of a Service.
fn hostname(text: &str) -> Option<String> {
    let name = text.to_ascii_lowercase();
    let is_label = |it: &str| {
        (1..=63).contains(&it.len())
            && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
            && !it.starts_with('-')
            && !it.ends_with('-')
    };
    let good = name.len() <= 253 && name.split('.').all(is_label) && name.parse::<std::net::IpAddr>().is_err();
    good.then_some(name)
}
