//! `credentials[].ibmIam`: how tokens of IBM Cloud's IAM are asked for, key by key.

use std::path::PathBuf;

use egress::{BaseUrl, IbmProfileWord, KeyServiceUrl};
use serde::Deserialize;

use super::reach::{ProxySection, TlsSection};
use crate::config::text::{AddressList, ScalarText};

/// Tokens of IBM Cloud's IAM.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct IbmIamSection {
    /// An API key. One of these three is written.
    pub(crate) api_key: Option<IbmApiKey>,
    /// The token of a compute resource, such as the projected one of the Pod's service account, and a trusted profile.
    pub(crate) compute_resource: Option<IbmComputeResource>,
    /// The identity of the machine, from its metadata service.
    pub(crate) instance_identity: Option<IbmInstanceIdentity>,
    /// IAM. Not with `instanceIdentity`. Default: `https://iam.cloud.ibm.com`.
    pub(crate) base_url: Option<ScalarText<BaseUrl>>,
    /// `public`, or the networks of IAM. Default: `public`.
    pub(crate) addresses: Option<AddressList>,
    /// Certificate authorities of IAM in the place of the system's. Default: the system's.
    pub(crate) tls: Option<TlsSection>,
    /// The proxy through which it is reached ([below](#through-a-proxy)). Default: none.
    pub(crate) proxy: Option<ProxySection>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct IbmApiKey {
    /// The key alone, without white space; read again when it changes.
    pub(crate) file: PathBuf,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct IbmComputeResource {
    /// The token that the kubelet projects.
    pub(crate) token_file: PathBuf,
    /// The trusted profile, by `id` or `name`.
    pub(crate) profile: IbmProfileSection,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct IbmInstanceIdentity {
    /// The metadata service. Default: `http://169.254.169.254`.
    pub(crate) url: Option<ScalarText<KeyServiceUrl>>,
    /// The trusted profile. Default: the one that the instance has.
    pub(crate) profile: Option<IbmProfileSection>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct IbmProfileSection {
    /// Its id: `Profile-…`. One of these three is written.
    pub(crate) id: Option<ScalarText<IbmProfileWord>>,
    /// Its name in the account.
    pub(crate) name: Option<ScalarText<IbmProfileWord>>,
    /// Its CRN, for the metadata service alone.
    pub(crate) crn: Option<ScalarText<IbmProfileWord>>,
}
