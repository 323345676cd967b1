//! The parameters of a listener, by its protocol. Pure.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{Error, ExternalTrafficPolicy, LoadBalancer, Result};

use super::annotations as rows;
use super::words::ParameterRow;
use crate::api::listeners::SlbListener;
use crate::api::listeners::SlbProtocol::{self, Http, Https, Tcp, Udp};

/// The port of checks that means the node port.
const NODE_PORT: &str = "-520";

/// Parameters that a listener has to have. What no annotation names is as it is, and the API's choice at first.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct ListenerParameters(Vec<(&'static str, String)>);

/// Protocols that carry packets and bytes, those of HTTP, and those with connections.
const LOWER: [SlbProtocol; 2] = [Tcp, Udp];
const UPPER: [SlbProtocol; 2] = [Http, Https];
const CONNECTED: [SlbProtocol; 3] = [Tcp, Http, Https];

/// A parameter: the protocols whose listeners have it, the annotation, and its name.
type SlbParameter = (&'static [SlbProtocol], &'static dyn ParameterRow, &'static str);

/// All that annotations say of listeners.
const PARAMETERS: [SlbParameter; 34] = [
    (&SlbProtocol::ALL, &rows::SCHEDULER, "Scheduler"),
    (&SlbProtocol::ALL, &rows::ACL_STATUS, "AclStatus"),
    (&SlbProtocol::ALL, &rows::ACL_ID, "AclId"),
    (&SlbProtocol::ALL, &rows::ACL_TYPE, "AclType"),
    (&LOWER, &rows::PROXY_PROTOCOL, "ProxyProtocolV2Enabled"),
    (&[Tcp], &rows::PERSISTENCE_TIMEOUT, "PersistenceTimeout"),
    (&[Tcp], &rows::ESTABLISHED_TIMEOUT, "EstablishedTimeout"),
    (&[Tcp], &rows::DRAIN, "ConnectionDrain"),
    (&[Tcp], &rows::DRAIN_TIMEOUT, "ConnectionDrainTimeout"),
    (&LOWER, &rows::CHECK_SWITCH, "HealthCheckSwitch"),
    (&UPPER, &rows::CHECK_FLAG, "HealthCheck"),
    (&[Tcp], &rows::CHECK_TYPE, "HealthCheckType"),
    (&CONNECTED, &rows::CHECK_PATH, "HealthCheckURI"),
    (&SlbProtocol::ALL, &rows::CHECK_PORT, "HealthCheckConnectPort"),
    (&SlbProtocol::ALL, &rows::HEALTHY, "HealthyThreshold"),
    (&SlbProtocol::ALL, &rows::UNHEALTHY, "UnhealthyThreshold"),
    (&SlbProtocol::ALL, &rows::CHECK_INTERVAL, "HealthCheckInterval"),
    (&LOWER, &rows::CHECK_CONNECT_TIMEOUT, "HealthCheckConnectTimeout"),
    (&UPPER, &rows::CHECK_TIMEOUT, "HealthCheckTimeout"),
    (&CONNECTED, &rows::CHECK_DOMAIN, "HealthCheckDomain"),
    (&CONNECTED, &rows::CHECK_CODES, "HealthCheckHttpCode"),
    (&UPPER, &rows::CHECK_METHOD, "HealthCheckMethod"),
    (&UPPER, &rows::STICKY, "StickySession"),
    (&UPPER, &rows::STICKY_TYPE, "StickySessionType"),
    (&UPPER, &rows::COOKIE, "Cookie"),
    (&UPPER, &rows::COOKIE_TIMEOUT, "CookieTimeout"),
    (&UPPER, &rows::IDLE_TIMEOUT, "IdleTimeout"),
    (&UPPER, &rows::REQUEST_TIMEOUT, "RequestTimeout"),
    (&UPPER, &rows::FORWARDED_PROTO, "XForwardedFor_proto"),
    (&UPPER, &rows::FORWARDED_PORT, "XForwardedFor_SLBPORT"),
    (&UPPER, &rows::FORWARDED_CLIENT_PORT, "XForwardedFor_ClientSrcPort"),
    (&[Https], &rows::CERTIFICATE, "ServerCertificateId"),
    (&[Https], &rows::TLS_POLICY, "TLSCipherPolicy"),
    (&[Https], &rows::HTTP2, "EnableHttp2"),
];

/// Annotations, and what was read of them.
struct ParameterReader<'a> {
    annotations: Annotations<'a>,
    parameters: ListenerParameters,
}

