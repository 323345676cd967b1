//! `provider`: the module, its settings, and its limits, key by key.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use oci::{Image, TokenService};
use sandbox::Digest;
use serde::Deserialize;

use super::reach::{ProxySection, TlsSection};
use crate::config::text::{AddressList, ByteSize, ConfigMapName, PositiveNumber, ScalarText};

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ProviderSection {
    /// Where the module comes from: one of `configMap`, `file` and `oci`.
    pub(crate) module: ModuleSection,
    /// Values that the provider reads; its page lists them. A name with `*` in its description stands for one of
    /// your own. As text, however it is written: `1.10` stays `1.10`. Default: none.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "crate::config::schema::scalars"))]
    pub(crate) settings: BTreeMap<String, String>,
    /// The only beginnings of provider ids that it may claim, as in `["digitalocean://"]`; `""` stands for ids
    /// without `://`. Default: those that it describes, but for other clouds'.
    #[serde(default, rename = "providerIDPrefixes")]
    pub(crate) provider_id_prefixes: Vec<String>,
    /// Annotations of Services that it may write. Default: none.
    #[serde(default)]
    pub(crate) writes_annotations: Vec<String>,
    /// Finalizers of an earlier controller that go with aerostat's own once a load balancer is deleted, of those that
    /// it describes. Default: none.
    #[serde(default)]
    pub(crate) finalizers: Vec<String>,
    /// ConfigMaps of which it may read the values that it describes, as in `[kube-system/ingress-uid]`: they are read
    /// once, at start, and the Role has to allow it. Default: none.
    #[serde(default)]
    pub(crate) config_maps: Vec<ScalarText<ConfigMapName>>,
    /// Those of `configMaps` that are made where they are missing, with an id of the cluster's as the provider describes
    /// it; the Role has to allow it. Default: none.
    #[serde(default)]
    pub(crate) creates_config_maps: Vec<ScalarText<ConfigMapName>>,
    /// Labels of nodes that it may see, of those that it describes. Default: none.
    #[serde(default)]
    pub(crate) node_labels: Vec<String>,
    /// The only networks of addresses that Services may get, as in `[203.0.113.0/24]`. Addresses of the API server,
    /// of Services and of nodes are refused all the same; those of Pods too, unless a part of their network is
    /// named here. Names are not held against it: no node sends traffic to an address for the sake of a name.
    /// Default: any.
    #[serde(default)]
    pub(crate) load_balancer_addresses: Vec<ScalarText<IpNet>>,
    /// The only networks of addresses that nodes may get, internal and external ones. Default: any.
    #[serde(default)]
    pub(crate) node_addresses: Vec<ScalarText<IpNet>>,
    /// Limits of its calls.
    pub(crate) limits: Option<CallLimitsSection>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ModuleSection {
    /// A key of a ConfigMap, in `data` or `binaryData`.
    pub(crate) config_map: Option<ConfigMap>,
    /// A file of the Pod.
    pub(crate) file: Option<ModuleFile>,
    /// An artifact in a registry; see [modules from a registry](registry.md).
    pub(crate) oci: Option<Oci>,
    /// The signature that the artifact has; for `oci` alone. Default: none is asked for.
    pub(crate) signed_by: Option<SignedBySection>,
}

/// A module in a registry.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Oci {
    /// `host[:port]/repository[:tag]`; nothing is filled in. The artifact has one layer, `application/wasm`, of at
    /// most 4 MiB; an index is refused.
    pub(crate) image: ScalarText<Image>,
    /// The manifest's digest, `sha256:…`.
    pub(crate) digest: ScalarText<Digest>,
    /// The login for the registry. Default: none.
    pub(crate) login: Option<LoginSection>,
    /// Hosts that the login may be sent to beside the registry. Default: none.
    #[serde(default)]
    pub(crate) token_services: Vec<ScalarText<TokenService>>,
    /// `public`, or networks for a registry of your own. Default: `public`.
    pub(crate) addresses: Option<AddressList>,
    /// Certificate authorities in the place of the system's. Default: the system's.
    pub(crate) tls: Option<TlsSection>,
    /// The proxy through which it is reached ([below](#through-a-proxy)). Default: none.
    pub(crate) proxy: Option<ProxySection>,
    /// The digest that a replica loads after a rollback and a restart. Default: none.
    pub(crate) previous: Option<ScalarText<Digest>>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct LoginSection {
    /// A file in Docker's form, read at each pull. Helpers are not executed.
    pub(crate) file: PathBuf,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SignedBySection {
    /// Files with public keys, in PEM; a signature by one of them is enough.
    pub(crate) keys: Vec<PathBuf>,
    /// The reference that the signature names. Default: that of `image`, without its tag.
    #[serde(rename = "as")]
    pub(crate) name: Option<String>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfigMap {
    /// Its namespace. Default: `kube-system`.
    pub(crate) namespace: Option<String>,
    /// Its name, which the Role has to allow.
    pub(crate) name: String,
    /// The key that holds the module.
    pub(crate) key: String,
    /// The checksum of the bytes, in hexadecimal digits.
    pub(crate) sha256: ScalarText<Digest>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ModuleFile {
    /// Its path.
    pub(crate) path: PathBuf,
    /// The checksum of the bytes, in hexadecimal digits.
    pub(crate) sha256: ScalarText<Digest>,
}

#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CallLimitsSection {
    /// CPU time of a call. Default: `500ms`.
    pub(crate) cpu: Option<ScalarText<Duration>>,
    /// Time of a call with all of its requests. Default: `120s`.
    pub(crate) wall: Option<ScalarText<Duration>>,
    /// Memory of a call. Default: `64Mi`.
    pub(crate) memory: Option<ScalarText<ByteSize>>,
    /// Calls at once. A quarter is kept for nodes and a quarter for load balancers; with 1, slow load balancers
    /// keep nodes waiting. Default: 8.
    pub(crate) concurrency: Option<ScalarText<PositiveNumber>>,
    /// Requests that are `delete` or `detach` in one step that builds or changes a load balancer; 0 forbids them.
    /// Default: 10.
    pub(crate) deletes_per_ensure: Option<u32>,
    /// The same in one step that deletes a load balancer. Default: 20.
    pub(crate) deletes_per_delete: Option<u32>,
    /// Limits of the process that compiles the module, and of what the module may have. A refusal names the key to
    /// raise.
    pub(crate) compile: Option<CompileLimitsSection>,
}

#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CompileLimitsSection {
    /// Memory of the process. Default: `512Mi`.
    pub(crate) memory: Option<ScalarText<ByteSize>>,
    /// CPU time of the process. Default: `30s`.
    pub(crate) cpu: Option<ScalarText<Duration>>,
    /// Bytes of machine code. Default: `64Mi`.
    pub(crate) output: Option<ScalarText<ByteSize>>,
    /// Modules. Default: 100.
    pub(crate) modules: Option<u64>,
    /// Components, modules and types inside one another. Default: 16.
    pub(crate) nesting: Option<u64>,
    /// Types. Default: 20000.
    pub(crate) types: Option<u64>,
    /// Definitions. Default: 100000.
    pub(crate) definitions: Option<u64>,
    /// Bytes of custom sections. Default: `1Mi`.
    pub(crate) custom_bytes: Option<ScalarText<ByteSize>>,
    /// Functions. Default: 20000.
    pub(crate) functions: Option<u64>,
    /// Bytes of one function. Default: `128Ki`.
    pub(crate) function_bytes: Option<ScalarText<ByteSize>>,
    /// Locals of one function. Default: 1000.
    pub(crate) locals: Option<u64>,
    /// Blocks inside one another in one function. Default: 2000.
    pub(crate) blocks: Option<u64>,
    /// Targets of branches of one function. Default: 10000.
    pub(crate) branch_targets: Option<u64>,
}
