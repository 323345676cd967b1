//! The native host of a provider: the real sandbox and egress, with a simulator where the vendor's cloud would be.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Cloud, Cluster, Demand, Description, OperationPlace, Permission};
use egress::{
    Acs3Keys, Acs3Settings, AcsVersion, AllowedAddresses, ApplicationCredentialName, BaseUrl, CatalogPath,
    CatalogPlace, CredentialKind, CredentialSettings, Credentials, Egress, EgressSettings, Endpoint, EndpointLimits,
    EndpointPlace, KeySource, KeystoneLogin, KeystoneSettings, Method, OperationPattern, Origin, PathPattern,
    RegionName, RequestWatcher, Requirement, Rule, RuleContent, Signing, Sigv4Settings, Sts, WriteLimits,
};
use prometheus::Registry;
use sandbox::{Metrics, Module, Provider, ProviderSettings, Sandbox};
use tokio::task::JoinSet;
use tokio::time::timeout;
use uuid::Uuid;

use crate::conversation::Conversation;
use crate::error::ConformanceError;
use crate::protocol::{CloudLogin, Setup};

/// The UID of the cluster that the provider works for.
pub(crate) const CLUSTER: &str = "c1a5e000-1111-2222-3333-444455556666";
/// The UID of a cluster that has the same names.
pub(crate) const OTHER_CLUSTER: &str = "0ddba11f-7777-4888-9999-aaaabbbbcccc";
/// The name of both.
pub(crate) const CLUSTER_NAME: &str = "kubernetes";
/// The name of the credential of all endpoints.
const LOGIN: &str = "login";
/// The end of the name of the file with a key's id, beside that with its secret.
const ID: &str = "id";
/// How long a token is waited for.
const TOKEN: Duration = Duration::from_secs(10);

/// Everything that a process of the host needs, so that it can die and start again.
pub(crate) struct NativeHost {
    sandbox: Sandbox,
    module: Module,
    settings: ProviderSettings,
    base_url: String,
    setup: Setup,
    /// The secret as an operator keeps it.
    secret: Option<SimulatorSecret>,
    description: Arc<Description>,
    /// In the place of a simulator.
    recording: Option<RecordedPlaces>,
}

/// A recording in the place of a simulator.
struct RecordedPlaces {
    /// The base URL of each endpoint that was recorded.
    endpoints: BTreeMap<String, String>,
    cluster_name: String,
    /// Answers every request.
    watcher: Arc<dyn RequestWatcher>,
}

/// A process of the host: one provider, its egress, and nothing kept from before.
pub(crate) struct HostProcess {
    /// The provider's capabilities.
    pub(crate) cloud: Cloud,
    // Lists and calls end with it.
    _provider: Provider,
    /// The task that has a token renewed.
    _renewals: JoinSet<()>,
}

impl NativeHost {
    /// Asks the module to describe itself, and gives it what it asks for.
    pub(crate) async fn new(
        sandbox: Sandbox,
        module: Module,
        base_url: String,
        setup: Setup,
    ) -> Result<Self, ConformanceError> {
        let settings = ProviderSettings {
            settings: setup.settings.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            // Nothing is played beside a call: to wait for others would be in vain.
            is_asked_in_turn: true,
            ..ProviderSettings::default()
        };
        let secret = setup.login.as_ref().map(SimulatorSecret::write).transpose()?;
        let egress = egress(Vec::new(), Credentials::default())?;
        let provider = Provider::inspect(&sandbox, module.clone(), settings.clone(), egress, metrics()?).await?;
        let description = provider.description();
        let settings = ProviderSettings { writes_annotations: description.writes_annotations.clone(), ..settings };
        Ok(Self { sandbox, module, settings, base_url, setup, secret, description, recording: None })
    }

    /// A module as it was set up when somebody recorded its conversation, all of whose requests `watcher` answers.
    pub(crate) async fn recorded(
        sandbox: Sandbox,
        module: Module,
        conversation: &Conversation,
        watcher: Arc<dyn RequestWatcher>,
    ) -> Result<Self, ConformanceError> {
        let setup = Setup { settings: conversation.settings.clone(), ..Setup::default() };
        let host = Self::new(sandbox, module, String::new(), setup).await?;
        let Conversation { endpoints, cluster_name, .. } = conversation.clone();
        Ok(Self { recording: Some(RecordedPlaces { endpoints, cluster_name, watcher }), ..host })
    }

    /// The same of an older version, which may lack settings that newer ones have.
    pub(crate) async fn older(
        sandbox: Sandbox,
        module: Module,
        base_url: String,
        setup: Setup,
    ) -> Result<Self, ConformanceError> {
        let mut host = Self::new(sandbox, module, base_url, setup).await?;
        let described = &host.description.settings;
        host.settings.settings.retain(|(name, _)| described.iter().any(|it| it.matches(name)));
        Ok(host)
    }

    pub(crate) fn description(&self) -> &Arc<Description> {
        &self.description
    }

    pub(crate) fn setup(&self) -> &Setup {
        &self.setup
    }

