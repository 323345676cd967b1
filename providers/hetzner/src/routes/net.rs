//! IPv4 networks: destinations are compared as networks, never as text.

use std::net::Ipv4Addr;

/// An IPv4 network.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Net {
    address: u32,
    bits: u32,
}

impl Net {
    /// Reads `10.244.1.0/24`, also with bits behind the prefix. `None` for everything else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let (address, bits): (Ipv4Addr, u32) = (address.parse().ok()?, bits.parse().ok()?);
        (bits <= 32).then(|| Self { address: address.to_bits() & mask(bits), bits })
    }

    /// Whether all of another network is in this one.
    pub(super) fn contains(&self, other: &Self) -> bool {
        self.bits <= other.bits && other.address & mask(self.bits) == self.address
    }
}

fn mask(bits: u32) -> u32 {
    u32::MAX.checked_shl(32 - bits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Net;

    #[test]
    fn networks_are_compared_as_networks() {
        let net = |text| Net::parse(text).unwrap();
        assert_eq!(net("10.244.1.7/24"), net("10.244.1.0/24"));
        assert!(net("10.244.0.0/16").contains(&net("10.244.1.0/24")));
        assert!(net("0.0.0.0/0").contains(&net("10.244.1.0/24")));
        assert!(net("10.244.1.0/24").contains(&net("10.244.1.0/24")));
        assert!(!net("10.244.1.0/24").contains(&net("10.244.0.0/16")));
        assert!(!net("10.244.0.0/16").contains(&net("10.245.1.0/24")));
        for text in ["", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "fd00::/64", "x/8"] {
            assert_eq!(Net::parse(text), None, "{text}");
        }
    }
}
