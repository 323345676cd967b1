//! What a Service asks for, as all that a creation or a replacement says.

use std::collections::BTreeMap;

use aerostat_sdk::annotations::refused;
use aerostat_sdk::{Error, LoadBalancer, Result};

use super::annotations::{
    ALGORITHM, HOSTNAME, IDLE_TIMEOUT, IP, KEEPALIVE, NAME, NETWORK, NETWORK_STACK, NO_DNS_RECORDS, PROXY_PROTOCOL,
    REDIRECT, SIZE_SLUG, SIZE_UNIT, STICKY_COOKIE_NAME, STICKY_COOKIE_TTL, STICKY_TYPE, SUBNET, TYPE,
};
use super::certificate::Wanted;
use super::nodes::{self, Targets};
use super::reading::Reading;
use super::warnings::Warnings;
use super::{firewall, health, rules};
use crate::api::load_balancers::{
    Algorithm, Kind, LoadBalancer as Live, Network, Size, Spec, Stack, StickyKind, StickySessions,
};
use crate::settings::Settings;

/// A wish, and what it takes to fulfil it.
#[derive(Debug)]
pub(super) struct Wish {
    /// With the name of a certificate where its id is not known yet.
    pub(super) spec: Spec,
    pub(super) certificate: Wanted,
    /// Shown in the Service's status in the place of addresses.
    pub(super) hostname: Option<String>,
    pub(super) warnings: Warnings,
}

impl Wish {
    /// What `service` asks for, laid over what is `live`: what cannot be changed stays as it is, and what nobody asks for.
    ///
    /// # Errors
    ///
    /// `invalid`, naming what cannot be meant; `unavailable` if there is no node yet.
    pub(super) fn of(service: &LoadBalancer, settings: &Settings, live: Option<&Live>) -> Result<Self> {
        let mut reading = Reading::of(service, live);
        let annotations = &mut reading;
        let shown = live.map(Spec::of).unwrap_or_default();
        let kind = chosen_kind(annotations, settings)?;
        let network = chosen_network(annotations)?;
        let certificate = match kind {
            Kind::Regional => Wanted::of(annotations)?,
            // Packets are passed through: what is inside is not its business.
            Kind::RegionalNetwork | Kind::Other => Wanted::None,
        };
        let forwarding_rules = rules::rules(service, annotations, kind, &certificate.unresolved())?;
        let region = region(service, settings, &shown)?;
        let nodes = nodes::in_region(&service.nodes, &region, &mut annotations.warnings);
        let targets = Targets::of(&nodes, kind, network, &mut annotations.warnings)?;
        let spec = Spec {
            name: name(service, annotations)?,
            region,
            kind,
            network,
            network_stack: stack(annotations, kind, network, &targets)?,
            size: size(annotations)?.or(shown.size),
            algorithm: algorithm(annotations),
            forwarding_rules,
            health_check: health::check(service, annotations)?,
            sticky_sessions: sticky_sessions(annotations)?,
            droplet_ids: targets.droplets,
            tags: tags(settings, shown.tags),
            redirect_http_to_https: annotations.flag(&REDIRECT)?,
            enable_proxy_protocol: annotations.flag(&PROXY_PROTOCOL)?,
            enable_backend_keepalive: annotations.flag(&KEEPALIVE)?,
            disable_lets_encrypt_dns_records: annotations.flag(&NO_DNS_RECORDS)?,
            http_idle_timeout_seconds: idle_timeout(annotations)?,
            vpc_uuid: vpc(annotations, settings),
            subnet_uuid: subnet(annotations)?,
            firewall: firewall::firewall(service, annotations)?,
            ip: annotations.read(&IP)?.filter(|_| live.is_none()),
            kept: shown.kept,
        };
        let hostname = annotations.read(&HOSTNAME)?;
        Ok(Self { spec, certificate, hostname, warnings: reading.warnings })
    }
}

fn chosen_kind(annotations: &mut Reading<'_>, settings: &Settings) -> Result<Kind> {
    let wanted = annotations.read(&TYPE)?;
    let Some(live) = annotations.live else { return Ok(wanted.unwrap_or(settings.default_kind)) };
    let word = |kind| match kind {
        Kind::Regional => Ok("REGIONAL"),
        Kind::RegionalNetwork => Ok("REGIONAL_NETWORK"),
        Kind::Other => Err(live.unsupported()),
    };
    if let Some(wanted) = wanted.filter(|it| *it != live.kind) {
        annotations.warnings.kept("type", word(live.kind)?, word(wanted)?);
    }
    word(live.kind).map(|_| live.kind)
}

