//! A module's description for people and programs: as lines, and as JSON. Pure.

mod text;

use std::collections::BTreeMap;

use cloud_provider::{Cloud, Endpoint, OperationPlace, Permission};
use oci::Release;
use sandbox::{Digest, Interfaces};
use serde::Serialize;

/// The interface whose version is that of the contract.
const PROVIDER: &str = "aerostat:cloud/provider@";

/// A module as it was found, and its description.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Inspected {
    reference: String,
    /// The digest of the manifest; none for a file.
    manifest: Option<String>,
    module: ModuleLine,
    provider: ProviderLine,
    endpoints: Vec<EndpointLine>,
    settings: Vec<SettingLine>,
    annotations: AnnotationLine,
    ingress: IngressLine,
    node_labels: Vec<String>,
    /// None for a file, which has no place for them.
    signatures: Option<Vec<InspectedSignature>>,
    /// The keys that the config lacks; none without a config.
    missing: Option<Vec<String>>,
    /// The rights that the config gives beyond those the module asks for; none without a config.
    wider: Option<Vec<String>>,
}

/// A config compared with a module.
pub(super) struct Compared {
    /// The keys that it lacks.
    pub(super) missing: Vec<String>,
    /// The rights that it gives beyond those the module asks for.
    pub(super) wider: Vec<String>,
}

/// The bytes of a module.
pub(super) struct ModuleBytes {
    pub(super) sha256: Digest,
    pub(super) size: usize,
    /// In a registry.
    pub(super) media_type: Option<&'static str>,
}

/// A signature.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InspectedSignature {
    /// `bundle`, `tag`, or `unreadable`.
    pub(super) form: &'static str,
    /// The key that a bundle names as its own.
    pub(super) key: Option<String>,
    /// As which repository a tag signature says that it was signed.
    pub(super) name: Option<String>,
    /// `acme.pub (bundle)`.
    pub(super) verified_by: Option<String>,
    /// Why it does not count.
    pub(super) because: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ModuleLine {
    sha256: String,
    size: usize,
    media_type: Option<&'static str>,
    interfaces: oci::PushedInterfaces,
}

#[derive(Serialize)]
struct ProviderLine {
    name: String,
    version: String,
    contract: String,
    capabilities: Vec<&'static str>,
    #[serde(rename = "providerIDPrefixes")]
    provider_id_prefixes: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EndpointLine {
    name: String,
    purpose: String,
    example_base_url: String,
    headers: Vec<String>,
    /// `parameter Action` or `header x-acs-action`.
    operation: Option<String>,
    parameters: Vec<String>,
    allow: Vec<PermissionLine>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PermissionLine {
    methods: Vec<String>,
    paths: Vec<String>,
    operations: Vec<String>,
    effect: &'static str,
    actions: Vec<String>,
    /// The members that the requests carry; each of these lists is absent if it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    only: Option<Vec<String>>,
    #[serde(rename = "where", skip_serializing_if = "BTreeMap::is_empty")]
    values: BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    body: BTreeMap<String, Vec<String>>,
    /// As in a rule.
    #[serde(skip)]
    carried: String,
}

#[derive(Serialize)]
struct SettingLine {
    name: String,
    required: bool,
    default: Option<String>,
    doc: String,
}

#[derive(Serialize)]
struct AnnotationLine {
    reads: Vec<String>,
    writes: Vec<String>,
}

/// Where its load balancers may be reached.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IngressLine {
    vip: bool,
    shared_addresses: bool,
}

impl Inspected {
    pub(super) fn new(
        reference: &str,
        registry: Option<(Release, Vec<InspectedSignature>)>,
        module: ModuleBytes,
        interfaces: &Interfaces,
        cloud: &Cloud,
        compared: Option<Compared>,
    ) -> Self {
        let it = cloud.description.now();
        let (release, signatures) = registry.unzip();
        let (missing, wider) = compared.map(|Compared { missing, wider }| (missing, wider)).unzip();
        let setting = |setting: &cloud_provider::Setting| SettingLine {
            name: setting.name.clone(),
            required: setting.required,
            default: setting.default.clone(),
            doc: setting.doc.clone(),
        };
        Self {
            reference: reference.to_owned(),
            manifest: release.map(|it| format!("sha256:{}", it.digest)),
            module: ModuleLine {
                sha256: module.sha256.to_string(),
                size: module.size,
                media_type: module.media_type,
                interfaces: oci::PushedInterfaces {
                    exports: interfaces.exports.clone(),
                    imports: interfaces.imports.clone(),
                },
            },
            provider: ProviderLine {
                name: it.name.clone(),
                version: it.version.clone(),
                contract: contract(interfaces),
                capabilities: capabilities(cloud),
                provider_id_prefixes: it.provider_id_prefixes.clone(),
            },
            endpoints: it.endpoints.iter().map(endpoint).collect(),
            settings: it.settings.iter().map(setting).collect(),
            annotations: AnnotationLine {
                reads: it.annotations.iter().map(|it| it.key.clone()).collect(),
                writes: it.writes_annotations.clone(),
            },
            ingress: IngressLine { vip: it.ingress.vip, shared_addresses: it.ingress.shared },
            node_labels: it.node_labels.clone(),
            signatures,
            missing,
            wider,
        }
    }
}

/// The version of the contract that a provider was built for.
fn contract(interfaces: &Interfaces) -> String {
    let version = interfaces.exports.iter().find_map(|it| it.strip_prefix(PROVIDER));
    version.unwrap_or("unknown").to_owned()
}

/// As the interfaces of the contract are called.
fn capabilities(cloud: &Cloud) -> Vec<&'static str> {
    let found = [
        ("instances", cloud.instances.is_some()),
        ("load-balancers", cloud.load_balancers.is_some()),
        ("load-balancer-batches", cloud.description.now().load_balancer_batches.is_some()),
        ("load-balancer-inventory", cloud.load_balancer_inventory.is_some()),
        ("routes", cloud.routes.is_some()),
        ("persistent-volumes", cloud.persistent_volumes.is_some()),
        ("volumes", cloud.volumes.is_some()),
    ];
    found.into_iter().filter_map(|(name, is_there)| is_there.then_some(name)).collect()
}

fn endpoint(it: &Endpoint) -> EndpointLine {
    let permission = |permission: &Permission| PermissionLine {
        methods: permission.methods.clone(),
        paths: permission.paths.clone(),
        operations: permission.operations.clone(),
        effect: permission.effect.as_str(),
        actions: permission.actions.clone(),
        only: permission.content.only.clone(),
        values: permission.content.values.iter().cloned().collect(),
        fields: permission.content.fields.clone(),
        body: permission.content.body.iter().cloned().collect(),
        carried: permission.content.to_string(),
    };
    EndpointLine {
        name: it.name.clone(),
        purpose: it.purpose.clone(),
        example_base_url: it.example_base_url.clone(),
        headers: it.headers.clone(),
        operation: it.operation.as_ref().map(|place| match place {
            OperationPlace::Parameter(name) => format!("parameter {name}"),
            OperationPlace::Header(name) => format!("header {name}"),
        }),
        parameters: it.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect(),
        allow: it.allow.iter().map(permission).collect(),
    }
}

#[cfg(test)]
mod tests;