impl ParameterReader<'_> {
    /// Refuses sticky sessions that lack what the API has to know of their cookie.
    fn check_cookies(&self) -> Result<()> {
        let value = |name: &str| self.parameters.value(name);
        match (value("StickySession"), value("StickySessionType")) {
            (Some("on"), None) => self.annotations.get(&rows::STICKY_TYPE).map(drop),
            (Some("on"), Some("insert")) => self.annotations.get(&rows::COOKIE_TIMEOUT).map(drop),
            (Some("on"), Some(_)) => self.annotations.get(&rows::COOKIE).map(drop),
            _ => Ok(()),
        }
    }

    /// Refuses a value that only the other kind of load balancers can have.
    fn refuse(&self, parameter: &str, name: &str, is_allowed: fn(&str) -> bool) -> Result<()> {
        match self.parameters.value(parameter) {
            Some(value) if !is_allowed(value) => Err(Error::invalid(format_args!(
                "annotation {name}: {value:?} is for Network Load Balancers: a Classic one cannot have it"
            ))),
            _ => Ok(()),
        }
    }
}

impl ListenerParameters {
    /// Those of a Service's port with this protocol.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the annotation, its value and the allowed values.
    pub(super) fn of(service: &LoadBalancer, protocol: SlbProtocol) -> Result<Self> {
        let annotations = Annotations::of(service);
        let mut reader = ParameterReader { annotations, parameters: Self::default() };
        for (_, row, parameter) in PARAMETERS.iter().filter(|(protocols, ..)| protocols.contains(&protocol)) {
            reader.parameters.0.extend(row.word(annotations)?.map(|it| (*parameter, it)));
        }
        reader.refuse("HealthCheckType", rows::CHECK_TYPE.name, |it| it != "udp")?;
        reader.check_cookies()?;
        reader.refuse("IdleTimeout", rows::IDLE_TIMEOUT.name, |it| it.parse::<u16>().is_ok_and(|it| it <= 60))?;
        reader.refuse("ServerCertificateId", rows::CERTIFICATE.name, |it| !it.contains(','))?;
        let mut parameters = reader.parameters;
        if let ExternalTrafficPolicy::Local(port) = service.external_traffic_policy
            && parameters.leaves_checks()
        {
            parameters.check_at(protocol, port);
        }
        parameters.drop_idle(protocol);
        Ok(parameters)
    }

    /// The same with a list of access, or without one of ours that stands there, where no annotation says who comes in.
    pub(super) fn with_access(&self, list: Option<&str>, live: Option<&SlbListener>, ours: &[String]) -> Self {
        let mut parameters = self.clone();
        if ["AclStatus", "AclId", "AclType"].iter().any(|it| self.value(it).is_some()) {
            return parameters;
        }
        let has_ours = live.is_some_and(|live| {
            live.value("AclStatus").as_deref() == Some("on") && live.value("AclId").is_some_and(|id| ours.contains(&id))
        });
        match list {
            Some(id) => {
                let on = [("AclId", id), ("AclStatus", "on"), ("AclType", "white")];
                parameters.0.extend(on.map(|(name, value)| (name, value.to_owned())));
            }
            None if has_ours => parameters.0.push(("AclStatus", "off".to_owned())),
            None => {}
        }
        parameters
    }

    /// Whether no annotation says what is checked.
    fn leaves_checks(&self) -> bool {
        ["HealthCheckSwitch", "HealthCheck", "HealthCheckType", "HealthCheckURI", "HealthCheckConnectPort"]
            .iter()
            .all(|it| self.value(it).is_none())
    }

    /// Checks that ask a node whether it has a pod: none for udp, which has no such checks.
    fn check_at(&mut self, protocol: SlbProtocol, port: u16) {
        match protocol {
            Udp => return,
            Tcp => self.0.push(("HealthCheckType", "http".to_owned())),
            Http | Https => self.0.push(("HealthCheck", "on".to_owned())),
        }
        self.0.push(("HealthCheckURI", LoadBalancer::HEALTH_CHECK_PATH.to_owned()));
        self.0.push(("HealthCheckConnectPort", port.to_string()));
    }

