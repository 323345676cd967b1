//! Plays a recording against aerostat on a real control plane, and observes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use aerostat::{Overrides, Settings};
use anyhow::{Context, Result, bail, ensure};
use futures::TryStreamExt;
use http::Method;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::api::{PostParams, WatchEvent, WatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tests::control_plane::{AEROSTAT, Cluster};
use tests::faults::{Fault, Faults};
use tests::guests::{self, SCRIPTED};
use tests::script::{self, Question, Script};
use tests::wait;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::scenario::{Action, Answer, CloudChange, CloudNode, ErrorKind, Event, Given, Scenario};
use crate::state::{self, History};

/// The recorder noticed so late, in seconds, that the process had started: it asked from time to time.
const NOTICED_AFTER: f64 = 1.43;

/// Flags of controllers that aerostat does not have.
const OTHERS_FLAGS: [&str; 1] = ["--node-monitor-period"];

/// What was observed of aerostat until a second of the recording.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// Node name and resource, as in `nodes/status`, of every request that could change something, refused ones
    /// included.
    pub(crate) writes: Vec<(String, String)>,
    pub(crate) events: Vec<Event>,
    /// As recordings call them: `Node n1`. `None`: gone.
    pub(crate) end: BTreeMap<String, Option<Value>>,
    pub(crate) history: History,
    pub(crate) calls: Vec<Question>,
    /// Why the process ended, if it did.
    pub(crate) ended: Option<String>,
}

