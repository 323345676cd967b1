//! A cluster, the resource group of the recordings, and the binary between them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Service};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use crate::beside::{
    Asked, Compared, ComparedStep, ManagerState, Meant, SeenEvents, ServiceChange, ServiceStep, StepLimits, compare,
    manifest, recorded_events, seen_service, until_alike, until_quiet, with_warnings,
};
use crate::clouds::azure::{Kind, LOCATION, Options, Recorded, Simulator, World, id, machine_address};
use crate::control_plane::{Cluster, cluster};
use crate::operator::{Process, Setup};
use crate::vendor::azure;
use crate::{kubelet, operator};

use super::seen::{self, AzureWords};
use super::story::{between, is_counted};

/// Once a step is over, nothing is asked for longer than it takes to come back to a Service and to gather others, and than the egress
/// answers reads from memory: a person may make an address before the next step.
const LIMITS: StepLimits = StepLimits { quiet: Duration::from_millis(2_200), patience: Duration::from_secs(40) };
/// The flags of the recordings.
const FLAGS: [&str; 2] = ["--configure-cloud-routes=false", "--node-status-update-frequency=1h"];

/// A place for the steps of a part.
pub struct AzureStage {
    /// The cluster.
    pub cluster: Cluster,
    /// The resource group.
    pub cloud: Simulator,
    folder: String,
    setup: Setup,
    process: Mutex<Option<Process>>,
    /// The Services that there were.
    known: std::sync::Mutex<BTreeMap<String, Service>>,
}

impl AzureStage {
    /// With the two nodes of a folder's recordings, and the binary at work.
    pub async fn new(folder: &str) -> Self {
        let stage = Self::resting(folder).await;
        stage.start().await;
        stage.join_nodes().await;
        stage
    }

