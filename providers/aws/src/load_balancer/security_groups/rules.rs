//! Rules as values, and what has to be written between those that a group has and those that it should have.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use aerostat_sdk::SortedSet;
use aerostat_sdk::sorted::sort_by;

use crate::api::ec2::security_groups::{IpPermission, Peer, RuleKey};

/// Packets that are let in.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct IngressRule {
    pub(crate) protocol: RuleProtocol,
    /// The first and the last port; the type and the code for ICMP. All of them for [`RuleProtocol::All`].
    pub(crate) ports: Option<(u16, u16)>,
    pub(crate) peers: Peers,
    /// By which the rule is known again; empty for none.
    pub(crate) description: String,
}

/// A protocol of a rule. A listener of TLS is TCP here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum RuleProtocol {
    Tcp,
    Udp,
    Icmp,
    All,
}

/// The peers that are let in.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Peers {
    /// Networks, of IPv4 and IPv6: `10.0.0.0/8`, `2001:db8::/32`.
    Ranges(Vec<String>),
    /// The members of a security group, by its id.
    Group(String),
}

impl IngressRule {
    /// ICMP's "fragmentation needed", by which packets find out how long they may be. Controllers of the vendor write
    /// it as the ports 3 to 4, which are type 3 and code 4.
    ///
    /// ICMP is IPv4's alone: other networks are left out, and `None` is what they all were.
    pub(crate) fn path_mtu(ranges: &[String], description: &str) -> Option<Self> {
        let ipv4: Vec<_> = ranges.iter().filter(|it| !it.contains(':')).cloned().collect();
        let (protocol, description) = (RuleProtocol::Icmp, description.to_owned());
        let rule = |ranges| Self { protocol, ports: Some((3, 4)), peers: Peers::Ranges(ranges), description };
        (!ipv4.is_empty()).then_some(ipv4).map(rule)
    }

    /// Each peer's rule, as EC2 has it.
    fn permissions(&self) -> Vec<IpPermission> {
        let protocol = match self.protocol {
            RuleProtocol::Tcp => "tcp",
            RuleProtocol::Udp => "udp",
            RuleProtocol::Icmp => "icmp",
            RuleProtocol::All => "-1",
        };
        let peers = match &self.peers {
            Peers::Ranges(ranges) => ranges.iter().map(|it| canonical(&range(it))).collect(),
            Peers::Group(id) => vec![Peer::Group(id.clone())],
        };
        let (from, to) = (self.ports.map(|(from, _)| from.into()), self.ports.map(|(_, to)| to.into()));
        let permission = |peer| IpPermission {
            key: RuleKey { protocol: protocol.to_owned(), from, to, peer },
            description: self.description.clone(),
        };
        peers.into_iter().map(permission).collect()
    }
}

/// The permissions that rules stand for, without what two of them say.
pub(super) fn permissions(rules: &[IngressRule]) -> SortedSet<IpPermission> {
    let mut permissions: Vec<_> = rules.iter().flat_map(IngressRule::permissions).collect();
    sort_by(&mut permissions, |one, other| one.key.cmp(&other.key));
    permissions.dedup_by(|later, first| later.key == first.key);
    permissions.into_iter().collect()
}

/// A peer that is a network, as it is written.
fn range(text: &str) -> Peer {
    let peer = if text.contains(':') { Peer::Ipv6 } else { Peer::Ipv4 };
    peer(text.to_owned())
}

/// A network with one spelling: without bits of a host, and IPv6 in its short form. What is no network stays, and EC2
/// refuses it.
fn canonical(peer: &Peer) -> Peer {
    let (Peer::Ipv4(text) | Peer::Ipv6(text)) = peer else { return peer.clone() };
    let parsed = text.split_once('/').and_then(|(ip, bits)| Some((ip.parse().ok()?, bits.parse::<u32>().ok()?)));
    match parsed {
        Some((IpAddr::V4(ip), bits @ 0..=32)) => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            Peer::Ipv4(format!("{}/{bits}", Ipv4Addr::from_bits(ip.to_bits() & mask)))
        }
        Some((IpAddr::V6(ip), bits @ 0..=128)) => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            Peer::Ipv6(format!("{}/{bits}", Ipv6Addr::from_bits(ip.to_bits() & mask)))
        }
        _ => peer.clone(),
    }
}

/// The rules that have to be written.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct RuleDifference {
    pub(super) add: SortedSet<IpPermission>,
    /// As EC2 shows them.
    pub(super) revoke: SortedSet<IpPermission>,
}

