//! Names and descriptions, as the vendor's controller makes them, so that each finds what the other made. Pure.

use aerostat_sdk::Owner;

use crate::api::network_listeners::NlbProtocol;

/// The class of Services that get one.
pub(crate) const CLASS: &str = "alibabacloud.com/nlb";
/// The beginning of ids.
pub(crate) const ID: &str = "nlb-";
/// The beginning of a memo that tells of a creation: it is not one of a Classic Load Balancer.
pub(crate) const BEGUN: &str = "nlb ";

/// The longest name of a group.
const NAME_CHARACTERS: usize = 128;

/// The names of what a Service's load balancer is made of.
#[derive(Clone, Debug)]
pub(super) struct NlbNames {
    /// `.web.default.c1`: behind the port and the protocol.
    long: String,
    /// The same where that is too long.
    short: String,
    /// The description of its security group.
    security: String,
}

impl NlbNames {
    /// The names for a Service in the cluster with this id.
    pub(super) fn new(owner: &Owner, cluster: &str) -> Self {
        let Owner { namespace, name, uid, .. } = owner;
        Self {
            long: format!(".{name}.{namespace}.{cluster}"),
            short: format!(".{uid}.{cluster}"),
            security: format!("k8s.{namespace}.{name}.{cluster}"),
        }
    }

    /// The name of the group with this node port, and the description of the machines in it.
    pub(super) fn group(&self, node_port: u16, protocol: NlbProtocol) -> String {
        self.fitting(node_port, protocol, NAME_CHARACTERS)
    }

    /// The description of the listener of this port.
    pub(super) fn listener(&self, port: u16, protocol: NlbProtocol) -> String {
        self.fitting(port, protocol, 2 * NAME_CHARACTERS)
    }

    /// The description of the security group and of its rules.
    pub(super) fn security(&self) -> &str {
        &self.security
    }

    fn fitting(&self, port: u16, protocol: NlbProtocol, most: usize) -> String {
        let word = protocol.word();
        let name = format!("k8s.{port}.{word}{}", self.long);
        if name.len() <= most { name } else { format!("k8s.{port}.{word}{}", self.short) }
    }

    /// Whether a name or a description is one of these, for any port.
    pub(super) fn is_ours(&self, name: &str) -> bool {
        let Some(rest) = name.strip_prefix("k8s.") else { return false };
        let place = [&self.long, &self.short].into_iter().find_map(|it| rest.strip_suffix(it.as_str()));
        place.and_then(|it| it.split_once('.')).is_some_and(|(port, protocol)| {
            port.parse::<u16>().is_ok() && NlbProtocol::ALL.iter().any(|it| it.word() == protocol)
        })
    }
}

#[cfg(test)]
mod tests {
    use aerostat_sdk::LoadBalancer;

    use super::*;

    #[test]
    fn names_of_network_parts_fit_and_tell_whose_they_are() {
        let uid = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
        let names = |namespace: &str, name: &str| NlbNames::new(&LoadBalancer::of(namespace, name, uid).owner, "c1");
        let web = names("default", "web");
        assert_eq!(web.group(30_080, NlbProtocol::Tcp), "k8s.30080.TCP.web.default.c1");
        assert_eq!(web.listener(80, NlbProtocol::TcpSsl), "k8s.80.TCPSSL.web.default.c1");
        assert!(web.is_ours("k8s.30081.UDP.web.default.c1"));
        for other in [
            "k8s.30080.TCP.web.default.c2",
            "k8s.30080.TCP.web.other.c1",
            "k8s.x.TCP.web.default.c1",
            "k8s.80.SCTP.web.default.c1",
            "k8s.80.TCP.a.web.default.c1",
            "web",
        ] {
            assert!(!web.is_ours(other), "{other}");
        }
        let long = names(&"n".repeat(63), &"s".repeat(63));
        let group = long.group(65_535, NlbProtocol::Udp);
        assert_eq!(group, format!("k8s.65535.UDP.{uid}.c1"));
        assert!(long.is_ours(&group) && !web.is_ours(&long.listener(1, NlbProtocol::Udp)));
    }
}
