//! Subnets of internal load balancers.

use std::net::IpAddr;

use aerostat_sdk::{Error, Result};
use serde_json::Value;

use crate::api::AzureApi;
use crate::api::fields::{word, words};
use crate::id::ResourceId;

/// A subnet.
///
/// # Errors
///
/// Whatever the API answered; `invalid`, if it is not there.
pub(crate) fn subnet(id: &ResourceId) -> Result<Value> {
    let shown: Option<Value> = AzureApi::Network.get(id).find()?;
    shown.ok_or_else(|| {
        let network = id.words.get(1).map_or("", String::as_str);
        Error::invalid(format_args!(
            "failed to get subnet: {network}/{}: virtual network {network} in resource group {} has no subnet {}",
            id.name(),
            id.group,
            id.name()
        ))
    })
}

/// Refuses a subnet that is not there, and an address that is not in it.
///
/// # Errors
///
/// As [`subnet`], and `invalid`, naming the address and the subnet's networks.
pub(crate) fn check_subnet(id: &ResourceId, ip: Option<&str>) -> Result<()> {
    let shown = subnet(id)?;
    let Some(ip) = ip else { return Ok(()) };
    let networks: Vec<&str> = word(&shown, "/properties/addressPrefix")
        .into_iter()
        .chain(words(&shown, "/properties/addressPrefixes"))
        .collect();
    match networks.iter().any(|it| contains(it, ip)) {
        true => Ok(()),
        false => Err(Error::invalid(format_args!(
            "address {ip} is not in subnet {}, which is {}",
            id.name(),
            networks.join(", ")
        ))),
    }
}

/// Whether a network has an address.
fn contains(network: &str, ip: &str) -> bool {
    let parsed = || {
        let (base, bits) = network.split_once('/')?;
        Some((base.parse::<IpAddr>().ok()?, bits.parse::<u32>().ok()?, ip.parse::<IpAddr>().ok()?))
    };
    match parsed() {
        Some((IpAddr::V4(base), bits, IpAddr::V4(ip))) => {
            let shift = 32_u32.saturating_sub(bits);
            base.to_bits().checked_shr(shift).unwrap_or(0) == ip.to_bits().checked_shr(shift).unwrap_or(0)
        }
        Some((IpAddr::V6(base), bits, IpAddr::V6(ip))) => {
            let shift = 128_u32.saturating_sub(bits);
            base.to_bits().checked_shr(shift).unwrap_or(0) == ip.to_bits().checked_shr(shift).unwrap_or(0)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_have_their_addresses() {
        assert!(
            contains("10.240.0.0/16", "10.240.3.4")
                && contains("0.0.0.0/0", "1.2.3.4")
                && contains("fd00::/8", "fd12::1")
        );
        assert!(
            !contains("10.240.0.0/16", "10.241.0.1")
                && !contains("10.240.0.0/16", "fd00::1")
                && !contains("x", "10.0.0.1")
        );
    }
}
