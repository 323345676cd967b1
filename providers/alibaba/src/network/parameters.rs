//! The parameters of groups and listeners. Pure.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{ExternalTrafficPolicy, LoadBalancer, Result};

use super::annotations as own;
use crate::api::network_groups::NlbGroup;
use crate::api::network_listeners::{NlbProtocol, PROXY_FIELDS, proxy_fields};
use crate::load_balancer::annotations as rows;
use crate::load_balancer::words::ParameterRow;
use Spelling::{Each, Flag, Same, Upper};

/// The port of checks that means the node port.
const NODE_PORT: &str = "0";
/// The parameters that say what is checked.
const CHECKS: [&str; 4] = [
    "HealthCheckConfig.HealthCheckEnabled",
    "HealthCheckConfig.HealthCheckType",
    "HealthCheckConfig.HealthCheckUrl",
    "HealthCheckConfig.HealthCheckConnectPort",
];

/// The way in which a request writes a value.
#[derive(Clone, Copy, Debug)]
enum Spelling {
    Same,
    Upper,
    /// `on` as `true`.
    Flag,
    /// Words with commas between them as a list.
    Each,
}

/// A parameter: the annotation, its name, and how it is written.
type NlbParameter = (&'static dyn ParameterRow, &'static str, Spelling);

/// Those of listeners.
const LISTENING: [NlbParameter; 3] = [
    (&rows::IDLE_TIMEOUT, "IdleTimeout", Same),
    (&own::CPS, "Cps", Same),
    (&rows::PROXY_PROTOCOL, "ProxyProtocolEnabled", Same),
];
/// Those of listeners with tcpssl.
const WITH_TLS: [NlbParameter; 4] = [
    (&rows::TLS_POLICY, "SecurityPolicyId", Same),
    (&own::CA, "CaEnabled", Same),
    (&own::ALPN, "AlpnEnabled", Same),
    (&own::ALPN_POLICY, "AlpnPolicy", Same),
];
/// Those of groups.
const SENDING: [NlbParameter; 15] = [
    (&rows::SCHEDULER, "Scheduler", Same),
    (&rows::DRAIN, "ConnectionDrainEnabled", Flag),
    (&rows::DRAIN_TIMEOUT, "ConnectionDrainTimeout", Same),
    (&own::PRESERVE_CLIENT, "PreserveClientIpEnabled", Same),
    (&rows::CHECK_FLAG, CHECKS[0], Flag),
    (&rows::CHECK_TYPE, CHECKS[1], Upper),
    (&rows::CHECK_PATH, CHECKS[2], Same),
    (&rows::CHECK_PORT, CHECKS[3], Same),
    (&rows::HEALTHY, "HealthCheckConfig.HealthyThreshold", Same),
    (&rows::UNHEALTHY, "HealthCheckConfig.UnhealthyThreshold", Same),
    (&rows::CHECK_INTERVAL, "HealthCheckConfig.HealthCheckInterval", Same),
    (&rows::CHECK_CONNECT_TIMEOUT, "HealthCheckConfig.HealthCheckConnectTimeout", Same),
    (&rows::CHECK_DOMAIN, "HealthCheckConfig.HealthCheckDomain", Same),
    (&rows::CHECK_METHOD, "HealthCheckConfig.HttpCheckMethod", Upper),
    (&rows::CHECK_CODES, "HealthCheckConfig.HealthCheckHttpCode", Each),
];

/// Parameters that a part has to have. What no annotation names is as it is, and the API's choice at first.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct NlbParameters(Vec<(String, String)>);

impl NlbParameters {
    fn add(&mut self, name: &str, value: &str) {
        self.0.push((name.to_owned(), value.to_owned()));
    }

