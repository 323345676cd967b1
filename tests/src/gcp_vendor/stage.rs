//! A cluster, the project of the recordings, and a manager between them.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Node, Service};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role};
use kube::ResourceExt as _;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use crate::beside::{
    Asked, Compared, ComparedStep, ManagerState, Meant, SeenEvents, StepLimits, compare, manifest, recorded_events,
    until_alike, with_warnings,
};
use crate::clouds::gcp::{Collection, MetadataServer, Options, PROJECT, Place, REGION, Simulator, World};
use crate::control_plane::{Cluster, cluster};
use crate::manager::{Manager, Who};
use crate::operator::Setup;
use crate::vendor::gcp;
use crate::{kubelet, wait};

use super::package;
use super::seen::{self, GcpNames};
use super::story::{CLUSTER_ID, GcpChange, GcpStep};

const NODES: [&str; 2] = ["node-1", "node-2"];
/// The flags of the recordings.
const FLAGS: [&str; 2] = ["--configure-cloud-routes=false", "--node-status-update-frequency=1h"];
/// The flags of the recordings of routes, but faster.
const ROUTES: [&str; 4] = [
    "--configure-cloud-routes=true",
    "--cluster-cidr=10.244.0.0/16",
    "--route-reconciliation-period=1s",
    "--route-deletion-warm-up=0s",
];
/// A place for the steps of a part.
pub struct GcpStage {
    /// The cluster.
    pub cluster: Cluster,
    /// The project.
    pub cloud: Simulator,
    setup: Setup,
    /// The giver of tokens of Google's own.
    metadata: MetadataServer,
    manager: Mutex<Option<Manager>>,
    /// The Services that there were.
    known: std::sync::Mutex<BTreeMap<String, Service>>,
}

impl GcpStage {
    /// With the two nodes of the recordings, and the binary at work.
    pub async fn new() -> Self {
        let stage = Self::resting().await;
        stage.start().await;
        stage.join_nodes().await;
        stage
    }

    /// The same without the binary, and without nodes.
    ///
    /// # Panics
    ///
    /// Panics if something does not start.
    pub async fn resting() -> Self {
        Self::with(&FLAGS).await
    }

    /// The same, of a binary that makes routes; the nodes of the recordings are there with their networks, and it has not seen them.
    ///
    /// # Panics
    ///
    /// Panics if something does not start.
    pub async fn routing() -> Self {
        let stage = Self::with(&ROUTES).await;
        let nodes: Api<Node> = Api::all(stage.cluster.admin.clone());
        for (name, network) in [("node-1", "10.244.1.0/24"), ("node-2", "10.244.2.0/24")] {
            kubelet::join(&stage.cluster.admin, name).await.expect("the API server takes a node");
            let patch = Patch::Merge(json!({ "spec": { "podCIDR": network, "podCIDRs": [network] } }));
            nodes.patch(name, &PatchParams::default(), &patch).await.expect("the API server takes it");
        }
        stage
    }

