//! Ranges of addresses that are not simply public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The kind of the address, if no config can open it.
pub(super) fn never(ip: IpAddr) -> Option<&'static str> {
    match ip {
        IpAddr::V4(ip) => NEVER_V4.iter().find(|(net, length, _)| within_v4(ip, *net, *length)).map(|it| it.2),
        IpAddr::V6(ip) => never_v6(ip),
    }
}

const NEVER_V4: [(Ipv4Addr, u32, &str); 12] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this host"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local, where metadata services are"),
    (Ipv4Addr::new(168, 63, 129, 16), 32, "a metadata service"),
    (Ipv4Addr::new(100, 100, 100, 200), 32, "a metadata service"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "in a special range, where metadata services are"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "for documentation only"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "for documentation only"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "for documentation only"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a 6to4 relay"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

/// Whether the address is in a range for private use.
pub(super) fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => PRIVATE_V4.iter().any(|(net, length)| within_v4(ip, *net, *length)),
        IpAddr::V6(ip) => ip.is_unique_local(),
    }
}

/// RFC 1918, and the ranges for carriers' NAT and for benchmarks, which clouds use inside.
const PRIVATE_V4: [(Ipv4Addr, u32); 5] = [
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
];

fn within_v4(ip: Ipv4Addr, net: Ipv4Addr, length: u32) -> bool {
    (ip.to_bits() ^ net.to_bits()).leading_zeros() >= length
}

fn never_v6(ip: Ipv6Addr) -> Option<&'static str> {
    let [a, b, c, d, ..] = ip.segments();
    match ip.segments() {
        _ if ip.is_unspecified() => Some("this host"),
        _ if ip.is_loopback() => Some("loopback"),
        // Those with an IPv4 address inside are judged by it.
        _ if !embedded(ip.into()).is_empty() => None,
        [0xfd00, 0x0ec2, ..] | [0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x254] => Some("a metadata service"),
        _ if ip.is_unique_local() => None,
        _ if a & 0xffc0 == 0xfe80 => Some("link-local"),
        _ if a & 0xff00 == 0xff00 => Some("multicast"),
        _ if (a, b, c, d) == (0x0100, 0, 0, 0) => Some("a discard prefix"),
        // Only 2000::/3 is given out; protocols' own ranges and documentation lie inside it.
        _ if a & 0xe000 != 0x2000 => Some("in a special range"),
        _ if a == 0x2001 && b < 0x0200 => Some("in a special range"),
        _ if (a, b) == (0x2001, 0x0db8) || (a == 0x3fff && b < 0x1000) => Some("for documentation only"),
        _ => None,
    }
}

/// The IPv4 addresses that an IPv6 address leads to: mapped, compatible, SIIT, NAT64, 6to4 and Teredo.
pub(super) fn embedded(ip: IpAddr) -> Vec<Ipv4Addr> {
    let IpAddr::V6(ip) = ip else { return Vec::new() };
    if ip.is_unspecified() || ip.is_loopback() {
        return Vec::new();
    }
    let bits = ip.to_bits();
    let at = |shift: u32| Ipv4Addr::from_bits((bits >> shift) as u32);
    match ip.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => vec![at(0)],
        // RFC 6052 puts the address around bits 64 to 71 here; translators in use put it at the end.
        [0x64, 0xff9b, 1, ..] => {
            let (high, low) = ((bits >> 64) as u16, (bits >> 40) as u16);
            let around = Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
            [at(0), around].into_iter().filter(|it| !it.is_unspecified()).collect()
        }
        [0x2002, ..] => vec![at(80)],
        // The server's address, and the client's with its bits turned around.
        [0x2001, 0, ..] => vec![at(64), Ipv4Addr::from_bits(!(bits as u32))],
        _ => Vec::new(),
    }
}
