//! What differs between a load balancer and the wish: as little as possible is written.

use std::collections::BTreeSet;

use super::wish::live_size;
use crate::api::load_balancers::{
    HealthCheck, HealthProtocol, LoadBalancer as Live, Size, Spec, StickyKind, StickySessions,
};

/// How long connections may be idle where nobody says.
const IDLE_TIMEOUT: u32 = 60;

/// What has to be written.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Difference {
    Nothing,
    /// Targets come and go, and nothing else.
    Targets {
        add: BTreeSet<u64>,
        remove: BTreeSet<u64>,
    },
    /// All of it: the API replaces a load balancer as a whole.
    Everything,
}

/// What has to be written so that `live` is as `wished`.
pub(super) fn difference(live: &Live, wished: &Spec) -> Difference {
    // A load balancer with a tag chooses its targets itself, and takes no others.
    let chooses_itself = !live.tag.is_empty();
    if chooses_itself || Comparable::of_live(live) != Comparable::of_wish(wished) {
        return Difference::Everything;
    }
    let add: BTreeSet<_> = wished.droplet_ids.difference(&live.droplet_ids).copied().collect();
    let remove: BTreeSet<_> = live.droplet_ids.difference(&wished.droplet_ids).copied().collect();
    if add.is_empty() && remove.is_empty() { Difference::Nothing } else { Difference::Targets { add, remove } }
}

/// What of a load balancer can be changed and counts, with defaults in place of what is not said.
#[derive(Debug, Eq, PartialEq)]
struct Comparable<'a> {
    name: &'a str,
    rules: BTreeSet<&'a crate::api::load_balancers::Rule>,
    health_check: HealthCheck,
    sticky_sessions: StickySessions,
    firewall: &'a crate::api::load_balancers::Firewall,
    size: Option<u32>,
    switches: [bool; 4],
    idle_timeout: u32,
}

impl<'a> Comparable<'a> {
    fn of_live(live: &'a Live) -> Self {
        Self {
            name: &live.name,
            rules: live.forwarding_rules.iter().collect(),
            health_check: health_check(&live.health_check),
            sticky_sessions: sticky_sessions(&live.sticky_sessions),
            firewall: &live.firewall,
            size: live_size(live).map(Size::units),
            switches: [
                live.redirect_http_to_https,
                live.enable_proxy_protocol,
                live.enable_backend_keepalive,
                live.disable_lets_encrypt_dns_records,
            ],
            idle_timeout: live.http_idle_timeout_seconds.unwrap_or(IDLE_TIMEOUT),
        }
    }

    fn of_wish(wish: &'a Spec) -> Self {
        Self {
            name: &wish.name,
            rules: wish.forwarding_rules.iter().collect(),
            health_check: health_check(&wish.health_check),
            sticky_sessions: sticky_sessions(&wish.sticky_sessions),
            firewall: &wish.firewall,
            size: wish.size.map(Size::units),
            switches: [
                wish.redirect_http_to_https,
                wish.enable_proxy_protocol,
                wish.enable_backend_keepalive,
                wish.disable_lets_encrypt_dns_records,
            ],
            idle_timeout: wish.http_idle_timeout_seconds.unwrap_or(IDLE_TIMEOUT),
        }
    }
}

/// With the API's defaults. The API does not always show `proxy_protocol`, so that it cannot be compared.
fn health_check(check: &HealthCheck) -> HealthCheck {
    HealthCheck {
        path: match check.protocol {
            HealthProtocol::Tcp => None,
            HealthProtocol::Http | HealthProtocol::Https => Some(check.path.clone().unwrap_or_else(|| "/".to_owned())),
        },
        check_interval_seconds: check.check_interval_seconds.or(Some(10)),
        response_timeout_seconds: check.response_timeout_seconds.or(Some(5)),
        unhealthy_threshold: check.unhealthy_threshold.or(Some(5)),
        healthy_threshold: check.healthy_threshold.or(Some(3)),
        proxy_protocol: None,
        ..*check
    }
}

fn sticky_sessions(sticky: &StickySessions) -> StickySessions {
    match sticky.kind {
        StickyKind::None => StickySessions::default(),
        StickyKind::Cookies => sticky.clone(),
    }
}
