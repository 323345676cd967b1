//! The DigitalOcean provider, loaded as an operator would have it, and the cloud that it serves.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use cloud_provider::{Cluster, Demand, Instance, Instances, LoadBalancers, Reply, Result};
use egress::{
    BaseUrl, CredentialKind, CredentialSettings, Credentials, Endpoint, EndpointLimits, Gate, GateSettings, Method,
    PathPattern, Rule, WriteLimits,
};
use prometheus::Registry;
use sandbox::{ConfigMaps, Digest, Metrics, Provider, ProviderSettings, Sandbox, Source};
use tests::clouds::digitalocean::{Authorization, Droplet, Options, Simulator};
use tests::guests;

/// The UID of the namespace `kube-system`.
pub(crate) const CLUSTER_UID: &str = "c1a5e000-1111-2222-3333-444455556666";

/// One engine for the process, as in the binary.
static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| Sandbox::new(64 << 20).expect("the engine can be made"));

/// What an operator has to allow by the provider's README.
const ALLOWED: [(&[Method], &[&str]); 8] = [
    (&[Method::Get], &["/v2/droplets", "/v2/droplets/*"]),
    (&[Method::Get], &["/v2/account"]),
    (&[Method::Get], &["/v2/load_balancers", "/v2/load_balancers/*"]),
    (&[Method::Post], &["/v2/load_balancers"]),
    (&[Method::Put, Method::Delete], &["/v2/load_balancers/*"]),
    (&[Method::Post, Method::Delete], &["/v2/load_balancers/*/droplets"]),
    (&[Method::Get], &["/v2/certificates", "/v2/certificates/*"]),
    (&[Method::Post], &["/v2/tags", "/v2/tags/*/resources"]),
];

/// The annotations that it may write, as the README allows.
const WRITTEN: [&str; 2] =
    ["kubernetes.digitalocean.com/load-balancer-id", "service.beta.kubernetes.io/do-loadbalancer-type"];

/// A loaded provider and its cloud.
pub(crate) struct Rig {
    pub(crate) cloud: Simulator,
    pub(crate) provider: Provider,
    pub(crate) instances: Arc<dyn Instances>,
    pub(crate) load_balancers: Arc<dyn LoadBalancers>,
    _token: Token,
}

/// How the rig differs from the usual one.
#[derive(Default)]
pub(crate) struct Setup {
    pub(crate) cloud: Options,
    pub(crate) settings: Vec<(String, String)>,
    /// The only paths that may be read, and nothing else, in the place of what the README allows.
    pub(crate) allowed: Option<Vec<&'static str>>,
    /// Whether the gate's limits are an operator's defaults: 20 requests a second, and answers that serve several.
    pub(crate) usual_limits: bool,
}

impl Rig {
    /// A cloud with these droplets.
    pub(crate) async fn with(droplets: impl IntoIterator<Item = Droplet>) -> Self {
        Self::start(Setup::default(), droplets).await
    }

    pub(crate) async fn start(setup: Setup, droplets: impl IntoIterator<Item = Droplet>) -> Self {
        let cloud = Simulator::start(setup.cloud).await.unwrap();
        for droplet in droplets {
            cloud.droplets().insert(droplet);
        }
        let token = Token::write(&cloud.token);
        let allow = match setup.allowed {
            Some(paths) => vec![rule(&[Method::Get], &paths)],
            None => ALLOWED.iter().map(|(methods, paths)| rule(methods, paths)).collect(),
        };
        let api = Endpoint {
            credential: Some("token".to_owned()),
            ca_file: Some(cloud.ca_file()),
            allow,
            ..endpoint(&cloud.base_url(), &[])
        };
        let limits = if setup.usual_limits { EndpointLimits::default() } else { api.limits };
        let api = Endpoint { limits, ..api };
        let kind = CredentialKind::Bearer { file: token.0.clone() };
        let credentials = Credentials::load(vec![CredentialSettings {
            name: "token".to_owned(),
            kind,
            limits: WriteLimits::default(),
        }])
        .unwrap();
        let provider = load(guests::DIGITALOCEAN, setup.settings, api, credentials).await;
        let abilities = provider.cloud();
        let (instances, load_balancers) = (abilities.instances.unwrap(), abilities.load_balancers.unwrap());
        Self { instances, load_balancers, cloud, provider, _token: token }
    }

