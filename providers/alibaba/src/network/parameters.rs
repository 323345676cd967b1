//! The parameters of groups and listeners. Pure.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{ExternalTrafficPolicy, LoadBalancer, Result};

use super::annotations as own;
use crate::api::network_groups::NlbGroup;
use crate::api::network_listeners::{NlbProtocol, PROXY_FIELDS, proxy_fields};
use crate::load_balancer::annotations as rows;

/// The port of checks that means the node port.
const NODE_PORT: &str = "0";
/// The parameters that say what is checked.
const CHECKS: [&str; 4] = [
    "HealthCheckConfig.HealthCheckEnabled",
    "HealthCheckConfig.HealthCheckType",
    "HealthCheckConfig.HealthCheckUrl",
    "HealthCheckConfig.HealthCheckConnectPort",
];

/// Parameters that a part has to have. What no annotation names is as it is, and the API's choice at first.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct NlbParameters(Vec<(String, String)>);

impl NlbParameters {
    fn add(&mut self, name: &str, value: Option<impl ToString>) {
        self.0.extend(value.map(|it| (name.to_owned(), it.to_string())));
    }

    fn add_all(&mut self, name: &str, values: impl IntoIterator<Item = String>) {
        self.0.extend((1..).zip(values).map(|(number, it): (usize, _)| (format!("{name}.{number}"), it)));
    }

    /// Those of a listener with this protocol.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the annotation, its value and the allowed values.
    pub(super) fn of_listener(annotations: Annotations<'_>, protocol: NlbProtocol) -> Result<Self> {
        let mut parameters = Self::default();
        parameters.add("IdleTimeout", annotations.read(&rows::IDLE_TIMEOUT)?);
        parameters.add("Cps", annotations.read(&own::CPS)?);
        let proxies = annotations.read(&rows::PROXY_PROTOCOL)?;
        parameters.add("ProxyProtocolEnabled", proxies);
        let links = [&own::LINK_ENDPOINT, &own::LINK_SERVICE, &own::LINK_NETWORK].map(|it| annotations.read(it));
        let [endpoint, service, network] = links;
        let links = [endpoint?, service?, network?];
        if proxies == Some("true") && links.iter().any(Option::is_some) {
            parameters.add(PROXY_FIELDS, Some(proxy_fields(links.map(|it| it == Some("true")))));
        }
        if protocol == NlbProtocol::TcpSsl {
            parameters.add_all("CertificateIds", annotations.read(&own::CERTIFICATES)?.unwrap_or_default());
            parameters.add("SecurityPolicyId", annotations.read(&rows::TLS_POLICY)?);
            parameters.add("CaEnabled", annotations.read(&own::CA)?);
            parameters.add_all("CaCertificateIds", annotations.read(&own::CA_CERTIFICATES)?.unwrap_or_default());
            let agrees = annotations.read(&own::ALPN)?;
            parameters.add("AlpnEnabled", agrees);
            parameters.add("AlpnPolicy", annotations.read(&own::ALPN_POLICY)?.filter(|_| agrees != Some("false")));
        }
        Ok(parameters)
    }

    /// Those of a group with this protocol.
    ///
    /// # Errors
    ///
    /// As [`Self::of_listener`].
    pub(super) fn of_group(service: &LoadBalancer, protocol: NlbProtocol) -> Result<Self> {
        let annotations = Annotations::of(service);
        let is_on = |it: &str| if it == "on" { "true" } else { "false" };
        let check = |name: &str| format!("HealthCheckConfig.{name}");
        let mut parameters = Self::default();
        parameters.add("Scheduler", annotations.read(&rows::SCHEDULER)?);
        parameters.add("ConnectionDrainEnabled", annotations.read(&rows::DRAIN)?.map(is_on));
        parameters.add("ConnectionDrainTimeout", annotations.read(&rows::DRAIN_TIMEOUT)?);
        parameters.add("PreserveClientIpEnabled", annotations.read(&own::PRESERVE_CLIENT)?);
        parameters.add(CHECKS[0], annotations.read(&rows::CHECK_FLAG)?.map(is_on));
        let kind = annotations.read(&rows::CHECK_TYPE)?.filter(|it| *it != "udp" || protocol == NlbProtocol::Udp);
        parameters.add(CHECKS[1], kind.map(str::to_ascii_uppercase));
        parameters.add(CHECKS[2], annotations.read(&rows::CHECK_PATH)?);
        let port = annotations.read(&rows::CHECK_PORT)?;
        parameters.add(CHECKS[3], port.map(|it| if it == "-520" { NODE_PORT.to_owned() } else { it }));
        parameters.add(&check("HealthyThreshold"), annotations.read(&rows::HEALTHY)?);
        parameters.add(&check("UnhealthyThreshold"), annotations.read(&rows::UNHEALTHY)?);
        parameters.add(&check("HealthCheckInterval"), annotations.read(&rows::CHECK_INTERVAL)?);
        parameters.add(&check("HealthCheckConnectTimeout"), annotations.read(&rows::CHECK_CONNECT_TIMEOUT)?);
        parameters.add(&check("HealthCheckDomain"), annotations.read(&rows::CHECK_DOMAIN)?);
        parameters.add(&check("HttpCheckMethod"), annotations.read(&rows::CHECK_METHOD)?.map(str::to_ascii_uppercase));
        let codes = annotations.read(&rows::CHECK_CODES)?.unwrap_or_default();
        let codes = codes.split(',').filter(|it| !it.is_empty()).map(str::to_owned);
        parameters.add_all(&check("HealthCheckHttpCode"), codes);
        if let ExternalTrafficPolicy::Local(port) = service.external_traffic_policy
            && protocol != NlbProtocol::Udp
            && parameters.leaves_checks()
        {
            let asks = ["true", "HTTP", LoadBalancer::HEALTH_CHECK_PATH, &*port.to_string()].map(str::to_owned);
            parameters.0.extend(CHECKS.iter().map(|it| (*it).to_owned()).zip(asks));
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
            self.add(CHECKS[1], Some("TCP"));
            self.add(CHECKS[3], Some(NODE_PORT));
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