    /// The same without the binary, and without nodes. Operations end at once, as in the recordings; and another writer changes load balancers
    /// and the security group each time between a read and the write over it.
    ///
    /// # Panics
    ///
    /// Panics if something does not start.
    pub async fn resting(folder: &str) -> Self {
        let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(Options::instant()));
        let cloud = cloud.expect("the subscription starts");
        cloud.with(World::build_plain);
        cloud.with(|world| add_machines(world, folder));
        cloud.behave(|it| it.has_other_writer = true);
        let mut setup = azure::soon(azure::setup(&cluster, &cloud)).flags(&FLAGS);
        let settings = &mut setup.config["provider"]["settings"];
        if ["node-ip", "several"].contains(&folder) {
            settings["loadBalancerBackendPoolConfigurationType"] = json!("nodeIP");
        }
        if folder == "several" {
            for (name, set) in [("kubernetes", "pool1"), ("lb2", "pool2")] {
                settings[format!("multipleStandardLoadBalancerConfigurations.{name}.primaryVMSet")] = json!(set);
            }
        }
        let (process, known) = (Mutex::default(), std::sync::Mutex::default());
        Self { cluster, cloud, folder: folder.to_owned(), setup, process, known }
    }

    /// Lets the two nodes join.
    ///
    /// # Panics
    ///
    /// Panics if the API server does not take them.
    pub async fn join_nodes(&self) {
        for name in self.node_names() {
            kubelet::join(&self.cluster.admin, name).await.expect("the API server takes a node");
            operator::initialized(&self.cluster, name).await;
        }
    }

    /// Makes both nodes as theirs left them: with provider ids and addresses.
    ///
    /// # Panics
    ///
    /// Panics if the API server does not take them.
    pub async fn inherit_nodes(&self) {
        for (number, name) in (1..).zip(self.node_names()) {
            let path = match name.strip_prefix("pool100000") {
                Some(instance) => format!("virtualMachineScaleSets/pool1/virtualMachines/{instance}"),
                None => format!("virtualMachines/{name}"),
            };
            let mut node = kubelet::node(name);
            let spec = node.spec.get_or_insert_default();
            spec.taints = None;
            spec.provider_id = Some(format!("azure://{}", id(&format!("Microsoft.Compute/{path}"))));
            kubelet::join_as(&self.cluster.admin, node).await.expect("the API server takes a node");
            let address = json!({ "type": "InternalIP", "address": machine_address(number) });
            let status = Patch::Strategic(json!({ "status": { "addresses": [address] } }));
            let nodes: Api<Node> = Api::all(self.cluster.admin.clone());
            nodes.patch_status(name, &PatchParams::default(), &status).await.expect("the API server takes it");
        }
    }

    fn node_names(&self) -> [&'static str; 2] {
        if self.folder == "scale-set" { ["pool1000000", "pool1000001"] } else { ["node-1", "node-2"] }
    }

    /// Starts the binary, in the place of one that runs.
    pub async fn start(&self) {
        self.end().await;
        *self.process.lock().await = Some(self.setup.started().await);
    }

    /// Ends the binary.
    pub async fn end(&self) {
        if let Some(process) = self.process.lock().await.take() {
            process.stop().await;
        }
    }

    /// The Services of the cluster.
    #[must_use]
    pub fn services(&self) -> Api<Service> {
        Api::default_namespaced(self.cluster.admin.clone())
    }

    /// Plays the steps of a part, and compares each with its recording. `say` hears of each step how much was asked.
    pub async fn play(&self, part: &str, steps: &[ServiceStep], table: &[Meant], say: impl Fn(String)) -> Compared {
        let mut compared = Vec::new();
        for step in steps {
            let played = self.play_step(step, table).await;
            let line = |asked: &Asked| (asked.reads(), asked.writes());
            say(format!("{}: {:?} of {:?}", step.name, line(&played.ours.asked), line(&played.theirs.asked)));
            compared.push(played);
        }
        with_warnings(compare(table, part, &compared), &self.cluster).await
    }

    async fn play_step(&self, step: &ServiceStep, table: &[Meant]) -> ComparedStep {
        self.catch_up(step).await;
        let begun = self.cloud.requests().len();
        let (before, told) = (seen::objects(self.cloud.account()), SeenEvents::until_now(&self.cluster).await);
        self.add_addresses(&step.name);
        if step.change == ServiceChange::Restart {
            self.start().await;
        }
        step.begin(&self.services()).await.into_iter().for_each(|it| self.learn(it));
        let theirs = Self::theirs(step, &before);
        let ours = async || self.ours(step, &before, &told).await;
        let last = || self.cloud.requests_from(begun).last().map(|it| it.at);
        let ours = until_alike(table, &step.name, &theirs, LIMITS, ours, last).await;
        let asked = self.asked(begun);
        let lost = self.cloud.with(|world| world.lost_by_others());
        assert!(lost.is_empty(), "{}: another writer has lost {lost:#?}", step.name);
        ComparedStep {
            name: step.name.clone(),
            theirs: ManagerState { seen: theirs, asked: step.asked.clone() },
            ours: ManagerState { seen: ours, asked },
            alone: false,
        }
    }

    /// Makes the Services that theirs had before a step, of which nothing else was recorded, and waits until they are served.
    async fn catch_up(&self, step: &ServiceStep) {
        for name in between(&step.name) {
            let wanted = &step.left[*name];
            let is_there = self.services().get_opt(name).await.expect("the API server answers").is_some();
            if is_there {
                let annotations = json!({ "metadata": { "annotations": wanted["annotations"] } });
                let patched = self.services().patch(name, &PatchParams::default(), &Patch::Merge(annotations)).await;
                patched.expect("the API server takes it");
            } else {
                let service = serde_json::from_value(manifest(name, wanted)).expect("it is a Service");
                let made = self.services().create(&PostParams::default(), &service).await;
                self.learn(made.expect("the API server takes it"));
                crate::services::address(&self.cluster, name).await;
            }
        }
        if !between(&step.name).is_empty() {
            self.rests().await;
        }
    }

    /// Waits until nothing is asked any more.
    ///
    /// # Panics
    ///
    /// Panics if it goes on.
    pub async fn rests(&self) {
        let count = self.cloud.requests().len();
        let last = || self.cloud.requests_from(count.saturating_sub(1)).last().map(|it| it.at);
        until_quiet(LIMITS, last).await;
    }

    /// Adds the public addresses that a person has made before a step.
    fn add_addresses(&self, step: &str) {
        let address = |name: &str, ip: &str| {
            let body = json!({ "location": LOCATION, "sku": { "name": "Standard" }, "properties": {
                "publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4", "ipAddress": ip,
                "idleTimeoutInMinutes": 4,
            } });
            let id = id(&format!("Microsoft.Network/publicIPAddresses/{name}"));
            self.cloud.with(|world| world.insert(Kind::PublicIp, &id, body));
        };
        match step {
            "vm/options/named-pip" => address("mine", "20.60.0.1"),
            "vm/options/pip-by-ip" => address("byip", "20.60.0.2"),
            _ => {}
        }
    }

    /// Notes a Service, whose names stand for what is made up.
    pub(super) fn learn(&self, service: Service) {
        self.known.lock().expect("no other test fails here").insert(service.name_any(), service);
    }

    /// The objects and events that theirs left of the step.
    fn theirs(step: &ServiceStep, before: &BTreeMap<String, Value>) -> Value {
        let of = |it: &&String| step.left.contains_key(*it);
        let services = step.services.iter().filter(of).map(|it| (it.clone(), seen_service(&step.left[it], &[])));
        let seen = json!({
            "services": services.collect::<Map<_, _>>(), "cloud": seen::recorded_changes(&step.cloud, before),
            "events": recorded_events(&step.events),
        });
        AzureWords::recorded(&step.left).value(&seen)
    }

    /// The same of ours, since there were these objects and events.
    async fn ours(&self, step: &ServiceStep, before: &BTreeMap<String, Value>, told: &SeenEvents) -> Value {
        let mut services = Map::new();
        for service in self.services().list(&ListParams::default()).await.expect("the API server answers").items {
            let name = service.name_any();
            if step.services.contains(&name) {
                let value = serde_json::to_value(&service).expect("a Service is JSON");
                services.insert(name, seen_service(&value, &[]));
            }
            self.learn(service);
        }
        let events = SeenEvents::until_now(&self.cluster).await.since(told);
        let now = seen::objects(self.cloud.account());
        let seen = json!({ "services": services, "cloud": seen::changed(before, &now), "events": events });
        self.words().value(&seen)
    }

    fn words(&self) -> AzureWords {
        AzureWords::of(self.known.lock().expect("no other test fails here").values())
    }

    /// The requests since.
    fn asked(&self, begun: usize) -> Asked {
        let words = self.words();
        let all = without_repetitions(self.cloud.requests_from(begun)).filter(|it| is_counted(&it.path));
        Asked::of(all.map(|it| (format!("{} {}", it.method, words.text(&it.path)), !it.method.is_safe())))
    }

    /// The writes since so many requests.
    #[must_use]
    pub fn writes_since(&self, begun: usize) -> Vec<String> {
        let words = self.words();
        let all = self.cloud.requests_from(begun).into_iter();
        let writes = all.filter(|it| !it.method.is_safe() && is_counted(&it.path));
        writes.map(|it| words.text(&it.to_string())).collect()
    }
}

/// Requests without writes that the other writer was ahead of, and without the read after each: theirs met nobody.
fn without_repetitions(requests: Vec<Recorded>) -> impl Iterator<Item = Recorded> {
    let mut refused = BTreeSet::new();
    requests.into_iter().filter(move |request| match request.status {
        Some(412) => {
            refused.insert(request.path.clone());
            false
        }
        _ => !request.method.is_safe() || !refused.remove(&request.path),
    })
}

/// The machines that a folder's recordings begin with.
fn add_machines(world: &mut World, folder: &str) {
    match folder {
        "scale-set" => {
            world.add_scale_set("pool1");
            (0..2).for_each(|it| drop(world.add_instance("pool1", it)));
        }
        "flexible" => (1..3).for_each(|it| drop(world.add_flexible_machine("flex1", it, &format!("node-{it}")))),
        _ => (1..3).for_each(|it| drop(world.add_machine(it, &format!("node-{it}")))),
    }
}
