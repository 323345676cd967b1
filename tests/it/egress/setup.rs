//! An egress with a hostile guest behind it, which sends whatever a test asks for.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use cloud_provider::{Demand, Error, Instance, Instances, LoadBalancer, LoadBalancers};
use egress::{
    BaseUrl, CredentialKind, CredentialSettings, Credentials, Demands, Egress, EgressSettings, Endpoint,
    EndpointLimits, KnownNetworks, Method, PathPattern, Resolve, Rule, WriteLimits,
};
use prometheus::Registry;
use sandbox::{CallLimits, ConfigMaps, Digest, Metrics, Provider, ProviderSettings, Sandbox, Source};
use serde::{Deserialize, Serialize};
use tests::capture::Capture;
use tests::fixtures;

/// A folder of one test, which goes with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("egress-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Replaces a file as a whole, as a kubelet does.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let (path, fresh) = (self.0.join(name), self.0.join(format!("{name}.fresh")));
        std::fs::write(&fresh, text).unwrap();
        std::fs::rename(&fresh, &path).unwrap();
        path
    }

    /// Where a file would be.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays is under target/.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An egress that is still to be made: its settings, and names that resolve as a test says.
pub(crate) struct Setup {
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) credentials: Credentials,
    pub(crate) networks: KnownNetworks,
    pub(crate) names: Arc<dyn Resolve>,
    pub(crate) limits: CallLimits,
    pub(crate) route: fn(SocketAddr) -> SocketAddr,
}

impl Setup {
    pub(crate) fn new(endpoints: impl IntoIterator<Item = Endpoint>) -> Self {
        Self {
            endpoints: endpoints.into_iter().collect(),
            credentials: Credentials::default(),
            networks: KnownNetworks::default(),
            names: Arc::new(Names::default()),
            limits: CallLimits::default(),
            route: |it| it,
        }
    }

    pub(crate) async fn load(self) -> Lab {
        let Self { endpoints, credentials, networks, names, limits, route } = self;
        let settings = EgressSettings {
            endpoints,
            credentials,
            fence: Arc::new(|| true),
            demands: any(),
            reports: Arc::new(|_| ()),
            route,
        };
        load(limits, |metrics| {
            let egress = Egress::with_resolver(settings, metrics, names).unwrap_or_else(|error| panic!("{error}"));
            egress.set_networks(networks);
            egress
        })
        .await
    }
}

/// Puts a hostile guest behind an egress.
pub(crate) async fn load(limits: CallLimits, egress: impl FnOnce(egress::Metrics) -> Egress) -> Lab {
    let registry = Registry::new();
    let metrics = Metrics::register(&registry).unwrap();
    let egress = egress(egress::Metrics::register(&registry).unwrap());
    let bytes = std::fs::read(tests::guests::HOSTILE).unwrap();
    let sha256 = Digest::parse(&tests::guests::sha256(tests::guests::HOSTILE)).unwrap();
    let [namespace, name, key] = ["kube-system", "hostile", "provider.wasm"].map(str::to_owned);
    let source = Source::ConfigMap { namespace, name, key, sha256 };
    let module = source.fetch(&Held(bytes)).await.unwrap();
    let settings = ProviderSettings { limits, ..ProviderSettings::default() };
    let provider = Provider::load(sandbox(), module, settings, egress, metrics).await.unwrap();
    let cloud = provider.cloud();
    Lab { instances: cloud.instances.unwrap(), load_balancers: cloud.load_balancers.unwrap(), registry }
}

/// Lets any number of writes leave: no test here is about how many there are.
pub(crate) fn any() -> Demands {
    Arc::new(|_| Demand { is_approved: true, ..Demand::default() })
}

/// One sandbox for all tests: what it costs is the ticking thread.
fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX.get_or_init(|| Sandbox::as_released(CallLimits::default().memory).unwrap().keeping_modules())
}

struct Held(Vec<u8>);

