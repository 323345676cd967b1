//! `--cloud-config`: which provider, its settings, and what it may reach. Unknown keys are errors.

mod acs3;
mod credential;
mod entra;
mod file;
mod google;
mod ibm_iam;
mod keystone;
mod module;
mod sts;
mod text;
mod written;

use std::collections::BTreeMap;
use std::path::Path;

use egress::{
    AllowedAddresses, BaseUrl, CatalogPlace, CredentialSettings, Endpoint, EndpointLimits, EndpointPlace,
    OperationPlace, Rule, RuleContent, Signing,
};
use ipnet::IpNet;
use sandbox::{CallLimits, CompileLimits, ProviderSettings};

use self::file::CloudConfigFile;
pub(crate) use self::module::{ModuleSource, loosened};
pub(crate) use self::text::ConfigMapName;
use self::text::{ByteSize, ScalarText, WrittenOrigin};
pub(crate) use self::written::WrittenConfig;
use crate::flags::IdentityVariables;

/// The operator's file, in the sandbox's words.
#[derive(Debug)]
pub(crate) struct CloudConfig {
    /// Where the provider is.
    pub(crate) source: ModuleSource,
    /// Everything in the file but where the provider is.
    pub(crate) written: WrittenConfig,
    /// The limits of compiling the provider.
    pub(crate) compile: CompileLimits,
    /// The provider's settings, and what a call may use.
    pub(crate) provider: ProviderSettings,
    /// The ConfigMaps of which the provider may read what it describes.
    pub(crate) config_maps: Vec<ConfigMapName>,
    /// Those of them that may be made.
    pub(crate) creates_config_maps: Vec<ConfigMapName>,
    /// The prefixes that the provider's provider ids may have; empty if the operator has not said.
    pub(crate) provider_id_prefixes: Vec<String>,
    /// The endpoints that the provider may reach.
    pub(crate) endpoints: Vec<Endpoint>,
    /// Where the secrets are.
    pub(crate) credentials: Vec<CredentialSettings>,
    /// Where the cluster is.
    pub(crate) cluster_networks: ClusterNetworks,
    /// The addresses and labels that the provider's answers may name.
    pub(crate) answers: AllowedAnswers,
}

/// The only networks of addresses that a provider may answer; any, where there are none.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllowedAnswers {
    pub(crate) load_balancer_addresses: Vec<IpNet>,
    pub(crate) node_addresses: Vec<IpNet>,
}

/// The operator's word on where pods and nodes are. It counts whatever Nodes say.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterNetworks {
    pub(crate) pods: Vec<IpNet>,
    pub(crate) nodes: Vec<IpNet>,
}

/// The file cannot be used: its name, the cause with its place, and the next step.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("cannot read --cloud-config {path}; look at what is mounted there")]
    Read { path: String, source: std::io::Error },
    #[error("cannot use --cloud-config {path}: {because}")]
    Use { path: String, because: String },
}

