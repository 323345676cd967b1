//! `credentials`: files with secrets, and how keys are asked for, key by key.

use std::path::PathBuf;

use egress::{KeyServiceUrl, RegionName, RoleArn};
use serde::Deserialize;

use super::acs3::Acs3Section;
use super::entra::EntraSection;
use super::google::GoogleSection;
use super::ibm_iam::IbmIamSection;
use super::keystone::KeystoneSection;
use super::reach::StsSection;
use crate::config::text::{HeaderText, LimitWindow, ScalarText};

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CredentialSection {
    /// The name that endpoints write as `credential`.
    pub(crate) name: String,
    /// A token: `authorization: Bearer`.
    pub(crate) bearer: Option<Bearer>,
    /// A user and a password: `authorization: Basic`.
    pub(crate) basic: Option<Basic>,
    /// A signature of each request, by AWS's Signature Version 4 ([below](#keys-for-aws)).
    pub(crate) sigv4: Option<Box<Sigv4>>,
    /// A signature of each request, by Alibaba Cloud's ACS3 ([below](#keys-for-alibaba-cloud)).
    pub(crate) acs3: Option<Box<Acs3Section>>,
    /// Tokens of OpenStack's identity service ([below](#openstacks-keystone)).
    pub(crate) keystone: Option<Box<KeystoneSection>>,
    /// Tokens for Google Cloud ([below](#tokens-for-google-cloud)).
    pub(crate) google: Option<Box<GoogleSection>>,
    /// Tokens of Microsoft Entra, for Azure ([below](#tokens-for-azure)).
    pub(crate) entra: Option<Box<EntraSection>>,
    /// Tokens of IBM Cloud's IAM ([below](#tokens-for-ibm-cloud)).
    pub(crate) ibm_iam: Option<Box<IbmIamSection>>,
    /// Writes that may leave with it ([what is removed](removal.md)).
    pub(crate) limits: Option<WriteLimitsSection>,
}

#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct WriteLimitsSection {
    /// The time over which writes are counted, at most an hour. Default: `10m`.
    pub(crate) window: Option<ScalarText<LimitWindow>>,
    /// Deletions of whole objects that leave however little Kubernetes asks for; 0 forbids those that it does not
    /// ask for; so it is with the others. Default: 20.
    pub(crate) deletions: Option<u32>,
    /// Creations of whole objects. Default: 50.
    pub(crate) creations: Option<u32>,
    /// Members taken away. Default: 50.
    pub(crate) detachments: Option<u32>,
    /// Changes of objects that stay. Default: 200.
    pub(crate) updates: Option<u32>,
    /// Deletions for each change that Kubernetes asks for. Default: 2.
    pub(crate) deletions_per_change: Option<u32>,
    /// Creations for each change. Default: 3.
    pub(crate) creations_per_change: Option<u32>,
    /// Detachments for each change. Default: 3.
    pub(crate) detachments_per_change: Option<u32>,
    /// Updates for each change. Default: 5.
    pub(crate) updates_per_change: Option<u32>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Bearer {
    /// A token of 8 characters or more; read again when it changes.
    pub(crate) file: PathBuf,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Basic {
    /// The user's name.
    pub(crate) user_file: PathBuf,
    /// A password of 8 characters or more; both are read again when they change.
    pub(crate) password_file: PathBuf,
}

/// A signature of each request, by AWS's Signature Version 4.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Sigv4 {
    /// The only region that is signed for, and whose STS is asked.
    pub(crate) region: ScalarText<RegionName>,
    /// Keys in a file. One of these four is written.
    pub(crate) shared_file: Option<SharedFile>,
    /// A role for the ServiceAccount (IRSA).
    pub(crate) web_identity: Option<WebIdentity>,
    /// EKS Pod Identity.
    pub(crate) pod_identity: Option<PodIdentity>,
    /// The role of the machine, by IMDSv2. From a Pod outside of the host's network it takes a hop limit of 2.
    pub(crate) instance_metadata: Option<InstanceMetadata>,
    /// The role to take with these keys. Default: none.
    pub(crate) assume_role: Option<AssumeRoleSection>,
    /// The Security Token Service. Default: the region's own.
    pub(crate) sts: Option<StsSection>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SharedFile {
    /// A file in the format of `~/.aws/credentials`; read again when it changes. Of other files, programs and roles
    /// that a profile names nothing is read.
    pub(crate) file: PathBuf,
    /// Its section. Default: `default`.
    pub(crate) profile: Option<String>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct WebIdentity {
    /// The role.
    pub(crate) role_arn: ScalarText<RoleArn>,
    /// The token that the kubelet projects.
    pub(crate) token_file: PathBuf,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct PodIdentity {
    /// The agent. Default: `http://169.254.170.23/v1/credentials`.
    pub(crate) url: Option<ScalarText<KeyServiceUrl>>,
    /// The token that the kubelet projects.
    pub(crate) token_file: PathBuf,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct InstanceMetadata {
    /// The metadata service. Default: `http://169.254.169.254`.
    pub(crate) url: Option<ScalarText<KeyServiceUrl>>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct AssumeRoleSection {
    /// The role.
    pub(crate) role_arn: ScalarText<RoleArn>,
    /// The external id that its trust policy asks for. Default: none.
    pub(crate) external_id: Option<String>,
    /// The header `x-amz-source-arn`. Default: none.
    pub(crate) source_arn: Option<ScalarText<HeaderText>>,
    /// The header `x-amz-source-account`. As text: an account may begin with 0. Default: none.
    pub(crate) source_account: Option<ScalarText<HeaderText>>,
}
