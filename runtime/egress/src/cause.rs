//! Causes for which a place is not reached: in plain words, with the key of the config to look at. Pure.

use std::io;

use rustls::CertificateError;

use crate::catalog::CatalogFault;
use crate::destination::Destination;

/// A cause, and where on the way it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct WayCause {
    pub(crate) at: Stop,
    pub(crate) kind: CauseKind,
}

/// The stops of a connection, in their order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Stop {
    /// The proxy, where there is one.
    Proxy,
    /// The place itself.
    Place,
}

/// The kinds of causes, by what a person does about them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum CauseKind {
    /// DNS does not know the name.
    UnknownName,
    /// DNS does not answer.
    SilentDns,
    /// The connection is refused.
    Refused,
    /// No packet comes back: a firewall may drop.
    Dropped,
    /// The network has no way there.
    NoRoute,
    /// The certificate is not accepted.
    Certificate(BadCertificate),
    /// There is no TLS, or no common one.
    Tls,
    /// The proxy answers, and opens no connection: its sentence has the next step.
    ProxyRefuses(String),
    /// The catalogue of the credential does not lead there: its sentences are the cause and the next step.
    Catalog(CatalogFault),
    /// There is a connection, and nothing comes over it.
    Silent,
    /// The connection ends early, or otherwise fails.
    Broken,
}

/// Why a certificate is not accepted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BadCertificate {
    /// Its authority is not among the trusted ones.
    UnknownAuthority,
    /// Its time is over.
    Expired,
    /// Its time has not begun.
    NotYetValid,
    /// It was given for other names.
    OtherName,
    /// Anything else.
    Other,
}

/// A stage that took longer than it may.
#[derive(Debug, thiserror::Error)]
#[error("no {stage} within {limit:?}")]
pub(crate) struct Late {
    pub(crate) stage: DialStage,
    limit: std::time::Duration,
}

/// The stages of a connection that have a limit each.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum DialStage {
    Tcp,
    Handshake,
    ProxyAnswer,
}

/// A proxy's answer that opens nothing, as a sentence with the cause and the next step.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ProxyRefusal(pub(crate) String);

impl Late {
    /// The error of a stage that took longer than `limit`.
    pub(crate) fn error(stage: DialStage, limit: std::time::Duration) -> io::Error {
        io::Error::new(io::ErrorKind::TimedOut, Self { stage, limit })
    }
}

impl std::fmt::Display for DialStage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Tcp => "connection",
            Self::Handshake => "TLS handshake",
            Self::ProxyAnswer => "answer of the proxy",
        })
    }
}

impl WayCause {
    pub(crate) fn new(at: Stop, kind: CauseKind) -> Self {
        Self { at, kind }
    }

    /// The cause behind an error of a connection at a stop.
    pub(crate) fn of(at: Stop, error: &io::Error) -> Self {
        Self { at, kind: CauseKind::of(error) }
    }

    /// One of several, each met at another address: a missing route to some of them, as those of IPv6, says least.
    pub(crate) fn most_telling(several: Vec<Self>) -> Option<Self> {
        let is_telling = |it: &&Self| it.kind != CauseKind::NoRoute;
        several.iter().find(is_telling).or(several.first()).cloned()
    }

