//! The file, key by key.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use egress::{
    Addresses, BaseUrl, Effect, KeyServiceUrl, Method, OperationPattern, PathPattern, Proxy, ProxyLogin, ProxyUrl,
    Region, Requirement, RoleArn,
};
use ipnet::IpNet;
use oci::{Image, TokenService};
use sandbox::Digest;
use serde::Deserialize;

use super::text::{
    AddressList, ByteSize, Constant, HeaderText, LimitWindow, Only, PositiveNumber, RequestRate, SigningService, Text,
};

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct File {
    /// `aerostat.dev/v1alpha1`.
    #[expect(dead_code, reason = "that it could be read is all that it says")]
    pub(super) api_version: Only<ApiVersion>,
    /// `CloudConfig`.
    #[expect(dead_code, reason = "as above")]
    pub(super) kind: Only<Kind>,
    /// The provider, and what it may do.
    pub(super) provider: ProviderSection,
    /// The only origins that the provider may reach. Default: none.
    #[serde(default)]
    pub(super) endpoints: Vec<EndpointSection>,
    /// Secrets by reference; the egress attaches them. A file `<token file>.origins` beside a token, `<password
    /// file>.origins` beside a password or `<shared file>.origins` beside keys, one origin a line, limits where it
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

pub(super) struct Kind;

impl Constant for Kind {
    const VALUE: &str = "CloudConfig";
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ProviderSection {
    /// Where the module comes from: one of `configMap`, `file` and `oci`.
    pub(super) module: ModuleSection,
    /// Values that the provider reads; its page lists them. A name with `*` in its description stands for one of
    /// your own. As text, however it is written: `1.10` stays `1.10`. Default: none.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "super::schema::scalars"))]
    pub(super) settings: BTreeMap<String, String>,
    /// The only beginnings of provider ids that it may claim, as in `["digitalocean://"]`; `""` stands for ids
    /// without `://`. Default: those that it describes, but for other clouds'.
    #[serde(default, rename = "providerIDPrefixes")]
    pub(super) provider_id_prefixes: Vec<String>,
    /// Annotations of Services that it may write. Default: none.
    #[serde(default)]
    pub(super) writes_annotations: Vec<String>,
    /// Labels of nodes that it may see, of those that it describes. Default: none.
    #[serde(default)]
    pub(super) node_labels: Vec<String>,
    /// The only networks of addresses that Services may get, as in `[203.0.113.0/24]`. Addresses of the API server,
    /// of Services and of nodes are refused all the same; those of Pods too, unless a part of their network is
    /// named here. Names are not held against it: no node sends traffic to an address for the sake of a name.
    /// Default: any.
    #[serde(default)]
    pub(super) load_balancer_addresses: Vec<Network>,
    /// The only networks of addresses that nodes may get, internal and external ones. Default: any.
    #[serde(default)]
    pub(super) node_addresses: Vec<Network>,
    /// Limits of its calls.
    pub(super) limits: Option<CallLimitsSection>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ModuleSection {
    /// A key of a ConfigMap, in `data` or `binaryData`.
    pub(super) config_map: Option<ConfigMap>,
    /// A file of the Pod.
    pub(super) file: Option<ModuleFile>,
    /// An artifact in a registry; see [modules from a registry](registry.md).
    pub(super) oci: Option<Oci>,
    /// The signature that the artifact has; for `oci` alone. Default: none is asked for.
    pub(super) signed_by: Option<SignedBySection>,
}

/// A module in a registry.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Oci {
    /// `host[:port]/repository[:tag]`; nothing is filled in. The artifact has one layer, `application/wasm`, of at
    /// most 4 MiB; an index is refused.
    pub(super) image: Text<Image>,
    /// The manifest's digest, `sha256:…`.
    pub(super) digest: Text<Digest>,
    /// The login for the registry. Default: none.
    pub(super) login: Option<LoginSection>,
    /// Hosts that the login may be sent to beside the registry. Default: none.
    #[serde(default)]
    pub(super) token_services: Vec<Text<TokenService>>,
    /// `public`, or networks for a registry of your own. Default: `public`.
    pub(super) addresses: Option<AddressList>,
    /// Certificate authorities in the place of the system's. Default: the system's.
    pub(super) tls: Option<TlsSection>,
    /// The proxy through which it is reached ([below](#through-a-proxy)). Default: none.
    pub(super) proxy: Option<ProxySection>,
    /// The digest that a replica loads after a rollback and a restart. Default: none.
    pub(super) previous: Option<Text<Digest>>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct LoginSection {
    /// A file in Docker's form, read at each pull. Helpers are not executed.
    pub(super) file: PathBuf,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct SignedBySection {
    /// Files with public keys, in PEM; a signature by one of them is enough.
    pub(super) keys: Vec<PathBuf>,
    /// The reference that the signature names. Default: that of `image`, without its tag.
    #[serde(rename = "as")]
    pub(super) name: Option<String>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigMap {
    /// Its namespace. Default: `kube-system`.
    pub(super) namespace: Option<String>,
    /// Its name, which the Role has to allow.
    pub(super) name: String,
    /// The key that holds the module.
    pub(super) key: String,
    /// The checksum of the bytes, in hexadecimal digits.
    pub(super) sha256: Text<Digest>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ModuleFile {
    /// Its path.
    pub(super) path: PathBuf,
    /// The checksum of the bytes, in hexadecimal digits.
    pub(super) sha256: Text<Digest>,
}

#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct CallLimitsSection {
    /// CPU time of a call. Default: `500ms`.
    pub(super) cpu: Option<Text<Duration>>,
    /// Time of a call with all of its requests. Default: `120s`.
    pub(super) wall: Option<Text<Duration>>,
    /// Memory of a call. Default: `64Mi`.
    pub(super) memory: Option<Text<ByteSize>>,
    /// Calls at once. A quarter is kept for nodes and a quarter for load balancers; with 1, slow load balancers
    /// keep nodes waiting. Default: 8.
    pub(super) concurrency: Option<Text<PositiveNumber>>,
    /// Requests that are `delete` or `detach` in one step that builds or changes a load balancer; 0 forbids them.
    /// Default: 10.
    pub(super) deletes_per_ensure: Option<u32>,
    /// The same in one step that deletes a load balancer. Default: 20.
    pub(super) deletes_per_delete: Option<u32>,
    /// Limits of the process that compiles the module, and of what the module may have. A refusal names the key to
    /// raise.
    pub(super) compile: Option<CompileLimitsSection>,
}

#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct CompileLimitsSection {
    /// Memory of the process. Default: `512Mi`.
    pub(super) memory: Option<Text<ByteSize>>,
    /// CPU time of the process. Default: `30s`.
    pub(super) cpu: Option<Text<Duration>>,
    /// Bytes of machine code. Default: `64Mi`.
    pub(super) output: Option<Text<ByteSize>>,
    /// Modules. Default: 100.
    pub(super) modules: Option<u64>,
    /// Components, modules and types inside one another. Default: 16.
    pub(super) nesting: Option<u64>,
    /// Types. Default: 20000.
    pub(super) types: Option<u64>,
    /// Definitions. Default: 50000.
    pub(super) definitions: Option<u64>,
    /// Bytes of custom sections. Default: `1Mi`.
    pub(super) custom_bytes: Option<Text<ByteSize>>,
    /// Functions. Default: 20000.
    pub(super) functions: Option<u64>,
    /// Bytes of one function. Default: `128Ki`.
    pub(super) function_bytes: Option<Text<ByteSize>>,
    /// Locals of one function. Default: 1000.
    pub(super) locals: Option<u64>,
    /// Blocks inside one another in one function. Default: 500.
    pub(super) blocks: Option<u64>,
    /// Targets of branches of one function. Default: 10000.
    pub(super) branch_targets: Option<u64>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct EndpointSection {
    /// The name by which the provider asks for it; its page lists them.
    pub(super) name: String,
    /// `https://` and a host, with a path where the API has one.
    pub(super) base_url: Text<BaseUrl>,
    /// The name of the credential that its requests get. Default: none.
    pub(super) credential: Option<String>,
    /// For what signatures are, where the credential is `sigv4`. Default: none.
    pub(super) signing: Option<SigningSection>,
    /// Where a request says what it does, for APIs with one path for everything: `{ parameter: Action }` or `{
    /// header: x-acs-action }`. Then each rule names `operations` and its `effect`, each request says its operation
    /// once and there, and its body is a form. Default: the method and the path say it.
    pub(super) operation: Option<Operation>,
    /// Parameters that each request carries once in its query or form, as in `{ Version: 2016-11-15 }`. As text,
    /// however it is written: `1.10` stays `1.10`. Default: none.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "super::schema::scalars"))]
    pub(super) parameters: BTreeMap<String, String>,
    /// The rules: a request that matches none does not leave.
    pub(super) allow: Vec<RuleSection>,
    /// `public`, or a list of networks for a private cloud. Default: `public`.
    pub(super) addresses: Option<AddressList>,
    /// Certificate authorities in the place of the system's. Default: the system's.
    pub(super) tls: Option<TlsSection>,
    /// The proxy through which it is reached ([below](#through-a-proxy)). Default: none.
    pub(super) proxy: Option<ProxySection>,
    /// Headers that the provider may send beside those that it may send everywhere, as in `[x-tenant]`. Default: none.
    #[serde(default)]
    pub(super) headers: Vec<String>,
    /// Limits of its requests.
    pub(super) limits: Option<EndpointLimitsSection>,
}

/// The name for which a signature was made.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct SigningSection {
    /// The region, as in `eu-west-1`.
    pub(super) region: Text<Region>,
    /// The service as signatures name it: `ec2`, `elasticloadbalancing`.
    pub(super) service: Text<SigningService>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RuleSection {
    /// Methods, as in `[GET]`.
    pub(super) methods: Vec<Text<Method>>,
    /// Paths below `baseUrl`: `*` is one segment, `**` any number.
    pub(super) paths: Vec<Text<PathPattern>>,
    /// Operations, as in `[Describe*]`, where the endpoint has them.
    #[serde(default)]
    pub(super) operations: Vec<Text<OperationPattern>>,
    /// Effect of its requests: `read`; `update` (changes an object that stays, or gives it members); `detach`
    /// (takes members away, or may: targets, listeners, rules, routes, tags); `write` (makes whole objects: load
    /// balancers, machines); `delete` (takes whole objects away). Only what reads leaves from calls that look, only
    /// the leader writes, and each of the others has a limit. Of several rules that match, the most harmful effect
    /// counts. Default: GET and HEAD read, DELETE is `delete`, the others are `write`: the strictest limits.
    pub(super) effect: Option<Text<Effect>>,
    /// `[if-match]`: a request names the version that it read. Default: nothing.
    #[serde(default)]
    pub(super) requires: Vec<Text<Requirement>>,
    /// Names that may stand in query and form ([below](#what-may-stand-in-requests)). Default: any.
    pub(super) only: Option<Vec<String>>,
    /// Names in query and form, and patterns for their values ([below](#what-may-stand-in-requests)). Default: any.
    #[serde(rename = "where")]
    pub(super) values: Option<BTreeMap<String, Vec<String>>>,
    /// Members of a JSON body ([below](#what-may-stand-in-requests)). Default: any.
    pub(super) fields: Option<Vec<String>>,
}

/// Where a request says what it does.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) enum Operation {
    Parameter(String),
    Header(String),
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct TlsSection {
    /// A file of certificates, in PEM.
    pub(super) ca_file: PathBuf,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ProxySection {
    /// `http://host:port`, or `https://…` for TLS to the proxy itself.
    pub(super) url: Text<ProxyUrl>,
    /// `public`, or the networks of the proxy. Default: `public`.
    pub(super) addresses: Option<AddressList>,
    /// Certificate authorities of an `https://` proxy in the place of the system's. Default: the system's.
    pub(super) tls: Option<TlsSection>,
    /// The login that it asks for. Default: none.
    pub(super) login: Option<ProxyLoginSection>,
}

impl ProxySection {
    pub(super) fn proxy(self) -> Proxy {
        Proxy {
            url: self.url.0,
            addresses: self.addresses.map_or(Addresses::Public, |it| it.0),
            ca_file: self.tls.map(|it| it.ca_file),
            login: self.login.map(|it| ProxyLogin { user_file: it.user_file, password_file: it.password_file }),
        }
    }
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ProxyLoginSection {
    /// The user's name; read for each connection.
    pub(super) user_file: PathBuf,
    /// The password; read for each connection.
    pub(super) password_file: PathBuf,
}

#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct EndpointLimitsSection {
    /// Requests in a second. Default: 20.
    pub(super) requests_per_second: Option<Text<RequestRate>>,
    /// Requests at once. Default: 8.
    pub(super) concurrency: Option<Text<PositiveNumber>>,
    /// Bytes of an answer. Default: `16Mi`.
    pub(super) response_bytes: Option<Text<ByteSize>>,
    /// Time of a request until its answer is there in full. Default: `30s`.
    pub(super) total: Option<Text<Duration>>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct CredentialSection {
    /// The name that endpoints write as `credential`.
    pub(super) name: String,
    /// A token: `authorization: Bearer`.
    pub(super) bearer: Option<Bearer>,
    /// A user and a password: `authorization: Basic`.
    pub(super) basic: Option<Basic>,
    /// A signature of each request, by AWS's Signature Version 4 ([below](#keys-for-aws)).
    pub(super) sigv4: Option<Box<Sigv4>>,
    /// Writes that may leave with it ([what is removed](removal.md)).
    pub(super) limits: Option<WriteLimitsSection>,
}

#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct WriteLimitsSection {
    /// The time over which writes are counted, at most an hour. Default: `10m`.
    pub(super) window: Option<Text<LimitWindow>>,
    /// Deletions of whole objects that leave however little Kubernetes asks for; 0 forbids those that it does not
    /// ask for; so it is with the others. Default: 20.
    pub(super) deletions: Option<u32>,
    /// Creations of whole objects. Default: 50.
    pub(super) creations: Option<u32>,
    /// Members taken away. Default: 50.
    pub(super) detachments: Option<u32>,
    /// Changes of objects that stay. Default: 200.
    pub(super) updates: Option<u32>,
    /// Deletions for each change that Kubernetes asks for. Default: 2.
    pub(super) deletions_per_change: Option<u32>,
    /// Creations for each change. Default: 3.
    pub(super) creations_per_change: Option<u32>,
    /// Detachments for each change. Default: 3.
    pub(super) detachments_per_change: Option<u32>,
    /// Updates for each change. Default: 5.
    pub(super) updates_per_change: Option<u32>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Bearer {
    /// A token of 8 characters or more; read again when it changes.
    pub(super) file: PathBuf,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Basic {
    /// The user's name.
    pub(super) user_file: PathBuf,
    /// A password of 8 characters or more; both are read again when they change.
    pub(super) password_file: PathBuf,
}

/// A signature of each request, by AWS's Signature Version 4.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Sigv4 {
    /// The only region that is signed for, and whose STS is asked.
    pub(super) region: Text<Region>,
    /// Keys in a file. One of these four is written.
    pub(super) shared_file: Option<SharedFile>,
    /// A role for the ServiceAccount (IRSA).
    pub(super) web_identity: Option<WebIdentity>,
    /// EKS Pod Identity.
    pub(super) pod_identity: Option<PodIdentity>,
    /// The role of the machine, by IMDSv2. From a Pod outside of the host's network it takes a hop limit of 2.
    pub(super) instance_metadata: Option<InstanceMetadata>,
    /// The role to take with these keys. Default: none.
    pub(super) assume_role: Option<AssumeRoleSection>,
    /// The Security Token Service. Default: the region's own.
    pub(super) sts: Option<StsSection>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct SharedFile {
    /// A file in the format of `~/.aws/credentials`; read again when it changes. Of other files, programs and roles
    /// that a profile names nothing is read.
    pub(super) file: PathBuf,
    /// Its section. Default: `default`.
    pub(super) profile: Option<String>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct WebIdentity {
    /// The role.
    pub(super) role_arn: Text<RoleArn>,
    /// The token that the kubelet projects.
    pub(super) token_file: PathBuf,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct PodIdentity {
    /// The agent. Default: `http://169.254.170.23/v1/credentials`.
    pub(super) url: Option<Text<KeyServiceUrl>>,
    /// The token that the kubelet projects.
    pub(super) token_file: PathBuf,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct InstanceMetadata {
    /// The metadata service. Default: `http://169.254.169.254`.
    pub(super) url: Option<Text<KeyServiceUrl>>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct AssumeRoleSection {
    /// The role.
    pub(super) role_arn: Text<RoleArn>,
    /// The external id that its trust policy asks for. Default: none.
    pub(super) external_id: Option<String>,
    /// The header `x-amz-source-arn`. Default: none.
    pub(super) source_arn: Option<Text<HeaderText>>,
    /// The header `x-amz-source-account`. As text: an account may begin with 0. Default: none.
    pub(super) source_account: Option<Text<HeaderText>>,
}

#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct StsSection {
    /// Its address. Default: the region's own.
    pub(super) base_url: Option<Text<BaseUrl>>,
    /// `public`, or networks. Default: `public`.
    pub(super) addresses: Option<AddressList>,
    /// Certificate authorities in the place of the system's. Default: the system's.
    pub(super) tls: Option<TlsSection>,
    /// The proxy through which it is reached ([below](#through-a-proxy)). Default: none.
    pub(super) proxy: Option<ProxySection>,
}

#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ClusterNetworksSection {
    /// Networks of Pods that are closed to providers whatever Nodes say; needed where Pods have public addresses.
    /// No load balancer and no node gets an address in them, unless a narrower network in `nodes` has it or, for a
    /// node, its kubelet says so too. Default: none.
    #[serde(default)]
    pub(super) pods: Vec<Network>,
    /// Networks of nodes, closed in the same way. Default: none.
    #[serde(default)]
    pub(super) nodes: Vec<Network>,
}

pub(super) type Network = Text<IpNet>;
