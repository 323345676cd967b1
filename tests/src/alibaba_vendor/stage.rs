//! A cluster, the VPC of the recordings, and the binary between them.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Service};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::beside::{
    Asked, Compared, ComparedStep, ManagerState, Meant, SeenEvents, StepLimits, compare, let_be, now_there,
    recorded_events, register, until_alike, until_quiet,
};
use crate::clouds::alibaba::{Fault, Options, ROUTE_TABLE, Simulator, machine_id};
use crate::control_plane::{Cluster, cluster};
use crate::operator::{Process, Setup};
use crate::vendor::alibaba;
use crate::{kubelet, operator, wait};

use super::known::MOST;
use super::seen::{self, BY_HAND, LeftObjects};
use super::story::{AliChange, AliChapter, AliScope, AliStep, CLASSIC, NETWORK, annotations_before, reads};

/// Once a step is over, nothing is asked for longer than it takes to come back to a Service, or to a route after two seconds.
const LIMITS: StepLimits = StepLimits { quiet: Duration::from_millis(2_500), patience: Duration::from_secs(60) };
/// Steps in which the table means all that aerostat does: a write ends them.
const WRITES: [&str; 2] = ["clb-local", "clb-cluster-again"];
/// The flags of the recordings, and those with which the route of one of few nodes may be deleted that is as young as the test.
const FLAGS: [&str; 7] = [
    "--load-balancer-class=alibabacloud.com/nlb",
    "--configure-cloud-routes=true",
    "--cluster-cidr=10.244.0.0/16",
    "--route-deletion-warm-up=0s",
    "--route-deletion-budget=100",
    "--node-status-update-frequency=1h",
    "--node-monitor-period=2s",
];
/// The machines of the recordings.
const MACHINES: u64 = 4;

/// A place for chapters of the story.
pub struct AliStage {
    /// The cluster.
    pub cluster: Cluster,
    /// The account.
    pub cloud: Simulator,
    setup: Setup,
    process: Mutex<Option<Process>>,
    /// The Services that there were, with their UIDs.
    known: std::sync::Mutex<BTreeMap<String, Service>>,
}

impl AliStage {
    /// With the machines of the recordings, a person's load balancer and list of access, and the binary at work; no nodes.
    pub async fn new() -> Self {
        let stage = Self::resting().await;
        stage.start().await;
        stage.rests().await;
        stage
    }

    /// The same without the binary.
    ///
    /// # Panics
    ///
    /// Panics if something does not start.
    pub async fn resting() -> Self {
        let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(Options::instant()));
        let cloud = cloud.expect("the account starts");
        cloud.with(|world| {
            (1..=MACHINES).for_each(|it| world.add_machine(it, &format!("node-{it}")));
            world.put_access_list("acl-1", json!({}));
            let by_hand = json!({
                "LoadBalancerId": "lb-mine", "LoadBalancerName": BY_HAND, "AddressType": "internet", "VpcId": "vpc-1",
            });
            world.put_balancer(by_hand);
        });
        // As theirs does, the load balancer of a person is taken by its id alone.
        let setup = alibaba::setup(&cluster, &cloud).flags(&FLAGS).flags(&operator::NODES_GO_AT_ONCE);
        let setup = setup.edit(|config| config["provider"]["settings"]["adoptById"] = json!("true"));
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

    /// The nodes `node-1` to `node-3`, as they are after the first steps.
    fn recorded_nodes() -> Vec<(String, Value)> {
        let all = CLASSIC[0].read().into_iter().flat_map(|it| it.nodes);
        all.filter(|(name, _)| name != "node-x").collect()
    }

    /// Lets the nodes `node-1` to `node-3` join, and waits for their routes.
    pub async fn join_nodes(&self) {
        for (name, node) in Self::recorded_nodes() {
            self.join(&name, &node).await;
        }
        self.rests().await;
    }

    /// The same where theirs has made their routes, before the binary has started: the nodes are there with their networks.
    pub async fn inherit_nodes(&self) {
        self.put_routes(&[1, 2, 3]);
        for (name, node) in Self::recorded_nodes() {
            self.register(&name, &node).await;
        }
        self.start().await;
        for (name, _) in Self::recorded_nodes() {
            operator::initialized(&self.cluster, &name).await;
        }
        self.rests().await;
    }

