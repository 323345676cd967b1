//! What a Service's annotations say, parsed. An empty value is as good as none.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use aerostat_sdk::{Error, Result};

pub(super) const ID: &str = "kubernetes.digitalocean.com/load-balancer-id";
pub(super) const DISOWN: &str = "service.kubernetes.io/do-loadbalancer-disown";

pub(super) const NAME: &str = "service.beta.kubernetes.io/do-loadbalancer-name";
pub(super) const TYPE: &str = "service.beta.kubernetes.io/do-loadbalancer-type";
pub(super) const NETWORK: &str = "service.beta.kubernetes.io/do-loadbalancer-network";
pub(super) const NETWORK_STACK: &str = "service.beta.kubernetes.io/do-loadbalancer-network-stack";
pub(super) const IP: &str = "service.beta.kubernetes.io/do-loadbalancer-ip";
pub(super) const SUBNET: &str = "service.beta.kubernetes.io/do-loadbalancer-subnet-uuid";
pub(super) const HOSTNAME: &str = "service.beta.kubernetes.io/do-loadbalancer-hostname";
pub(super) const ALGORITHM: &str = "service.beta.kubernetes.io/do-loadbalancer-algorithm";
pub(super) const SIZE_SLUG: &str = "service.beta.kubernetes.io/do-loadbalancer-size-slug";
pub(super) const SIZE_UNIT: &str = "service.beta.kubernetes.io/do-loadbalancer-size-unit";

pub(super) const PROTOCOL: &str = "service.beta.kubernetes.io/do-loadbalancer-protocol";
pub(super) const HTTP_PORTS: &str = "service.beta.kubernetes.io/do-loadbalancer-http-ports";
pub(super) const TLS_PORTS: &str = "service.beta.kubernetes.io/do-loadbalancer-tls-ports";
pub(super) const HTTP2_PORTS: &str = "service.beta.kubernetes.io/do-loadbalancer-http2-ports";
pub(super) const HTTP3_PORT: &str = "service.beta.kubernetes.io/do-loadbalancer-http3-port";
pub(super) const TLS_PASSTHROUGH: &str = "service.beta.kubernetes.io/do-loadbalancer-tls-passthrough";
pub(super) const CERTIFICATE_ID: &str = "service.beta.kubernetes.io/do-loadbalancer-certificate-id";
pub(super) const CERTIFICATE_NAME: &str = "service.beta.kubernetes.io/do-loadbalancer-certificate-name";

pub(super) const STICKY_TYPE: &str = "service.beta.kubernetes.io/do-loadbalancer-sticky-sessions-type";
pub(super) const STICKY_COOKIE_NAME: &str = "service.beta.kubernetes.io/do-loadbalancer-sticky-sessions-cookie-name";
pub(super) const STICKY_COOKIE_TTL: &str = "service.beta.kubernetes.io/do-loadbalancer-sticky-sessions-cookie-ttl";
pub(super) const REDIRECT: &str = "service.beta.kubernetes.io/do-loadbalancer-redirect-http-to-https";
pub(super) const NO_DNS_RECORDS: &str = "service.beta.kubernetes.io/do-loadbalancer-disable-lets-encrypt-dns-records";
pub(super) const PROXY_PROTOCOL: &str = "service.beta.kubernetes.io/do-loadbalancer-enable-proxy-protocol";
pub(super) const KEEPALIVE: &str = "service.beta.kubernetes.io/do-loadbalancer-enable-backend-keepalive";
pub(super) const IDLE_TIMEOUT: &str = "service.beta.kubernetes.io/do-loadbalancer-http-idle-timeout-seconds";
pub(super) const DENY_RULES: &str = "service.beta.kubernetes.io/do-loadbalancer-deny-rules";
pub(super) const ALLOW_RULES: &str = "service.beta.kubernetes.io/do-loadbalancer-allow-rules";

