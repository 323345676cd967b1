//! The cloud that all tests share, one after the other, and a cluster before it.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Event, Node, Service};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::control_plane::{Cluster, cluster};
use tests::operator::{self, Process, Setup};
use tests::real_openstack::operator::operator;
use tests::real_openstack::{Asked, RealOpenstack};
use tests::{kubelet, wait};
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

/// How long Octavia may take for what it does in seconds on an idle machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);
/// The prefix of the vendor's annotations.
pub(crate) const PREFIX: &str = "loadbalancer.openstack.org/";

/// One for all tests: the recorders live in it.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("threads start"));
static CLOUD: OnceCell<RealOpenstack> = OnceCell::const_new();
static TURN: Mutex<()> = Mutex::new(());

/// Plays a test when no other plays.
pub(crate) fn play(test: impl AsyncFnOnce(&'static RealOpenstack)) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    RUNTIME.block_on(async {
        let cloud = CLOUD.get_or_init(RealOpenstack::start).await;
        test(cloud).await;
    });
}

/// A cluster of this name before the cloud, and its operator.
pub(crate) struct Site {
    pub(crate) cloud: &'static RealOpenstack,
    pub(crate) cluster: Cluster,
    pub(crate) setup: Setup,
    pub(crate) name: &'static str,
}

impl Site {
    /// A cluster without nodes, before a project without machines and load balancers, whatever another test has left.
    pub(crate) async fn new(cloud: &'static RealOpenstack, name: &'static str) -> Self {
        cloud.ground.clear(&cloud.cloud).await;
        let cluster = cluster().await;
        let setup = operator(&cluster, cloud).flags(&[
            &format!("--cluster-name={name}"),
            "--leader-elect-retry-period=200ms",
            "--service-retry-base-delay=500ms",
        ]);
        Self { cloud, cluster, setup, name }
    }

    /// Sets a setting of the provider.
    pub(crate) fn setting(mut self, name: &str, value: &str) -> Self {
        self.setup.config["provider"]["settings"][name] = json!(value);
        self
    }

    /// Adds flags.
    pub(crate) fn flags(mut self, flags: &[&str]) -> Self {
        self.setup = self.setup.flags(flags);
        self
    }

    /// Starts the binary and waits until its controllers run.
    pub(crate) async fn start(&self) -> Process {
        let mut process = self.setup.start();
        process.says("node-route-controller is ").await;
        process
    }

    /// A machine with this address in 10.6.0.0/24, and its node, which has joined: the id of the machine.
    pub(crate) async fn join(&self, name: &str, number: u8) -> String {
        let id = self.cloud.ground.node(&self.cloud.cloud, name, number).await;
        kubelet::join(&self.cluster.admin, name).await.unwrap();
        id
    }

    /// The same with nodes that aerostat has initialised.
    pub(crate) async fn joined(&self, names: &[(&str, u8)]) -> Vec<String> {
        let mut ids = Vec::new();
        for (name, number) in names {
            ids.push(self.join(name, *number).await);
        }
        for (name, _) in names {
            self.initialized(name).await;
        }
        ids
    }

    /// Waits until aerostat has initialised a node, as long as Nova and Neutron may take to answer.
    pub(crate) async fn initialized(&self, name: &str) {
        self.eventually(&format!("node {name} is initialised"), async || {
            let node = operator::node(&self.cluster, name).await;
            (!kubelet::is_uninitialized(&node)).then_some(())
        })
        .await;
    }

    pub(crate) fn services(&self) -> Api<Service> {
        Api::namespaced(self.cluster.admin.clone(), "default")
    }

    /// Creates a Service of type LoadBalancer with these ports. `more` is merged into it.
    pub(crate) async fn create(&self, name: &str, ports: Value, more: &Value) {
        let mut service = json!({
            "metadata": { "name": name },
            "spec": { "type": "LoadBalancer", "selector": { "app": name }, "ports": ports },
        });
        merge(&mut service, more);
        self.services().create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
    }

    /// Changes a Service by a merge patch.
    pub(crate) async fn change(&self, name: &str, change: &Value) {
        self.services().patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    }

    /// Waits until a Service has an address that is not `before`, and returns it.
    pub(crate) async fn address(&self, name: &str, before: &str) -> String {
        self.eventually(&format!("an address of {name}"), async || {
            let service = self.services().get(name).await.unwrap();
            let ingress = service.status?.load_balancer?.ingress?.first()?.clone();
            ingress.ip.or(ingress.hostname).filter(|it| it != before)
        })
        .await
    }

    /// Deletes a Service, and waits until it is gone.
    pub(crate) async fn delete(&self, name: &str) {
        self.services().delete(name, &DeleteParams::default()).await.unwrap();
        self.eventually(&format!("{name} goes"), async || {
            self.services().get_opt(name).await.unwrap().is_none().then_some(())
        })
        .await;
    }

    /// The name that the load balancer of a Service has.
    pub(crate) fn balancer_name(&self, service: &str) -> String {
        format!("kube_service_{}_default_{service}", self.name)
    }

    /// The load balancers with the name of a Service's.
    pub(crate) async fn balancers(&self, service: &str) -> Vec<Value> {
        let path = format!("/v2.0/lbaas/loadbalancers?name={}", self.balancer_name(service));
        self.cloud.cloud.list("load-balancer", &path, "loadbalancers").await
    }

    /// The only load balancer of a Service, once it is ACTIVE.
    pub(crate) async fn active(&self, service: &str) -> Value {
        self.eventually(&format!("an ACTIVE load balancer of {service}"), async || {
            let mut all = self.balancers(service).await;
            assert!(all.len() <= 1, "{all:#?}");
            all.pop().filter(|it| it["provisioning_status"] == "ACTIVE")
        })
        .await
    }

