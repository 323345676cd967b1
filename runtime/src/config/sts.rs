//! `sts` of a credential: where sessions of roles come from.

use egress::{AllowedAddresses, Sts};

use super::file;

/// The place of the service.
pub(super) fn settings(section: Option<file::StsSection>) -> Sts {
    let file::StsSection { base_url, addresses, tls, proxy } = section.unwrap_or_default();
    Sts {
        base_url: base_url.map(|it| it.0),
        addresses: addresses.map_or(AllowedAddresses::Public, |it| it.0),
        ca_file: tls.map(|it| it.ca_file),
        proxy: proxy.map(file::ProxySection::proxy),
    }
}