impl CloudConfig {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// If it is not there, is not YAML, or says what has no meaning.
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: name.clone(), source })?;
        Self::parse_with(&text, &IdentityVariables::read()).map_err(|because| ConfigError::Use { path: name, because })
    }

    /// As [`CloudConfig::parse_with`], where the environment names nothing.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::parse_with(text, &IdentityVariables::default())
    }

    /// Reads the file's text. The error is a sentence with its place in the text.
    fn parse_with(text: &str, variables: &IdentityVariables) -> Result<Self, String> {
        let file: CloudConfigFile = serde_saphyr::from_str(text).map_err(|error| explain(&error))?;
        let config = Self::of(file, variables)?;
        Ok(Self { written: WrittenConfig::parse(text), ..config })
    }

    fn of(file: CloudConfigFile, variables: &IdentityVariables) -> Result<Self, String> {
        // What was not destructured here would be a key without effect.
        let CloudConfigFile { api_version: _, kind: _, provider, endpoints, credentials, cluster_networks } = file;
        let file::ClusterNetworksSection { pods, nodes } = cluster_networks;
        let file::ProviderSection {
            module,
            settings,
            provider_id_prefixes,
            writes_annotations,
            finalizers,
            config_maps,
            creates_config_maps,
            node_labels,
            load_balancer_addresses,
            node_addresses,
            limits,
        } = provider;
        let limits = limits.unwrap_or_default();
        let default = CallLimits::default();
        Ok(Self {
            source: module::source(module)?,
            written: WrittenConfig::default(),
            compile: compile(limits.compile.unwrap_or_default()),
            provider: ProviderSettings {
                settings: settings.into_iter().collect(),
                node_labels,
                limits: CallLimits {
                    cpu: limits.cpu.map_or(default.cpu, |it| it.0),
                    wall: limits.wall.map_or(default.wall, |it| it.0),
                    memory: limits.memory.map_or(default.memory, |it| it.0.0),
                    concurrency: limits.concurrency.map_or(default.concurrency, |it| it.0.0),
                    deletes_per_ensure: limits.deletes_per_ensure.unwrap_or(default.deletes_per_ensure),
                    deletes_per_delete: limits.deletes_per_delete.unwrap_or(default.deletes_per_delete),
                    ..default
                },
                writes_annotations,
                takes_finalizers: finalizers,
                is_asked_in_turn: false,
            },
            config_maps: config_maps.into_iter().map(|it| it.0).collect(),
            creates_config_maps: creates_config_maps.into_iter().map(|it| it.0).collect(),
            provider_id_prefixes,
            endpoints: endpoints.into_iter().map(endpoint).collect::<Result<_, _>>()?,
            credentials: credentials
                .into_iter()
                .map(|it| credential::credential(it, variables))
                .collect::<Result<_, _>>()?,
            cluster_networks: ClusterNetworks { pods: networks(pods), nodes: networks(nodes) },
            answers: AllowedAnswers {
                load_balancer_addresses: networks(load_balancer_addresses),
                node_addresses: networks(node_addresses),
            },
        })
    }
}

fn networks(networks: Vec<ScalarText<IpNet>>) -> Vec<IpNet> {
    networks.into_iter().map(|it| it.0).collect()
}

fn compile(limits: file::CompileLimitsSection) -> CompileLimits {
    let file::CompileLimitsSection {
        memory,
        cpu,
        output,
        modules,
        nesting,
        types,
        definitions,
        custom_bytes,
        functions,
        function_bytes,
        locals,
        blocks,
        branch_targets,
    } = limits;
    let default = CompileLimits::default();
    let bytes = |it: Option<ScalarText<ByteSize>>, default| it.map_or(default, |it| it.0.0 as u64);
    CompileLimits {
        memory: bytes(memory, default.memory),
        // The kernel counts whole seconds.
        cpu: cpu.map_or(default.cpu, |it| it.0.as_millis().div_ceil(1_000).try_into().unwrap_or(u64::MAX)),
        output: bytes(output, default.output),
        modules: modules.unwrap_or(default.modules),
        nesting: nesting.unwrap_or(default.nesting),
        types: types.unwrap_or(default.types),
        definitions: definitions.unwrap_or(default.definitions),
        custom_bytes: bytes(custom_bytes, default.custom_bytes),
        functions: functions.unwrap_or(default.functions),
        function_bytes: bytes(function_bytes, default.function_bytes),
        locals: locals.unwrap_or(default.locals),
        blocks: blocks.unwrap_or(default.blocks),
        branch_targets: branch_targets.unwrap_or(default.branch_targets),
    }
}

fn endpoint(endpoint: file::EndpointSection) -> Result<Endpoint, String> {
    let file::EndpointSection {
        name,
        base_url,
        catalog,
        origins,
        credential,
        signing,
        operation,
        parameters,
        allow,
        addresses,
        tls,
        proxy,
        headers,
        limits,
    } = endpoint;
    let limits = limits.unwrap_or_default();
    let default = EndpointLimits::default();
    let place =
        place(base_url.map(|it| it.0), catalog, origins).map_err(|because| format!("endpoint {name}: {because}"))?;
    let files = tls.unwrap_or_default().files();
    let (ca_file, client_certificate) = files.map_err(|because| format!("endpoint {name}: {because}"))?;
    let rule = |(index, it)| rule(it).map_err(|because| format!("endpoint {name}, allow[{index}]: {because}"));
    let allow = allow.into_iter().enumerate().map(rule).collect::<Result<_, _>>()?;
    let signing = signing.map(self::signing).transpose().map_err(|because| format!("endpoint {name}: {because}"))?;
    Ok(Endpoint {
        name,
        place,
        credential,
        signing,
        operation: operation.map(|place| match place {
            file::Operation::Parameter(name) => OperationPlace::Parameter(name),
            file::Operation::Header(name) => OperationPlace::Header(name),
        }),
        parameters: parameters.into_iter().collect(),
        allow,
        addresses: addresses.map_or(AllowedAddresses::Public, |it| it.0),
        ca_file,
        client_certificate,
        proxy: proxy.map(file::ProxySection::proxy),
        headers,
        limits: EndpointLimits {
            requests_per_second: limits.requests_per_second.map_or(default.requests_per_second, |it| it.0.0),
            concurrency: limits.concurrency.map_or(default.concurrency, |it| it.0.0),
            response_bytes: limits.response_bytes.map_or(default.response_bytes, |it| it.0.0),
            total: limits.total.map_or(default.total, |it| it.0),
            ..default
        },
    })
}