    /// A new process for the cluster with this UID.
    pub(crate) async fn process(&self, cluster: &str) -> Result<HostProcess, ConformanceError> {
        let endpoints = self.description.endpoints.iter().map(|it| self.endpoint(it)).collect::<Result<_, _>>()?;
        let credentials = self.credentials()?;
        let egress = egress(endpoints, credentials.clone())?;
        let renewals = self.log_in(&egress, credentials).await?;
        let (egress, name) = match &self.recording {
            Some(RecordedPlaces { cluster_name, watcher, .. }) => {
                (egress.watched_by(watcher.clone()), cluster_name.as_str())
            }
            None => (egress, CLUSTER_NAME),
        };
        let (module, settings) = (self.module.clone(), self.settings.clone());
        let provider = Provider::load(&self.sandbox, module, settings, egress, metrics()?).await?;
        provider.set_cluster(Cluster {
            name: name.to_owned(),
            uid: cluster.to_owned(),
            pod_cidrs: vec!["10.244.0.0/16".to_owned()],
            ..Cluster::default()
        });
        Ok(HostProcess { cloud: provider.cloud(), _provider: provider, _renewals: renewals })
    }

    /// Waits for a token, where the login brings one: a process begins its work with it.
    async fn log_in(&self, egress: &Egress, credentials: Credentials) -> Result<JoinSet<()>, ConformanceError> {
        let mut renewals = JoinSet::new();
        if let Some(CloudLogin::Keystone { path, .. }) = &self.setup.login {
            // The first token is a change of the account.
            let mut versions = egress.versions();
            renewals.spawn(credentials.watch());
            let missing = || ConformanceError::Setup(format!("login.keystone: no token from {path} within {TOKEN:?}"));
            // An error would mean that the task has ended, which it never does.
            let _ = timeout(TOKEN, versions.changed()).await.map_err(|_| missing())?;
        }
        Ok(renewals)
    }

    fn credentials(&self) -> Result<Credentials, ConformanceError> {
        let (Some(login), Some(SimulatorSecret(file))) = (&self.setup.login, &self.secret) else {
            return Ok(Credentials::default());
        };
        let kind = match login {
            CloudLogin::Bearer { .. } => CredentialKind::Bearer { file: file.clone() },
            CloudLogin::Sigv4 { region, .. } => CredentialKind::Sigv4(Box::new(Sigv4Settings {
                region: setting(RegionName::parse(region))?,
                keys: KeySource::SharedFile { file: file.clone(), profile: "default".to_owned() },
                assume_role: None,
                sts: unasked(),
            })),
            CloudLogin::Acs3 { region, .. } => CredentialKind::Acs3(Box::new(Acs3Settings {
                region: setting(RegionName::parse(region))?,
                keys: Acs3Keys::Files {
                    id_file: file.with_extension(ID),
                    secret_file: file.clone(),
                    token_file: None,
                    expiration_file: None,
                },
                assume_role: None,
                sts: unasked(),
            })),
            CloudLogin::Keystone { path, id, .. } => CredentialKind::Keystone(Box::new(KeystoneSettings {
                base_url: setting(BaseUrl::parse(&format!("{}{path}", self.base_url)))?,
                login: KeystoneLogin::ApplicationCredential {
                    name: ApplicationCredentialName::Id(id.clone()),
                    secret_file: file.clone(),
                },
                project: None,
                addresses: AllowedAddresses::Public,
                ca_file: None,
                client_certificate: None,
                proxy: None,
            })),
        };
        // Nothing here is anybody's.
        let limits = WriteLimits {
            deletions: u32::MAX,
            creations: u32::MAX,
            detachments: u32::MAX,
            updates: u32::MAX,
            ..WriteLimits::default()
        };
        setting(Credentials::load(vec![CredentialSettings { name: LOGIN.to_owned(), kind, limits }]))
    }