    /// Takes away what counts only beside something that is off: the cloud does not show it then, and it would be written again and again.
    fn drop_idle(&mut self, protocol: SlbProtocol) {
        let is = |name: &str, value: &str| self.value(name) == Some(value);
        let is_sticky = is("StickySession", "on");
        let is_unchecked = match protocol {
            Tcp | Udp => is("HealthCheckSwitch", "off"),
            Http | Https => !is("HealthCheck", "on"),
        };
        let is_idle = |name: &str| match name {
            "AclId" | "AclType" => is("AclStatus", "off"),
            "ConnectionDrainTimeout" => is("ConnectionDrain", "off"),
            "StickySessionType" => !is_sticky,
            "Cookie" => !is_sticky || is("StickySessionType", "insert"),
            "CookieTimeout" => !is_sticky || is("StickySessionType", "server"),
            "HealthCheck" | "HealthCheckSwitch" => false,
            "HealthCheckURI" | "HealthCheckDomain" | "HealthCheckHttpCode" if is("HealthCheckType", "tcp") => true,
            "HealthyThreshold" | "UnhealthyThreshold" => is_unchecked,
            name => is_unchecked && name.starts_with("HealthCheck"),
        };
        let idle: Vec<&'static str> = self.0.iter().map(|(name, _)| *name).filter(|it| is_idle(it)).collect();
        self.0.retain(|(name, _)| !idle.contains(name));
    }

    /// The value of a parameter.
    pub(super) fn value(&self, parameter: &str) -> Option<&str> {
        self.0.iter().find(|(it, _)| *it == parameter).map(|(_, value)| value.as_str())
    }

    /// The parameters of the request that makes the listener: those without which it is none, with the values of the vendor's controller.
    pub(super) fn at_creation(&self, protocol: SlbProtocol) -> Vec<(&'static str, &str)> {
        let usual: &[(&str, &str)] = match protocol {
            Tcp | Udp => &[("Bandwidth", "-1"), ("Scheduler", "rr")],
            Http => &[("HealthCheck", "off"), ("Scheduler", "rr"), ("StickySession", "off")],
            Https => &[("Bandwidth", "-1"), ("HealthCheck", "off"), ("Scheduler", "rr"), ("StickySession", "off")],
        };
        let usual = usual.iter().copied().filter(|(name, _)| self.value(name).is_none());
        usual.chain(self.all()).map(|(name, value)| (name_at_creation(name, protocol), value)).collect()
    }

    /// The parameters of the request that changes a listener; `None` if it has them all.
    pub(super) fn for_change<'a>(&'a self, live: &SlbListener, is_local: bool) -> Option<Vec<(&'static str, &'a str)>> {
        let back = if !is_local && self.leaves_checks() { checks_of_cluster(live) } else { &[] };
        let is_same = self.all().all(|(name, value)| live.value(name).as_deref() == Some(value));
        (!is_same || !back.is_empty()).then(|| self.all().chain(back.iter().copied()).collect())
    }

    /// All of them: names and values.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }
}

/// The parameters that take back the checks of externalTrafficPolicy Local, if a listener has these.
fn checks_of_cluster(live: &SlbListener) -> &'static [(&'static str, &'static str)] {
    let is = |name: &str, value: &str| live.value(name).as_deref() == Some(value);
    let is_local = is("HealthCheckURI", LoadBalancer::HEALTH_CHECK_PATH) && !is("HealthCheckConnectPort", NODE_PORT);
    match live.protocol {
        Tcp if is_local && is("HealthCheckType", "http") => {
            &[("HealthCheckType", "tcp"), ("HealthCheckConnectPort", NODE_PORT)]
        }
        Http | Https if is_local && is("HealthCheck", "on") => &[("HealthCheck", "off")],
        _ => &[],
    }
}

/// Two actions spell one name in their own way.
fn name_at_creation(name: &'static str, protocol: SlbProtocol) -> &'static str {
    match protocol {
        Tcp | Udp if name == "HealthCheckInterval" => "healthCheckInterval",
        _ => name,
    }
}