fn chosen_network(annotations: &mut Reading<'_>) -> Result<Network> {
    let text = annotations.text(NETWORK.name);
    let read = annotations.read(&NETWORK)?;
    let Some(live) = annotations.live else { return Ok(read.unwrap_or_default()) };
    // Without the annotation it is external; what cannot be read says nothing.
    let wanted = if text.is_none() { Some(Network::default()) } else { read };
    let word = |network| match network {
        Network::External => "EXTERNAL",
        Network::Internal => "INTERNAL",
    };
    if let Some(wanted) = wanted.filter(|it| *it != live.network) {
        annotations.warnings.kept("network", word(live.network), word(wanted));
    }
    Ok(live.network)
}

fn stack(annotations: &mut Reading<'_>, kind: Kind, network: Network, targets: &Targets) -> Result<Stack> {
    let wanted = annotations.read(&NETWORK_STACK)?;
    // Packets that are passed through reach only nodes with an address of their family.
    let reaches_all = kind == Kind::Regional || targets.dual_stack;
    let Some(live) = annotations.live else {
        let refuse = |allowed| Err(refused(NETWORK_STACK.name, "DUALSTACK", allowed));
        return match wanted {
            Some(Stack::DualStack) if network == Network::Internal => {
                refuse("possible with an INTERNAL load balancer: IPV4")
            }
            Some(Stack::DualStack) if !reaches_all => {
                refuse("possible while a node lacks a public IPv6 address: IPV4, or a load balancer of type REGIONAL")
            }
            Some(wanted) => Ok(wanted),
            None if network == Network::External && reaches_all => Ok(Stack::DualStack),
            None => Ok(Stack::Ipv4),
        };
    };
    let warnings = &mut annotations.warnings;
    match (live.network_stack, wanted) {
        (Stack::DualStack, Some(Stack::Ipv4)) => warnings.kept("network stack", "DUALSTACK", "IPV4"),
        (Stack::Ipv4, Some(Stack::DualStack)) => warnings.kept("network stack", "IPV4", "DUALSTACK"),
        (Stack::DualStack, _) if !reaches_all => warnings.add(
            "LoadBalancerImmutable",
            "network stack stays DUALSTACK, although a node lacks a public IPv6 address: what arrives by IPv6 does \
             not reach it"
                .to_owned(),
        ),
        (Stack::DualStack | Stack::Ipv4, _) => {}
    }
    Ok(live.network_stack)
}

fn name(service: &LoadBalancer, annotations: &mut Reading<'_>) -> Result<String> {
    let as_shown = |live: &Live, text: &str| (live.name == text).then(|| text.to_owned());
    let Some(chosen) = annotations.read_or_keep(&NAME, as_shown)? else { return Ok(service.name.clone()) };
    if is_default_name(&chosen) && !chosen.eq_ignore_ascii_case(&service.name) {
        let allowed = "free to choose: it is what the load balancer of the Service with this UID is called by default";
        if annotations.live.is_none_or(|it| it.name != chosen) {
            return Err(refused(NAME.name, &chosen, allowed));
        }
        let meaning = format!("stays, because the load balancer has it; it is not {allowed}");
        annotations.warnings.tolerated(NAME.name, &chosen, &meaning);
    }
    Ok(chosen)
}

/// Whether it has the form of the name that proves whose a load balancer is: "a", and a UID without its dashes and its end.
fn is_default_name(name: &str) -> bool {
    name.len() == 32 && name.starts_with(['a', 'A']) && name.bytes().all(|it| it.is_ascii_hexdigit())
}

