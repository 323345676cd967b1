//! The Hetzner provider, loaded as an operator would have it, and the cloud that it serves.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use cloud_provider::{Cloud, Cluster, Demand, Event, EventKind, Instance, Reply, Result};
use egress::{
    BaseUrl, CredentialKind, CredentialSettings, Credentials, Effect, Endpoint, EndpointLimits, Gate, GateSettings,
    Method, PathPattern, Rule, WriteLimits,
};
use prometheus::Registry;
use sandbox::{ConfigMaps, Digest, Metrics, Provider, ProviderSettings, Sandbox, Source};
use tests::clouds::hetzner::robot;
use tests::clouds::hetzner::{Authorization, Network, Options, Server, Simulator};
use tests::guests;

/// The UID of the namespace `kube-system`.
pub(crate) const CLUSTER_UID: &str = "c1a5e000-1111-2222-3333-444455556666";
/// The network that servers are in.
pub(crate) const NETWORK: u64 = 4711;

/// One engine for the process, as in the binary.
static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| Sandbox::new(64 << 20).expect("the engine can be made"));

/// What an operator has to allow by the provider's README.
const ALLOWED: [(&[Method], &[&str]); 9] = [
    (&[Method::Get], &["/servers", "/servers/*"]),
    (&[Method::Get], &["/networks", "/networks/*"]),
    (&[Method::Get], &["/load_balancers", "/load_balancers/*", "/load_balancers/*/actions"]),
    (&[Method::Get], &["/load_balancer_types", "/actions"]),
    (&[Method::Post], &["/load_balancers", "/load_balancers/*/actions/*"]),
    (&[Method::Put, Method::Delete], &["/load_balancers/*"]),
    (&[Method::Get, Method::Post], &["/certificates"]),
    (&[Method::Post], &["/networks/*/actions/add_route"]),
    (&[Method::Get], &["/volumes", "/volumes/*"]),
];

/// Requests that take something away.
const DELETIONS: [&str; 3] = [
    "/load_balancers/*/actions/remove_target",
    "/load_balancers/*/actions/delete_service",
    "/networks/*/actions/delete_route",
];

/// A loaded provider and its clouds.
pub(crate) struct Rig {
    pub(crate) cloud: Simulator,
    pub(crate) robot: robot::Simulator,
    pub(crate) provider: Provider,
    pub(crate) abilities: Cloud,
    _files: [File; 3],
}

impl Rig {
    /// A cloud with a network and two servers in it, `web-1` and `web-2`.
    pub(crate) async fn new(settings: &[(&str, &str)]) -> Self {
        Self::start(Options::default(), settings).await
    }

    pub(crate) async fn start(options: Options, settings: &[(&str, &str)]) -> Self {
        let cloud = Simulator::start(options).await.unwrap();
        cloud.networks().insert(Network::new(NETWORK, "net"));
        for id in 1..=2 {
            cloud.servers().insert(server(id));
        }
        let robot = robot::Simulator::start(robot::Options::default()).await.unwrap();
        let own = robot::Options::default();
        let files = [File::write(&cloud.token), File::write(&own.user), File::write(&own.password)];
        let token = CredentialKind::Bearer { file: files[0].0.clone() };
        let basic = CredentialKind::Basic { user_file: files[1].0.clone(), password_file: files[2].0.clone() };
        let credential = |name: &str, kind| CredentialSettings {
            name: name.to_owned(),
            kind,
            limits: WriteLimits { creations: 600, deletions: 200, ..WriteLimits::default() },
        };
        let credentials = vec![credential("token", token), credential("robot", basic)];
        let mut allow: Vec<_> = ALLOWED.iter().map(|(methods, paths)| rule(methods, paths)).collect();
        allow.push(Rule { effect: Some(Effect::Delete), ..rule(&[Method::Post], &DELETIONS) });
        let base_url = format!("{}/v1", cloud.base_url());
        let hcloud = Endpoint { allow, ..endpoint("hcloud", "token", &base_url, cloud.ca_file()) };
        let dedicated = Endpoint {
            allow: vec![rule(&[Method::Get], &["/server", "/server/*", "/reset/*"])],
            ..endpoint("robot", "robot", &robot.base_url(), robot.ca_file())
        };
        let provider = load(settings, vec![hcloud, dedicated], Credentials::load(credentials).unwrap()).await;
        Self { abilities: provider.cloud(), provider, cloud, robot, _files: files }
    }

    /// Asks about one node.
    pub(crate) async fn ask(&self, node: cloud_provider::Node) -> Reply<Result<Option<Instance>>> {
        let Reply { mut answer, events } = self.abilities.instances.as_ref().unwrap().get(&[node]).await;
        assert_eq!(answer.len(), 1);
        Reply { answer: answer.remove(0), events }
    }

