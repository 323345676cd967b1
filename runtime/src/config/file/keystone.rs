//! `credentials[].keystone`: how tokens are asked for at OpenStack's identity service, key by key.

use std::path::PathBuf;

use serde::Deserialize;

use super::reach::{MutualTlsSection, ProxySection};
use crate::config::text::{AddressList, InsecureUrl, ScalarText};

/// Tokens of OpenStack's identity service.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct KeystoneSection {
    /// Where it is, as in `https://keystone.example.com:5000/v3`; `/v3` is added where it is missing.
    pub(crate) base_url: ScalarText<InsecureUrl>,
    /// Allows `http://` in `baseUrl`: then the secret goes over the network in clear text. Default: `false`.
    #[serde(default)]
    pub(crate) insecure: bool,
    /// A user's password. One of these four is written.
    pub(crate) password: Option<KeystonePassword>,
    /// An application credential.
    pub(crate) application_credential: Option<ApplicationCredentialSection>,
    /// A user's password, with another user's trust.
    pub(crate) trust: Option<KeystoneTrust>,
    /// A token that somebody else replaces before its end.
    pub(crate) token: Option<KeystoneToken>,
    /// The project that tokens are for, beside `password` and `token`. Default: none; the others have their own.
    pub(crate) project: Option<KeystoneObject>,
    /// `public`, or networks. Default: `public`.
    pub(crate) addresses: Option<AddressList>,
    /// Certificates: whom to trust, and what is shown. Default: the system's authorities, and none.
    pub(crate) tls: Option<MutualTlsSection>,
    /// The proxy through which it is reached ([below](#through-a-proxy)). Default: none.
    pub(crate) proxy: Option<ProxySection>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct KeystonePassword {
    /// The user.
    pub(crate) user: KeystoneObject,
    /// A password of 8 characters or more; read again when it changes.
    pub(crate) password_file: PathBuf,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ApplicationCredentialSection {
    /// Its id. One of `id`, `idFile` and `name` is written.
    pub(crate) id: Option<String>,
    /// A file with its id, for one that is replaced without a restart.
    pub(crate) id_file: Option<PathBuf>,
    /// Its name among those of `user`.
    pub(crate) name: Option<String>,
    /// The user to whom `name` belongs. Default: none.
    pub(crate) user: Option<KeystoneObject>,
    /// Its secret; read again when it changes.
    pub(crate) secret_file: PathBuf,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct KeystoneTrust {
    /// The trust's id.
    pub(crate) id: String,
    /// The trustee, who asks.
    pub(crate) user: KeystoneObject,
    /// The trustee's password; read again when it changes.
    pub(crate) password_file: PathBuf,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct KeystoneToken {
    /// The token; read again when it changes.
    pub(crate) file: PathBuf,
}

/// A user or a project.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct KeystoneObject {
    /// Its id. Either this is written, or `name` and `domain`.
    pub(crate) id: Option<String>,
    /// Its name.
    pub(crate) name: Option<String>,
    /// The domain in which it has this name.
    pub(crate) domain: Option<KeystoneDomainSection>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct KeystoneDomainSection {
    /// Its id, as in `default`. Either this is written, or `name`.
    pub(crate) id: Option<String>,
    /// Its name, as in `Default`.
    pub(crate) name: Option<String>,
}
