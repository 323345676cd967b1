//! Plays a recording against aerostat on a real control plane, and observes.

mod cloud;
mod living;
mod routes;
mod seen;
mod start;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use http::Method;
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::control_plane::Cluster;
use tests::faults::{Fault, Faults};
use tests::script::Script;
use tests::wait;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

pub(crate) use self::routes::{leads_to, next_hop};
pub(crate) use self::seen::Observed;
use crate::scenario::{Action, Answer, CloudChange, CloudNode, CloudService, Given, Scenario};
use crate::state::History;

/// The recorder noticed so late, in seconds, that the process had started: it asked from time to time.
const SEEN_AFTER: f64 = 1.43;

/// Parts that the recorded cloud may lack. Nothing that is played here asks for a cluster id.
const PARTS: [&str; 4] = ["routes", "clusterid", LOAD_BALANCERS, INSTANCES];
const LOAD_BALANCERS: &str = "lb";
const INSTANCES: &str = "instances";

/// A longer recording is played in so many seconds, but not faster than that, if nothing takes time in it but the pauses
/// between attempts.
const LONG: f64 = 30.0;
const SHORT: f64 = 10.0;
const FASTEST: f64 = 20.0;

/// A recording that is being played.
pub(crate) struct Play<'a> {
    scenario: &'a Scenario,
    cluster: &'a Cluster,
    script: Script,
    /// Seconds of the recording in one second.
    pace: f64,
    faults: Faults,
    history: Arc<Mutex<History>>,
    /// Second zero of the recording.
    zero: Instant,
    aerostat: JoinSet<Result<()>>,
    /// How it ended, if it did.
    ended: Option<String>,
    shutdown: Option<oneshot::Sender<()>>,
    _watch: JoinSet<Result<()>>,
}

