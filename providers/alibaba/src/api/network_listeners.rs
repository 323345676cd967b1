//! Listeners of a Network Load Balancer.

use serde_json::Value;

use super::errors::AcsRefusal;
use super::fields::text;
use super::product::NLB;

/// The parameter with what the PROXY protocol tells beside addresses: a text in JSON in requests, an object in answers.
pub(crate) const PROXY_FIELDS: &str = "ProxyProtocolV2Config";
/// Its members: the endpoint of PrivateLink, the endpoint's service, and its VPC.
const PROXY_MEMBERS: [&str; 3] = ["Ppv2PrivateLinkEpIdEnabled", "Ppv2PrivateLinkEpsIdEnabled", "Ppv2VpcIdEnabled"];
/// Listeners of a page: the most that the API takes.
const PAGE: u32 = 100;
/// Certificates of a page.
const CERTIFICATES: u32 = 50;

/// The protocol of a listener.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum NlbProtocol {
    Tcp,
    Udp,
    /// TCP within TLS, which ends at the listener.
    TcpSsl,
}

impl NlbProtocol {
    pub(crate) const ALL: [Self; 3] = [Self::Tcp, Self::Udp, Self::TcpSsl];

    /// The word of the API.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::TcpSsl => "TCPSSL",
        }
    }
}

/// A listener.
#[derive(Clone, Debug)]
pub(crate) struct NlbListener {
    pub(crate) id: String,
    pub(crate) port: u16,
    pub(crate) protocol: NlbProtocol,
    /// `Provisioning`, `Running`, `Configuring`, `Stopping`, `Stopped`, `Starting` or `Deleting`.
    pub(crate) status: String,
    pub(crate) description: String,
    pub(crate) group: String,
    shown: Value,
}

impl NlbListener {
    /// `None` for one of many ports, or a protocol that nobody knows.
    fn from_fields(shown: &Value) -> Option<Self> {
        let word = text(shown, "ListenerProtocol");
        Some(Self {
            id: text(shown, "ListenerId"),
            port: shown["ListenerPort"].as_u64().filter(|it| *it != 0)?.try_into().ok()?,
            protocol: NlbProtocol::ALL.into_iter().find(|it| it.word() == word)?,
            status: text(shown, "ListenerStatus"),
            description: text(shown, "ListenerDescription"),
            group: text(shown, "ServerGroupId"),
            shown: shown.clone(),
        })
    }

    /// Whether an earlier change of it is not over.
    pub(crate) fn is_changing(&self) -> bool {
        !matches!(&*self.status, "Running" | "Stopped")
    }

    /// The value of a parameter, as requests write it; `None` where it is not shown.
    pub(crate) fn value(&self, parameter: &str) -> Option<String> {
        if parameter == PROXY_FIELDS {
            let shown = &self.shown[PROXY_FIELDS];
            return Some(proxy_fields(PROXY_MEMBERS.map(|it| shown[it] == true)));
        }
        let (name, number) = parameter.split_once('.').unwrap_or((parameter, ""));
        match number.parse::<usize>() {
            Ok(number) => super::fields::word(&self.shown[name][number.wrapping_sub(1)]),
            Err(_) => super::fields::word(&self.shown[name]),
        }
    }
}

/// The ids of the certificates that a listener has beside its own, without those that go.
pub(crate) fn certificates(region: &str, listener: &str) -> Result<Vec<String>, AcsRefusal> {
    let pairs = [("ListenerId", listener), ("CertType", "Server")];
    let found = NLB.all("ListListenerCertificates", region, &pairs, "Certificates", CERTIFICATES)?;
    let stays = |it: &&Value| it["IsDefault"] != true && !text(it, "Status").starts_with("Di");
    Ok(found.iter().filter(stays).map(|it| text(it, "CertificateId")).collect())
}

/// The text of [`PROXY_FIELDS`] with these flags.
pub(crate) fn proxy_fields(flags: [bool; 3]) -> String {
    PROXY_MEMBERS.into_iter().zip(flags.map(Value::from)).collect::<Value>().to_string()
}

/// All listeners of a load balancer.
pub(crate) fn all(region: &str, balancer: &str) -> Result<Vec<NlbListener>, AcsRefusal> {
    let pairs = [("LoadBalancerIds.1", balancer)];
    let found = NLB.all("ListListeners", region, &pairs, "Listeners", PAGE)?;
    Ok(found.iter().filter_map(NlbListener::from_fields).collect())
}
