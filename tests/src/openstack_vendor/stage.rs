//! A cluster, the region of the recordings, and the binary between them, for stories with the same settings and nodes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use egress::EndpointLimits;
use futures::future::join_all;
use k8s_openapi::api::core::v1::{NodeAddress, Service};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::beside::{Asked, Compared, ComparedStep, ManagerState, Meant, compare, unmeant, with_warnings};
use crate::clouds::openstack::{Kind, Options, Simulator, Taking, World};
use crate::control_plane::{Cluster, cluster};
use crate::manager::Manager;
use crate::vendor::openstack;
use crate::{kubelet, operator, wait};

use super::manager;
use super::names::Names;
use super::requests::{Owners, action};
use super::story::{Change, Step, Story};
use super::{events, hands, seen};

/// How long a step may take.
const PATIENCE: Duration = Duration::from_secs(40);
/// How long nothing is asked once a step is over, where nothing that is left tells so.
const QUIET: Duration = Duration::from_millis(1_500);
/// How long what there is stays as it was, as long as nothing is asked.
const LOOK: Duration = Duration::from_millis(300);
/// How long the events of a step may take once it is over: those of many Services are told one after the other.
pub(super) const TELLING: Duration = wait::DEADLINE;
/// Steps that theirs never ends, and aerostat does.
const ARRIVES: [&str; 1] = ["many-nodes/create big"];
/// Steps that aerostat refuses and theirs serves: a Warning ends them.
const REFUSED: [&str; 4] = ["numbers/create", "theft/create", "theft-untagged/create", "autodetect-a1/create"];
/// How long a change of a load balancer takes.
const PROVISIONING: Duration = Duration::from_millis(100);
/// The flags of the recordings.
const FLAGS: [&str; 3] = ["--cluster-name=prod", "--configure-cloud-routes=false", "--node-status-update-frequency=1h"];
/// Requests that are about a network or a node: with several stories side by side, nothing tells whose they are.
const COMMON: [&str; 7] = [
    "load-balancer GET /",
    "network GET /v2.0/networks",
    "network GET /v2.0/subnets",
    "network GET /v2.0/subnets/{id}",
    "network GET /v2.0/ports",
    "network PUT /v2.0/ports/{id}",
    "load-balancer GET /v2.0/lbaas/healthmonitors",
];

/// A place for stories.
pub struct Stage {
    /// The cluster.
    pub cluster: Cluster,
    /// The region.
    pub cloud: Simulator,
    manager: Mutex<Option<Manager>>,
    /// OpenStack's own manager, if it is the one that plays.
    theirs: Option<PathBuf>,
    /// The config of the stories, as it was recorded.
    config: String,
    /// The Services that there were, by UID.
    uids: std::sync::Mutex<HashMap<String, String>>,
    /// The objects of other clusters as they were before a story, by its name.
    others: std::sync::Mutex<HashMap<String, Vec<Value>>>,
    /// The requests until now, in their order.
    played: std::sync::Mutex<Vec<PlayedRequest>>,
}

/// A request that was looked at.
#[derive(Clone)]
struct PlayedRequest {
    /// The Service that it is about, if it is about one.
    owner: Option<String>,
    action: String,
    writes: bool,
    at: SystemTime,
}

impl Stage {
    /// Prepares what these stories need, which have the same settings and nodes.
    ///
    /// # Panics
    ///
    /// Panics if something does not start.
    pub async fn new(story: &Story) -> Self {
        Self::with(story, None).await
    }

    /// The same, where this program plays in the place of aerostat: OpenStack's own manager.
    ///
    /// # Panics
    ///
    /// As [`Stage::new`].
    pub async fn with(story: &Story, theirs: Option<&Path>) -> Self {
        Self::build(story, theirs, &[], |_| {}).await
    }

    /// As [`Stage::new`], with further flags, in a region that was prepared so.
    pub(super) async fn prepared(story: &Story, flags: &[&str], prepare: impl FnOnce(&mut World)) -> Self {
        Self::build(story, None, flags, prepare).await
    }

