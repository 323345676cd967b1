//! The desired load balancer of a Service, as the body of a creation or a replacement, and its addresses.

use aerostat_sdk::annotations::{exclusive, refused};
use aerostat_sdk::events::Warnings;
use aerostat_sdk::nodes::in_region;
use aerostat_sdk::{Error, Ingress, IpMode, LoadBalancer, Result};

use super::annotations::{
    ALGORITHM, DoReading, HOSTNAME, IDLE_TIMEOUT, IP, KEEPALIVE, NAME, NETWORK, NETWORK_STACK, NO_DNS_RECORDS,
    PROXY_PROTOCOL, REDIRECT, SIZE_SLUG, SIZE_UNIT, STICKY_COOKIE_NAME, STICKY_COOKIE_TTL, STICKY_TYPE, SUBNET, TYPE,
};
use super::certificate::Tls;
use super::nodes::Targets;
use super::{firewall, health, rules};
use crate::api::load_balancers::{
    ClientNetwork, Kind, LoadBalancer as Live, Size, Spec, Stack, StickyKind, StickySessions,
};
use crate::settings::Settings;

const UNKNOWN_ALGORITHM: &str = "counts as round_robin: it is neither that nor least_connections";

/// The desired load balancer of a Service, and what is needed to write it.
#[derive(Debug)]
pub(super) struct Desired {
    /// Before [`Tls::resolve`] it holds the name of a certificate instead of its id.
    pub(super) spec: Spec,
    pub(super) tls: Tls,
    /// Shown in the Service's status instead of addresses.
    hostname: Option<String>,
    pub(super) warnings: Warnings,
}

impl Desired {
    /// The desired load balancer of `service`. A field of `live` that cannot be changed keeps its value, and so does one
    /// that no annotation sets.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the wrong value; `unavailable` if there is no node yet.
    pub(super) fn of(service: &LoadBalancer, settings: &Settings, live: Option<&Live>) -> Result<Self> {
        let mut reading = DoReading::of(service, live);
        let annotations = &mut reading;
        let shown = live.map(Live::spec).unwrap_or_default();
        let kind = chosen_kind(annotations, settings)?;
        let network = annotations.fixed("network", &NETWORK, |it| it.network)?.unwrap_or_default();
        let tls = match kind {
            Kind::Regional => Tls::of(annotations)?,
            // Packets are passed through: it does not see TLS.
            Kind::RegionalNetwork | Kind::Other => Tls::None,
        };
        let forwarding_rules = rules::rules(service, annotations, kind, &tls)?;
        let region = region(service, settings, live)?;
        let nodes = in_region(&service.nodes, &region, &mut annotations.warnings);
        let targets = Targets::of(&nodes, kind, network, &mut annotations.warnings)?;
        let subnet = annotations.read(&SUBNET)?;
        let ip = annotations.read(&IP)?.filter(|_| live.is_none());
        ip.as_ref().map_or(Ok(()), |it| settings.allowed_reserved_ips.check(IP.name, it))?;
        let spec = Spec {
            name: annotations.load_balancer_name(service, &NAME, |it| &it.name)?,
            region,
            kind,
            network,
            network_stack: stack(annotations, kind, network, &targets)?,
            size: size(annotations)?.or(shown.size),
            algorithm: annotations.read_or_default(&ALGORITHM, UNKNOWN_ALGORITHM),
            forwarding_rules,
            health_check: health::check(service, annotations)?,
            sticky_sessions: sticky_sessions(annotations)?,
            droplet_ids: targets.droplets,
            tags: tags(settings, shown.tags),
            redirect_http_to_https: annotations.flag(&REDIRECT)?,
            enable_proxy_protocol: annotations.flag(&PROXY_PROTOCOL)?,
            enable_backend_keepalive: annotations.flag(&KEEPALIVE)?,
            disable_lets_encrypt_dns_records: annotations.flag(&NO_DNS_RECORDS)?,
            http_idle_timeout_seconds: annotations
                .read_nonzero(&IDLE_TIMEOUT, "60 seconds", |it| it.http_idle_timeout_seconds)?,
            vpc_uuid: annotations.fixed_id("VPC", settings.vpc.as_deref(), |it| it.vpc_uuid.as_deref()),
            subnet_uuid: annotations.fixed_id("subnet", subnet.as_deref(), |it| it.subnet_uuid.as_deref()).or(subnet),
            firewall: firewall::firewall(service, annotations)?,
            ip,
            project_id: shown.project_id,
            tls_cipher_policy: shown.tls_cipher_policy,
        };
        let hostname = annotations.read(&HOSTNAME)?;
        Ok(Self { spec, tls, hostname, warnings: reading.warnings })
    }