#[async_trait]
impl ConfigMaps for Held {
    async fn read(&self, _: &str, _: &str, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.clone())
    }
}

/// The endpoint `api`, where GET is allowed under `/v2` and HEAD everywhere.
pub(crate) fn endpoint(base_url: &str) -> Endpoint {
    let rule = |method, path| Rule::new([method], [PathPattern::parse(path).unwrap()]);
    Endpoint {
        allow: vec![rule(Method::Get, "/v2/**"), rule(Method::Head, "/**")],
        // No test is about these limits unless it says so.
        limits: EndpointLimits { requests_per_second: 10_000.0, reuse: Duration::ZERO, ..EndpointLimits::default() },
        ..Endpoint::new("api", BaseUrl::parse(base_url).unwrap())
    }
}

/// The endpoint `api` behind a name, as `capture` serves it.
pub(crate) fn named(base_url: &str, capture: &Capture, folder: &Folder) -> Endpoint {
    Endpoint { ca_file: Some(folder.write("ca.pem", capture.ca())), ..endpoint(base_url) }
}

/// A bearer credential `token` in a file `token`.
pub(crate) fn bearer(folder: &Folder, token: &str) -> Credentials {
    let file = folder.write("token", token);
    let (name, kind) = ("token".to_owned(), CredentialKind::Bearer { file });
    Credentials::load(vec![CredentialSettings { name, kind, limits: WriteLimits::default() }]).unwrap()
}

/// An egress with a hostile guest behind it.
pub(crate) struct Lab {
    instances: Arc<dyn Instances>,
    load_balancers: Arc<dyn LoadBalancers>,
    registry: Registry,
}

/// A request that the guest is to send.
#[derive(Clone, Serialize)]
pub(crate) struct Request {
    pub(crate) endpoint: String,
    pub(crate) method: &'static str,
    pub(crate) path: Vec<String>,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<String>,
    /// How often within one call; the last outcome counts.
    pub(crate) times: u32,
}

/// GET of a path below the endpoint `api`.
pub(crate) fn get(path: &[&str]) -> Request {
    Request {
        endpoint: "api".to_owned(),
        method: "GET",
        path: path.iter().map(|&it| it.to_owned()).collect(),
        query: Vec::new(),
        headers: Vec::new(),
        body: None,
        times: 1,
    }
}

impl Request {
    pub(crate) fn to(mut self, endpoint: &str) -> Self {
        self.endpoint = endpoint.to_owned();
        self
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn query(mut self, key: &str, value: &str) -> Self {
        self.query.push((key.to_owned(), value.to_owned()));
        self
    }
}

/// The outcome of one request, as the guest saw it.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    Answered { status: u16, headers: Vec<(String, String)>, length: usize, body: String },
    Denied(String),
    RetryAfter(u64),
    Unreachable(String),
    Interrupted(String),
}

impl Lab {
    /// Lets the guest send a request, in a call of its own.
    pub(crate) async fn send(&self, request: &Request) -> Outcome {
        let machine =
            cloud_provider::Node { name: serde_json::to_string(request).unwrap(), ..cloud_provider::Node::default() };
        outcome(self.instances.get(&[machine]).await.answer.remove(0))
    }

    /// As [`Lab::send`], in a call of `list`.
    pub(crate) async fn list(&self, request: &Request) -> Outcome {
        outcome(self.instances.list(Some(serde_json::to_string(request).unwrap()), 1).await.answer)
    }

    /// As [`Lab::send`], in a call that may write.
    pub(crate) async fn ensure(&self, request: &Request) -> Outcome {
        outcome(self.load_balancers.ensure(&service(request)).await.answer)
    }

    /// As [`Lab::ensure`], in a call of `delete`.
    pub(crate) async fn delete(&self, request: &Request) -> Outcome {
        outcome(self.load_balancers.delete(&service(request)).await.answer)
    }

