//! The file, key by key.

mod acs3;
mod credential;
mod endpoint;
mod entra;
mod google;
mod ibm_iam;
mod keystone;
mod provider;
mod reach;

use ipnet::IpNet;
use serde::Deserialize;

pub(super) use self::acs3::{AccessKeyFiles, Acs3Section, EcsMetadata, OidcSection};
pub(super) use self::credential::{
    Basic, Bearer, CredentialSection, InstanceMetadata, PodIdentity, SharedFile, Sigv4, WebIdentity, WriteLimitsSection,
};
pub(super) use self::endpoint::{CatalogSection, EndpointSection, Operation, RuleSection, SigningSection};
pub(super) use self::entra::{EntraSection, ManagedIdentitySection};
pub(super) use self::google::{GoogleFederation, GoogleKey, GoogleMetadata, GoogleSection};
pub(super) use self::ibm_iam::{IbmApiKey, IbmComputeResource, IbmIamSection, IbmInstanceIdentity, IbmProfileSection};
pub(super) use self::keystone::{
    ApplicationCredentialSection, KeystoneDomainSection, KeystoneObject, KeystonePassword, KeystoneSection,
    KeystoneToken, KeystoneTrust,
};
pub(super) use self::provider::{
    CompileLimitsSection, ConfigMap, ModuleFile, ModuleSection, Oci, ProviderSection, SignedBySection,
};
pub(super) use self::reach::{ProxySection, StsSection};
use super::text::{Constant, Only, ScalarText};

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct CloudConfigFile {
    /// `aerostat.dev/v1alpha1`.
    #[expect(dead_code, reason = "that it could be read is all that it says")]
    pub(super) api_version: Only<ApiVersion>,
    /// `CloudConfig`.
    #[expect(dead_code, reason = "as above")]
    pub(super) kind: Only<CloudConfigKind>,
    /// The provider, and what it may do.
    pub(super) provider: ProviderSection,
    /// The only origins that the provider may reach. Default: none.
    #[serde(default)]
    pub(super) endpoints: Vec<EndpointSection>,
    /// Secrets by reference; the egress attaches them. A file `<token file>.origins` beside a token, `<password
    /// file>.origins` beside a password or a secret, or `<shared file>.origins` beside keys, one origin a line, limits where it
    /// is ever sent to, whatever stands here. Default: none.
    #[serde(default)]
    pub(super) credentials: Vec<CredentialSection>,
    /// Networks of the cluster.
    #[serde(default)]
    pub(super) cluster_networks: ClusterNetworksSection,
}

pub(super) struct ApiVersion;

impl Constant for ApiVersion {
    const VALUE: &str = "aerostat.dev/v1alpha1";
}

pub(super) struct CloudConfigKind;

impl Constant for CloudConfigKind {
    const VALUE: &str = "CloudConfig";
}

#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ClusterNetworksSection {
    /// Networks of Pods that are closed to providers whatever Nodes say; needed where Pods have public addresses.
    /// No load balancer and no node gets an address in them, unless a narrower network in `nodes` has it or, for a
    /// node, its kubelet says so too. Default: none.
    #[serde(default)]
    pub(super) pods: Vec<ScalarText<IpNet>>,
    /// Networks of nodes, closed in the same way. Default: none.
    #[serde(default)]
    pub(super) nodes: Vec<ScalarText<IpNet>>,
}