    /// Asks about one node, of which the provider says nothing further.
    pub(crate) async fn get(&self, node: cloud_provider::Node) -> Result<Option<Instance>> {
        let reply = self.ask(node).await;
        assert_eq!(reply.events, []);
        reply.answer
    }

    /// What reached the cloud, each with the credential: "GET /v1/servers/1 → 200".
    pub(crate) fn requests(&self) -> Vec<String> {
        let requests = self.cloud.requests();
        assert!(requests.iter().all(|it| it.authorization == Authorization::Accepted), "{requests:?}");
        requests.iter().map(ToString::to_string).collect()
    }

    /// What was written: "POST /v1/load_balancers → 201".
    pub(crate) fn writes(&self) -> Vec<String> {
        self.requests().into_iter().filter(|it| !it.starts_with("GET ")).collect()
    }
}

/// A file with a secret, which goes away with the test.
struct File(PathBuf);

impl File {
    fn write(secret: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("secret-{}", uuid::Uuid::new_v4()));
        std::fs::write(&path, format!("{secret}\n")).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // What is left is in target/.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn endpoint(name: &str, credential: &str, base_url: &str, ca_file: PathBuf) -> Endpoint {
    Endpoint {
        credential: Some(credential.to_owned()),
        ca_file: Some(ca_file),
        // The clouds of these tests change behind the provider's back from one request to the next.
        limits: EndpointLimits { reuse: Duration::ZERO, requests_per_second: 250.0, ..EndpointLimits::default() },
        ..Endpoint::new(name, BaseUrl::parse(base_url).unwrap())
    }
}

fn rule(methods: &[Method], paths: &[&str]) -> Rule {
    Rule::new(methods, paths.iter().map(|it| PathPattern::parse(it).unwrap()).collect::<Vec<_>>())
}

async fn load(settings: &[(&str, &str)], endpoints: Vec<Endpoint>, credentials: Credentials) -> Provider {
    let path = guests::HETZNER;
    let source = Source::File { path: path.into(), sha256: Digest::parse(&guests::sha256(path)).unwrap() };
    let module = source.fetch(&NoConfigMaps).await.unwrap();
    let metrics = Metrics::register(&Registry::new()).unwrap();
    let requests = egress::Metrics::register(&Registry::new()).unwrap();
    let settings: Vec<_> = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    // Only what the provider describes is needed.
    let with_robot = |it: &Endpoint| it.name != "robot" || has_robot(&settings);
    let gate = GateSettings {
        endpoints: endpoints.into_iter().filter(with_robot).collect(),
        credentials,
        fence: Arc::new(|| true),
        demands: Arc::new(|_| Demand::default()),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    let settings = ProviderSettings { settings, ..ProviderSettings::default() };
    let gate = Gate::new(gate, requests).unwrap();
    let provider = Provider::load(&SANDBOX, module, settings, gate, metrics).await;
    let provider = provider.unwrap_or_else(|error| panic!("{error:?}"));
    let pod_cidrs = vec!["10.244.0.0/16".to_owned()];
    provider.set_cluster(Cluster { uid: CLUSTER_UID.to_owned(), pod_cidrs, ..Cluster::default() });
    provider
}

fn has_robot(settings: &[(String, String)]) -> bool {
    settings.iter().any(|(name, value)| name == "robot.enabled" && value == "true")
}

struct NoConfigMaps;

#[async_trait]
impl ConfigMaps for NoConfigMaps {
    async fn read(&self, namespace: &str, name: &str, _: &str) -> Result<Vec<u8>, String> {
        Err(format!("the module is in a file, not in {namespace}/{name}"))
    }
}

/// The server `web-<id>` in the network.
pub(crate) fn server(id: u8) -> Server {
    Server::new(id.into(), &format!("web-{id}")).private(NETWORK, Ipv4Addr::new(10, 0, 0, id + 1))
}

/// A node that was initialised.
pub(crate) fn node(name: &str, provider_id: &str) -> cloud_provider::Node {
    cloud_provider::Node { provider_id: Some(provider_id.to_owned()), ..joining(name) }
}

/// A node that was not.
pub(crate) fn joining(name: &str) -> cloud_provider::Node {
    cloud_provider::Node { name: name.to_owned(), ..cloud_provider::Node::default() }
}

/// What the only warning says: its reason and its message.
pub(crate) fn warning(events: &[Event]) -> (&str, &str) {
    let [event] = events else { panic!("not one warning: {events:?}") };
    assert_eq!(event.kind, EventKind::Warning);
    (&event.reason, &event.message)
}