enum Item<'a> {
    Cloud(&'a CloudChange),
    Given(&'a Given),
    Step(Action),
}

impl<'a> Play<'a> {
    /// Plays everything up to the recording's last second.
    pub(crate) async fn through(scenario: &'a Scenario, cluster: &'a Cluster) -> Result<Play<'a>> {
        if let Some(part) = scenario.cloud_without.iter().find(|part| !PARTS.contains(&part.as_str())) {
            bail!("the runner does not know what a cloud without {part} is");
        }
        let history = Arc::new(Mutex::new(History::new()));
        let mut play = Play {
            scenario,
            cluster,
            script: Script::start().await,
            pace: pace(scenario),
            faults: Faults::new(),
            zero: Instant::now(),
            aerostat: JoinSet::new(),
            ended: None,
            shutdown: None,
            _watch: seen::watch(&cluster.admin, history.clone()).await?,
            history,
        };
        let start = scenario.up()? - SEEN_AFTER;
        let items = items(scenario)?;
        let (before, after): (Vec<_>, Vec<_>) = items.into_iter().partition(|(t, _)| *t < start);
        for (t, item) in before {
            play.apply(item).await.with_context(|| format!("at t={t}"))?;
        }
        living::join(scenario, &cluster.admin, &play.script).await?;
        play.start().await?;
        play.zero = Instant::now() - play.lasts(start)?;
        for (t, item) in after {
            play.wait_for_second(t).await?;
            play.apply(item).await.with_context(|| format!("at t={t}"))?;
        }
        play.wait_for_second(scenario.last()).await?;
        Ok(play)
    }

    /// Ends aerostat, as SIGTERM would.
    pub(crate) async fn stop(mut self) -> Result<()> {
        drop(self.shutdown.take());
        let end = tokio::time::timeout(wait::DEADLINE, self.aerostat.join_next()).await;
        match end.context("aerostat does not end")? {
            Some(end) => end.context("aerostat panicked")?,
            None => Ok(()),
        }
    }

    /// How long so many of the recording's seconds last.
    fn lasts(&self, seconds: f64) -> Result<Duration> {
        Ok(Duration::try_from_secs_f64(seconds.max(0.0) / self.pace)?)
    }

    /// A step that was late makes all later ones as late: pauses between steps are what a controller sees.
    async fn wait_for_second(&mut self, t: f64) -> Result<()> {
        let time = self.zero + self.lasts(t)?;
        self.zero += Instant::now().saturating_duration_since(time);
        tokio::time::sleep_until(time.into()).await;
        Ok(())
    }

    async fn apply(&mut self, item: Item<'_>) -> Result<()> {
        match item {
            Item::Cloud(change) => {
                self.change_cloud(change);
                Ok(())
            }
            Item::Given(given) => self.create(given).await,
            Item::Step(Action::Up) => Ok(()),
            Item::Step(Action::Patch { kind, name, status, body }) => {
                let (api, params) = (self.api(&kind)?, PatchParams::default());
                if status {
                    api.patch_status(&name, &params, &Patch::Merge(body)).await?;
                } else {
                    api.patch(&name, &params, &Patch::Merge(body)).await?;
                }
                Ok(())
            }
            Item::Step(Action::Delete { kind, name }) => {
                self.api(&kind)?.delete(&name, &DeleteParams::default()).await?;
                Ok(())
            }
            Item::Step(Action::Answers(answers)) => answers.iter().try_for_each(|answer| self.set_answer(answer)),
        }
    }

    fn change_cloud(&self, change: &CloudChange) {
        for (name, node) in &change.nodes {
            match node {
                Some(node) => self.script.set(name, cloud::machine(node)),
                None => self.script.remove(name),
            }
        }
        for (name, service) in &change.services {
            match service {
                Some(service) => self.script.set_load_balancer(name, cloud::load_balancer(service, self.pace)),
                None => self.script.forget_load_balancer(name),
            }
        }
        routes::change(&self.script, self.scenario, change);
    }

    async fn create(&self, given: &Given) -> Result<()> {
        let object: DynamicObject = serde_json::from_value(without_times(&given.object))?;
        let kind = object.types.as_ref().context("a given object has a kind")?.kind.clone();
        let (api, name) = (self.api(&kind)?, object.name_any());
        if let Some(machine) = cloud::machine_behind(self.scenario, &given.object) {
            self.script.set(&name, machine);
        }
        match (api.create(&PostParams::default(), &object).await, &given.answer) {
            (Ok(_), None) => {}
            (Err(kube::Error::Api(_)), Some(_)) => return Ok(()),
            (Ok(_), Some(answer)) => bail!("{kind} {name} was refused once: {answer}"),
            (Err(error), _) => return Err(error).with_context(|| format!("{kind} {name}")),
        }
        // The API server ignores the status when a Service is created.
        if kind == "Service" && !given.object["status"].is_null() {
            let status = json!({ "status": given.object["status"] });
            api.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
        }
        Ok(())
    }

    /// Upstream wrote a node with PUT where we patch it: the same answer for the same intent.
    fn set_answer(&self, answer: &Answer) -> Result<()> {
        let Answer { method, path, status, reason, message, count } = answer;
        let method = Method::from_bytes(method.as_bytes())?;
        let (method, path) =
            if method == Method::PUT { (Method::PATCH, format!("(?:{path})[^/]*$")) } else { (method, path.clone()) };
        let fault = Fault::status(method, &path, *status, reason, message);
        self.faults.set(if *count == 0 { fault } else { fault.times(*count) });
        Ok(())
    }

    fn api(&self, kind: &str) -> Result<Api<DynamicObject>> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", kind));
        match kind {
            "Node" => Ok(Api::all_with(self.cluster.admin.clone(), &resource)),
            "Service" => Ok(Api::namespaced_with(self.cluster.admin.clone(), "default", &resource)),
            other => bail!("the runner does not know objects of the kind {other}"),
        }
    }
}

/// An object without the times that the recorder has replaced by a word: the API server takes no such word.
fn without_times(object: &Value) -> Value {
    let is_time = |it: &&Value| **it == json!("<time>");
    match object {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, it)| !is_time(it));
            kept.map(|(key, it)| (key.clone(), without_times(it))).collect()
        }
        Value::Array(list) => list.iter().map(without_times).collect(),
        other => other.clone(),
    }
}

/// How fast a recording is played: so many of its seconds in one.
fn pace(scenario: &Scenario) -> f64 {
    let changes = || scenario.cloud.iter();
    let waits = changes().flat_map(|it| it.services.values()).flatten().any(CloudService::fails);
    let at_once = changes().flat_map(|it| it.nodes.values()).flatten().all(CloudNode::answers_at_once)
        && changes().flat_map(|it| it.services.values()).flatten().all(CloudService::answers_at_once);
    // What is done to an object that is still there has to come between two attempts.
    let steady = scenario.steps.iter().all(|it| matches!(it.action(), Ok(Action::Up | Action::Delete { .. })));
    if waits && at_once && steady && scenario.observed.duration > LONG {
        (scenario.observed.duration / SHORT).min(FASTEST)
    } else {
        1.0
    }
}

/// Events from outside, in order. The cloud changes before an object comes that it is asked about.
fn items(scenario: &Scenario) -> Result<Vec<(f64, Item<'_>)>> {
    let mut items: Vec<_> = scenario.cloud.iter().map(|change| (change.t, Item::Cloud(change))).collect();
    items.extend(scenario.given.iter().map(|given| (given.t, Item::Given(given))));
    for step in &scenario.steps {
        items.push((step.t, Item::Step(step.action()?)));
    }
    items.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    Ok(items)
}
