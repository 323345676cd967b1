//! `credentials[].acs3`: how requests to Alibaba Cloud are signed, key by key.

use std::path::PathBuf;

use egress::{KeyServiceUrl, RegionName};
use serde::Deserialize;

use super::reach::StsSection;
use crate::config::text::{OidcProviderArn, RamRoleArn, ScalarText};

/// A signature of each request, by Alibaba Cloud's ACS3-HMAC-SHA256.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Acs3Section {
    /// The only region that is signed for, and whose STS is asked.
    pub(crate) region: ScalarText<RegionName>,
    /// A key in files, or a session. One of these three is written.
    pub(crate) access_key: Option<AccessKeyFiles>,
    /// A role for the ServiceAccount (RRSA).
    pub(crate) oidc: Option<OidcSection>,
    /// The RAM role of the machine, by version 2 of its metadata.
    pub(crate) instance_metadata: Option<EcsMetadata>,
    /// The role to take with these keys. Default: none.
    pub(crate) assume_role: Option<AssumeRamRole>,
    /// The Security Token Service. Default: the region's own.
    pub(crate) sts: Option<StsSection>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct AccessKeyFiles {
    /// The id alone; all of these files are read again when they change.
    pub(crate) id_file: PathBuf,
    /// The secret alone.
    pub(crate) secret_file: PathBuf,
    /// The token of the session that the key belongs to. Default: none.
    pub(crate) token_file: Option<PathBuf>,
    /// The end of that session, as in `2026-11-23T07:00:00Z`: nothing is signed after it. Default: none.
    pub(crate) expiration_file: Option<PathBuf>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct OidcSection {
    /// The role: `acs:ram::…:role/…`.
    pub(crate) role_arn: ScalarText<RamRoleArn>,
    /// The cluster's identity provider: `acs:ram::…:oidc-provider/…`.
    pub(crate) provider_arn: ScalarText<OidcProviderArn>,
    /// The token that the kubelet projects.
    pub(crate) token_file: PathBuf,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct EcsMetadata {
    /// The metadata service. Default: `http://100.100.100.200`.
    pub(crate) url: Option<ScalarText<KeyServiceUrl>>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct AssumeRamRole {
    /// The role.
    pub(crate) role_arn: ScalarText<RamRoleArn>,
    /// The external id that its trust policy asks for. Default: none.
    pub(crate) external_id: Option<String>,
}
