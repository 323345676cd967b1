//! Listeners of a Classic Load Balancer.

use serde_json::Value;

use super::errors::AcsRefusal;
use super::fields::text;
use super::product::SLB;

/// Listeners of a page.
const PAGE: &str = "100";

/// The protocol of a listener.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum SlbProtocol {
    Tcp,
    Udp,
    Http,
    Https,
}

impl SlbProtocol {
    pub(crate) const ALL: [Self; 4] = [Self::Tcp, Self::Udp, Self::Http, Self::Https];

    /// The word of the API.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The action that makes a listener.
    pub(crate) fn create(self) -> &'static str {
        match self {
            Self::Tcp => "CreateLoadBalancerTCPListener",
            Self::Udp => "CreateLoadBalancerUDPListener",
            Self::Http => "CreateLoadBalancerHTTPListener",
            Self::Https => "CreateLoadBalancerHTTPSListener",
        }
    }

    /// The action that changes one.
    pub(crate) fn set(self) -> &'static str {
        match self {
            Self::Tcp => "SetLoadBalancerTCPListenerAttribute",
            Self::Udp => "SetLoadBalancerUDPListenerAttribute",
            Self::Http => "SetLoadBalancerHTTPListenerAttribute",
            Self::Https => "SetLoadBalancerHTTPSListenerAttribute",
        }
    }

    /// The field of a listener with what its protocol has of its own.
    fn config(self) -> &'static str {
        match self {
            Self::Tcp => "TCPListenerConfig",
            Self::Udp => "UDPListenerConfig",
            Self::Http => "HTTPListenerConfig",
            Self::Https => "HTTPSListenerConfig",
        }
    }
}

/// A listener.
#[derive(Clone, Debug)]
pub(crate) struct SlbListener {
    pub(crate) port: u16,
    pub(crate) protocol: SlbProtocol,
    pub(crate) is_stopped: bool,
    pub(crate) description: String,
    pub(crate) group: String,
    /// Its other fields.
    shown: Value,
}

impl SlbListener {
    /// `None` for a port or a protocol that nobody knows.
    fn from_fields(shown: &Value) -> Option<Self> {
        let word = text(shown, "ListenerProtocol");
        let protocol = SlbProtocol::ALL.into_iter().find(|it| it.word() == word)?;
        Some(Self {
            port: shown["ListenerPort"].as_u64()?.try_into().ok()?,
            protocol,
            is_stopped: text(shown, "Status") == "stopped",
            description: text(shown, "Description"),
            group: text(shown, "VServerGroupId"),
            shown: shown.clone(),
        })
    }

    /// The value of a parameter, as requests write it; `None` where it is not shown.
    pub(crate) fn value(&self, parameter: &str) -> Option<String> {
        let config = &self.shown[self.protocol.config()];
        // Requests say HealthCheckSwitch, answers HealthCheck.
        let names = [parameter, if parameter == "HealthCheckSwitch" { "HealthCheck" } else { parameter }];
        let places = names.iter().flat_map(|it| [&config[*it], &self.shown[*it]]);
        places.into_iter().find_map(|value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        })
    }
}

/// All listeners of a load balancer.
pub(crate) fn all(region: &str, balancer: &str) -> Result<Vec<SlbListener>, AcsRefusal> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let mut pairs = vec![("LoadBalancerId.1", balancer), ("MaxResults", PAGE)];
        if !cursor.is_empty() {
            pairs.push(("NextToken", &cursor));
        }
        let shown = SLB.call("DescribeLoadBalancerListeners", region, &pairs)?;
        let page = shown["Listeners"].as_array().map(Vec::as_slice).unwrap_or_default();
        all.extend(page.iter().filter_map(SlbListener::from_fields));
        let next = text(&shown, "NextToken");
        if next.is_empty() || page.is_empty() {
            return Ok(all);
        }
        cursor = next;
    }
}

/// Makes a listener, which is stopped then, or changes one: this action, with these parameters beside its port.
pub(crate) fn write(
    region: &str,
    balancer: &str,
    port: u16,
    action: &str,
    pairs: &[(&str, &str)],
) -> Result<(), AcsRefusal> {
    let port = port.to_string();
    let own = [("LoadBalancerId", balancer), ("ListenerPort", &*port)];
    SLB.call(action, region, &[&own, pairs].concat()).map(drop)
}

/// Starts a listener, or deletes it: this action.
pub(crate) fn do_with(
    region: &str,
    balancer: &str,
    (port, protocol): (u16, SlbProtocol),
    action: &str,
) -> Result<(), AcsRefusal> {
    write(region, balancer, port, action, &[("ListenerProtocol", protocol.word())])
}
