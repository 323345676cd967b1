//! A cluster, the VPC of the recordings, and the binary between them.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Service};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use crate::beside::{
    Asked, Compared, ComparedStep, ManagerState, Meant, SeenEvents, StepLimits, compare, let_be, now_there,
    recorded_events, register, until_alike, until_quiet,
};
use crate::clouds::ibm::{CLUSTER, Fault, Options, REGION, Simulator, VPC, VpcKind, World};
use crate::control_plane::{Cluster, cluster};
use crate::operator::{Process, Setup};
use crate::vendor::{IbmCloud, Vendor as _, ibm};
use crate::{kubelet, operator, services, wait};

use super::seen::{self, LeftVpcObjects};
use super::story::{THREE_PORTS, VpcChange, VpcScope, VpcStoryStep, action, made, read_story};

/// Once a step is over, nothing is asked for longer than it takes to come back to a Service.
const LIMITS: StepLimits = StepLimits { quiet: Duration::from_millis(2_500), patience: Duration::from_secs(60) };
/// Steps that aerostat refuses and theirs does not: a Warning ends them.
const REFUSED: [&str; 1] = ["lb-type-misspelt"];
/// The load balancer of the recorded account whose name says that it is of a Service of this cluster, which nobody knows.
pub const LEFTOVER: &str = "kube-c1clusterid-0123456789abcdef0123456789abcdef";

/// Load balancers that no step may change, once they are there: of another Service than the step's, and of none.
const STAYS: [&str; 2] = ["shared-name", LEFTOVER];
/// How often the nodes' states are looked at, and addresses are not asked for again in the story.
const FLAGS: [&str; 2] = ["--node-status-update-frequency=1h", "--node-monitor-period=2s"];