    fn add_all<'v>(&mut self, name: &str, values: impl Iterator<Item = &'v str>) {
        self.0.extend((1..).zip(values).map(|(number, it): (usize, _)| (format!("{name}.{number}"), it.to_owned())));
    }

    /// Adds what annotations say for these rows.
    fn read(&mut self, annotations: Annotations<'_>, table: &[NlbParameter]) -> Result<()> {
        for (row, name, spelling) in table {
            let Some(word) = row.word(annotations)? else { continue };
            match spelling {
                Spelling::Same => self.add(name, &word),
                Spelling::Upper => self.add(name, &word.to_ascii_uppercase()),
                Spelling::Flag => self.add(name, if word == "on" { "true" } else { "false" }),
                Spelling::Each => self.add_all(name, word.split(',').filter(|it| !it.is_empty())),
            }
        }
        Ok(())
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// Those of a listener with this protocol.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the annotation, its value and the allowed values.
    pub(super) fn of_listener(annotations: Annotations<'_>, protocol: NlbProtocol) -> Result<Self> {
        let mut parameters = Self::default();
        parameters.read(annotations, &LISTENING)?;
        let links = [&own::LINK_ENDPOINT, &own::LINK_SERVICE, &own::LINK_NETWORK].map(|it| annotations.read(it));
        let [endpoint, service, network] = links;
        let links = [endpoint?, service?, network?];
        if parameters.value("ProxyProtocolEnabled") == Some("true") && links.iter().any(Option::is_some) {
            parameters.add(PROXY_FIELDS, &proxy_fields(links.map(|it| it == Some("true"))));
        }
        if protocol == NlbProtocol::TcpSsl {
            parameters.read(annotations, &WITH_TLS)?;
            if parameters.value("AlpnEnabled") == Some("false") {
                parameters.0.retain(|(name, _)| name != "AlpnPolicy");
            }
            for (name, key) in [("CertificateIds", &own::CERTIFICATES), ("CaCertificateIds", &own::CA_CERTIFICATES)] {
                let ids = annotations.read(key)?.unwrap_or_default();
                parameters.add_all(name, ids.iter().map(String::as_str));
            }
        }
        Ok(parameters)
    }

    /// Those of a group with this protocol.
    ///
    /// # Errors
    ///
    /// As [`Self::of_listener`].
    pub(super) fn of_group(service: &LoadBalancer, protocol: NlbProtocol) -> Result<Self> {
        let mut parameters = Self::default();
        parameters.read(Annotations::of(service), &SENDING)?;
        if protocol != NlbProtocol::Udp {
            parameters.0.retain(|(name, value)| name != CHECKS[1] || value != "UDP");
        }
        if let Some((_, port)) = parameters.0.iter_mut().find(|(name, value)| name == CHECKS[3] && value == "-520") {
            NODE_PORT.clone_into(port);
        }
        if let ExternalTrafficPolicy::Local(port) = service.external_traffic_policy
            && protocol != NlbProtocol::Udp
            && parameters.leaves_checks()
        {
            let port = port.to_string();
            let asks = ["true", "HTTP", LoadBalancer::HEALTH_CHECK_PATH, &*port];
            CHECKS.iter().zip(asks).for_each(|(name, value)| parameters.add(name, value));
        }
        Ok(parameters)
    }

    /// Whether no annotation says what is checked.
    fn leaves_checks(&self) -> bool {
        self.0.iter().all(|(name, _)| !CHECKS.contains(&name.as_str()))
    }

    /// Those that take back the checks of externalTrafficPolicy Local, if a group has these.
    pub(super) fn back_from_local(&mut self, live: &NlbGroup, is_local: bool) {
        let is = |name: &str, value: &str| live.value(name).is_some_and(|it| it.eq_ignore_ascii_case(value));
        let has_them =
            is(CHECKS[1], "HTTP") && is(CHECKS[2], LoadBalancer::HEALTH_CHECK_PATH) && !is(CHECKS[3], NODE_PORT);
        if !is_local && self.leaves_checks() && has_them {
            self.add(CHECKS[1], "TCP");
            self.add(CHECKS[3], NODE_PORT);
        }
    }

    /// Whether one of them is missing in what is there.
    pub(super) fn differ(&self, live: impl Fn(&str) -> Option<String>) -> bool {
        self.0.iter().any(|(name, value)| live(name).is_none_or(|it| !it.eq_ignore_ascii_case(value)))
    }

    /// As pairs of a request.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}
