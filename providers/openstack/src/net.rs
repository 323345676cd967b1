//! Networks of both families: compared as networks, never as text.

use std::net::IpAddr;

use aerostat_sdk::{Error, Result};

/// An IPv4 or IPv6 network, without host bits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct NetworkRange {
    is_ipv4: bool,
    /// From the left, whatever the family.
    address: u128,
    bits: u32,
}

impl NetworkRange {
    /// Reads `10.244.1.0/24` or `fd00:244::/64`, also with bits behind the prefix. `None` for everything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let (address, bits): (IpAddr, u32) = (address.parse().ok()?, bits.parse().ok()?);
        let whole = Self::of(address);
        (bits <= whole.bits).then(|| Self { address: whole.address & mask(bits), bits, ..whole })
    }

    /// Reads a destination of a route.
    ///
    /// # Errors
    ///
    /// `invalid` for anything but a network.
    pub(crate) fn require(text: &str) -> Result<Self> {
        Self::parse(text).ok_or_else(|| Error::invalid(format_args!("{text:?} is no network")))
    }

    /// The network of one address.
    pub(crate) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(it) => Self { is_ipv4: true, address: u128::from(it.to_bits()) << 96, bits: 32 },
            IpAddr::V6(it) => Self { is_ipv4: false, address: it.to_bits(), bits: 128 },
        }
    }

    /// Reads an address, or a network. Ports may let through single addresses.
    pub(crate) fn of_either(text: &str) -> Option<Self> {
        text.parse().map(Self::of).ok().or_else(|| Self::parse(text))
    }

    /// Whether it is one of IPv4.
    pub(crate) fn is_ipv4(self) -> bool {
        self.is_ipv4
    }

    /// Whether it is a single address.
    pub(crate) fn is_address(self) -> bool {
        self.bits == if self.is_ipv4 { 32 } else { 128 }
    }

    /// Whether all of another network is in this one.
    pub(crate) fn contains(self, other: Self) -> bool {
        self.is_ipv4 == other.is_ipv4 && self.bits <= other.bits && other.address & mask(self.bits) == self.address
    }
}

fn mask(bits: u32) -> u128 {
    u128::MAX.checked_shl(128 - bits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::NetworkRange;

    fn range(text: &str) -> NetworkRange {
        NetworkRange::of_either(text).unwrap()
    }

    #[test]
    fn networks_of_both_families_are_compared_as_networks() {
        assert_eq!(range("10.99.5.7/24"), range("10.99.5.0/24"));
        assert_eq!(range("FD00:244:3:0::7/64"), range("fd00:244:3::/64"));
        assert_eq!(range("10.6.0.11"), range("10.6.0.11/32"));
        assert!(range("10.244.0.0/16").contains(range("10.244.1.0/24")));
        assert!(range("0.0.0.0/0").contains(range("10.244.1.0/24")) && range("::/0").contains(range("fd00::/64")));
        assert!(!range("10.244.1.0/24").contains(range("10.244.0.0/16")));
        assert!(!range("0.0.0.0/0").contains(range("fd00::/64")) && !range("::/0").contains(range("10.0.0.0/8")));
        assert!(
            range("10.0.0.1").is_address() && range("fd00::1/128").is_address() && !range("10.0.0.0/31").is_address()
        );
        assert!(range("10.0.0.0/8").is_ipv4() && !range("fd00::/8").is_ipv4());
        for text in ["", "10.0.0/8", "10.0.0.0/33", "fd00::/129", "x/8", "10.0.0.0/-1", "fd00::/64/64"] {
            assert_eq!(NetworkRange::of_either(text), None, "{text}");
        }
    }
}
