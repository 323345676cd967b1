//! The file, key by key.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use egress::{BaseUrl, Effect, KeyServiceUrl, Method, OperationPattern, PathPattern, Region, Requirement, RoleArn};
use ipnet::IpNet;
use oci::{Image, TokenService};
use sandbox::Digest;
use serde::Deserialize;

use super::text::{
    AddressList, ByteSize, Constant, HeaderText, LimitWindow, Only, PositiveNumber, RequestRate, SigningService, Text,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct File {
    /// So that a later version can change the file's form.
    #[expect(dead_code, reason = "that it could be read is all that it says")]
    pub(super) api_version: Only<ApiVersion>,
    #[expect(dead_code, reason = "as above")]
    pub(super) kind: Only<Kind>,
    pub(super) provider: ProviderSection,
    #[serde(default)]
    pub(super) endpoints: Vec<EndpointSection>,
    #[serde(default)]
    pub(super) credentials: Vec<CredentialSection>,
    #[serde(default)]
    pub(super) cluster_networks: ClusterNetworksSection,
}

pub(super) struct ApiVersion;

impl Constant for ApiVersion {
    const VALUE: &str = "aerostat.dev/v1alpha1";
}

pub(super) struct Kind;

impl Constant for Kind {
    const VALUE: &str = "CloudConfig";
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ProviderSection {
    pub(super) module: ModuleSection,
    /// As text, however it is written: `1.10` stays `1.10`.
    #[serde(default)]
    pub(super) settings: BTreeMap<String, String>,
    #[serde(default, rename = "providerIDPrefixes")]
    pub(super) provider_id_prefixes: Vec<String>,
    #[serde(default)]
    pub(super) writes_annotations: Vec<String>,
    #[serde(default)]
    pub(super) node_labels: Vec<String>,
    #[serde(default)]
    pub(super) load_balancer_addresses: Vec<Network>,
    #[serde(default)]
    pub(super) node_addresses: Vec<Network>,
    pub(super) limits: Option<CallLimitsSection>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ModuleSection {
    pub(super) config_map: Option<ConfigMap>,
    pub(super) file: Option<ModuleFile>,
    pub(super) oci: Option<Oci>,
    pub(super) signed_by: Option<SignedBySection>,
}

/// A module in a registry.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Oci {
    pub(super) image: Text<Image>,
    /// The manifest's digest.
    pub(super) digest: Text<Digest>,
    pub(super) login: Option<LoginSection>,
    #[serde(default)]
    pub(super) token_services: Vec<Text<TokenService>>,
    pub(super) addresses: Option<AddressList>,
    pub(super) tls: Option<TlsSection>,
    pub(super) previous: Option<Text<Digest>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoginSection {
    pub(super) file: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SignedBySection {
    pub(super) keys: Vec<PathBuf>,
    #[serde(rename = "as")]
    pub(super) name: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigMap {
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) key: String,
    pub(super) sha256: Text<Digest>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModuleFile {
    pub(super) path: PathBuf,
    pub(super) sha256: Text<Digest>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct CallLimitsSection {
    pub(super) cpu: Option<Text<Duration>>,
    pub(super) wall: Option<Text<Duration>>,
    pub(super) memory: Option<Text<ByteSize>>,
    pub(super) concurrency: Option<Text<PositiveNumber>>,
    /// 0 forbids them.
    pub(super) deletes_per_ensure: Option<u32>,
    pub(super) deletes_per_delete: Option<u32>,
    pub(super) compile: Option<CompileLimitsSection>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct CompileLimitsSection {
    pub(super) memory: Option<Text<ByteSize>>,
    pub(super) cpu: Option<Text<Duration>>,
    pub(super) output: Option<Text<ByteSize>>,
    pub(super) modules: Option<u64>,
    pub(super) nesting: Option<u64>,
    pub(super) types: Option<u64>,
    pub(super) definitions: Option<u64>,
    pub(super) custom_bytes: Option<Text<ByteSize>>,
    pub(super) functions: Option<u64>,
    pub(super) function_bytes: Option<Text<ByteSize>>,
    pub(super) locals: Option<u64>,
    pub(super) blocks: Option<u64>,
    pub(super) branch_targets: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct EndpointSection {
    pub(super) name: String,
    pub(super) base_url: Text<BaseUrl>,
    pub(super) credential: Option<String>,
    pub(super) signing: Option<SigningSection>,
    pub(super) operation: Option<Operation>,
    /// As text, however it is written: `1.10` stays `1.10`.
    #[serde(default)]
    pub(super) parameters: BTreeMap<String, String>,
    pub(super) allow: Vec<RuleSection>,
    pub(super) addresses: Option<AddressList>,
    pub(super) tls: Option<TlsSection>,
    #[serde(default)]
    pub(super) headers: Vec<String>,
    pub(super) limits: Option<EndpointLimitsSection>,
}

/// The name for which a signature was made.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SigningSection {
    pub(super) region: Text<Region>,
    pub(super) service: Text<SigningService>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleSection {
    pub(super) methods: Vec<Text<Method>>,
    pub(super) paths: Vec<Text<PathPattern>>,
    #[serde(default)]
    pub(super) operations: Vec<Text<OperationPattern>>,
    pub(super) effect: Option<Text<Effect>>,
    #[serde(default)]
    pub(super) requires: Vec<Text<Requirement>>,
    pub(super) only: Option<Vec<String>>,
    #[serde(rename = "where")]
    pub(super) values: Option<BTreeMap<String, Vec<String>>>,
    pub(super) fields: Option<Vec<String>>,
}

/// Where a request says what it does.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) enum Operation {
    Parameter(String),
    Header(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct TlsSection {
    pub(super) ca_file: PathBuf,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct EndpointLimitsSection {
    pub(super) requests_per_second: Option<Text<RequestRate>>,
    pub(super) concurrency: Option<Text<PositiveNumber>>,
    pub(super) response_bytes: Option<Text<ByteSize>>,
    pub(super) total: Option<Text<Duration>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CredentialSection {
    pub(super) name: String,
    pub(super) bearer: Option<Bearer>,
    pub(super) basic: Option<Basic>,
    pub(super) sigv4: Option<Box<Sigv4>>,
    pub(super) limits: Option<WriteLimitsSection>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct WriteLimitsSection {
    pub(super) window: Option<Text<LimitWindow>>,
    /// 0 forbids those that Kubernetes does not ask for; so it is with the others.
    pub(super) deletions: Option<u32>,
    pub(super) creations: Option<u32>,
    pub(super) detachments: Option<u32>,
    pub(super) updates: Option<u32>,
    pub(super) deletions_per_change: Option<u32>,
    pub(super) creations_per_change: Option<u32>,
    pub(super) detachments_per_change: Option<u32>,
    pub(super) updates_per_change: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bearer {
    pub(super) file: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Basic {
    pub(super) user_file: PathBuf,
    pub(super) password_file: PathBuf,
}

/// A signature of each request, by AWS's Signature Version 4.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Sigv4 {
    pub(super) region: Text<Region>,
    pub(super) shared_file: Option<SharedFile>,
    pub(super) web_identity: Option<WebIdentity>,
    pub(super) pod_identity: Option<PodIdentity>,
    pub(super) instance_metadata: Option<InstanceMetadata>,
    pub(super) assume_role: Option<AssumeRoleSection>,
    pub(super) sts: Option<StsSection>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SharedFile {
    pub(super) file: PathBuf,
    pub(super) profile: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct WebIdentity {
    pub(super) role_arn: Text<RoleArn>,
    pub(super) token_file: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct PodIdentity {
    pub(super) url: Option<Text<KeyServiceUrl>>,
    pub(super) token_file: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InstanceMetadata {
    pub(super) url: Option<Text<KeyServiceUrl>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct AssumeRoleSection {
    pub(super) role_arn: Text<RoleArn>,
    pub(super) external_id: Option<String>,
    pub(super) source_arn: Option<Text<HeaderText>>,
    /// As text: an account may begin with 0.
    pub(super) source_account: Option<Text<HeaderText>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct StsSection {
    pub(super) base_url: Option<Text<BaseUrl>>,
    pub(super) addresses: Option<AddressList>,
    pub(super) tls: Option<TlsSection>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClusterNetworksSection {
    #[serde(default)]
    pub(super) pods: Vec<Network>,
    #[serde(default)]
    pub(super) nodes: Vec<Network>,
}

pub(super) type Network = Text<IpNet>;