/// The most reads and writes in a step or a chapter.
pub type MostAsked = (&'static str, (usize, usize));

/// A place for the story.
pub struct VpcStage {
    /// The cluster.
    pub cluster: Cluster,
    /// The account.
    pub cloud: Simulator,
    setup: Setup,
    process: Mutex<Option<Process>>,
    /// The Services that there were, with their UIDs.
    known: std::sync::Mutex<BTreeMap<String, Service>>,
}

impl VpcStage {
    /// With the machines of the recordings and a load balancer of no Service's, and without nodes and the binary.
    ///
    /// # Panics
    ///
    /// Panics if something does not start.
    pub async fn resting() -> Self {
        let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(Options::instant()));
        let cloud = cloud.expect("the account starts");
        cloud.with(World::build_plain);
        cloud.with(|world| {
            [1, 3].into_iter().for_each(|it| add_machine(world, it));
            world.add_foreign(VPC, LEFTOVER);
        });
        let setup = ibm::setup(&cluster, &cloud).flags(&FLAGS).flags(&operator::NODES_GO_AT_ONCE);
        Self { cluster, cloud, setup, process: Mutex::default(), known: std::sync::Mutex::default() }
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

    fn nodes(&self) -> Api<Node> {
        Api::all(self.cluster.admin.clone())
    }

    /// Lets nodes with these numbers join, all others go, and waits until they are initialised.
    ///
    /// # Panics
    ///
    /// Panics if the API server does not take it.
    pub async fn have_nodes(&self, numbers: &[u32]) {
        for number in 1..=6 {
            let name = format!("node-{number}");
            let there = self.nodes().get_opt(&name).await.expect("the API server answers");
            match (numbers.contains(&number), there.is_some()) {
                (true, false) => {
                    let (node, addresses) = node(number, true);
                    register(&self.cluster, node, &addresses).await;
                    operator::initialized(&self.cluster, &name).await;
                }
                (false, true) => {
                    self.nodes().delete(&name, &DeleteParams::default()).await.expect("it is there");
                }
                _ => {}
            }
        }
    }

    /// Plays the story, and compares each step with its recording. `most` says how much is asked at most, and `say` hears of each step how much was.
    pub async fn play(&self, table: &[Meant], most: &[MostAsked], say: impl Fn(String)) -> Compared {
        let bound = |compared: Compared, name: &str, asked: &Asked| match most.iter().find(|it| it.0 == name) {
            Some((_, most)) => compared.bounded(name, asked, *most),
            None => compared,
        };
        let mut compared = Compared::default();
        let mut stays = Map::new();
        for (chapter, recorded) in read_story() {
            let (mut steps, mut in_all) = (Vec::new(), Asked::default());
            for step in recorded {
                let played = self.play_step(chapter.scope, &step, table).await;
                let line = |asked: &Asked| (asked.reads(), asked.writes());
                say(format!("{}: {:?} of {:?}", played.name, line(&played.ours.asked), line(&played.theirs.asked)));
                compared = bound(compared, &played.name, &played.ours.asked);
                in_all.add(&played.ours.asked);
                for name in STAYS {
                    let now = &played.ours.seen["cloud"][name];
                    if let Some(before) = stays.get(name) {
                        compared = compared.unchanged(&played.name, name, before, now);
                    } else if !now.is_null() {
                        stays.insert(name.to_owned(), now.clone());
                    }
                }
                steps.push(played);
            }
            say(format!("{}: {:?}", chapter.name, in_all.actions));
            compared = bound(compared, chapter.name, &in_all);
            compared.add(compare(table, chapter.name, &steps));
        }
        compared
    }

    async fn play_step(&self, scope: VpcScope, step: &VpcStoryStep, table: &[Meant]) -> ComparedStep {
        self.prepare(step).await;
        let (begun, told) = (self.cloud.requests().len(), SeenEvents::until_now(&self.cluster).await);
        self.change(step).await;
        if REFUSED.contains(&&*step.name) {
            wait::until("a Warning", async || {
                let events = SeenEvents::until_now(&self.cluster).await.since(&told);
                events[step.subjects[0]].to_string().contains("Warning").then_some(())
            })
            .await;
        }
        let theirs = self.theirs(step);
        let ours = async || self.ours(step, &told).await;
        let last = || self.cloud.requests_from(begun).last().map(|it| it.at);
        let ours = until_alike(table, &step.name, &theirs, LIMITS, ours, last).await;
        let asked = self.asked(scope, begun);
        ComparedStep {
            name: step.name.clone(),
            theirs: ManagerState { seen: theirs, asked: step.asked.clone() },
            ours: ManagerState { seen: ours, asked },
            alone: false,
        }
    }

    /// Does what was done before a step without a recording, and says what goes wrong in it.
    async fn prepare(&self, step: &VpcStoryStep) {
        match &*step.name {
            "lb-local" => {
                let ports = json!({ "spec": { "ports": step.services["web"]["spec"]["ports"] } });
                self.patch("web", &ports).await;
                self.rests().await;
            }
            "lb-port-removed" => {
                self.have_nodes(&[1, 2, 3, 4]).await;
                self.patch("web", &serde_json::from_str(THREE_PORTS).expect("it is JSON")).await;
                wait::until("three ports are served", async || {
                    self.cloud.with(|world| (world.all(VpcKind::Listener).count() == 3).then_some(()))
                })
                .await;
                self.rests().await;
            }
            "lb-private-subnets-zone-selector" => services::delete(&self.cluster, "keeper").await,
            "lb-unknown-subnet" => services::delete(&self.cluster, "dns").await,
            "fault-create-done-answer-lost" => {
                self.cloud.inject(Fault::status("POST", IbmCloud::LOAD_BALANCERS, 504).done().times(1));
            }
            "lb-name-of-another-service" => services::delete(&self.cluster, "lost").await,
            "thief-deleted" => {
                let thief = made("vpc-lb-name", "shared-name", 30_122);
                let_be(&self.services(), "thief2", &thief).await.into_iter().for_each(|it| self.learn(it));
                operator::event(&self.cluster, "thief2", &["not this Service's"]).await;
                self.rests().await;
            }
            _ => {}
        }
    }

    async fn change(&self, step: &VpcStoryStep) {
        match step.change {
            VpcChange::Start => self.start().await,
            VpcChange::Join | VpcChange::JoinWithId => {
                for (name, recorded) in &step.nodes {
                    let (node, addresses) = recorded_node(name, recorded, step.change == VpcChange::JoinWithId);
                    register(&self.cluster, node, &addresses).await;
                }
            }
            VpcChange::Become | VpcChange::Make(..) => {
                for name in step.subjects {
                    let made = let_be(&self.services(), name, &step.wanted(name)).await;
                    made.into_iter().for_each(|it| self.learn(it));
                }
            }
            VpcChange::Patch(patch) => {
                self.patch(step.subjects[0], &serde_json::from_str(patch).expect("it is JSON")).await;
            }
            VpcChange::AddWorkers(numbers) => {
                for number in numbers {
                    let (node, addresses) = node(*number, true);
                    register(&self.cluster, node, &addresses).await;
                }
            }
            VpcChange::Delete => {
                for name in step.subjects {
                    self.services().delete(name, &DeleteParams::default()).await.expect("it is there");
                }
                for name in step.subjects {
                    services::gone(&self.cluster, name).await;
                }
            }
            VpcChange::LoseMachine => {
                self.cloud.with(|world| world.remove(&machine_id(3)));
                kubelet::post_ready(&self.cluster.admin, "node-3", false).await.expect("the node is there");
            }
        }
    }

    async fn patch(&self, name: &str, patch: &Value) {
        let patched = self.services().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
        patched.expect("the API server takes it");
    }

    /// Notes a Service, whose name stands for what is made up.
    pub(super) fn learn(&self, service: Service) {
        self.known.lock().expect("no other test fails here").insert(service.name_any(), service);
    }

    fn known(&self) -> BTreeMap<String, Service> {
        self.known.lock().expect("no other test fails here").clone()
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

    fn theirs(&self, step: &VpcStoryStep) -> Value {
        let known = self.known();
        let left = LeftVpcObjects {
            words: seen::recorded_words(),
            services: step.services.clone(),
            nodes: step.nodes.clone(),
            balancers: step.balancers.clone(),
        };
        let mut seen = left.seen(|name| known.contains_key(name));
        seen["events"] = of_subjects(&recorded_events(&step.events), step);
        seen
    }

    async fn ours(&self, step: &VpcStoryStep, told: &SeenEvents) -> Value {
        let left = LeftVpcObjects {
            words: seen::words_of(self.known().values()),
            services: now_there(&self.services(), &step.services).await,
            nodes: now_there(&self.nodes(), &step.nodes).await,
            balancers: self.cloud.with(|world| seen::live(world)),
        };
        let mut seen = left.seen(|_| true);
        seen["events"] = of_subjects(&SeenEvents::until_now(&self.cluster).await.since(told), step);
        seen
    }

    /// The requests of a scope since so many.
    fn asked(&self, scope: VpcScope, begun: usize) -> Asked {
        let all = self.cloud.requests_from(begun).into_iter().filter(|it| scope.holds(&it.path));
        Asked::of(all.map(|it| (action(it.method.as_str(), &it.path), !it.method.is_safe())))
    }

    /// The writes since so many requests, but for tokens.
    #[must_use]
    pub fn writes_since(&self, begun: usize) -> Vec<String> {
        let all = self.cloud.requests_from(begun).into_iter();
        all.filter(|it| !it.method.is_safe() && !ibm::is_for_a_token(it)).map(|it| it.to_string()).collect()
    }
}

/// The events about the Services of a step.
fn of_subjects(events: &Value, step: &VpcStoryStep) -> Value {
    let of = |it: &&str| ((*it).to_owned(), events.get(*it).cloned().unwrap_or_else(|| json!({})));
    step.subjects.iter().map(of).collect::<Map<_, _>>().into()
}

fn machine_id(number: u32) -> String {
    format!("0717_inst-{number:04}")
}

/// The place of a machine in the recordings: its zone's number, and its address.
fn place(number: u32) -> (u32, String) {
    let zone = (number - 1) % 3;
    (zone + 1, format!("10.240.{zone}.{}", number + 4))
}

fn add_machine(world: &mut World, number: u32) {
    let (zone, address) = place(number);
    let subnet = format!("07{zone}7-s{zone}");
    world.insert(
        VpcKind::Instance,
        json!({
            "id": machine_id(number), "name": format!("node-{number}"), "zone": format!("{REGION}-{zone}"), "status": "running",
            "profile": "bx2-4x16", "vpc": VPC, "subnet": subnet, "address": address, "nic": format!("nic-{number}"),
            "is_attached": false,
        }),
    );
}

/// A node as its kubelet makes it, with the addresses that it has: `node-1` and `node-3` are machines of the account, the others workers
/// that IBM's managed service labels, whose machines are another's.
fn node(number: u32, has_id: bool) -> (Node, Value) {
    let name = format!("node-{number}");
    let (zone, address) = place(number);
    let mut node = kubelet::node(&name);
    match [1, 3].contains(&number) {
        true if has_id => {
            let id = format!("ibm://{}///{CLUSTER}/{}", crate::clouds::ibm::ACCOUNT, machine_id(number));
            node.spec.get_or_insert_default().provider_id = Some(id);
        }
        true => {}
        false => {
            let labels = node.metadata.labels.get_or_insert_default();
            for (label, value) in [
                ("internal-ip", address.clone()),
                ("worker-id", format!("kube-c1-w{number}")),
                ("machine-type", "bx2.4x16".to_owned()),
                ("zone", format!("{REGION}-{zone}")),
                ("region", REGION.to_owned()),
            ] {
                labels.insert(format!("ibm-cloud.kubernetes.io/{label}"), value);
            }
        }
    }
    let addresses = json!([{ "type": "InternalIP", "address": address }, { "type": "Hostname", "address": name }]);
    (node, addresses)
}

/// The same of a node of a recording.
fn recorded_node(name: &str, recorded: &Value, has_id: bool) -> (Node, Value) {
    let number = name.strip_prefix("node-").and_then(|it| it.parse().ok());
    let node = match number {
        Some(number) => node(number, has_id).0,
        None => kubelet::node(name),
    };
    (node, recorded["status"]["addresses"].clone())
}