    /// The endpoint as the provider describes it: where the simulator is, with what it asks to be allowed.
    fn endpoint(&self, described: &cloud_provider::Endpoint) -> Result<Endpoint, ConformanceError> {
        let after_scheme = described.example_base_url.split_once("://").map_or("", |(_, it)| it);
        let path = after_scheme.find('/').map_or("", |at| &after_scheme[at..]);
        let path = self.setup.paths.get(&described.name).map_or(path, String::as_str);
        let base_url = match &self.recording {
            // One that was not recorded is answered by nothing.
            Some(it) => it.endpoints.get(&described.name).unwrap_or(&described.example_base_url).clone(),
            None => format!("{}{path}", self.base_url),
        };
        let base_url = setting(BaseUrl::parse(&base_url))?;
        let place = match &self.setup.login {
            Some(CloudLogin::Keystone { region, services, .. }) => EndpointPlace::Catalog(CatalogPlace {
                service: services.get(&described.name).unwrap_or(&described.name).clone(),
                interface: "public".to_owned(),
                region: Some(region.clone()),
                path: Some(setting(CatalogPath::parse(if path.is_empty() { "/" } else { path }))?),
                origins: vec![setting(Origin::parse(&self.base_url))?],
            }),
            Some(CloudLogin::Bearer { .. } | CloudLogin::Sigv4 { .. } | CloudLogin::Acs3 { .. }) | None => {
                EndpointPlace::Written(base_url.clone())
            }
        };
        let signing = match &self.setup.login {
            Some(CloudLogin::Sigv4 { region, services, .. }) => {
                let service = services.get(&described.name);
                let missing = || ConformanceError::Setup(format!("login.sigv4.services lacks {}", described.name));
                Some(Signing::Sigv4 {
                    region: setting(RegionName::parse(region))?,
                    service: service.ok_or_else(missing)?.clone(),
                })
            }
            Some(CloudLogin::Acs3 { versions, .. }) => {
                let version = versions.get(&described.name);
                let missing = || ConformanceError::Setup(format!("login.acs3.versions lacks {}", described.name));
                Some(Signing::Acs3 { version: setting(AcsVersion::parse(version.ok_or_else(missing)?))? })
            }
            Some(CloudLogin::Bearer { .. } | CloudLogin::Keystone { .. }) | None => None,
        };
        let limits = EndpointLimits {
            // The cloud changes behind the provider's back from one request to the next.
            reuse: Duration::ZERO,
            requests_per_second: 10_000.0,
            ..EndpointLimits::default()
        };
        Ok(Endpoint {
            place,
            credential: self.setup.login.as_ref().map(|_| LOGIN.to_owned()),
            signing,
            operation: described.operation.as_ref().map(|place| match place {
                OperationPlace::Parameter(name) => egress::OperationPlace::Parameter(name.clone()),
                OperationPlace::Header(name) => egress::OperationPlace::Header(name.clone()),
            }),
            parameters: described.parameters.clone(),
            headers: described.headers.clone(),
            allow: described.allow.iter().map(rule).collect::<Result<_, _>>()?,
            limits,
            ..Endpoint::new(&described.name, base_url)
        })
    }
}

/// The service that gives sessions, where none are asked for.
fn unasked() -> Sts {
    Sts { base_url: None, addresses: AllowedAddresses::Public, ca_file: None, proxy: None }
}

/// The rule that an operator would paste.
fn rule(permission: &Permission) -> Result<Rule, ConformanceError> {
    let Permission { methods, paths, operations, effect, actions: _, content, names_version } = permission;
    // As in the operator's config: methods say what they do, unless the provider means something else.
    let effect = if operations.is_empty() { permission.own_effect() } else { Some(*effect) };
    let method = |it: &String| setting(Method::parse(it));
    let content = match content.is_open() {
        true => RuleContent::default(),
        false => {
            let parsed = RuleContent::parse(content.only.as_deref(), &content.values, &content.fields);
            setting(parsed.and_then(|it| it.with_body(&content.body)))?
        }
    };
    Ok(Rule {
        operations: operations.iter().map(|it| setting(OperationPattern::parse(it))).collect::<Result<_, _>>()?,
        effect: effect.map(|it| setting(egress::Effect::parse(it.as_str()))).transpose()?,
        requires: names_version.then_some(Requirement::IfMatch).into_iter().collect(),
        content,
        ..Rule::new(
            methods.iter().map(method).collect::<Result<Vec<_>, _>>()?,
            paths.iter().map(|it| setting(PathPattern::parse(it))).collect::<Result<Vec<_>, _>>()?,
        )
    })
}

fn egress(endpoints: Vec<Endpoint>, credentials: Credentials) -> Result<Egress, ConformanceError> {
    let settings = EgressSettings {
        endpoints,
        credentials,
        fence: Arc::new(|| true),
        demands: Arc::new(|_| Demand::default()),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    setting(Egress::new(settings, setting(egress::Metrics::register(&Registry::new()))?))
}

fn metrics() -> Result<Metrics, ConformanceError> {
    setting(Metrics::register(&Registry::new()))
}

fn setting<T, E: std::fmt::Display>(result: Result<T, E>) -> Result<T, ConformanceError> {
    result.map_err(|error| ConformanceError::Setup(error.to_string()))
}

/// A file with a simulator's secret, which goes away with the suite.
struct SimulatorSecret(PathBuf);

impl SimulatorSecret {
    fn write(login: &CloudLogin) -> Result<Self, ConformanceError> {
        let text = match login {
            CloudLogin::Bearer { token } => format!("{token}\n"),
            CloudLogin::Sigv4 { id, secret, .. } => {
                format!("[default]\naws_access_key_id = {id}\naws_secret_access_key = {secret}\n")
            }
            CloudLogin::Acs3 { secret, .. } | CloudLogin::Keystone { secret, .. } => format!("{secret}\n"),
        };
        let secret = Self(std::env::temp_dir().join(format!("aerostat-conformance-{}", Uuid::new_v4())));
        setting(std::fs::write(&secret.0, text))?;
        if let CloudLogin::Acs3 { id, .. } = login {
            setting(std::fs::write(secret.0.with_extension(ID), format!("{id}\n")))?;
        }
        Ok(secret)
    }
}

impl Drop for SimulatorSecret {
    fn drop(&mut self) {
        // It is of a simulator: what is left is harmless.
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_file(self.0.with_extension(ID));
    }
}
