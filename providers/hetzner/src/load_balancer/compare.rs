//! Compares ports of a load balancer: what the cloud fills in by itself makes no difference.

use aerostat_sdk::SortedSet;

use crate::api::load_balancers::{HealthCheck, HealthHttp, HealthProtocol, Http, Protocol, Service};

/// Whether a port is as desired.
pub(super) fn is_same(live: &Service, desired: &Service) -> bool {
    let (mut is, mut wanted) = (comparable(live), comparable(desired));
    // The API does not always show it.
    if let (Some(is), Some(wanted)) = (&mut is.http, &mut wanted.http)
        && is.timeout_idle.is_none()
    {
        wanted.timeout_idle = None;
    }
    is == wanted
}

/// With the API's defaults for what is not set, and without what has no effect.
fn comparable(service: &Service) -> Service {
    Service {
        http: match service.protocol {
            Protocol::Tcp | Protocol::Other => None,
            Protocol::Http | Protocol::Https => Some(http(service)),
        },
        health_check: health(&service.health_check),
        ..service.clone()
    }
}

fn http(service: &Service) -> Http {
    let is_https = service.protocol == Protocol::Https;
    let http = service.http.clone().unwrap_or_default();
    Http {
        cookie_name: http.cookie_name.or_else(|| Some("HCLBSTICKY".to_owned())),
        cookie_lifetime: http.cookie_lifetime.or(Some(300)),
        certificates: http.certificates.filter(|_| is_https).or(Some(SortedSet::new())),
        redirect_http: http.redirect_http.filter(|_| is_https).or(Some(false)),
        sticky_sessions: http.sticky_sessions.or(Some(false)),
        timeout_idle: http.timeout_idle,
    }
}

fn health(check: &HealthCheck) -> HealthCheck {
    let http = || {
        let http = check.http.clone().unwrap_or_default();
        HealthHttp {
            path: if http.path.is_empty() { "/".to_owned() } else { http.path },
            status_codes: http.status_codes.or_else(|| Some(vec!["2??".to_owned(), "3??".to_owned()])),
            tls: http.tls.or(Some(false)),
            ..http
        }
    };
    HealthCheck { http: (check.protocol == HealthProtocol::Http).then(http), ..check.clone() }
}
