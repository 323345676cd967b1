//! Compares a load balancer with what the Service asks for, so that as little as possible is written.

use aerostat_sdk::SortedSet;

use aerostat_sdk::backend;

use crate::api::load_balancers::{HealthCheck, HealthProtocol, LoadBalancer as Live, Size, Spec, StickyKind};

/// The API's default for how many seconds connections may be idle.
const IDLE_TIMEOUT: u32 = 60;

pub(super) type FieldDifference = backend::Difference<u64>;

/// The writes that make `live` as `desired`.
pub(super) fn difference(live: &Live, desired: &Spec) -> FieldDifference {
    // A load balancer with a tag chooses its targets itself, and takes no others.
    let chooses_itself = !live.tag.is_empty();
    let (mut is, mut wanted) = (comparable(&live.spec()), comparable(desired));
    // The API does not always show it, and a check of the Service's own port does not set it.
    let (shown, asked) = (&mut is.health_check.proxy_protocol, &mut wanted.health_check.proxy_protocol);
    if shown.is_none() || asked.is_none() {
        (*shown, *asked) = (None, None);
    }
    if chooses_itself || is != wanted {
        return FieldDifference::Everything;
    }
    FieldDifference::of_targets(&live.droplet_ids, &desired.droplet_ids)
}

/// The fields that a replacement can change, with the API's defaults for those that are not set.
fn comparable(spec: &Spec) -> Spec {
    let rules: SortedSet<_> = spec.forwarding_rules.iter().cloned().collect();
    Spec {
        forwarding_rules: rules.into_iter().collect(),
        size: spec.size.map(|it| Size::Unit(it.units())),
        health_check: health_check(&spec.health_check),
        sticky_sessions: Some(&spec.sticky_sessions)
            .filter(|it| it.kind == StickyKind::Cookies)
            .cloned()
            .unwrap_or_default(),
        http_idle_timeout_seconds: spec.http_idle_timeout_seconds.or(Some(IDLE_TIMEOUT)),
        // Targets are written alone; the rest is ignored, or counts at a creation only.
        droplet_ids: SortedSet::new(),
        algorithm: "",
        region: String::new(),
        subnet_uuid: None,
        tags: Vec::new(),
        ..spec.clone()
    }
}

/// With the API's defaults.
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
        ..*check
    }
}
