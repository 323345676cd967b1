//! What a Service asks for, as all that a creation or a replacement says, and where it is reached then.

use aerostat_sdk::annotations::refused;
use aerostat_sdk::events::Warnings;
use aerostat_sdk::nodes::in_region;
use aerostat_sdk::{Error, Ingress, IpMode, LoadBalancer, Result};

use super::annotations::{
    ALGORITHM, HOSTNAME, IDLE_TIMEOUT, IP, KEEPALIVE, NAME, NETWORK, NETWORK_STACK, NO_DNS_RECORDS, PROXY_PROTOCOL,
    REDIRECT, Reading, SIZE_SLUG, SIZE_UNIT, STICKY_COOKIE_NAME, STICKY_COOKIE_TTL, STICKY_TYPE, SUBNET, TYPE,
};
use super::certificate::Tls;
use super::nodes::Targets;
use super::{firewall, health, rules};
use crate::api::load_balancers::{Kind, LoadBalancer as Live, Network, Size, Spec, Stack, StickyKind, StickySessions};
use crate::settings::Settings;

/// What a Service asks for, and what it takes to get there.
#[derive(Debug)]
pub(super) struct Desired {
    /// With the name of a certificate where its id is not known yet.
    pub(super) spec: Spec,
    pub(super) tls: Tls,
    /// Shown in the Service's status in the place of addresses.
    hostname: Option<String>,
    pub(super) warnings: Warnings,
}

impl Desired {
    /// What `service` asks for, laid over what is `live`: what cannot be changed stays as it is, and what nobody asks for.
    ///
    /// # Errors
    ///
    /// `invalid`, naming what cannot be meant; `unavailable` if there is no node yet.
    pub(super) fn of(service: &LoadBalancer, settings: &Settings, live: Option<&Live>) -> Result<Self> {
        let mut reading = Reading::of(service, live);
        let annotations = &mut reading;
        let shown = live.map(Live::spec).unwrap_or_default();
        let kind = chosen_kind(annotations, settings)?;
        let network = chosen_network(annotations)?;
        let tls = match kind {
            Kind::Regional => Tls::of(annotations)?,
            // Packets are passed through: what is inside is not its business.
            Kind::RegionalNetwork | Kind::Other => Tls::None,
        };
        let forwarding_rules = rules::rules(service, annotations, kind, &tls)?;
        let region = region(service, settings, live)?;
        let nodes = in_region(&service.nodes, &region, &mut annotations.warnings);
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
            project_id: shown.project_id,
            tls_cipher_policy: shown.tls_cipher_policy,
        };
        let hostname = annotations.read(&HOSTNAME)?;
        Ok(Self { spec, tls, hostname, warnings: reading.warnings })
    }

    /// Where the Service is reached, now that its load balancer is as desired.
    pub(super) fn ingress(&self, live: &Live) -> Vec<Ingress> {
        if let Some(hostname) = &self.hostname {
            return vec![Ingress::hostname(hostname)];
        }
        let addresses = [&live.ip, &live.ipv6].into_iter().filter(|it| !it.is_empty());
        addresses.map(|it| Ingress::ip(it).ip_mode(self.ip_mode())).collect()
    }

    /// How packets arrive. Where the load balancer ends connections, or says things about clients that only it knows,
    /// traffic from inside the cluster has to pass it too, and not be cut short. Anything else is said as the API server says
    /// it by default, so that the status is the same.
    fn ip_mode(&self) -> IpMode {
        let spec = &self.spec;
        let ends_tls = spec.forwarding_rules.iter().any(|it| it.certificate_id.is_some());
        let is_sticky = spec.sticky_sessions.kind == StickyKind::Cookies;
        match spec.kind {
            Kind::Regional if spec.enable_proxy_protocol || ends_tls || is_sticky => IpMode::Proxy,
            Kind::Regional | Kind::RegionalNetwork | Kind::Other => IpMode::Vip,
        }
    }
}

fn chosen_kind(annotations: &mut Reading<'_>, settings: &Settings) -> Result<Kind> {
    let desired = annotations.read(&TYPE)?;
    let Some(live) = annotations.live else { return Ok(desired.unwrap_or(settings.default_kind)) };
    if live.kind == Kind::Other {
        return Err(live.unsupported());
    }
    annotations.immutable("type", &TYPE, live.kind, desired);
    Ok(live.kind)
}

fn chosen_network(annotations: &mut Reading<'_>) -> Result<Network> {
    let read = annotations.read(&NETWORK)?;
    let Some(live) = annotations.live else { return Ok(read.unwrap_or_default()) };
    // Without the annotation it is external; what cannot be read says nothing.
    let desired = if annotations.text(&NETWORK).is_none() { Some(Network::default()) } else { read };
    annotations.immutable("network", &NETWORK, live.network, desired);
    Ok(live.network)
}

fn stack(annotations: &mut Reading<'_>, kind: Kind, network: Network, targets: &Targets) -> Result<Stack> {
    let desired = annotations.read(&NETWORK_STACK)?;
    // Packets that are passed through reach only nodes with an address of their family.
    let reaches_all = kind == Kind::Regional || targets.dual_stack;
    let Some(live) = annotations.live else {
        let refuse = |allowed| Err(refused(NETWORK_STACK.name, "DUALSTACK", allowed));
        return match desired {
            Some(Stack::DualStack) if network == Network::Internal => {
                refuse("possible with an INTERNAL load balancer: IPV4")
            }
            Some(Stack::DualStack) if !reaches_all => {
                refuse("possible while a node lacks a public IPv6 address: IPV4, or a load balancer of type REGIONAL")
            }
            Some(desired) => Ok(desired),
            None if network == Network::External && reaches_all => Ok(Stack::DualStack),
            None => Ok(Stack::Ipv4),
        };
    };
    annotations.immutable("network stack", &NETWORK_STACK, live.network_stack, desired);
    if live.network_stack == Stack::DualStack && desired != Some(Stack::Ipv4) && !reaches_all {
        let why = "network stack stays DUALSTACK, although a node lacks a public IPv6 address: what arrives by IPv6 does \
                   not reach it";
        annotations.warnings.add("LoadBalancerImmutable", why);
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
        annotations.keep(NAME.name, &chosen, allowed);
    }
    Ok(chosen)
}

