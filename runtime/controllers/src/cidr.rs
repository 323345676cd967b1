//! Networks in CIDR notation, compared as networks and never as text. No client, no clock, no log.

use std::fmt;
use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};

/// The prefix of IPv4 addresses that are written as IPv6.
const MAPPED_PREFIX: u8 = 96;

/// A network: without host bits, and in its own family even where an IPv4 network is written as IPv6.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct Cidr(IpNet);

impl Cidr {
    /// Reads CIDR notation, in any spelling; `None` if it is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self::of)
    }

    /// The network of an address and a prefix length.
    pub(crate) fn of(network: IpNet) -> Self {
        if let IpNet::V6(it) = network
            && let Some(address) = it.network().to_ipv4_mapped()
            && let Some(length) = it.prefix_len().checked_sub(MAPPED_PREFIX)
            && let Ok(mapped) = Ipv4Net::new(address, length)
        {
            return Self(IpNet::V4(mapped.trunc()));
        }
        Self(network.trunc())
    }

    /// Whether all of `other` lies in this network.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        self.0.contains(&other.0)
    }

    /// The length of its prefix.
    pub(crate) fn prefix(&self) -> u8 {
        self.0.prefix_len()
    }

    /// Whether its addresses are IPv6.
    pub(crate) fn is_v6(&self) -> bool {
        matches!(self.0, IpNet::V6(_))
    }

    /// The network of the next shorter prefix.
    pub(crate) fn supernet(&self) -> Option<Self> {
        self.0.supernet().map(Self)
    }

    /// The smallest and the largest network in this one, in the order of networks.
    pub(crate) fn bounds(&self) -> (Self, Self) {
        let longest = self.0.max_prefix_len();
        let host = |address: IpAddr| IpNet::new(address, longest).map_or(*self, Self);
        (*self, host(self.0.broadcast()))
    }
}

impl From<Cidr> for IpNet {
    fn from(cidr: Cidr) -> Self {
        cidr.0
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, canonical: Option<&str>) {
        assert_eq!(Cidr::parse(text).map(|it| it.to_string()).as_deref(), canonical, "{text}");
    }

    #[test]
    fn case_198_a_network_has_one_canonical_form() {
        check("10.244.1.0/24", Some("10.244.1.0/24"));
        check("10.244.1.7/24", Some("10.244.1.0/24"));
        check("0a00:0100::/24", Some("a00:100::/24"));
        check("A00:100:0::/24", Some("a00:100::/24"));
        check("::ffff:10.244.1.9/120", Some("10.244.1.0/24"));
        check("::ffff:0:0/96", Some("0.0.0.0/0"));
        check("::/0", Some("::/0"));
        for wrong in ["", "10.244.1.0", "10.244.1.0/33", "10.244.1.0/24,10.244.2.0/24", "pods"] {
            check(wrong, None);
        }
    }

    #[test]
    fn a_network_inside_is_between_the_bounds() {
        let cidr = |text: &str| Cidr::parse(text).unwrap();
        let (low, high) = cidr("10.244.0.0/23").bounds();
        for inside in ["10.244.0.0/23", "10.244.0.0/24", "10.244.1.0/24", "10.244.1.255/32"] {
            assert!((low..=high).contains(&cidr(inside)), "{inside}");
        }
        for outside in ["10.244.2.0/24", "10.243.255.0/24", "fd00::/64"] {
            assert!(!(low..=high).contains(&cidr(outside)), "{outside}");
        }
    }
}
