//! The ports of a load balancer and their health checks. What nothing is said about stays as it is.

use aerostat_sdk::annotations::{Annotations, refused};
use aerostat_sdk::form::Form as _;
use aerostat_sdk::{
    Error, ExternalTrafficPolicy, LoadBalancer, Port, Protocol as Carried, Result, SortedMap, SortedSet,
};

use super::annotations::{
    COOKIE_LIFETIME, COOKIE_NAME, HEALTH_CODES, HEALTH_DOMAIN, HEALTH_INTERVAL, HEALTH_PATH, HEALTH_PORT,
    HEALTH_PROTOCOL, HEALTH_RETRIES, HEALTH_TIMEOUT, HEALTH_TLS, HTTP_CERTIFICATES, HetznerReading, PORT_PROTOCOL,
    PREFIX, PROTOCOL, PROXY_PROTOCOL, REDIRECT, STICKY_SESSIONS, TIMEOUT_IDLE,
};
use crate::api::load_balancers::{
    HealthCheck, HealthHttp, HealthProtocol, Http, LoadBalancer as Live, Protocol, Service,
};
use crate::settings::BalancerSettings as Settings;

/// The annotations of which any makes a health check more than whether a node port is open. So does any setting about it.
const ABOUT_HEALTH: [&str; 9] = [
    HEALTH_PROTOCOL.name,
    HEALTH_PORT.name,
    HEALTH_INTERVAL.name,
    HEALTH_TIMEOUT.name,
    HEALTH_RETRIES.name,
    HEALTH_DOMAIN.name,
    HEALTH_PATH.name,
    HEALTH_TLS.name,
    HEALTH_CODES.name,
];

/// The ports of a Service's load balancer by the port that clients dial.
///
/// # Errors
///
/// `invalid`, naming what cannot be: a wrong value, a port without a node port, HTTPS without a certificate, no port at all.
pub(super) fn services(
    service: &LoadBalancer,
    annotations: &mut HetznerReading<'_>,
    settings: &Settings,
    certificates: Option<&SortedSet<u64>>,
    as_the_vendor: bool,
) -> Result<SortedMap<u16, Service>> {
    let all = annotations.take(&PROTOCOL).unwrap_or(Protocol::Tcp);
    let http = http(annotations, certificates);
    let health = HealthAnnotations::of(service, annotations, settings, as_the_vendor);
    let proxy = annotations.take(&PROXY_PROTOCOL).or(settings.proxy_protocol);
    annotations.check()?;
    let mut services = SortedMap::new();
    for port in &service.ports {
        let number = port.port;
        if port.protocol != Carried::Tcp {
            let protocol = port.protocol.as_str();
            let why =
                format!("port {number} is {protocol}: the cloud's load balancers carry TCP alone, and it is left out");
            annotations.warnings.add("UnsupportedProtocolConfigured", why);
            continue;
        }
        let protocol = of_port(annotations.annotations, number)?.unwrap_or(all);
        let shown = shown(annotations.live, number);
        let made = one(port, protocol, &http, &health, proxy, shown)?;
        services.insert(number, made);
    }
    if services.is_empty() {
        return Err(Error::invalid("the Service has no TCP port: the cloud's load balancers carry nothing else"));
    }
    redirects_take_port_80(&services)?;
    Ok(services)
}

/// Whether any port speaks HTTPS.
///
/// # Errors
///
/// `invalid`, naming the annotation and its value.
pub(super) fn speaks_https(service: &LoadBalancer, annotations: &mut HetznerReading<'_>) -> Result<bool> {
    let all = annotations.read(&PROTOCOL)?.unwrap_or(Protocol::Tcp);
    let ports = service.ports.iter().filter(|it| it.protocol == Carried::Tcp);
    let protocols = ports.map(|it| Ok(of_port(annotations.annotations, it.port)?.unwrap_or(all)));
    Ok(protocols.collect::<Result<Vec<_>>>()?.contains(&Protocol::Https))
}

/// The same port of the load balancer as it is.
pub(super) fn shown(live: Option<&Live>, number: u16) -> Option<&Service> {
    live?.services.iter().find(|it| it.listen_port == number)
}

/// The protocol of one port, as the annotation says it.
fn of_port(annotations: Annotations<'_>, number: u16) -> Result<Option<Protocol>> {
    let key = format!("{PREFIX}protocol.{number}");
    let Some(text) = annotations.text(&key) else { return Ok(None) };
    let allowed = || refused(&key, text, &PORT_PROTOCOL.allowed());
    PORT_PROTOCOL.form.parse(text).map(Some).ok_or_else(allowed)
}

fn one(
    port: &Port,
    protocol: Protocol,
    http: &Http,
    health: &HealthAnnotations,
    proxy: Option<bool>,
    shown: Option<&Service>,
) -> Result<Service> {
    let node_port = port.required_node_port()?;
    let is_https = protocol == Protocol::Https;
    let kept = shown.and_then(|it| it.http.clone()).unwrap_or_default();
    let http = (protocol != Protocol::Tcp).then(|| Http {
        cookie_name: http.cookie_name.clone().or(kept.cookie_name),
        cookie_lifetime: http.cookie_lifetime.or(kept.cookie_lifetime),
        certificates: http.certificates.clone().or(kept.certificates).filter(|_| is_https),
        redirect_http: http.redirect_http.or(kept.redirect_http).filter(|_| is_https),
        sticky_sessions: http.sticky_sessions.or(kept.sticky_sessions),
        timeout_idle: http.timeout_idle.or(kept.timeout_idle),
    });
    if is_https && http.as_ref().and_then(|it| it.certificates.as_ref()).is_none_or(SortedSet::is_empty) {
        return Err(Error::invalid(format_args!(
            "port {} speaks HTTPS and has no certificate: set annotation {}",
            port.port, HTTP_CERTIFICATES.name
        )));
    }
    Ok(Service {
        protocol,
        listen_port: port.port,
        destination_port: node_port,
        proxyprotocol: proxy.or(shown.map(|it| it.proxyprotocol)).unwrap_or(false),
        http,
        health_check: health.check(node_port, protocol, shown.map(|it| &it.health_check)),
    })
}