/// Whether it has the form of the name that proves whose a load balancer is: "a", and a UID without its dashes and its end.
fn is_default_name(name: &str) -> bool {
    name.len() == 32 && name.starts_with(['a', 'A']) && name.bytes().all(|it| it.is_ascii_hexdigit())
}

/// Where it is, or is to be: where the operator says, or else where most of the nodes are.
pub(super) fn region(service: &LoadBalancer, settings: &Settings, live: Option<&Live>) -> Result<String> {
    let shown = live.map(|it| &it.region).filter(|it| !it.is_empty());
    shown.or(settings.region.as_ref()).map_or_else(|| service.region(), |it| Ok(it.clone()))
}

/// The size that somebody asks for. Nobody: it may have been changed in the panel.
fn size(annotations: &mut Reading<'_>) -> Result<Option<Size>> {
    let slug = annotations.read(&SIZE_SLUG)?;
    let unit = annotations.read_or_shown(&SIZE_UNIT, |it| it.size_unit)?;
    if unit == Some(0) {
        annotations.tolerated(&SIZE_UNIT, "0", "counts as not set: the least is 1");
    }
    match (slug, unit.filter(|it| *it != 0)) {
        (Some(_), Some(_)) => {
            let (slug, unit) = (SIZE_SLUG.name, SIZE_UNIT.name);
            Err(Error::invalid(format_args!("annotations {slug} and {unit} cannot both be set")))
        }
        (Some(slug), None) => Ok(Some(slug)),
        (None, units) => Ok(units.map(Size::Unit)),
    }
}

fn algorithm(annotations: &mut Reading<'_>) -> &'static str {
    match annotations.text(&ALGORITHM) {
        Some("least_connections") => return "least_connections",
        None | Some("round_robin") => {}
        Some(other) => {
            let meaning = "counts as round_robin: it is neither that nor least_connections";
            annotations.tolerated(&ALGORITHM, other, meaning);
        }
    }
    "round_robin"
}

fn sticky_sessions(annotations: &mut Reading<'_>) -> Result<StickySessions> {
    match annotations.text(&STICKY_TYPE) {
        Some("cookies") => {}
        None | Some("none") => return Ok(StickySessions::default()),
        Some(other) => {
            annotations.tolerated(&STICKY_TYPE, other, "counts as none: it is neither that nor cookies");
            return Ok(StickySessions::default());
        }
    }
    let missing =
        |key| Error::invalid(format_args!("annotation {}: \"cookies\" needs annotation {key}", STICKY_TYPE.name));
    let name = annotations.read_or_shown(&STICKY_COOKIE_NAME, |it| it.sticky_sessions.cookie_name.clone())?;
    let name = name.ok_or_else(|| missing(STICKY_COOKIE_NAME.name))?;
    let ttl = annotations.read_or_shown(&STICKY_COOKIE_TTL, |it| it.sticky_sessions.cookie_ttl_seconds)?;
    let ttl = ttl.ok_or_else(|| missing(STICKY_COOKIE_TTL.name))?;
    Ok(StickySessions { kind: StickyKind::Cookies, cookie_name: Some(name), cookie_ttl_seconds: Some(ttl) })
}

fn idle_timeout(annotations: &mut Reading<'_>) -> Result<Option<u32>> {
    let seconds = annotations.read_or_shown(&IDLE_TIMEOUT, |it| it.http_idle_timeout_seconds)?;
    if seconds == Some(0) {
        annotations.tolerated(&IDLE_TIMEOUT, "0", "counts as not set: 60 seconds");
    }
    Ok(seconds.filter(|it| *it != 0))
}

/// The cluster's tag, beside those that it has.
fn tags(settings: &Settings, mut tags: Vec<String>) -> Vec<String> {
    tags.extend(settings.cluster_tag.iter().filter(|it| !tags.contains(it)).cloned().collect::<Vec<_>>());
    tags
}

fn vpc(annotations: &mut Reading<'_>, settings: &Settings) -> Option<String> {
    let Some(live) = annotations.live else { return settings.vpc.clone() };
    keeps(annotations, "VPC", live.vpc_uuid.as_ref(), settings.vpc.as_ref());
    live.vpc_uuid.clone()
}

fn subnet(annotations: &mut Reading<'_>) -> Result<Option<String>> {
    let desired = annotations.read(&SUBNET)?;
    let Some(live) = annotations.live.and_then(|it| it.subnet_uuid.as_ref()) else { return Ok(desired) };
    keeps(annotations, "subnet", Some(live), desired.as_ref());
    Ok(Some(live.clone()))
}

/// Warns, if another id is asked for than the one that cannot be changed.
fn keeps(annotations: &mut Reading<'_>, field: &str, live: Option<&String>, desired: Option<&String>) {
    if let (Some(live), Some(desired)) = (live, desired)
        && !live.eq_ignore_ascii_case(desired)
    {
        annotations.warnings.immutable(field, live, desired);
    }
}