/// A recording that is being played.
pub(crate) struct Play<'a> {
    scenario: &'a Scenario,
    cluster: &'a Cluster,
    script: Script,
    faults: Faults,
    history: Arc<Mutex<History>>,
    /// Second zero of the recording.
    zero: Instant,
    aerostat: JoinSet<Result<()>>,
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
        if let Some(part) = scenario.cloud_without.iter().find(|part| *part != "routes") {
            bail!("the runner has no cloud without {part}");
        }
        let history = Arc::new(Mutex::new(History::new()));
        let mut play = Play {
            scenario,
            cluster,
            script: Script::start().await,
            faults: Faults::new(),
            zero: Instant::now(),
            aerostat: JoinSet::new(),
            shutdown: None,
            _watch: watch(&cluster.admin, history.clone()).await?,
            history,
        };
        let start = scenario.up()? - NOTICED_AFTER;
        let items = items(scenario)?;
        let (before, after): (Vec<_>, Vec<_>) = items.into_iter().partition(|(t, _)| *t < start);
        for (t, item) in before {
            play.apply(item).await.with_context(|| format!("at t={t}"))?;
        }
        play.start().await?;
        play.zero = Instant::now() - Duration::try_from_secs_f64(start.max(0.0))?;
        for (t, item) in after {
            play.wait_for_second(t).await?;
            play.apply(item).await.with_context(|| format!("at t={t}"))?;
        }
        play.wait_for_second(scenario.observed.duration).await?;
        Ok(play)
    }

    /// What was observed until now; requests and questions are counted up to the recording's last second.
    pub(crate) async fn observed(&mut self) -> Result<Observed> {
        self.cluster.audit().settle(&self.cluster.admin).await?;
        let late = self.zero.elapsed().saturating_sub(Duration::try_from_secs_f64(self.scenario.observed.duration)?);
        let last = Timestamp::now() - late;
        let calls = self.script.calls().into_iter().filter(|call| call.time.elapsed() >= late);
        let ended = self.aerostat.try_join_next().map(|end| format!("{end:?}"));
        Ok(Observed {
            writes: self.writes(last)?,
            events: self.events()?,
            end: self.end().await?,
            history: self.history.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            calls: calls.map(|call| call.question).collect(),
            ended,
        })
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

    async fn start(&mut self) -> Result<()> {
        let folder = self.cluster.control_plane.folder();
        let config = folder.join("golden-cloud-config.yaml");
        std::fs::write(&config, cloud_config(&self.script.base_url()).to_string())?;
        let mut arguments = vec!["aerostat".to_owned()];
        let theirs = |flag: &str| OTHERS_FLAGS.contains(&flag.split('=').next().unwrap_or_default());
        arguments.extend(self.scenario.flags.iter().filter(|flag| !theirs(flag)).cloned());
        arguments.push("--secure-port=0".to_owned());
        arguments.push(format!("--cloud-config={}", config.display()));
        arguments.push(format!("--kubeconfig={}", self.cluster.kubeconfig.display()));
        let settings = Settings::parse(arguments)?;

        let overrides = Overrides { client: Some(self.cluster.faulty(&self.faults)), ..Overrides::default() };
        let (shutdown, asked) = oneshot::channel::<()>();
        self.shutdown = Some(shutdown);
        self.aerostat.spawn(async move {
            // An error means that nobody can ask any more, which is asking.
            let asked = async { drop(asked.await) };
            Ok(aerostat::run(settings, overrides, asked).await?)
        });
        let working = wait::within(wait::DEADLINE, async || {
            self.aerostat.is_empty().then_some(false).or_else(|| self.watches_nodes().ok().filter(|it| *it))
        });
        match working.await {
            Some(_) => Ok(()),
            None => bail!("aerostat does not watch nodes: {:?}", self.aerostat.try_join_next()),
        }
    }

    fn watches_nodes(&self) -> Result<bool> {
        let started = self.cluster.audit().started()?;
        Ok(started.iter().any(|it| it.user.username == AEROSTAT && it.verb == "watch" && it.object.resource == "nodes"))
    }

    async fn wait_for_second(&mut self, t: f64) -> Result<()> {
        let time = self.zero + Duration::try_from_secs_f64(t.max(0.0))?;
        tokio::time::sleep_until(time.into()).await;
        Ok(())
    }

    async fn apply(&mut self, item: Item<'_>) -> Result<()> {
        match item {
            Item::Cloud(change) => self.change_cloud(change),
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

    fn change_cloud(&self, change: &CloudChange) -> Result<()> {
        for (name, node) in &change.nodes {
            match node {
                Some(node) => self.script.set(name, machine(node)?),
                None => self.script.remove(name),
            }
        }
        Ok(())
    }

    async fn create(&self, given: &Given) -> Result<()> {
        let object: DynamicObject = serde_json::from_value(given.object.clone())?;
        let kind = object.types.as_ref().context("a given object has a kind")?.kind.clone();
        let result = self.api(&kind)?.create(&PostParams::default(), &object).await;
        match (result, &given.answer) {
            (Ok(_), None) | (Err(kube::Error::Api(_)), Some(_)) => Ok(()),
            (Ok(_), Some(answer)) => bail!("{kind} {} was refused once: {answer}", object.name_any()),
            (Err(error), _) => Err(error).with_context(|| format!("{kind} {}", object.name_any())),
        }
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
            other => bail!("the runner does not know objects of the kind {other}"),
        }
    }

    fn writes(&self, last: Timestamp) -> Result<Vec<(String, String)>> {
        let passed = self.cluster.audit().writes()?.into_iter().filter(|it| it.received <= last);
        let mut writes: Vec<_> = passed.map(|it| (it.object.name.clone(), it.resource())).collect();
        for answered in self.faults.answered() {
            if answered.method == Method::GET || answered.time > last {
                continue;
            }
            let path = answered.uri.split('?').next().unwrap_or_default();
            let words: Vec<_> = path.split('/').skip_while(|word| *word != "nodes").collect();
            match words.as_slice() {
                [resource, name] => writes.push(((*name).to_owned(), (*resource).to_owned())),
                [resource, name, subresource] => writes.push(((*name).to_owned(), format!("{resource}/{subresource}"))),
                _ => bail!("{} was answered for a request that is not about a node", answered.uri),
            }
        }
        Ok(writes)
    }

    fn events(&self) -> Result<Vec<Event>> {
        let mut events = Vec::new();
        for request in self.cluster.audit().events()? {
            ensure!((200..300).contains(&request.response.code), "an event was refused: {request:?}");
            let mut event = if request.verb == "create" {
                let mut event: Event = serde_json::from_value(request.body.clone())?;
                event.namespace = request.object.namespace.clone();
                event
            } else {
                Event { body: normalized_patch(&request.body), ..Event::default() }
            };
            event.verb.clone_from(&request.verb);
            events.push(event);
        }
        Ok(events)
    }

    async fn end(&self) -> Result<BTreeMap<String, Option<Value>>> {
        let nodes: Api<Node> = Api::all(self.cluster.admin.clone());
        let listed = nodes.list(&ListParams::default()).await?.items;
        let mut end = BTreeMap::new();
        for name in self.scenario.observed.end.keys() {
            let node = listed.iter().find(|node| format!("Node {}", node.name_any()) == *name);
            end.insert(name.clone(), node.map(serde_json::to_value).transpose()?);
        }
        Ok(end)
    }
}

/// What happens from outside, in order. The cloud changes before an object comes that it is asked about.
fn items(scenario: &Scenario) -> Result<Vec<(f64, Item<'_>)>> {
    let mut items: Vec<_> = scenario.cloud.iter().map(|change| (change.t, Item::Cloud(change))).collect();
    items.extend(scenario.given.iter().map(|given| (given.t, Item::Given(given))));
    for step in &scenario.steps {
        items.push((step.t, Item::Step(step.action()?)));
    }
    items.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    Ok(items)
}

fn machine(node: &CloudNode) -> Result<script::Machine> {
    let failure = match &node.metadata_error {
        None if node.null => Some(script::Failure::always(script::Error::NotFound)),
        None => None,
        Some(error) => {
            let text = if error.wrap.is_null() { error.text.clone() } else { format!("wrapped: {}", error.text) };
            let count = error.count.filter(|count| *count > 0);
            let error = match error.kind {
                ErrorKind::NotFound => script::Error::NotFound,
                ErrorKind::Retry => script::Error::RetryAfter(error.after, text),
                ErrorKind::Plain | ErrorKind::NotImplemented | ErrorKind::Elsewhere => script::Error::Unavailable(text),
            };
            Some(script::Failure { error, count })
        }
    };
    Ok(script::Machine {
        provider_id: node.provider_id.clone(),
        machine_type: node.machine_type.clone(),
        zone: node.zone.clone(),
        region: node.region.clone(),
        addresses: node.addresses.iter().map(|it| (it.kind.clone(), it.address.clone())).collect(),
        labels: node.labels.clone().into_iter().collect(),
        delay: node.delay,
        failure,
    })
}

fn cloud_config(base_url: &str) -> Value {
    json!({
        "apiVersion": "aerostat.dev/v1alpha1",
        "kind": "CloudConfig",
        "provider": { "module": { "file": { "path": SCRIPTED, "sha256": guests::sha256(SCRIPTED) } } },
        "endpoints": [{
            "name": "script",
            "baseUrl": base_url,
            "allow": [{ "methods": ["GET"], "paths": ["/machines/**"] }],
            // The recorded cloud had no limits.
            "limits": { "requestsPerSecond": 1000, "concurrency": 100 },
        }],
    })
}

/// The body of a patch that counts a repeated event, with its time as recordings write it.
fn normalized_patch(body: &Value) -> Value {
    let mut body = body.clone();
    if body["lastTimestamp"].is_string() {
        body["lastTimestamp"] = json!("<time>");
    }
    body
}

/// Watches all nodes from now on, and writes down the states that they go through.
async fn watch(admin: &Client, history: Arc<Mutex<History>>) -> Result<JoinSet<Result<()>>> {
    let nodes: Api<Node> = Api::all(admin.clone());
    let from = nodes.list(&ListParams::default()).await?.metadata.resource_version.context("a list has a version")?;
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let changes = nodes.watch(&WatchParams::default(), &from).await?;
        let mut changes = std::pin::pin!(changes);
        while let Some(change) = changes.try_next().await? {
            if let WatchEvent::Added(node) | WatchEvent::Modified(node) = change {
                let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
                state::see(&mut history, &serde_json::to_value(node)?);
            }
        }
        Ok(())
    });
    Ok(tasks)
}