    /// One word for metrics and health.
    pub(crate) fn word(&self) -> &'static str {
        match &self.kind {
            _ if self.at == Stop::Proxy => "proxy",
            CauseKind::UnknownName | CauseKind::SilentDns => "dns",
            CauseKind::Refused => "refused",
            CauseKind::Dropped => "timeout",
            CauseKind::NoRoute => "route",
            CauseKind::Certificate(_) | CauseKind::Tls => "tls",
            CauseKind::ProxyRefuses(_) => "proxy",
            CauseKind::Catalog(_) => "catalog",
            CauseKind::Silent => "silent",
            CauseKind::Broken => "broken",
        }
    }

    /// The cause and the next step, on the way to `destination`. `last` is what the last attempt ended with.
    pub(crate) fn sentence(&self, destination: &Destination, last: Option<&str>) -> String {
        let Destination { name, origin, .. } = destination;
        if let CauseKind::Catalog(CatalogFault { cause, next }) = &self.kind {
            return format!("{name} cannot be reached: {cause}. Next step: {next} (--cloud-config, {name})");
        }
        let place = origin.authority_with_port();
        let (cause, next) = (self.words(destination), self.next(destination));
        let last = last.map_or_else(String::new, |it| format!(". The last attempt: {it}"));
        format!("{name} ({place}) cannot be reached: {cause}. Next step: {next}{last}")
    }

    /// Host and port of the stop.
    fn stop(&self, destination: &Destination) -> String {
        match (self.at, &destination.proxy) {
            (Stop::Proxy, Some(proxy)) => format!("the proxy {}", proxy.url),
            (Stop::Proxy | Stop::Place, _) => destination.origin.authority_with_port().to_string(),
        }
    }

    fn words(&self, destination: &Destination) -> String {
        let stop = self.stop(destination);
        match &self.kind {
            CauseKind::UnknownName => format!("DNS does not know the name of {stop}"),
            CauseKind::SilentDns => format!("DNS gives no answer about the name of {stop}"),
            CauseKind::Refused => {
                format!("the connection to {stop} is refused; nothing listens there, or a firewall refuses")
            }
            CauseKind::Dropped => format!("nothing comes back from {stop}; a firewall may drop what is sent"),
            CauseKind::NoRoute => format!("the network has no route to {stop}"),
            CauseKind::Certificate(why) => {
                let why = match why {
                    BadCertificate::UnknownAuthority => "comes from an authority that is not trusted",
                    BadCertificate::Expired => "has expired",
                    BadCertificate::NotYetValid => "is not valid yet",
                    BadCertificate::OtherName => "is for other names",
                    BadCertificate::Other => "is not accepted",
                };
                format!("TLS: the certificate of {stop} {why}")
            }
            CauseKind::Tls => format!("TLS: the handshake with {stop} fails"),
            CauseKind::ProxyRefuses(sentence) => format!("{stop}: {sentence}"),
            CauseKind::Catalog(fault) => fault.cause.clone(),
            CauseKind::Silent => format!("{stop} takes the connection and does not answer"),
            CauseKind::Broken => format!("the connection to {stop} breaks off"),
        }
    }

    /// The next step, with the key of `--cloud-config` that it may take.
    fn next(&self, destination: &Destination) -> String {
        let (stop, name) = (self.stop(destination), &destination.name);
        let (url, ca_file) = match (self.at, destination.is_key_source) {
            (Stop::Proxy, _) => ("proxy.url", "proxy.tls.caFile"),
            (Stop::Place, false) => ("baseUrl", "tls.caFile"),
            (Stop::Place, true) => ("url", "tls.caFile"),
        };
        let other_way = match (&destination.proxy, destination.is_key_source) {
            (None, false) => format!("; if a proxy leads outside, name it as `proxy` of {name}"),
            _ => String::new(),
        };
        match &self.kind {
            CauseKind::UnknownName => {
                format!(
                    "correct `{url}` of {name} in --cloud-config, or the DNS of this Pod (dnsPolicy, dnsConfig){other_way}"
                )
            }
            CauseKind::SilentDns => {
                format!(
                    "let this Pod reach its DNS servers (dnsPolicy, dnsConfig, network policies, firewalls){other_way}"
                )
            }
            CauseKind::Refused => {
                format!("correct `{url}` of {name} in --cloud-config, or let connections to {stop} pass{other_way}")
            }
            CauseKind::Dropped => format!(
                "let connections to {stop} pass in firewalls, security groups and network policies, or correct `{url}` of {name} in \
                 --cloud-config{other_way}"
            ),
            CauseKind::NoRoute => {
                format!("give this node a route to {stop}, or correct `{url}` of {name} in --cloud-config{other_way}")
            }
            CauseKind::Certificate(BadCertificate::UnknownAuthority) => format!(
                "name a file with the authority's certificate as `{ca_file}` of {name} in --cloud-config, or correct that file"
            ),
            CauseKind::Certificate(BadCertificate::Expired | BadCertificate::NotYetValid) => {
                format!("renew the certificate of {stop}, or correct the clock of this node")
            }
            CauseKind::Certificate(BadCertificate::OtherName) => {
                format!("write a name that the certificate has in `{url}` of {name} in --cloud-config")
            }
            CauseKind::Certificate(BadCertificate::Other) | CauseKind::Tls => {
                format!(
                    "look whether {stop} speaks TLS 1.2 or 1.3, and correct `{url}` of {name} in --cloud-config if not"
                )
            }
            CauseKind::ProxyRefuses(_) => {
                format!("correct `proxy` of {name} in --cloud-config, or the proxy's own configuration")
            }
            CauseKind::Catalog(fault) => fault.next.clone(),
            CauseKind::Silent | CauseKind::Broken => {
                format!("look at the cloud's page about its state, and at what is between this node and {stop}")
            }
        }
    }
}

impl CauseKind {
    /// The kind for a name that did not resolve: the words of the C library alone tell whether its servers said so.
    pub(crate) fn of_lookup(error: &io::Error) -> Self {
        let text = error.to_string();
        let is_silent = ["Temporary failure", "Try again"].iter().any(|it| text.contains(it));
        if is_silent { Self::SilentDns } else { Self::UnknownName }
    }