    /// Asks about one node.
    pub(crate) async fn ask(&self, node: cloud_provider::Node) -> Reply<Result<Option<Instance>>> {
        let Reply { mut answer, events } = self.instances.get(&[node]).await;
        assert_eq!(answer.len(), 1);
        Reply { answer: answer.remove(0), events }
    }

    /// Asks about one node, of which the provider says nothing further.
    pub(crate) async fn get(&self, node: cloud_provider::Node) -> Result<Option<Instance>> {
        let reply = self.ask(node).await;
        assert_eq!(reply.events, []);
        reply.answer
    }

    /// All machines of the list, read in pages of this size.
    pub(crate) async fn list_all(&self, limit: u32) -> Vec<Instance> {
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let page = self.instances.list(cursor, limit).await.answer.unwrap();
            assert!(page.instances.len() <= limit as usize);
            assert_eq!(page.gaps, []);
            all.extend(page.instances);
            cursor = page.next;
            if cursor.is_none() {
                return all;
            }
        }
    }

    /// What reached the cloud, each with the credential: "GET /v2/droplets/42 → 200".
    pub(crate) fn requests(&self) -> Vec<String> {
        let requests = self.cloud.requests();
        assert!(
            requests.iter().all(|it| it.authorization == Authorization::Accepted),
            "all requests are authenticated"
        );
        requests.iter().map(ToString::to_string).collect()
    }
}

/// A file with a token, which goes away with the test.
struct Token(PathBuf);

impl Token {
    fn write(token: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("token-{}", uuid::Uuid::new_v4()));
        std::fs::write(&path, format!("{token}\n")).unwrap();
        Self(path)
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        // What is left is in target/.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Endpoint `api`, where these paths may be read.
pub(crate) fn endpoint(base_url: &str, allowed: &[&str]) -> Endpoint {
    Endpoint {
        allow: vec![rule(&[Method::Get], allowed)],
        // The clouds of these tests change behind the provider's back from one request to the next.
        limits: EndpointLimits { reuse: Duration::ZERO, ..EndpointLimits::default() },
        ..Endpoint::new("api", BaseUrl::parse(base_url).unwrap())
    }
}

fn rule(methods: &[Method], paths: &[&str]) -> Rule {
    Rule::new(methods, paths.iter().map(|it| PathPattern::parse(it).unwrap()).collect::<Vec<_>>())
}

/// Loads a module from its file.
pub(crate) async fn load(
    path: &str,
    settings: Vec<(String, String)>,
    endpoint: Endpoint,
    credentials: Credentials,
) -> Provider {
    let source = Source::File { path: path.into(), sha256: Digest::parse(&guests::sha256(path)).unwrap() };
    let module = source.fetch(&NoConfigMaps).await.unwrap();
    let metrics = Metrics::register(&Registry::new()).unwrap();
    let requests = egress::Metrics::register(&Registry::new()).unwrap();
    let writes_annotations = WRITTEN.map(str::to_owned).to_vec();
    let settings = ProviderSettings { settings, writes_annotations, ..ProviderSettings::default() };
    let gate = GateSettings {
        endpoints: vec![endpoint],
        credentials,
        fence: Arc::new(|| true),
        demands: Arc::new(|_| Demand::default()),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    let gate = Gate::new(gate, requests).unwrap();
    let provider = Provider::load(&SANDBOX, module, settings, gate, metrics).await;
    let provider = provider.unwrap_or_else(|error| panic!("{error:?}"));
    provider.set_cluster(Cluster { uid: CLUSTER_UID.to_owned(), ..Cluster::default() });
    provider
}

struct NoConfigMaps;

#[async_trait]
impl ConfigMaps for NoConfigMaps {
    async fn read(&self, namespace: &str, name: &str, _: &str) -> Result<Vec<u8>, String> {
        Err(format!("the module is in a file, not in {namespace}/{name}"))
    }
}

/// A node that was initialised.
pub(crate) fn node(name: &str, provider_id: &str) -> cloud_provider::Node {
    cloud_provider::Node { provider_id: Some(provider_id.to_owned()), ..joining(name) }
}

/// A node that was not.
pub(crate) fn joining(name: &str) -> cloud_provider::Node {
    cloud_provider::Node { name: name.to_owned(), ..cloud_provider::Node::default() }
}