/// Where it is, or is to be: where the operator says, or else where most of the nodes are.
pub(super) fn region(service: &LoadBalancer, settings: &Settings, shown: &Spec) -> Result<String> {
    if !shown.region.is_empty() {
        return Ok(shown.region.clone());
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

/// The size that somebody asks for. Nobody: it may have been changed in the panel.
fn size(annotations: &mut Reading<'_>) -> Result<Option<Size>> {
    let slug = annotations.read(&SIZE_SLUG)?;
    let unit = annotations.number(&SIZE_UNIT, |it| it.size_unit)?;
    if unit == Some(0) {
        annotations.warnings.tolerated(SIZE_UNIT.name, "0", "counts as not set: the least is 1");
    }
    match (slug, unit.filter(|it| *it != 0)) {
        (Some(_), Some(_)) => {
            let (slug, unit) = (SIZE_SLUG.name, SIZE_UNIT.name);
            Err(Error::invalid(format_args!("annotations {slug} and {unit} cannot both be set")))
        }
        (Some(slug), None) => Ok(Some(Size::Slug(slug))),
        (None, units) => Ok(units.map(Size::Unit)),
    }
}

fn algorithm(annotations: &mut Reading<'_>) -> Algorithm {
    match annotations.text(ALGORITHM.name) {
        Some("least_connections") => Algorithm::LeastConnections,
        None | Some("round_robin") => Algorithm::RoundRobin,
        Some(other) => {
            let meaning = "counts as round_robin: it is neither that nor least_connections";
            annotations.warnings.tolerated(ALGORITHM.name, other, meaning);
            Algorithm::RoundRobin
        }
    }
}

fn sticky_sessions(annotations: &mut Reading<'_>) -> Result<StickySessions> {
    match annotations.text(STICKY_TYPE.name) {
        Some("cookies") => {}
        None | Some("none") => return Ok(StickySessions::default()),
        Some(other) => {
            let meaning = "counts as none: it is neither that nor cookies";
            annotations.warnings.tolerated(STICKY_TYPE.name, other, meaning);
            return Ok(StickySessions::default());
        }
    }
    let missing =
        |key| Error::invalid(format_args!("annotation {}: \"cookies\" needs annotation {key}", STICKY_TYPE.name));
    let as_shown = |live: &Live, text: &str| live.sticky_sessions.cookie_name.clone().filter(|it| it == text);
    let name = annotations.read_or_keep(&STICKY_COOKIE_NAME, as_shown)?;
    let name = name.ok_or_else(|| missing(STICKY_COOKIE_NAME.name))?;
    let ttl = annotations.number(&STICKY_COOKIE_TTL, |it| it.sticky_sessions.cookie_ttl_seconds)?;
    let ttl = ttl.ok_or_else(|| missing(STICKY_COOKIE_TTL.name))?;
    Ok(StickySessions { kind: StickyKind::Cookies, cookie_name: Some(name), cookie_ttl_seconds: Some(ttl) })
}

fn idle_timeout(annotations: &mut Reading<'_>) -> Result<Option<u32>> {
    let seconds = annotations.number(&IDLE_TIMEOUT, |it| it.http_idle_timeout_seconds)?;
    if seconds == Some(0) {
        annotations.warnings.tolerated(IDLE_TIMEOUT.name, "0", "counts as not set: 60 seconds");
    }
    Ok(seconds.filter(|it| *it != 0))
}

/// The cluster's tag, beside those that it has.
fn tags(settings: &Settings, mut tags: Vec<String>) -> Vec<String> {
    if let Some(tag) = settings.cluster.tag()
        && !tags.iter().any(|it| it == tag)
    {
        tags.push(tag.to_owned());
    }
    tags
}

fn vpc(annotations: &mut Reading<'_>, settings: &Settings) -> Option<String> {
    let Some(live) = annotations.live else { return settings.vpc.clone() };
    if let (Some(is), Some(wanted)) = (&live.vpc_uuid, &settings.vpc)
        && !is.eq_ignore_ascii_case(wanted)
    {
        annotations.warnings.kept("VPC", is, wanted);
    }
    live.vpc_uuid.clone()
}

fn subnet(annotations: &mut Reading<'_>) -> Result<Option<String>> {
    let wanted = annotations.read(&SUBNET)?;
    let Some(is) = annotations.live.and_then(|it| it.subnet_uuid.as_ref()) else { return Ok(wanted) };
    if let Some(wanted) = wanted.filter(|it| !is.eq_ignore_ascii_case(it)) {
        annotations.warnings.kept("subnet", is, &wanted);
    }
    Ok(Some(is.clone()))
}