    /// The parts of a load balancer: `listeners` or `pools`.
    pub(crate) async fn parts(&self, balancer: &Value, kind: &str) -> Vec<Value> {
        let path = format!("/v2.0/lbaas/{kind}?loadbalancer_id={}", balancer["id"].as_str().unwrap());
        self.cloud.cloud.list("load-balancer", &path, kind).await
    }

    /// The members of the pools of a load balancer: `10.6.0.11:30080`, sorted, for each pool.
    pub(crate) async fn members(&self, balancer: &Value) -> Vec<Vec<String>> {
        let mut all = Vec::new();
        for pool in self.parts(balancer, "pools").await {
            let path = format!("/v2.0/lbaas/pools/{}/members", pool["id"].as_str().unwrap());
            let members = self.cloud.cloud.list("load-balancer", &path, "members").await;
            let text = |it: &Value| format!("{}:{}", it["address"].as_str().unwrap(), it["protocol_port"]);
            let mut members: Vec<_> = members.iter().map(text).collect();
            members.sort();
            all.push(members);
        }
        all.sort();
        all
    }

    /// The floating IPs of the cluster, by their description.
    pub(crate) async fn floating(&self, service: &str) -> Vec<Value> {
        let all = self.cloud.cloud.list("network", "/v2.0/floatingips", "floatingips").await;
        let about = format!("external service default/{service} from cluster {}", self.name);
        all.into_iter().filter(|it| it["description"].as_str().unwrap_or_default().contains(&about)).collect()
    }

    /// Waits for an event about an object whose message contains all of `parts`, as long as Octavia may take.
    pub(crate) async fn told(&self, name: &str, parts: &[&str]) {
        let events: Api<Event> = Api::all(self.cluster.admin.clone());
        self.eventually(&format!("an event about {name} says {parts:?}"), async || {
            let all = events.list(&ListParams::default()).await.unwrap().items;
            let mut about = all.iter().filter(|it| it.involved_object.name.as_deref() == Some(name));
            let message = |it: &Event| it.message.clone().unwrap_or_default();
            about.any(|it| parts.iter().all(|part| message(it).contains(part))).then_some(())
        })
        .await;
    }

    /// Waits for something that Octavia or Nova do.
    pub(crate) async fn eventually<T>(&self, what: &str, probe: impl AsyncFnMut() -> Option<T>) -> T {
        let begun = Instant::now();
        let found = wait::within(PATIENCE, paced(probe)).await;
        eprintln!("    {what}: {:.1} s", begun.elapsed().as_secs_f64());
        found.unwrap_or_else(|| panic!("{what}: not within {PATIENCE:?}"))
    }

    /// The requests of aerostat since this was called before.
    pub(crate) fn asked(&self) -> Asking {
        Asking(self.cloud.notes.take())
    }
}

/// Requests of aerostat.
pub(crate) struct Asking(pub(crate) Vec<Asked>);

impl Asking {
    /// Those that write, as `POST /v2.0/lbaas/loadbalancers`, with ids as `*`, sorted. Those that met something that changes are left out.
    pub(crate) fn writes(&self) -> Vec<String> {
        let writes = self.0.iter().filter(|it| it.writes() && it.status != 409);
        let mut writes: Vec<_> = writes.map(|it| format!("{} {}", it.method, without_ids(&it.target))).collect();
        writes.sort();
        writes
    }

    /// How often each was sent, as `GET /v2.0/lbaas/listeners`, without its query.
    pub(crate) fn kinds(&self) -> BTreeMap<String, usize> {
        let mut kinds = BTreeMap::new();
        for it in &self.0 {
            let path = without_ids(it.target.split('?').next().unwrap_or_default());
            *kinds.entry(format!("{} {path}", it.method)).or_default() += 1;
        }
        kinds
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Shows them all, and then how many there were.
    pub(crate) fn show(&self, what: &str) {
        for asked in &self.0 {
            eprintln!("      {} {} {}", asked.status, asked.method, without_ids(&asked.target));
        }
        eprintln!("    {what}: {} requests, {} writes", self.count(), self.writes().len());
    }
}

/// A path with `*` for each id: Keystone's have no hyphens.
fn without_ids(target: &str) -> String {
    let segments = target.split_inclusive(['/', '?', '=', '&']).map(|segment| {
        let end = segment.len() - usize::from(segment.ends_with(['/', '?', '=', '&']));
        if matches!(segment[..end].len(), 32 | 36) { format!("*{}", &segment[end..]) } else { segment.to_owned() }
    });
    segments.collect()
}

/// Asks no more than some times in a second: the services share the processors with all others.
fn paced<T>(mut probe: impl AsyncFnMut() -> Option<T>) -> impl AsyncFnMut() -> Option<T> {
    async move || {
        let found = probe().await;
        if found.is_none() {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        found
    }
}

/// Puts what a value has into another.
pub(crate) fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (name, value) in more {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more.clone(),
    }
}

/// The provider id of a node.
pub(crate) fn provider_id(node: &Node) -> Option<String> {
    node.spec.as_ref().and_then(|it| it.provider_id.clone())
}

/// A label of a node.
pub(crate) fn label(node: &Node, name: &str) -> Option<String> {
    node.labels().get(name).cloned()
}

/// An annotation of the vendor, for `more` of [`Site::create`].
pub(crate) fn annotated(pairs: &[(&str, &str)]) -> Value {
    let pairs = pairs.iter().map(|(name, value)| (format!("{PREFIX}{name}"), json!(value)));
    json!({ "metadata": { "annotations": pairs.collect::<serde_json::Map<_, _>>() } })
}

/// A port of a Service.
pub(crate) fn port(port: u16) -> Value {
    json!({ "name": format!("p{port}"), "port": port, "targetPort": 8080 })
}
