//! Where sessions of roles come from, as an operator writes it.

use std::path::PathBuf;

use crate::addresses::AllowedAddresses;
use crate::base_url::BaseUrl;
use crate::proxy::Proxy;

/// Where the Security Token Service is.
#[derive(Clone, Debug)]
pub struct Sts {
    /// The region's own, if not written.
    pub base_url: Option<BaseUrl>,
    /// Which addresses its host may have.
    pub addresses: AllowedAddresses,
    /// A PEM file with the only certificate authorities to trust; without it, the system's.
    pub ca_file: Option<PathBuf>,
    /// The proxy through which it is reached.
    pub proxy: Option<Proxy>,
}
