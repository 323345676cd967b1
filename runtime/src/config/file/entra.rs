//! `credentials[].entra`: how tokens of Microsoft Entra are asked for, key by key.

use std::path::PathBuf;

use egress::{AzureCloud, BaseUrl, EntraTenant, EntraWord, KeyServiceUrl};
use serde::Deserialize;

use super::reach::{ProxySection, TlsSection};
use crate::config::text::{AddressList, ScalarText};

/// Tokens of Microsoft Entra.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct EntraSection {
    /// The tenant, by its id or a domain. Not with `managedIdentity`.
    pub(crate) tenant: Option<ScalarText<EntraTenant>>,
    /// The application's id. Not with `managedIdentity`.
    pub(crate) client_id: Option<ScalarText<EntraWord>>,
    /// A secret of the application. One of these four is written.
    pub(crate) client_secret: Option<EntraFile>,
    /// A certificate of the application.
    pub(crate) client_certificate: Option<EntraCertificateFile>,
    /// A token of another issuer, such as the cluster's own for a service account (workload identity).
    pub(crate) federated_token: Option<EntraFile>,
    /// The identity of the machine.
    pub(crate) managed_identity: Option<ManagedIdentitySection>,
    /// `AzurePublicCloud`, `AzureUSGovernmentCloud` or `AzureChinaCloud`: the authority and the scope. Default: `AzurePublicCloud`.
    pub(crate) cloud: Option<ScalarText<AzureCloud>>,
    /// The giver of tokens, in the place of the cloud's. Default: that of `cloud`.
    pub(crate) authority: Option<ScalarText<BaseUrl>>,
    /// The scope of tokens, in the place of the cloud's. Default: that of `cloud`.
    pub(crate) scope: Option<ScalarText<EntraWord>>,
    /// Another credential with `entra`, whose token goes along for a second tenant. Default: none.
    pub(crate) auxiliary: Option<String>,
    /// `public`, or the networks of the authority. Default: `public`.
    pub(crate) addresses: Option<AddressList>,
    /// Certificate authorities of the authority in the place of the system's. Default: the system's.
    pub(crate) tls: Option<TlsSection>,
    /// The proxy through which it is reached ([below](#through-a-proxy)). Default: none.
    pub(crate) proxy: Option<ProxySection>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct EntraFile {
    /// The file; read again when it changes.
    pub(crate) file: PathBuf,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct EntraCertificateFile {
    /// The certificate and its RSA key, in PEM; read again when it changes.
    pub(crate) file: PathBuf,
    /// Sends the certificates of the file along, for an application that trusts a subject and an issuer. Default: `false`.
    #[serde(default)]
    pub(crate) send_chain: bool,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ManagedIdentitySection {
    /// One that is assigned by a user, by its client id. Default: the machine's own.
    pub(crate) client_id: Option<ScalarText<EntraWord>>,
    /// The same by its resource id. Default: the machine's own.
    pub(crate) resource_id: Option<ScalarText<EntraWord>>,
    /// The metadata service. Default: `http://169.254.169.254`.
    pub(crate) url: Option<ScalarText<KeyServiceUrl>>,
    /// Asks the service that `IDENTITY_ENDPOINT` and `IDENTITY_HEADER` in the environment name. Default: `false`.
    #[serde(default)]
    pub(crate) environment: bool,
}