    /// Lets a recorded node join, and waits until it is initialised, if theirs did that.
    async fn join(&self, name: &str, recorded: &Value) {
        self.register(name, recorded).await;
        if recorded["spec"]["providerID"].is_string() {
            operator::initialized(&self.cluster, name).await;
        }
    }

    /// Makes a recorded node, as its kubelet does: with its provider id, if theirs saw one, its addresses and its network.
    async fn register(&self, name: &str, recorded: &Value) {
        let recorded = seen::recorded_words().value(recorded);
        let mut node = kubelet::node(name);
        let spec = node.spec.get_or_insert_default();
        let text = |name: &str| recorded["spec"][name].as_str().map(str::to_owned);
        (spec.provider_id, spec.pod_cidr) = (text("providerID"), text("podCIDR"));
        spec.pod_cidrs = spec.pod_cidr.clone().map(|it| vec![it]);
        register(&self.cluster, node, &recorded["status"]["addresses"]).await;
    }

    /// Lets the nodes be those after the last step: `node-2` and `node-3` go, and `node-4` joins.
    ///
    /// # Panics
    ///
    /// Panics if the API server does not take it.
    pub async fn exchange_nodes(&self) {
        for name in ["node-2", "node-3"] {
            self.nodes().delete(name, &DeleteParams::default()).await.expect("it is there");
        }
        let last = NETWORK.iter().flat_map(AliChapter::read).last().expect("there are steps");
        self.join("node-4", &last.nodes["node-4"]).await;
        // A route goes, and another comes, only after the table has shown each: that takes longer than it rests in between.
        let leads_to = |number: u64| {
            let hop = json!(machine_id(number));
            self.cloud.with(|world| world.routes.all().any(|(_, it)| it["NextHops"]["NextHop"][0]["NextHopId"] == hop))
        };
        wait::until("routes lead to the nodes that are there", async || {
            (leads_to(4) && !leads_to(2) && !leads_to(3)).then_some(())
        })
        .await;
        self.rests().await;
    }

    /// Plays chapters one after the other, and compares each step with its recording. `say` hears of each step how much was asked, and of
    /// each chapter what.
    ///
    /// # Panics
    ///
    /// Panics if a person's load balancer is not as it was.
    pub async fn play(&self, chapters: &[AliChapter], table: &[Meant], say: impl Fn(String)) -> Compared {
        let of_person = || {
            self.cloud.with(|world| {
                let (id, balancer) = world.balancers.of("LoadBalancerName", BY_HAND).next()?;
                let parts = [&world.listeners, &world.groups]
                    .map(|table| table.of("LoadBalancerId", id).map(|(_, it)| it.clone()).collect::<Vec<_>>());
                Some((balancer.clone(), parts))
            })
        };
        let before = of_person();
        let mut compared = Compared::default();
        for chapter in chapters {
            let (mut steps, mut in_all) = (Vec::new(), Asked::default());
            for step in chapter.read() {
                let played = self.play_step(chapter.scope, &step, table).await;
                let line = |asked: &Asked| (asked.reads(), asked.writes());
                say(format!("{}: {:?} of {:?}", played.name, line(&played.ours.asked), line(&played.theirs.asked)));
                in_all.add(&played.ours.asked);
                steps.push(played);
            }
            say(format!("{}: {:?}", chapter.name, in_all.actions));
            if let Some((_, most)) = MOST.iter().find(|it| it.0 == chapter.name) {
                compared = compared.bounded(chapter.name, &in_all, *most);
            }
            compared.add(compare(table, chapter.name, &steps));
        }
        assert_eq!(of_person(), before);
        compared
    }