    async fn build(story: &Story, theirs: Option<&Path>, flags: &[&str], prepare: impl FnOnce(&mut World)) -> Self {
        let mut options = Options::default();
        options.behaviour.provisioning = Taking::Time(PROVISIONING);
        let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(options));
        let cloud = cloud.expect("the region starts");
        cloud.with(|world| {
            world.build_recorded();
            for number in 1..=6 {
                world.add_node(number, &format!("node-{number}"), None);
            }
            world.furnish_recorded();
            for (name, number) in
                story.nodes.iter().filter_map(|it| Some((it, it.strip_prefix("n-")?.parse::<u16>().ok()?)))
            {
                // From 10.6.1.1 on.
                world.add_node(number + 246, name, None);
            }
            prepare(world);
        });
        let stage = Self {
            cluster,
            cloud,
            manager: Mutex::default(),
            theirs: theirs.map(Path::to_owned),
            config: story.config.clone(),
            uids: std::sync::Mutex::default(),
            others: std::sync::Mutex::default(),
            played: std::sync::Mutex::default(),
        };
        stage.start(&story.settings, flags).await;
        let joined = story.nodes.iter().map(|name| stage.join(name));
        join_all(joined).await;
        stage
    }

    /// Starts the binary, in the place of one that runs.
    pub async fn start(&self, settings: &[(String, String)], flags: &[&str]) {
        let mut manager = self.manager.lock().await;
        if let Some(before) = manager.take() {
            before.stop().await;
        }
        let names = self.names();
        if let Some(program) = &self.theirs {
            let config = names.restore(&self.config);
            *manager = Some(manager::theirs(
                program,
                &self.cluster,
                &self.cloud,
                &config,
                settings,
                &[&FLAGS, flags].concat(),
            ));
            return;
        }
        let mut setup = openstack::setup(&self.cluster, &self.cloud).flags(&FLAGS).flags(flags);
        for (name, value) in settings {
            setup.config["provider"]["settings"][name] = json!(names.restore(value));
        }
        setup.config["provider"]["settings"]["pollInterval"] = json!("1s");
        for credential in setup.config["credentials"].as_array_mut().into_iter().flatten() {
            credential["limits"] = json!({ "deletions": 500, "creations": 500, "detachments": 500, "updates": 1_000 });
        }
        // Stories are many, each of which an operator has alone.
        for endpoint in setup.config["endpoints"].as_array_mut().into_iter().flatten() {
            endpoint["limits"]["requestsPerSecond"] = json!(200);
        }
        *manager = Some(Manager::Aerostat(setup.started().await, None));
    }

    /// Ends the binary.
    ///
    /// # Panics
    ///
    /// Panics if it does not end well.
    pub async fn end(&self) {
        if let Some(manager) = self.manager.lock().await.take() {
            manager.stop().await;
        }
    }

    /// Plays stories side by side, and compares each with its recording. `say` hears of each step how much was asked.
    pub async fn play(&self, stories: &[Story], table: &[Meant], say: impl Fn(String)) -> Compared {
        let mut compared = Compared::default();
        let begun = self.count_requests();
        let are_alone = stories.len() == 1;
        for (story, steps) in
            stories.iter().zip(join_all(stories.iter().map(|it| self.play_one(it, table, are_alone, &say))).await)
        {
            compared.add(compare(table, &story.name, &steps));
        }
        if !are_alone {
            compared.add(compare(table, "in common", &[self.in_common(stories, begun)]));
        }
        with_warnings(compared, &self.cluster).await
    }

    async fn play_one(
        &self,
        story: &Story,
        table: &[Meant],
        is_alone: bool,
        say: impl Fn(String),
    ) -> Vec<ComparedStep> {
        let mut steps = Vec::new();
        for step in &story.steps {
            let name = format!("{}/{}", story.name, step.recorded.name);
            let (begun, time) = (self.count_requests(), Instant::now());
            let service = story.services[&step.subject]["metadata"]["name"].as_str().expect("a Service has a name");
            let told = events::told(&self.cluster.admin, service).await;
            self.change(story, step).await;
            let mut theirs = step.recorded.state.clone();
            if !is_alone {
                theirs.asked = without_common(&theirs.asked);
            }
            let (mut count, mut looked) = (begun, time);
            let is_over = async || {
                // What is seen takes a while to be put together, and stories are many.
                if self.count_requests() == count && looked.elapsed() < LOOK {
                    return None;
                }
                (count, looked) = (self.count_requests(), Instant::now());
                let ours = self.seen(story, step).await;
                let differ = unmeant(table, &name, &theirs.seen, &ours);
                // A Service that theirs leaves undone does not differ before it is served here.
                let is_done = !ARRIVES.contains(&&*name)
                    || !ours["services"][&step.subject]["status"]["loadBalancer"]["ingress"].is_null();
                let warns = async || events::warns(&told, &events::told(&self.cluster.admin, service).await);
                let is_over = async || match self.last_request(story, begun, is_alone) {
                    _ if REFUSED.contains(&&*name) => warns().await,
                    _ if ends_visibly(step) => true,
                    Some(last) => last.elapsed().is_ok_and(|it| it > QUIET),
                    // A refusal that costs no request.
                    None if fails(step) => warns().await,
                    None => matches!(step.change, Change::Wait),
                };
                (is_done && differ.is_empty() && is_over().await).then_some(())
            };
            wait::within(PATIENCE, is_over).await;
            let mut ours =
                ManagerState { seen: self.seen(story, step).await, asked: self.asked(story, begun, is_alone) };
            // They are told beside what is done.
            theirs.seen["events"] = events::recorded(&step.recorded.events);
            wait::within(TELLING, async || {
                ours.seen["events"] = events::since(&told, &events::told(&self.cluster.admin, service).await);
                unmeant(table, &name, &theirs.seen, &ours.seen).is_empty().then_some(())
            })
            .await;
            self.check_others(story, &name);
            let line = |asked: &Asked| (asked.reads(), asked.writes());
            say(format!("{name}: {:?} of {:?} in {:?}", line(&ours.asked), line(&theirs.asked), time.elapsed()));
            steps.push(ComparedStep { name, theirs, ours, alone: false });
        }
        steps
    }

    /// Checks that another cluster's objects, which the Service of a story names, are as they were: whatever the table means.
    fn check_others(&self, story: &Story, step: &str) {
        let others = self.others.lock().expect("no other test fails here");
        if let Some(before) = others.get(&story.name).filter(|_| self.theirs.is_none()) {
            let now = self.cloud.with(|world| hands::of_others(world));
            let (before, now) = (json!(before), json!(now));
            assert!(before == now, "{step}: the other cluster's objects are\n{now:#}\nand were\n{before:#}");
        }
    }

    /// When a story asked for something last, in its step.
    fn last_request(&self, story: &Story, begun: usize, is_alone: bool) -> Option<SystemTime> {
        self.of_story(story, begun, is_alone).into_iter().map(|it| it.at).max()
    }

    /// Everything that a manager leaves, with names in it.
    async fn seen(&self, story: &Story, step: &Step) -> Value {
        let name = story.services[&step.subject]["metadata"]["name"].as_str().expect("a Service has a name");
        let service = self.services().get_opt(name).await.expect("the API server answers");
        if let Some(it) = &service {
            self.learn(it);
        }
        let legacy = self.legacy();
        let uids = self.uids.lock().expect("no other test fails here").clone();
        self.cloud.with(|world| {
            let cloud = seen::cloud(&Owners::new(world, &legacy), world, story, &step.subject);
            let seen = json!({ "services": { (&step.subject): service.as_ref().map(seen::service) }, "cloud": cloud });
            let names = Names::new(world, uids.iter().map(|(uid, name)| (name.as_str(), uid.as_str())));
            names.replace(&seen)
        })
    }

    /// The objects of a story's Services in the cloud, with names in them.
    pub(super) fn seen_cloud(&self, story: &Story) -> Value {
        self.cloud.with(|world| {
            let cloud = seen::cloud(&Owners::new(world, &self.legacy()), world, story, "");
            Names::new(world, []).replace(&cloud)
        })
    }

    /// Looks at the requests that are new: how many there are then.
    pub(super) fn count_requests(&self) -> usize {
        let mut played = self.played.lock().expect("no other test fails here");
        let new = self.cloud.requests_from(played.len());
        if !new.is_empty() {
            let legacy = self.legacy();
            self.cloud.with(|world| {
                let owners = Owners::new(world, &legacy);
                played.extend(new.iter().map(|request| {
                    let (action, writes) = action(request);
                    PlayedRequest { owner: owners.of_request(request), action, writes, at: request.at }
                }));
            });
        }
        played.len()
    }

    /// The requests of a story since then.
    fn of_story(&self, story: &Story, begun: usize, is_alone: bool) -> Vec<PlayedRequest> {
        self.count_requests();
        let played = self.played.lock().expect("no other test fails here");
        let of_story = |it: &&PlayedRequest| is_alone || it.owner.as_ref().is_some_and(|it| seen::is_of(story, it));
        played[begun..].iter().filter(|it| !it.action.starts_with("identity ")).filter(of_story).cloned().collect()
    }

    pub(super) fn asked(&self, story: &Story, begun: usize, is_alone: bool) -> Asked {
        let played = self.of_story(story, begun, is_alone).into_iter();
        let asked = Asked::of(played.map(|it| (it.action, it.writes)));
        if is_alone { asked } else { without_common(&asked) }
    }

    /// The requests that no story has alone, in all stories together: lists that answer several, too.
    fn in_common(&self, stories: &[Story], begun: usize) -> ComparedStep {
        let mut theirs = Asked::default();
        for step in stories.iter().flat_map(|it| &it.steps) {
            let asked = &step.recorded.state.asked.actions;
            let common = asked.iter().filter(|(action, _)| COMMON.contains(&action.as_str()));
            theirs
                .add(&Asked::counted(common.map(|(action, times)| (action.clone(), action.contains(" PUT "), *times))));
        }
        self.count_requests();
        let played = self.played.lock().expect("no other test fails here");
        let all = played[begun..].iter().filter(|it| !it.action.starts_with("identity "));
        let common = all.filter(|it| COMMON.contains(&it.action.as_str()) || it.owner.is_none());
        let ours = common.map(|it| (it.action.clone(), it.writes));
        let state = |asked| ManagerState { seen: json!({}), asked };
        ComparedStep {
            name: "in common/all".to_owned(),
            theirs: state(theirs),
            ours: state(Asked::of(ours)),
            alone: false,
        }
    }

    async fn change(&self, story: &Story, step: &Step) {
        let services = self.services();
        let name = story.services[&step.subject]["metadata"]["name"].as_str().expect("a Service has a name");
        let patch = async |patch: Value| {
            let patch: Value = serde_json::from_str(&self.names().restore(&patch.to_string())).expect("it is JSON");
            services.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.expect("the Service is changed");
        };
        match &step.change {
            Change::Create(keys) => {
                if hands::before(&self.cloud, story) {
                    let others = self.cloud.with(|world| hands::of_others(world));
                    self.others.lock().expect("no other test fails here").insert(story.name.clone(), others);
                }
                for key in keys {
                    let text = self.names().restore(&story.services[key].to_string());
                    let service: Service = serde_json::from_str(&text).expect("a recorded Service can be made");
                    let made = services.create(&PostParams::default(), &service).await.expect("the Service is made");
                    self.learn(&made);
                }
                hands::during(&self.cloud, story).await;
            }
            Change::Patch(change) => patch(change.clone()).await,
            Change::Delete => {
                services.delete(name, &DeleteParams::default()).await.expect("the Service is deleted");
            }
            Change::Hands if step.recorded.name.ends_with(" joins") => {
                let node = step.recorded.name.split(' ').next().unwrap_or_default();
                kubelet::join(&self.cluster.admin, &format!("{node}-ghost")).await.expect("the node joins");
            }
            Change::Hands if step.recorded.name.ends_with(" leaves") => {
                let node = step.recorded.name.split(' ').next().unwrap_or_default();
                let nodes: Api<k8s_openapi::api::core::v1::Node> = Api::all(self.cluster.admin.clone());
                nodes.delete(&format!("{node}-ghost"), &DeleteParams::default()).await.expect("the node leaves");
            }
            Change::Hands => {
                wait::until("what was changed before is set back", async || {
                    hands::is_whole(&self.cloud, name).then_some(())
                })
                .await;
                // An answer serves equal reads of the next call for so long, and would not show what a person changes.
                tokio::time::sleep(EndpointLimits::default().reuse).await;
                hands::change(&self.cloud, name, &step.recorded.name);
                let touched =
                    &step.recorded.state.seen["services"][&step.subject]["annotations"]["example.com/touched"];
                // An annotation of others is no change of what the Service asks for. This one says the default.
                let default = touched.as_str().and_then(|it| it.parse::<u8>().ok()).filter(|it| it % 2 == 1);
                let default = default.map(|_| "50000");
                patch(json!({ "metadata": { "annotations": {
                    "example.com/touched": touched, "loadbalancer.openstack.org/timeout-client-data": default,
                } } }))
                .await;
            }
            Change::Restart if story.name == "rename" => {
                let mut settings = story.settings.clone();
                settings.push(("loadBalancers.formerClusterName".to_owned(), "prod".to_owned()));
                self.start(&settings, &["--cluster-name=stage"]).await;
            }
            Change::Restart => {
                let mut settings = story.settings.clone();
                settings.retain(|(name, _)| name != "loadBalancers.manageSecurityGroups");
                self.start(&settings, &[]).await;
            }
            Change::Wait => {}
        }
    }

    /// A node joins, and is initialised.
    ///
    /// # Panics
    ///
    /// Panics if the API server refuses it, or it is not initialised in time.
    pub async fn join(&self, name: &str) {
        let mut node = kubelet::node(name);
        let hostname = NodeAddress { type_: "Hostname".to_owned(), address: name.to_owned() };
        node.status.get_or_insert_default().addresses = Some(vec![hostname]);
        if ["node-1", "node-3"].contains(&name) {
            node.labels_mut().insert("role".to_owned(), "edge".to_owned());
        }
        kubelet::join_as(&self.cluster.admin, node).await.expect("the node joins");
        operator::initialized(&self.cluster, name).await;
    }

    fn learn(&self, service: &Service) {
        let (uid, name) = (service.uid().unwrap_or_default(), service.name_any());
        self.uids.lock().expect("no other test fails here").insert(uid, name);
    }

    fn legacy(&self) -> HashMap<String, String> {
        let uids = self.uids.lock().expect("no other test fails here");
        uids.iter().map(|(uid, name)| (crate::fixtures::load_balancer_name(uid), name.clone())).collect()
    }

    pub(super) fn names(&self) -> Names {
        self.cloud.with(|world| Names::new(world, []))
    }

    fn services(&self) -> Api<Service> {
        Api::default_namespaced(self.cluster.admin.clone())
    }

    /// Whether the region still has an object of a kind with this name.
    #[must_use]
    pub fn has(&self, kind: Kind, name: &str) -> bool {
        self.cloud.account().all(kind).iter().any(|it| it["name"] == name)
    }
}

fn without_common(asked: &Asked) -> Asked {
    let own = asked.actions.iter().filter(|(action, _)| !COMMON.contains(&action.as_str()));
    Asked::counted(own.map(|(action, times)| (action.clone(), !action.contains(" GET "), *times)))
}

/// Whether a step of theirs ends with a refusal.
fn fails(step: &Step) -> bool {
    step.recorded.result.as_deref() == Some("failed")
}

/// Whether what a step leaves tells that it is over.
fn ends_visibly(step: &Step) -> bool {
    matches!(step.change, Change::Delete | Change::Create(_)) && !fails(step)
}