pub(super) const HEALTH_OVERRIDE: &str = "service.beta.kubernetes.io/do-loadbalancer-override-health-check";
pub(super) const HEALTH_PORT: &str = "service.beta.kubernetes.io/do-loadbalancer-healthcheck-port";
pub(super) const HEALTH_PATH: &str = "service.beta.kubernetes.io/do-loadbalancer-healthcheck-path";
pub(super) const HEALTH_PROTOCOL: &str = "service.beta.kubernetes.io/do-loadbalancer-healthcheck-protocol";
pub(super) const HEALTH_INTERVAL: &str =
    "service.beta.kubernetes.io/do-loadbalancer-healthcheck-check-interval-seconds";
pub(super) const HEALTH_TIMEOUT: &str =
    "service.beta.kubernetes.io/do-loadbalancer-healthcheck-response-timeout-seconds";
pub(super) const HEALTH_UNHEALTHY: &str = "service.beta.kubernetes.io/do-loadbalancer-healthcheck-unhealthy-threshold";
pub(super) const HEALTH_HEALTHY: &str = "service.beta.kubernetes.io/do-loadbalancer-healthcheck-healthy-threshold";

/// What may stand in a boolean.
pub(super) const BOOLEAN: &str = "true or false";

/// The most characters of a value that a message shows.
const SHOWN: usize = 120;

/// A Service's annotations.
#[derive(Clone, Copy)]
pub(super) struct Annotations<'a>(pub(super) &'a [(String, String)]);

impl<'a> Annotations<'a> {
    /// Whether it is there at all, empty or not.
    pub(super) fn has(self, key: &str) -> bool {
        self.0.iter().any(|(it, _)| it == key)
    }

    /// Its value, without the white space around it.
    pub(super) fn text(self, key: &str) -> Option<&'a str> {
        let (_, value) = self.0.iter().find(|(it, _)| it == key)?;
        Some(value.trim()).filter(|it| !it.is_empty())
    }

    /// Its value, parsed.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the key, the value, and what may stand there: `allowed` goes on after "is not".
    pub(super) fn parsed<T>(
        self,
        key: &str,
        allowed: &str,
        parse: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(text) = self.text(key) else { return Ok(None) };
        parse(text).map(Some).ok_or_else(|| refused(key, text, allowed))
    }

    /// A boolean; false where it is not there.
    pub(super) fn flag(self, key: &str) -> Result<bool> {
        Ok(self.parsed(key, BOOLEAN, boolean)?.unwrap_or(false))
    }

    /// A number within bounds.
    pub(super) fn number(self, key: &str, bounds: RangeInclusive<u32>) -> Result<Option<u32>> {
        let allowed = format!("a whole number from {} to {}", bounds.start(), bounds.end());
        self.parsed(key, &allowed, |it| it.parse().ok().filter(|it| bounds.contains(it)))
    }

    /// Ports, separated by commas.
    pub(super) fn ports(self, key: &str) -> Result<BTreeSet<u16>> {
        let all = |text: &str| text.split(',').map(|it| port(it.trim())).collect();
        Ok(self.parsed(key, "a list of ports such as 80,8080", all)?.unwrap_or_default())
    }

    /// One port.
    pub(super) fn port(self, key: &str) -> Result<Option<u16>> {
        self.parsed(key, "one port, a whole number from 1 to 65535", port)
    }
}

/// The error for a value that cannot be meant.
pub(super) fn refused(key: &str, value: &str, allowed: &str) -> Error {
    Error::invalid(format_args!("annotation {key}: {} is not {allowed}", shown(value)))
}

/// A value for a message: in quotes, and not longer than anybody reads.
pub(super) fn shown(value: &str) -> String {
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &value[..end]),
        None => format!("{value:?}"),
    }
}

/// A boolean in any of the spellings that the vendor takes.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

fn port(text: &str) -> Option<u16> {
    text.parse().ok().filter(|it| *it != 0)
}
