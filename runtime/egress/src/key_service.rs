//! Where clouds have the services that give keys to machines and pods. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::base_url::{BaseUrl, CanonicalHost};

/// Where clouds have the services that give keys to machines and pods: the instance's metadata (of Google, too), the ECS agent, the
/// agent of EKS Pod Identity (the same list as in AWS's SDKs), and the metadata of Alibaba Cloud's machines. Only this process itself may ask there, at an address that is written out.
pub(crate) const ADDRESSES: [IpAddr; 6] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 23)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x23)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
];

/// Whether a service that gives keys may be there.
pub(crate) fn is_key_source(ip: IpAddr) -> bool {
    ADDRESSES.contains(&ip)
}

/// Where a service is that gives keys to machines or pods: one of the clouds' link-local addresses, or a loopback literal. It is no
/// base URL of an endpoint: only this process itself asks there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KeyServiceUrl(BaseUrl);

impl KeyServiceUrl {
    /// Reads `http://169.254.170.23/v1/credentials`.
    ///
    /// # Errors
    ///
    /// As [`BaseUrl::parse`], and for a host that is none of these addresses.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = BaseUrl::parse_any(text)?;
        let is_known =
            |host: &CanonicalHost| matches!(host, CanonicalHost::Address(ip) if ip.is_loopback() || is_key_source(*ip));
        if is_known(url.origin().host()) {
            return Ok(Self(url));
        }
        Err("the host is none of the addresses at which clouds give keys to machines and pods; write 169.254.169.254, \
             169.254.170.2, 169.254.170.23, 100.100.100.200, [fd00:ec2::254], [fd00:ec2::23] or a loopback address"
            .to_owned())
    }

    pub(crate) fn base_url(&self) -> &BaseUrl {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_from_known_addresses_alone() {
        for url in [
            "http://169.254.169.254",
            "http://[fd00:ec2::23]/v1/credentials",
            "http://100.100.100.200",
            "http://127.0.0.1:8080/a",
            "https://[::1]",
        ] {
            assert!(KeyServiceUrl::parse(url).is_ok(), "{url}");
            assert_eq!(BaseUrl::parse(url).is_ok(), url.contains("127.0") || url.contains("::1"), "{url}");
        }
        for url in [
            "http://169.254.1.1",
            "http://10.0.0.1",
            "http://metadata.example.com",
            "https://1.1.1.1",
            "http://a@127.0.0.1",
        ] {
            assert!(KeyServiceUrl::parse(url).is_err(), "{url}");
        }
    }
}