    async fn with(flags: &[&str]) -> Self {
        let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(Options::default()));
        let cloud = cloud.expect("the project starts");
        cloud.with(World::build_recorded);
        let config_maps: Api<ConfigMap> = Api::namespaced(cluster.admin.clone(), "kube-system");
        let data = json!({
            "metadata": { "name": "ingress-uid" }, "data": { "provider-uid": CLUSTER_ID, "uid": CLUSTER_ID },
        });
        let config_map = serde_json::from_value(data).expect("it is a ConfigMap");
        config_maps.create(&PostParams::default(), &config_map).await.expect("the API server takes it");
        allow_config_map(&cluster, "ingress-uid").await;
        let setup = gcp::setup(&cluster, &cloud).flags(flags).edit(|config| {
            config["provider"]["configMaps"] = json!(["kube-system/ingress-uid"]);
            config["provider"]["finalizers"] = json!(["gke.networking.io/l4-netlb-v1", "gke.networking.io/l4-ilb-v1"]);
        });
        let metadata = MetadataServer::start(cloud.accounts().clone()).await;
        Self { cluster, cloud, setup, metadata, manager: Mutex::default(), known: std::sync::Mutex::default() }
    }

    /// Lets the two nodes join.
    ///
    /// # Panics
    ///
    /// Panics if the API server does not take them, or nobody initialises them.
    pub async fn join_nodes(&self) {
        self.register_nodes().await;
        self.initialized_nodes().await;
    }

    /// Registers the two nodes. A manager that starts afterwards knows both before it writes.
    ///
    /// # Panics
    ///
    /// Panics if the API server does not take them.
    pub async fn register_nodes(&self) {
        for name in NODES {
            kubelet::join(&self.cluster.admin, name).await.expect("the API server takes a node");
        }
    }

    /// Waits until the two nodes are initialised.
    ///
    /// # Panics
    ///
    /// Panics if nobody initialises them.
    pub async fn initialized_nodes(&self) {
        for name in NODES {
            let nodes: Api<Node> = Api::all(self.cluster.admin.clone());
            let initialized = wait::within(Duration::from_mins(2), async || {
                let node = nodes.get(name).await.expect("the API server answers");
                (!kubelet::is_uninitialized(&node)).then_some(())
            });
            assert!(initialized.await.is_some(), "{name} is not initialised\n{}", self.log_tail().await);
        }
    }

    /// Starts the binary, in the place of what runs.
    pub async fn start(&self) {
        self.start_as(Who::Aerostat).await;
    }

    /// Starts one of the two managers, in the place of what runs.
    pub async fn start_as(&self, who: Who) {
        self.end().await;
        let manager = match who {
            Who::Vendor => package::start(&self.cluster, &self.cloud, &self.metadata, &FLAGS),
            Who::Aerostat => Manager::Aerostat(self.setup.started().await, None),
        };
        *self.manager.lock().await = Some(manager);
    }

    /// Ends the manager.
    pub async fn end(&self) {
        if let Some(manager) = self.manager.lock().await.take() {
            manager.stop().await;
        }
    }

    /// Which manager runs.
    async fn who(&self) -> Who {
        self.manager.lock().await.as_ref().map_or(Who::Aerostat, Manager::who)
    }

    /// The end of what Google's own has said, if it is the one that runs.
    pub async fn log_tail(&self) -> String {
        self.manager.lock().await.as_ref().map(Manager::log_tail).unwrap_or_default()
    }

    /// The Services of the cluster.
    #[must_use]
    pub fn services(&self) -> Api<Service> {
        Api::default_namespaced(self.cluster.admin.clone())
    }

    /// Plays the steps of a part, and compares each with its recording. `say` hears of each step how much was asked.
    pub async fn play(&self, part: &str, steps: &[GcpStep], table: &[Meant], say: impl Fn(String)) -> Compared {
        let compared = compare(table, part, &self.played(steps, table, say).await);
        with_warnings(compared, &self.cluster).await
    }

    /// Plays the steps of a part, each beside its recording: `ours` is what the manager that runs leaves.
    pub async fn played(&self, steps: &[GcpStep], table: &[Meant], say: impl Fn(String)) -> Vec<ComparedStep> {
        let mut compared = Vec::new();
        for step in steps {
            let played = self.play_step(step, table).await;
            let line = |asked: &Asked| (asked.reads(), asked.writes());
            say(format!("{}: {:?} of {:?}", step.name, line(&played.ours.asked), line(&played.theirs.asked)));
            compared.push(played);
        }
        compared
    }

    async fn play_step(&self, step: &GcpStep, table: &[Meant]) -> ComparedStep {
        let begun = self.cloud.requests().len();
        let (before, told) =
            (self.cloud.with(|world| seen::objects(world)), SeenEvents::until_now(&self.cluster).await);
        self.change(step).await;
        let theirs = self.theirs(step);
        let ours = async || self.ours(step, &before, &told).await;
        let last = || self.cloud.requests_from(begun).last().map(|it| it.at);
        let ours = until_alike(table, &step.name, &theirs, limits(self.who().await), ours, last).await;
        let asked = self.asked(begun);
        ComparedStep {
            name: step.name.clone(),
            theirs: ManagerState { seen: theirs, asked: step.asked.clone() },
            ours: ManagerState { seen: ours, asked },
            alone: false,
        }
    }

    async fn change(&self, step: &GcpStep) {
        match step.change {
            GcpChange::Join => self.join_nodes().await,
            GcpChange::Restart => self.start_as(self.who().await).await,
            GcpChange::Make => {
                for name in &step.services {
                    let service = serde_json::from_value(manifest(name, &step.left[name])).expect("it is a Service");
                    let made = self.services().create(&PostParams::default(), &service).await;
                    self.learn(made.expect("the API server takes it"));
                }
            }
            GcpChange::Delete => {
                for name in &step.services {
                    self.services().delete(name, &DeleteParams::default()).await.expect("it is there");
                }
            }
        }
    }

    /// Services that are read as they are: a condition without a time, as Google's package leaves it, is none to the typed client.
    fn untyped(&self) -> Api<DynamicObject> {
        Api::default_namespaced_with(self.cluster.admin.clone(), &ApiResource::erase::<Service>(&()))
    }

    async fn all_services(&self) -> Vec<(String, Value)> {
        let all = self.untyped().list(&ListParams::default()).await.expect("the API server answers").items;
        let value = |it: &DynamicObject| serde_json::to_value(it).expect("an object is JSON");
        all.iter().map(|it| (it.name_any(), value(it))).collect()
    }

    /// Notes a Service, whose names stand for what is made up.
    pub(super) fn learn(&self, service: Service) {
        self.known.lock().expect("no other test fails here").insert(service.name_any(), service);
    }

    /// The objects and events that theirs left of the step.
    fn theirs(&self, step: &GcpStep) -> Value {
        let of = |it: &&String| step.left.contains_key(*it);
        let services = step.services.iter().filter(of).map(|it| (it.clone(), seen::service(&step.left[it])));
        let nodes: Map<_, _> = step.nodes.iter().map(|(name, it)| (name.clone(), seen::node(it))).collect();
        let seen = json!({
            "services": services.collect::<Map<_, _>>(), "nodes": nodes, "cloud": seen::recorded_changes(&step.cloud),
            "events": recorded_events(&step.events),
        });
        GcpNames::recorded(&step.left).value(&seen)
    }

    /// The same of ours, since there were these objects and events.
    async fn ours(&self, step: &GcpStep, before: &BTreeMap<String, Value>, told: &SeenEvents) -> Value {
        let mut services = Map::new();
        for (name, service) in self.all_services().await {
            if step.services.contains(&name) {
                services.insert(name, seen::service(&service));
            }
            self.learn(without_conditions(service));
        }
        let mut nodes = Map::new();
        if !step.nodes.is_empty() {
            let all: Api<Node> = Api::all(self.cluster.admin.clone());
            for node in all.list(&ListParams::default()).await.expect("the API server answers").items {
                let value = serde_json::to_value(&node).expect("a Node is JSON");
                nodes.insert(node.name_any(), seen::node(&value));
            }
        }
        let events = SeenEvents::until_now(&self.cluster).await.since(told);
        let now = self.cloud.with(|world| seen::objects(world));
        let cloud = seen::changed(before, &now);
        let seen = json!({ "services": services, "nodes": nodes, "cloud": cloud, "events": events });
        self.names().value(&seen)
    }

    fn names(&self) -> GcpNames {
        GcpNames::of(self.known.lock().expect("no other test fails here").values())
    }

    /// The requests since so many of them. Whoever waits for operations is not counted: of theirs they were left out, too.
    #[must_use]
    pub fn asked(&self, begun: usize) -> Asked {
        let names = self.names();
        let all = self.cloud.requests_from(begun).into_iter();
        let asked = all.filter(|it| it.path != "/token" && !it.path.contains("/operations/")).map(|request| {
            let writes = !request.method.is_safe() && !request.path.ends_with("/listInstances");
            (format!("{} {}", request.method, names.text(&request.path)), writes)
        });
        Asked::of(asked)
    }

    /// All objects that load balancers consist of, but the address of a person, by path with names in it.
    #[must_use]
    pub fn objects(&self) -> Value {
        let all = self.cloud.with(|world| seen::objects(world)).into_iter().filter(|it| !seen::is_of_a_person(&it.0));
        self.names().value(&all.collect::<Map<_, _>>().into())
    }

    /// The path of the region's addresses.
    #[must_use]
    pub fn addresses_path(&self) -> String {
        format!("/compute/v1/{}", Place::region(PROJECT, REGION).path(Collection::Addresses, ""))
            .trim_end_matches('/')
            .to_owned()
    }

    /// The Services with an address, each with the first of them.
    ///
    /// # Panics
    ///
    /// Panics if the API server does not answer.
    pub async fn served(&self) -> Vec<(String, String)> {
        let all = self.all_services().await.into_iter();
        all.filter_map(|(name, service)| Some((name, seen::address(&service)?))).collect()
    }

    /// Deletes all Services with load balancers, and waits until they are gone.
    ///
    /// # Panics
    ///
    /// Panics if one stays.
    pub async fn delete_all(&self) {
        let names = async || {
            let all = self.all_services().await.into_iter().map(|it| it.0);
            all.filter(|it| it != "kubernetes").collect::<Vec<_>>()
        };
        for name in names().await {
            self.untyped().delete(&name, &DeleteParams::default()).await.expect("it is there");
        }
        let are_gone = wait::within(Duration::from_mins(5), async || names().await.is_empty().then_some(()));
        assert!(are_gone.await.is_some(), "Services stay\n{}", self.log_tail().await);
    }

    /// Waits until something was asked since so many requests, and then nothing for so long.
    ///
    /// # Panics
    ///
    /// Panics if it goes on for five minutes.
    pub async fn rests(&self, begun: usize, quiet: Duration) {
        let rested = wait::within(Duration::from_mins(5), async || {
            let last = self.cloud.requests_from(begun).last().map(|it| it.at);
            last.is_some_and(|it| it.elapsed().is_ok_and(|it| it > quiet)).then_some(())
        });
        assert!(rested.await.is_some(), "it does not come to rest\n{}", self.log_tail().await);
    }

    /// The writes since so many requests.
    #[must_use]
    pub fn writes_since(&self, begun: usize) -> Vec<String> {
        let names = self.names();
        let writes = self.cloud.requests_from(begun).into_iter();
        let writes =
            writes.filter(|it| !it.method.is_safe() && it.path != "/token" && !it.path.ends_with("/listInstances"));
        writes.map(|it| names.text(&it.to_string())).collect()
    }
}

fn without_conditions(mut service: Value) -> Service {
    service["status"].as_object_mut().map(|it| it.remove("conditions"));
    serde_json::from_value(service).expect("it is a Service")
}

/// How long nothing is asked once a step of a manager is over, and how long the step may take.
fn limits(who: Who) -> StepLimits {
    match who {
        // It does not say when it has begun, and asks about each operation once a second.
        Who::Vendor => StepLimits { quiet: Duration::from_secs(6), patience: Duration::from_mins(3) },
        Who::Aerostat => StepLimits { quiet: Duration::from_millis(1_500), patience: Duration::from_secs(40) },
    }
}

/// Adds the right to read a ConfigMap to aerostat's Role.
async fn allow_config_map(cluster: &Cluster, name: &str) {
    let roles: Api<Role> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let role = roles.get("cloud-controller-manager").await.expect("the cluster has aerostat's Role");
    let mut rules = role.rules.unwrap_or_default();
    rules.push(PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".to_owned()]),
        resource_names: Some(vec![name.to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    });
    let patch = Patch::Merge(json!({ "rules": rules }));
    roles.patch("cloud-controller-manager", &PatchParams::default(), &patch).await.expect("it can be changed");
}