    fn of(error: &io::Error) -> Self {
        if let Some(kind) = error.get_ref().and_then(Self::of_own) {
            return kind;
        }
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::TimedOut => Self::Dropped,
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Self::NoRoute,
            _ => Self::Broken,
        }
    }

    /// The kind of an error that is not the operating system's.
    fn of_own(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Option<Self> {
        if let Some(Late { stage, .. }) = error.downcast_ref() {
            return Some(match stage {
                DialStage::Tcp => Self::Dropped,
                DialStage::Handshake | DialStage::ProxyAnswer => Self::Silent,
            });
        }
        if let Some(ProxyRefusal(sentence)) = error.downcast_ref() {
            return Some(Self::ProxyRefuses(sentence.clone()));
        }
        Some(match error.downcast_ref()? {
            rustls::Error::InvalidCertificate(why) => Self::Certificate(BadCertificate::of(why)),
            _ => Self::Tls,
        })
    }
}

impl BadCertificate {
    fn of(error: &CertificateError) -> Self {
        match error {
            CertificateError::UnknownIssuer => Self::UnknownAuthority,
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Self::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Self::NotYetValid,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => Self::OtherName,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::addresses::AllowedAddresses;
    use crate::proxy::{Proxy, ProxyUrl};
    use crate::testing;

    fn destination(proxy: Option<&str>) -> Destination {
        let proxy = proxy.map(|url| Proxy {
            url: ProxyUrl::parse(url).unwrap(),
            addresses: AllowedAddresses::Public,
            ca_file: None,
            login: None,
        });
        Destination { proxy, ..Destination::from(&testing::endpoint("https://api.example.com")) }
    }

    fn certificate(error: CertificateError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, rustls::Error::InvalidCertificate(error))
    }

    #[test]
    fn an_cause_names_place_cause_and_key() {
        let late = |stage| Late::error(stage, Duration::from_secs(5));
        let direct = destination(None);
        for (error, word, parts) in [
            (
                io::Error::from(io::ErrorKind::ConnectionRefused),
                "refused",
                ["is refused", "correct `baseUrl` of endpoint api"],
            ),
            (late(DialStage::Tcp), "timeout", ["a firewall may drop", "let connections to api.example.com:443 pass"]),
            (io::ErrorKind::NetworkUnreachable.into(), "route", ["no route to api.example.com:443", "`proxy`"]),
            (
                certificate(CertificateError::UnknownIssuer),
                "tls",
                ["the certificate of api.example.com:443 comes from an authority that is not trusted", "`tls.caFile`"],
            ),
            (certificate(CertificateError::Expired), "tls", ["has expired", "renew the certificate"]),
            (certificate(CertificateError::NotValidForName), "tls", ["is for other names", "in `baseUrl`"]),
            (certificate(CertificateError::BadSignature), "tls", ["is not accepted", "speaks TLS"]),
            (
                io::Error::new(io::ErrorKind::InvalidData, rustls::Error::DecryptError),
                "tls",
                ["the handshake with", "`baseUrl`"],
            ),
            (late(DialStage::Handshake), "silent", ["does not answer", "between this node and"]),
            (io::ErrorKind::ConnectionReset.into(), "broken", ["breaks off", "between this node and"]),
        ] {
            let cause = WayCause::of(Stop::Place, &error);
            let text = cause.sentence(&direct, Some("it failed"));
            assert_eq!(cause.word(), word, "{text}");
            assert!(text.starts_with("endpoint api (api.example.com:443) cannot be reached: "), "{text}");
            assert!(
                text.ends_with(". The last attempt: it failed") && parts.iter().all(|it| text.contains(it)),
                "{text}"
            );
        }
    }

    #[test]
    fn an_cause_at_a_proxy_names_the_proxy() {
        let behind = destination(Some("https://proxy.example.com:3129"));
        let says = |error| WayCause::of(Stop::Proxy, &error).sentence(&behind, None);
        let refusal = || io::Error::other(ProxyRefusal("the proxy asks for a login (407)".to_owned()));
        for (text, parts) in [
            (says(refusal()), ["the proxy https://proxy.example.com:3129: the proxy asks for a login", "`proxy`"]),
            (
                says(io::ErrorKind::ConnectionRefused.into()),
                ["the proxy https://proxy.example.com:3129 is", "`proxy.url`"],
            ),
            (says(certificate(CertificateError::UnknownIssuer)), ["of the proxy https:", "`proxy.tls.caFile`"]),
        ] {
            assert!(text.starts_with("endpoint api (api.example.com:443) cannot be reached: "), "{text}");
            assert!(parts.iter().all(|it| text.contains(it)), "{text}");
        }
        assert_eq!(WayCause::of(Stop::Proxy, &io::ErrorKind::ConnectionRefused.into()).word(), "proxy");
    }

    #[test]
    fn an_address_without_a_route_says_least() {
        let kinds = |kinds: &[CauseKind]| {
            let all = kinds.iter().map(|it| WayCause::new(Stop::Place, it.clone())).collect();
            WayCause::most_telling(all).map(|it| it.kind)
        };
        assert_eq!(kinds(&[CauseKind::NoRoute, CauseKind::Refused]), Some(CauseKind::Refused));
        assert_eq!(kinds(&[CauseKind::NoRoute]), Some(CauseKind::NoRoute));
        assert_eq!(kinds(&[]), None);
    }
}