fn http(annotations: &mut HetznerReading<'_>, certificates: Option<&SortedSet<u64>>) -> Http {
    Http {
        cookie_name: annotations.take(&COOKIE_NAME).map(str::to_owned),
        cookie_lifetime: annotations.take(&COOKIE_LIFETIME),
        certificates: certificates.cloned(),
        redirect_http: annotations.take(&REDIRECT),
        sticky_sessions: annotations.take(&STICKY_SESSIONS),
        timeout_idle: annotations.take(&TIMEOUT_IDLE),
    }
}

fn redirects_take_port_80(services: &SortedMap<u16, Service>) -> Result<()> {
    let redirects = |it: &Service| it.http.as_ref().is_some_and(|it| it.redirect_http == Some(true));
    if services.contains_key(&80) && services.values().any(redirects) {
        return Err(Error::invalid(format_args!(
            "annotation {}: port 80 is a port of the Service, and cannot be redirected as well",
            REDIRECT.name
        )));
    }
    Ok(())
}

/// Annotations about health checks.
struct HealthAnnotations {
    /// Where the Service's local pods are asked for, if anything.
    local: Option<u16>,
    /// Whether any annotation or setting is about them.
    is_said: bool,
    protocol: Option<Protocol>,
    port: Option<u16>,
    interval: Option<u32>,
    timeout: Option<u32>,
    retries: Option<u32>,
    domain: Option<String>,
    path: Option<String>,
    tls: Option<bool>,
    codes: Option<Vec<String>>,
}

impl HealthAnnotations {
    fn of(
        service: &LoadBalancer,
        annotations: &mut HetznerReading<'_>,
        settings: &Settings,
        as_the_vendor: bool,
    ) -> Self {
        let local = match service.external_traffic_policy {
            ExternalTrafficPolicy::Local(port) if port > 0 && !as_the_vendor => Some(port),
            ExternalTrafficPolicy::Local(_) | ExternalTrafficPolicy::Cluster => None,
        };
        let is_annotated = ABOUT_HEALTH.iter().any(|it| annotations.annotations.text(it).is_some());
        let is_set =
            [settings.health_interval, settings.health_timeout, settings.health_retries].iter().any(Option::is_some);
        Self {
            local,
            is_said: is_annotated || is_set,
            protocol: annotations.take(&HEALTH_PROTOCOL),
            port: annotations.take(&HEALTH_PORT),
            interval: annotations.take(&HEALTH_INTERVAL).or(settings.health_interval),
            timeout: annotations.take(&HEALTH_TIMEOUT).or(settings.health_timeout),
            retries: annotations.take(&HEALTH_RETRIES).or(settings.health_retries),
            domain: annotations.take(&HEALTH_DOMAIN).map(str::to_owned),
            path: annotations.take(&HEALTH_PATH),
            tls: annotations.take(&HEALTH_TLS),
            codes: annotations.take(&HEALTH_CODES),
        }
    }

    fn check(&self, node_port: u16, of_port: Protocol, shown: Option<&HealthCheck>) -> HealthCheck {
        let asks_pods = self.local.filter(|_| self.protocol.is_none() && self.port.is_none());
        let plain = if self.is_said { of_port } else { Protocol::Tcp };
        let said = self.protocol.unwrap_or(plain);
        let (protocol, port) = match (asks_pods, said) {
            (Some(port), _) => (HealthProtocol::Http, port),
            (None, Protocol::Http | Protocol::Https) => (HealthProtocol::Http, self.port.unwrap_or(node_port)),
            (None, Protocol::Tcp | Protocol::Other) => (HealthProtocol::Tcp, self.port.unwrap_or(node_port)),
        };
        let http = (protocol == HealthProtocol::Http).then(|| match asks_pods {
            Some(_) => self.of_pods(),
            None => self.http(said, shown.and_then(|it| it.http.clone()).unwrap_or_default()),
        });
        HealthCheck {
            protocol,
            port,
            interval: self.interval.or(shown.map(|it| it.interval)).unwrap_or(15),
            timeout: self.timeout.or(shown.map(|it| it.timeout)).unwrap_or(10),
            retries: self.retries.or(shown.map(|it| it.retries)).unwrap_or(3),
            http,
        }
    }

    /// kube-proxy says there whether the node has pods of the Service.
    fn of_pods(&self) -> HealthHttp {
        HealthHttp {
            domain: self.domain.clone(),
            path: self.path.clone().unwrap_or_else(|| LoadBalancer::HEALTH_CHECK_PATH.to_owned()),
            response: None,
            status_codes: Some(self.codes.clone().unwrap_or_else(|| vec!["200".to_owned()])),
            tls: Some(self.tls.unwrap_or(false)),
        }
    }

    fn http(&self, said: Protocol, kept: HealthHttp) -> HealthHttp {
        let asks_tls = (self.protocol == Some(Protocol::Https) && said == Protocol::Https).then_some(true);
        let path = self.path.clone().unwrap_or(kept.path);
        HealthHttp {
            domain: self.domain.clone().or(kept.domain),
            path: if path.is_empty() { "/".to_owned() } else { path },
            response: kept.response,
            status_codes: self.codes.clone().or(kept.status_codes),
            tls: self.tls.or(asks_tls).or(kept.tls),
        }
    }
}