    /// Where the Service is reached, now that its load balancer is as desired.
    pub(super) fn ingress(&self, live: &Live) -> Vec<Ingress> {
        Ingress::list(self.hostname.as_deref(), [&*live.ip, &live.ipv6], self.ip_mode())
    }

    /// The `ipMode` of its addresses. Where the load balancer ends TLS, keeps clients with their targets, or adds the PROXY
    /// protocol, traffic from inside the cluster has to pass it too: `Proxy`. Otherwise it is `VIP`, the API server's default.
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

fn chosen_kind(annotations: &mut DoReading<'_>, settings: &Settings) -> Result<Kind> {
    match annotations.live {
        Some(live) if live.kind == Kind::Other => Err(live.unsupported()),
        _ => Ok(annotations.fixed("type", &TYPE, |it| it.kind)?.unwrap_or(settings.default_kind)),
    }
}

fn stack(annotations: &mut DoReading<'_>, kind: Kind, network: ClientNetwork, targets: &Targets) -> Result<Stack> {
    let chosen = annotations.fixed("network stack", &NETWORK_STACK, |it| it.network_stack)?;
    // Packets that are passed through reach only nodes with an address of their family.
    let reaches_all = kind == Kind::Regional || targets.dual_stack;
    let refuse = |allowed| Err(refused(NETWORK_STACK.name, "DUALSTACK", allowed));
    match chosen {
        Some(stack) if annotations.live.is_some() => {
            if stack == Stack::DualStack && annotations.text(&NETWORK_STACK) != Some("IPV4") && !reaches_all {
                let why = "network stack stays DUALSTACK, although a node lacks a public IPv6 address: what arrives by \
                           IPv6 does not reach it";
                annotations.warnings.add("LoadBalancerImmutable", why);
            }
            Ok(stack)
        }
        Some(Stack::DualStack) if network == ClientNetwork::Internal => {
            refuse("possible with an INTERNAL load balancer: IPV4")
        }
        Some(Stack::DualStack) if !reaches_all => {
            refuse("possible while a node lacks a public IPv6 address: IPV4, or a load balancer of type REGIONAL")
        }
        Some(stack) => Ok(stack),
        None if network == ClientNetwork::External && reaches_all => Ok(Stack::DualStack),
        None => Ok(Stack::Ipv4),
    }
}

/// The region of `live`; for a new one the operator's, or else the one with most of the nodes.
pub(super) fn region(service: &LoadBalancer, settings: &Settings, live: Option<&Live>) -> Result<String> {
    let shown = live.map(|it| &it.region).filter(|it| !it.is_empty());
    shown.or(settings.region.as_ref()).map_or_else(|| service.region(), |it| Ok(it.clone()))
}

/// The size that an annotation asks for. Without one the size stays: it may have been changed in the panel.
fn size(annotations: &mut DoReading<'_>) -> Result<Option<Size>> {
    let slug = annotations.read(&SIZE_SLUG)?;
    let units = annotations.read_nonzero(&SIZE_UNIT, "the least is 1", |it| it.size_unit)?;
    match (slug, units) {
        (Some(_), Some(_)) => Err(exclusive(&SIZE_SLUG, &SIZE_UNIT)),
        (Some(slug), None) => Ok(Some(slug)),
        (None, units) => Ok(units.map(Size::Unit)),
    }
}

fn sticky_sessions(annotations: &mut DoReading<'_>) -> Result<StickySessions> {
    let kind = annotations.read_or_default(&STICKY_TYPE, "counts as none: it is neither that nor cookies");
    if kind == StickyKind::None {
        return Ok(StickySessions::default());
    }
    let missing =
        |key| Error::invalid(format_args!("annotation {}: \"cookies\" needs annotation {key}", STICKY_TYPE.name));
    let name = annotations.read_or_shown(&STICKY_COOKIE_NAME, |it| it.sticky_sessions.cookie_name.clone())?;
    let name = name.ok_or_else(|| missing(STICKY_COOKIE_NAME.name))?;
    let ttl = annotations.read_or_shown(&STICKY_COOKIE_TTL, |it| it.sticky_sessions.cookie_ttl_seconds)?;
    let ttl = ttl.ok_or_else(|| missing(STICKY_COOKIE_TTL.name))?;
    Ok(StickySessions { kind, cookie_name: Some(name), cookie_ttl_seconds: Some(ttl) })
}

/// The cluster's tag, beside those that it has.
fn tags(settings: &Settings, mut tags: Vec<String>) -> Vec<String> {
    tags.extend(settings.cluster_tag.iter().filter(|it| !tags.contains(it)).cloned().collect::<Vec<_>>());
    tags
}