    async fn play_step(&self, scope: AliScope, step: &AliStep, table: &[Meant]) -> ComparedStep {
        self.prepare(step).await;
        let (begun, told) = (self.cloud.requests().len(), SeenEvents::until_now(&self.cluster).await);
        self.change(step).await;
        if WRITES.contains(&&*step.name) {
            wait::until("a write", async || (self.asked(scope, begun).writes() > 0).then_some(())).await;
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
    async fn prepare(&self, step: &AliStep) {
        if let Some(annotations) = annotations_before(&step.name) {
            self.patch(step.subject, &json!({ "metadata": { "annotations": annotations } })).await;
            self.rests().await;
        }
        let throttled = |action: &str| {
            let body = json!({ "Code": "Throttling.User", "Message": "Request was denied due to user flow control." });
            Fault::status("POST", action, 400).body(body.to_string()).times(2)
        };
        match &*step.name {
            "two-nodes-one-legacy-id" => {
                self.nodes().delete("node-x", &DeleteParams::default()).await.expect("it is there");
                self.rests().await;
            }
            "fault-create-done-answer-lost" => {
                self.cloud.inject(Fault::status("POST", "/slb/CreateLoadBalancer", 503).done().times(1));
            }
            "fault-throttled-clb" => self.cloud.inject(throttled("/slb/CreateVServerGroup")),
            "fault-throttled-nlb" => self.cloud.inject(throttled("/nlb/CreateServerGroup")),
            "fault-job-failed" => self.cloud.behave(|it| it.failing = vec!["AddServersToServerGroup".to_owned()]),
            "pass-after-instance-gone" => {
                let hop = ("Instance", &*machine_id(1));
                self.cloud.with(|world| world.put_route(ROUTE_TABLE, "10.244.40.0/24", hop, "", "Available"));
                self.join("node-4", &step.nodes["node-4"]).await;
                self.rests().await;
            }
            _ => {}
        }
    }

    async fn change(&self, step: &AliStep) {
        let ready = async |node: &str, is_ready: bool| {
            kubelet::post_ready(&self.cluster.admin, node, is_ready).await.expect("the node is there");
        };
        match step.change {
            AliChange::Join => {
                for (name, node) in &step.nodes {
                    self.join(name, node).await;
                }
            }
            AliChange::Become => {
                let made = let_be(&self.services(), step.subject, &step.services[step.subject]).await;
                made.into_iter().for_each(|it| self.learn(it));
            }
            AliChange::Patch(patch) => {
                self.patch(step.subject, &serde_json::from_str(patch).expect("it is JSON")).await;
            }
            AliChange::Delete => {
                self.services().delete(step.subject, &DeleteParams::default()).await.expect("it is there");
            }
            AliChange::Ready(is_ready) => ready("node-2", is_ready).await,
            AliChange::Pods => {}
            AliChange::Restart => self.start().await,
            AliChange::LoseMachine => self.cloud.with(|world| world.remove_machine(&machine_id(3))),
            AliChange::DeleteNode => {
                self.nodes().delete("node-2", &DeleteParams::default()).await.expect("it is there");
            }
            AliChange::Silence => ready("node-3", false).await,
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

    fn theirs(&self, step: &AliStep) -> Value {
        let known: Vec<String> = self.known.lock().expect("no other test fails here").keys().cloned().collect();
        let left = LeftObjects {
            words: seen::recorded_words(),
            services: step.services.clone(),
            nodes: step.nodes.clone(),
            cloud: step.cloud.clone(),
        };
        let mut seen = left.seen(|name| known.iter().any(|it| it == name));
        seen["events"] = of_subject(&recorded_events(&step.events), step);
        seen
    }

    async fn ours(&self, step: &AliStep, told: &SeenEvents) -> Value {
        let known = self.known.lock().expect("no other test fails here").clone();
        let left = LeftObjects {
            words: seen::words_of(known.values()),
            services: now_there(&self.services(), &step.services).await,
            nodes: now_there(&self.nodes(), &step.nodes).await,
            cloud: step.cloud.is_some().then(|| self.cloud.with(|world| seen::live(world))),
        };
        let mut seen = left.seen(|_| true);
        seen["events"] = of_subject(&SeenEvents::until_now(&self.cluster).await.since(told), step);
        seen
    }

    /// The requests of a scope since so many.
    fn asked(&self, scope: AliScope, begun: usize) -> Asked {
        let all = self.cloud.requests_from(begun).into_iter().filter_map(|request| {
            let (product, action) = request.path.trim_start_matches('/').split_once('/')?;
            scope.holds(product, action).then(|| (format!("{product} {action}"), !reads(action)))
        });
        Asked::of(all)
    }

    /// The writes since so many requests.
    #[must_use]
    pub fn writes_since(&self, begun: usize) -> Vec<String> {
        let all = self.cloud.requests_from(begun).into_iter();
        let is_write = |path: &str| !path.rsplit('/').next().is_some_and(reads);
        all.filter(|it| is_write(&it.path)).map(|it| it.to_string()).collect()
    }
}

/// The events about the Service of a step.
fn of_subject(events: &Value, step: &AliStep) -> Value {
    events.get(step.subject).cloned().unwrap_or_else(|| json!({}))
}
