//! Certificate authorities and proxies, wherever the file has them.

use std::path::PathBuf;

use egress::{AllowedAddresses, BaseUrl, ClientCertificate, Proxy, ProxyLogin, ProxyUrl};
use serde::Deserialize;

use crate::config::text::{AddressList, ScalarText};

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct TlsSection {
    /// A file of certificates, in PEM.
    pub(crate) ca_file: PathBuf,
}

/// TLS to a host that may ask for a certificate of ours.
#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct MutualTlsSection {
    /// A file of certificates, in PEM. Default: the system's authorities.
    pub(crate) ca_file: Option<PathBuf>,
    /// The certificate that is shown to the host, in PEM, with those between it and its authority; read for each
    /// connection. Default: none.
    pub(crate) cert_file: Option<PathBuf>,
    /// Its key. Default: none.
    pub(crate) key_file: Option<PathBuf>,
}

impl MutualTlsSection {
    /// The file of authorities, and the certificate to show.
    pub(crate) fn files(self) -> Result<(Option<PathBuf>, Option<ClientCertificate>), String> {
        let client = match (self.cert_file, self.key_file) {
            (Some(cert_file), Some(key_file)) => Some(ClientCertificate { cert_file, key_file }),
            (None, None) => None,
            _ => return Err("`tls` needs both certFile and keyFile, or none of them".to_owned()),
        };
        Ok((self.ca_file, client))
    }
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

/// Where sessions of roles come from.
#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct StsSection {
    /// Its address. Default: the region's own.
    pub(crate) base_url: Option<ScalarText<BaseUrl>>,
    /// `public`, or networks. Default: `public`.
    pub(crate) addresses: Option<AddressList>,
    /// Certificate authorities in the place of the system's. Default: the system's.
    pub(crate) tls: Option<TlsSection>,
    /// The proxy through which it is reached ([below](#through-a-proxy)). Default: none.
    pub(crate) proxy: Option<ProxySection>,
}