/// For what signatures are. The error is a sentence that says what to write.
fn signing(section: file::SigningSection) -> Result<Signing, String> {
    let file::SigningSection { region, service, version } = section;
    match (region, service, version) {
        (Some(region), Some(service), None) => Ok(Signing::Sigv4 { region: region.0, service: service.0.0 }),
        (None, None, Some(version)) => Ok(Signing::Acs3 { version: version.0 }),
        _ => Err("`signing` says not for what; write { region: …, service: … } for a credential with sigv4, or { version: … } for one \
                  with acs3"
            .to_owned()),
    }
}

/// Where an endpoint is. The error is a sentence that says what to write.
fn place(
    base_url: Option<BaseUrl>,
    catalog: Option<file::CatalogSection>,
    origins: Vec<WrittenOrigin>,
) -> Result<EndpointPlace, String> {
    match (base_url, catalog) {
        (Some(base_url), None) if origins.is_empty() => Ok(EndpointPlace::Written(base_url)),
        (Some(_), None) => Err("`origins` is for an endpoint with `catalog`; remove it".to_owned()),
        (None, Some(file::CatalogSection { service, interface, region, path })) => {
            Ok(EndpointPlace::Catalog(CatalogPlace {
                service,
                interface: interface.unwrap_or_else(|| "public".to_owned()),
                region,
                path: path.map(|it| it.0),
                origins: origins.into_iter().map(|it| it.0).collect(),
            }))
        }
        (None, None) => Err("it says not where it is; write baseUrl, or catalog and origins".to_owned()),
        (Some(_), Some(_)) => Err("it has both baseUrl and catalog; write one of them".to_owned()),
    }
}

fn rule(rule: file::RuleSection) -> Result<Rule, String> {
    let file::RuleSection { methods, paths, operations, effect, requires, only, values, fields, body } = rule;
    // An empty list is not taken for none: a rule without these lets everything stand.
    let is_empty = |it: &Option<BTreeMap<_, _>>| it.as_ref().is_some_and(BTreeMap::is_empty);
    if is_empty(&values) || is_empty(&body) || fields.as_ref().is_some_and(Vec::is_empty) {
        let because =
            "`where`, `fields` or `body` names nothing; name something, or write only: [] to let nothing stand";
        return Err(because.to_owned());
    }
    let values: Vec<_> = values.unwrap_or_default().into_iter().collect();
    let fields = fields.unwrap_or_default();
    let body: Vec<_> = body.unwrap_or_default().into_iter().collect();
    Ok(Rule {
        methods: methods.into_iter().map(|it| it.0).collect(),
        paths: paths.into_iter().map(|it| it.0).collect(),
        operations: operations.into_iter().map(|it| it.0).collect(),
        effect: effect.map(|it| it.0),
        requires: requires.into_iter().map(|it| it.0).collect(),
        content: RuleContent::parse(only.as_deref(), &values, &fields)?.with_body(&body)?,
    })
}

/// The parser's words, with line and column. Without the lines around it: what is misplaced there may be a secret.
fn explain(error: &serde_saphyr::Error) -> String {
    let words = error.without_snippet().to_string();
    match words.contains("expected string scalar") {
        true => format!("{words}: write text, a number, true or false there, and no list or map"),
        false => words,
    }
}

#[cfg(test)]
mod schema;
#[cfg(test)]
mod shipped;
#[cfg(test)]
mod tests;