impl RuleDifference {
    /// Between the permissions of a group and those that it should have. Others than `is_ours` are never revoked. A
    /// permission that is there under another description is there: EC2 does not take it twice.
    pub(super) fn between(
        live: &SortedSet<IpPermission>,
        desired: &SortedSet<IpPermission>,
        is_ours: impl Fn(&IpPermission) -> bool,
    ) -> Self {
        let key = |it: &IpPermission| RuleKey { peer: canonical(&it.key.peer), ..it.key.clone() };
        let is: SortedSet<RuleKey> = live.iter().map(key).collect();
        let wanted: SortedSet<RuleKey> = desired.iter().map(key).collect();
        Self {
            add: desired.iter().filter(|it| !is.contains(&key(it))).cloned().collect(),
            revoke: live.iter().filter(|it| is_ours(it) && !wanted.contains(&key(it))).cloned().collect(),
        }
    }

    /// Whether there is nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        self.add.is_empty() && self.revoke.is_empty()
    }

    /// Whether what is revoked makes room for all that is added, in a group that takes no more than it has.
    pub(super) fn makes_room(&self) -> bool {
        self.revoke.len() >= self.add.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(port: u16, ranges: &[&str]) -> IngressRule {
        let ranges = ranges.iter().map(|it| (*it).to_owned()).collect();
        IngressRule {
            protocol: RuleProtocol::Tcp,
            ports: Some((port, port)),
            peers: Peers::Ranges(ranges),
            description: "d".to_owned(),
        }
    }

    fn difference(live: &[IngressRule], desired: &[IngressRule]) -> RuleDifference {
        RuleDifference::between(&permissions(live), &permissions(desired), |it| it.description == "d")
    }

    #[test]
    fn only_ranges_that_differ_are_written() {
        let one = [tcp(80, &["10.0.0.0/8"])];
        let two = [tcp(80, &["10.0.0.0/8", "11.0.0.0/8"])];
        let added = difference(&one, &two);
        assert_eq!((added.add, added.revoke), (permissions(&[tcp(80, &["11.0.0.0/8"])]), SortedSet::new()));
        let removed = difference(&two, &one);
        assert_eq!((removed.add, removed.revoke), (SortedSet::new(), permissions(&[tcp(80, &["11.0.0.0/8"])])));
        assert!(difference(&one, &one).is_empty());
    }

    #[test]
    fn one_range_has_many_spellings() {
        let live = [tcp(80, &["10.0.0.0/8", "2001:db8::/32", "0.0.0.0/0", "::/0", "1.2.3.4/32"])];
        let desired =
            [tcp(80, &["10.1.2.3/8", "2001:DB8:0:0::1/32", "1.2.3.4/0", "::1/0", "1.2.3.4/32", "1.2.3.4/32"])];
        assert!(difference(&live, &desired).is_empty());
        let broken = permissions(&[tcp(80, &["x", "1.2.3.4/33", "::/129"])]);
        let peers: Vec<_> = broken.into_iter().map(|it| it.key.peer).collect();
        let expected =
            [Peer::Ipv4("1.2.3.4/33".to_owned()), Peer::Ipv4("x".to_owned()), Peer::Ipv6("::/129".to_owned())];
        assert_eq!(peers, expected, "EC2 refuses them");
    }

    #[test]
    fn rules_of_others_stay_and_are_not_written_twice() {
        let foreign = IngressRule { description: "another".to_owned(), ..tcp(80, &["10.0.0.0/8"]) };
        assert!(difference(std::slice::from_ref(&foreign), &[tcp(80, &["10.0.0.0/8"])]).is_empty());
        assert!(difference(&[foreign], &[]).is_empty());
    }

    #[test]
    fn as_many_rules_have_to_go_as_come() {
        let ranges = |all: &[&str]| [tcp(80, all)];
        assert!(difference(&ranges(&["1.0.0.0/8", "2.0.0.0/8"]), &ranges(&["3.0.0.0/8"])).makes_room());
        assert!(!difference(&ranges(&["1.0.0.0/8"]), &ranges(&["2.0.0.0/8", "3.0.0.0/8"])).makes_room());
    }

    #[test]
    fn a_group_is_one_peer_and_all_protocols_have_no_ports() {
        let rule = IngressRule {
            protocol: RuleProtocol::All,
            ports: None,
            peers: Peers::Group("sg-1".to_owned()),
            description: String::new(),
        };
        let key = RuleKey { protocol: "-1".to_owned(), from: None, to: None, peer: Peer::Group("sg-1".to_owned()) };
        assert_eq!(permissions(&[rule]), [IpPermission { key, description: String::new() }].into());
    }
}
