//! Plays a recording against aerostat on a real control plane, and observes.

mod cloud;
mod seen;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aerostat::{Overrides, Settings};
use anyhow::{Context, Result, bail};
use http::Method;
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use tests::control_plane::{AEROSTAT, Cluster};
use tests::faults::{Fault, Faults};
use tests::guests::SCRIPTED;
use tests::script::Script;
use tests::wait;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

pub(crate) use self::seen::Observed;
use crate::scenario::{Action, Answer, CloudChange, Given, Scenario};
use crate::state::History;

/// The recorder noticed so late, in seconds, that the process had started: it asked from time to time.
const NOTICED_AFTER: f64 = 1.43;

/// What the recorded cloud may lack. Nothing that is played here asks for load balancers or a cluster id.
const PARTS: [&str; 4] = ["routes", "lb", "clusterid", INSTANCES];
const INSTANCES: &str = "instances";

/// Flags of controllers that aerostat does not have.
const OTHERS_FLAGS: [&str; 1] = ["--node-monitor-period"];

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
            faults: Faults::new(),
            zero: Instant::now(),
            aerostat: JoinSet::new(),
            ended: None,
            shutdown: None,
            _watch: seen::watch(&cluster.admin, history.clone()).await?,
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
        let machines = !self.scenario.cloud_without.iter().any(|it| it == INSTANCES);
        let module = if machines { SCRIPTED.into() } else { cloud::without_instances(folder)? };
        std::fs::write(&config, cloud::config(&self.script.base_url(), &module).to_string())?;
        let mut arguments = vec!["aerostat".to_owned()];
        let theirs = |flag: &str| OTHERS_FLAGS.contains(&flag.split('=').next().unwrap_or_default());
        // The module without instances has a name of its own.
        let fits = |flag: &str| machines || !flag.starts_with("--cloud-provider=");
        arguments.extend(self.scenario.flags.iter().filter(|flag| !theirs(flag) && fits(flag)).cloned());
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
        let mut ended = None;
        let working = wait::within(wait::DEADLINE, async || {
            ended = self.aerostat.try_join_next();
            (ended.is_some() || self.works(machines).unwrap_or_default()).then_some(())
        });
        match (working.await, ended) {
            (Some(()), None) => Ok(()),
            (None, None) => bail!("aerostat does not begin"),
            (_, Some(end)) => bail!("aerostat ended at once: {end:?}"),
        }
    }

    /// Whether aerostat has begun: with nodes, if its cloud has machines.
    fn works(&self, machines: bool) -> Result<bool> {
        let mut started = self.cluster.audit().started()?;
        started.retain(|it| it.user.username == AEROSTAT);
        Ok(started.iter().any(|it| !machines || (it.verb == "watch" && it.object.resource == "nodes")))
    }

    async fn wait_for_second(&mut self, t: f64) -> Result<()> {
        let time = self.zero + Duration::try_from_secs_f64(t.max(0.0))?;
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
