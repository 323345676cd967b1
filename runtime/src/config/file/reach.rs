//! Certificate authorities and proxies, wherever the file has them.

use std::path::PathBuf;

use egress::{AllowedAddresses, Proxy, ProxyLogin, ProxyUrl};
use serde::Deserialize;

use crate::config::text::{AddressList, ScalarText};

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct TlsSection {
    /// A file of certificates, in PEM.
    pub(crate) ca_file: PathBuf,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ProxySection {
    /// `http://host:port`, or `https://…` for TLS to the proxy itself.
    pub(crate) url: ScalarText<ProxyUrl>,
    /// `public`, or the networks of the proxy. Default: `public`.
    pub(crate) addresses: Option<AddressList>,
    /// Certificate authorities of an `https://` proxy in the place of the system's. Default: the system's.
    pub(crate) tls: Option<TlsSection>,
    /// The login that it asks for. Default: none.
    pub(crate) login: Option<ProxyLoginSection>,
}

impl ProxySection {
    pub(crate) fn proxy(self) -> Proxy {
        Proxy {
            url: self.url.0,
            addresses: self.addresses.map_or(AllowedAddresses::Public, |it| it.0),
            ca_file: self.tls.map(|it| it.ca_file),
            login: self.login.map(|it| ProxyLogin { user_file: it.user_file, password_file: it.password_file }),
        }
    }
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ProxyLoginSection {
    /// The user's name; read for each connection.
    pub(crate) user_file: PathBuf,
    /// The password; read for each connection.
    pub(crate) password_file: PathBuf,
}