    /// Lets the guest send a request in a call that the host ends, and gives the host's reason.
    pub(crate) async fn end(&self, request: &Request) -> String {
        match self.call(request).await {
            Err(Error::Unavailable(text)) => text,
            other => panic!("the call was not ended: {other:?}"),
        }
    }

    /// Lets the guest send a request that is answered, and gives the body.
    pub(crate) async fn body(&self, request: &Request) -> String {
        match self.send(request).await {
            Outcome::Answered { body, .. } => body,
            other => panic!("not answered: {other:?}"),
        }
    }

    async fn call(&self, request: &Request) -> Result<Option<Instance>, Error> {
        let machine =
            cloud_provider::Node { name: serde_json::to_string(request).unwrap(), ..cloud_provider::Node::default() };
        self.instances.get(&[machine]).await.answer.remove(0)
    }

    /// Asserts that a request is refused with this code.
    #[track_caller]
    pub(crate) fn denied(&self, request: Request, code: &str) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            match self.send(&request).await {
                Outcome::Denied(text) if text.starts_with(&format!("{code}: ")) => {}
                other => panic!("{caller}: expected {code}, but {other:?}"),
            }
        }
    }

    /// The value of a counter.
    pub(crate) fn counter(&self, family: &str, labels: &[(&str, &str)]) -> u64 {
        let families = self.registry.gather();
        let metrics = families.iter().filter(|it| it.name() == family).flat_map(|it| it.get_metric());
        let has = |metric: &prometheus::proto::Metric, (name, value): &(&str, &str)| {
            metric.get_label().iter().any(|it| it.name() == *name && it.value() == *value)
        };
        metrics
            .filter(|metric| labels.iter().all(|it| has(metric, it)))
            .map(|it| it.get_counter().get_value() as u64)
            .sum()
    }
}

fn outcome<T: std::fmt::Debug>(answer: Result<T, Error>) -> Outcome {
    match answer {
        Err(Error::Invalid(text)) => serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")),
        other => panic!("the guest reported nothing: {other:?}"),
    }
}

/// A Service that is named after a request.
fn service(request: &Request) -> LoadBalancer {
    fixtures::load_balancer(&serde_json::to_string(request).unwrap(), "0e2f6f1c")
}

/// A resolver: each name's answers once, in order, and the last one for ever.
#[derive(Default)]
pub(crate) struct Names(Mutex<HashMap<String, Vec<Vec<IpAddr>>>>);

impl Names {
    pub(crate) fn new(name: &str, answers: &[&[&str]]) -> Arc<Self> {
        Self::all([(name.to_owned(), answers)])
    }

    pub(crate) fn all<'a>(names: impl IntoIterator<Item = (String, &'a [&'a [&'a str]])>) -> Arc<Self> {
        let parse = |answer: &&[&str]| answer.iter().map(|it| it.parse().unwrap()).collect();
        let names = names.into_iter().map(|(name, answers)| (name, answers.iter().rev().map(parse).collect()));
        Arc::new(Self(Mutex::new(names.collect())))
    }
}

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let mut names = self.0.lock().unwrap();
        match names.get_mut(host) {
            None => Err(io::Error::new(io::ErrorKind::NotFound, "no such name")),
            Some(answers) if answers.len() > 1 => Ok(answers.pop().unwrap()),
            Some(answers) => Ok(answers[0].clone()),
        }
    }
}

static ROUTES: Mutex<Vec<(IpAddr, SocketAddr)>> = Mutex::new(Vec::new());

/// Leads an address to a server on loopback. Each test takes addresses of its own.
pub(crate) fn lead(from: &str, to: SocketAddr) {
    ROUTES.lock().unwrap().push((from.parse().unwrap(), to));
}

/// Where [`lead`] leads; everything else stays where it is.
pub(crate) fn route(address: SocketAddr) -> SocketAddr {
    let routes = ROUTES.lock().unwrap();
    routes.iter().find(|(from, _)| *from == address.ip()).map_or(address, |(_, to)| *to)
}
