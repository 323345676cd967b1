//! `credentials[].google`: how tokens for Google Cloud are asked for, key by key.

use std::path::PathBuf;

use egress::{KeyServiceUrl, Origin};
use serde::Deserialize;

use super::reach::{ProxySection, TlsSection};
use crate::config::text::{AddressList, ScalarText};

/// Tokens for Google Cloud.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct GoogleSection {
    /// The key of a service account. One of these three is written.
    pub(crate) service_account_key: Option<GoogleKey>,
    /// A token of another identity provider, such as the cluster's own for a service account.
    pub(crate) federation: Option<GoogleFederation>,
    /// The metadata server of the machine.
    pub(crate) metadata: Option<GoogleMetadata>,
    /// The origins beside `https://….googleapis.com` that a file may name as givers of tokens. Default: none.
    #[serde(default)]
    pub(crate) token_origins: Vec<ScalarText<Origin>>,
    /// `public`, or the networks of givers of tokens. Default: `public`.
    pub(crate) addresses: Option<AddressList>,
    /// Certificate authorities of givers of tokens in the place of the system's. Default: the system's.
    pub(crate) tls: Option<TlsSection>,
    /// The proxy through which they are reached ([below](#through-a-proxy)). Default: none.
    pub(crate) proxy: Option<ProxySection>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct GoogleKey {
    /// Google's file, of type `service_account`; read again when it changes.
    pub(crate) file: PathBuf,
    /// Asks the token endpoint for tokens, in the place of signing them. Default: `false`.
    #[serde(default)]
    pub(crate) exchange: bool,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct GoogleFederation {
    /// Google's file, of type `external_account`, whose `credential_source` names a file; read again when it changes.
    pub(crate) file: PathBuf,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct GoogleMetadata {
    /// The metadata server. Default: `http://169.254.169.254`.
    pub(crate) url: Option<ScalarText<KeyServiceUrl>>,
}
