//! Ranges of addresses.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

/// Whether it is a range, or one address.
pub(super) fn is_range(text: &str) -> bool {
    text.parse::<IpNet>().is_ok_and(|it| it.addr() == it.network()) || text.parse::<IpAddr>().is_ok()
}

/// Whether an address is in a range.
pub(super) fn holds(range: &str, address: &str) -> bool {
    match (range.parse::<IpNet>(), address.parse::<IpAddr>()) {
        (Ok(range), Ok(address)) => range.contains(&address),
        _ => false,
    }
}

/// The nth address of an IPv4 range.
pub(super) fn nth(range: &str, nth: u32) -> Option<String> {
    let Ok(IpNet::V4(range)) = range.parse::<IpNet>() else { return None };
    let address = Ipv4Addr::from_bits(range.network().to_bits().checked_add(nth)?);
    range.contains(&address).then(|| address.to_string())
}
