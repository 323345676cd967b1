//! Where a Service is reached, and what is written on it.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{Ingress, IpMode, LoadBalancer, LoadBalancerStatus};

use super::annotations::{ID, TYPE};
use super::memo::Memo;
use super::wish::Wish;
use crate::api::load_balancers::{Kind, Listed, LoadBalancer as Live, StickyKind};

/// Where the Service is reached, now that its load balancer is as wished.
pub(super) fn served(service: &LoadBalancer, live: &Live, wish: &Wish) -> LoadBalancerStatus {
    let ingress = match &wish.hostname {
        Some(hostname) => vec![Ingress::hostname(hostname)],
        None => {
            let addresses = [&live.ip, &live.ipv6].into_iter().filter(|it| !it.is_empty());
            let mode = ip_mode(wish);
            addresses.map(|it| Ingress::ip(it).ip_mode(mode)).collect()
        }
    };
    LoadBalancerStatus { ingress, ..owned(service, &live.listed()) }
}

/// What is known of a Service whose load balancer this is, and which is not served by it yet.
pub(super) fn owned(service: &LoadBalancer, live: &Listed) -> LoadBalancerStatus {
    let mut status = announced(service, &Memo::Id(live.id.clone())).annotation(ID.name, &live.id);
    let kind = match live.kind {
        Kind::Regional => Some("REGIONAL"),
        Kind::RegionalNetwork => Some("REGIONAL_NETWORK"),
        Kind::Other => None,
    };
    // What its author says stays, even where it cannot be had.
    if let Some(kind) = kind.filter(|_| Annotations::of(service).text(TYPE.name).is_none()) {
        status = status.annotation(TYPE.name, kind);
    }
    status
}

/// What is known of a Service that has no load balancer yet.
pub(super) fn announced(service: &LoadBalancer, memo: &Memo) -> LoadBalancerStatus {
    service.status().memo(memo.to_string())
}

/// How packets arrive. Where the load balancer ends connections, or says things about clients that only it knows,
/// traffic from inside the cluster has to pass it too, and not be cut short. Anything else is said as the API server says it
/// by default, so that the status is the same.
fn ip_mode(wish: &Wish) -> IpMode {
    let spec = &wish.spec;
    let ends_tls = spec.forwarding_rules.iter().any(|it| it.certificate_id.is_some());
    let is_sticky = spec.sticky_sessions.kind == StickyKind::Cookies;
    match spec.kind {
        Kind::Regional if spec.enable_proxy_protocol || ends_tls || is_sticky => IpMode::Proxy,
        Kind::Regional | Kind::RegionalNetwork | Kind::Other => IpMode::Vip,
    }
}
