//! The suite: everything is played, and every promise judged.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sandbox::{Module, Sandbox};

use crate::admin::Admin;
use crate::error::ConformanceError;
use crate::host::NativeHost;
use crate::judge::PromiseJudgement;
use crate::play::stage::Stage;
use crate::play::{claims, inventories, lives, machines, routes, shares, thefts, touched, versions, volumes};
use crate::promise::{PROMISES, SuitePart};
use crate::report::{ConformanceReport, PartTime, PromiseOutcome, Tried, costs};
use crate::transcript::Transcript;

/// How long a simulated cloud may take for a load balancer.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A provider, and where its simulated cloud is.
pub struct Suite {
    /// Where the provider is compiled and run; best one that keeps compiled modules, since its process dies often.
    pub sandbox: Sandbox,
    /// The provider.
    pub module: Module,
    /// The simulator: `http://127.0.0.1:8080`. With several of one cloud, lives of load balancers are played side by side.
    pub clouds: Vec<String>,
    /// One for every way in which each request can go wrong; more for one of so many of them.
    pub every: usize,
    /// An older version of the provider, which has to go on with what this one begins, and the other way round.
    pub older: Option<Module>,
    /// How long a load balancer is waited for: [`PATIENCE`] unless it is known to be made faster.
    pub patience: Duration,
    /// The part that is played alone, where not all are.
    pub only: Option<SuitePart>,
}

/// Plays everything, and judges every promise.
///
/// # Errors
///
/// If the simulator does not answer, or the provider cannot be loaded. A promise that is broken is no error.
pub async fn run(suite: Suite) -> Result<ConformanceReport, ConformanceError> {
    let Suite { sandbox, module, clouds, every, older, patience, only } = suite;
    let start = Instant::now();
    let (mut stages, mut exceptions, mut unplayed) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    let mut older_host = None;
    for cloud in &clouds {
        let admin = Admin::new(cloud)?;
        let setup = admin.world().await?.setup;
        exceptions.extend(setup.exceptions.clone());
        unplayed.extend(setup.unplayed.clone());
        if let Some(unknown) = exceptions.keys().find(|it| !PROMISES.iter().any(|promise| promise.name == **it)) {
            return Err(ConformanceError::Setup(format!("exceptions name {unknown}, which is no promise")));
        }
        // The versions take turns in the first.
        if let Some(older) = older.clone().filter(|_| stages.is_empty()) {
            let older = NativeHost::older(sandbox.clone(), older, admin.base_url(), setup.clone()).await?;
            older_host = Some(older);
        }
        let host = NativeHost::new(sandbox.clone(), module.clone(), admin.base_url(), setup).await?;
        let stage = Stage::set(host, admin, patience, stages.len()).await?;
        stages.push(stage);
    }
    let Some(first) = stages.first() else {
        return Err(ConformanceError::Setup("there is no simulator".to_owned()));
    };
    let mut timings = PartTimes::begun(start);
    // Whatever comes after is told without what is compiled once.
    drop(first.process().await?);
    timings.end("load", 0);
    let transcript = play(stages, older_host.as_ref(), every, only, &mut timings).await?;
    let tried = PROMISES.iter().map(|promise| {
        let outcome = match exceptions.get(promise.name) {
            Some(why) => PromiseOutcome::Excepted(why.clone()),
            None => match (promise.judge)(&transcript) {
                PromiseJudgement::Untried(_) if only.is_some_and(|it| it != promise.part()) => {
                    PromiseOutcome::Untried("another part was asked for alone".to_owned())
                }
                PromiseJudgement::Untried(why) => PromiseOutcome::Untried(why.to_owned()),
                PromiseJudgement::Tried(findings) if findings.is_empty() => PromiseOutcome::Kept,
                PromiseJudgement::Tried(findings) => PromiseOutcome::Broken(findings),
            },
        };
        Tried { promise: *promise, outcome }
    });
    let tried = tried.collect();
    let stories = transcript.lives.as_ref().map_or(0, Vec::len)
        + transcript.routes.as_ref().map_or(0, |it| it.stories.len())
        + transcript.claims.as_ref().map_or(0, |it| it.stories.len());
    Ok(ConformanceReport {
        provider: transcript.description.name.clone(),
        version: transcript.description.version.clone(),
        seconds: start.elapsed().as_secs_f64(),
        timings: timings.parts,
        stories,
        unplayed,
        costs: costs(&transcript),
        tried,
    })
}

/// The times of the parts, each from the end of the one before it.
struct PartTimes {
    since: Instant,
    parts: Vec<PartTime>,
}

impl PartTimes {
    fn begun(since: Instant) -> Self {
        Self { since, parts: Vec::new() }
    }

    fn end(&mut self, part: &'static str, stories: usize) {
        let seconds = self.since.elapsed().as_secs_f64();
        self.parts.push(PartTime { part, stories, seconds });
        self.since = Instant::now();
    }
}

async fn play(
    mut stages: Vec<Stage>,
    older: Option<&NativeHost>,
    every: usize,
    only: Option<SuitePart>,
    timings: &mut PartTimes,
) -> Result<Transcript, ConformanceError> {
    let is_played = |part: SuitePart| only.is_none_or(|it| it == part);
    let stage = stages.first_mut().expect("whoever plays has a simulator");
    let description = stage.host.description().clone();
    let machines = if is_played(SuitePart::Machines) { machines::play(stage).await? } else { None };
    timings.end("machines", machines.as_ref().map_or(0, |it| it.questions.len() + it.lists.len()));
    let has_balancers = is_played(SuitePart::LoadBalancers) && stage.process().await?.cloud.load_balancers.is_some();
    let (mut lives, mut node_change, mut thefts, mut forgeries, mut touched) = (None, None, None, None, None);
    let (mut shared, mut versions) = (None, None);
    if has_balancers {
        lives = Some(lives::play(&mut stages, every).await?);
    }
    let stage = stages.first_mut().expect("whoever plays has a simulator");
    if has_balancers {
        node_change = Some(lives::node_change(stage).await?);
        timings.end("lives of load balancers", lives.as_ref().map_or(0, Vec::len));
        let (stolen, forged) = thefts::play(stage).await?;
        (thefts, forgeries) = (Some(stolen), forged);
        timings.end("thefts", thefts.as_ref().map_or(0, Vec::len));
        shared = shares::play(stage).await?;
        touched = touched::play(stage).await?;
        timings.end("changes of others", 0);
        if let Some(older) = older {
            versions = Some(versions::play(stage, older).await?);
            timings.end("versions", versions.as_ref().map_or(0, Vec::len));
        }
    }
    let inventories = if is_played(SuitePart::Inventory) { inventories::play(stage).await? } else { None };
    timings.end("inventories", 0);
    let routes = if is_played(SuitePart::Routes) { routes::play(stage, every).await? } else { None };
    timings.end("routes", routes.as_ref().map_or(0, |it| it.stories.len()));
    let volumes = if is_played(SuitePart::Volumes) { volumes::play(stage).await? } else { None };
    timings.end("volumes", volumes.as_ref().map_or(0, |it| it.questions.len()));
    let claims = if is_played(SuitePart::Volumes) { claims::play(stage, every).await? } else { None };
    timings.end("volumes of claims", claims.as_ref().map_or(0, |it| it.stories.len()));
    // With the requests that nobody has looked at yet.
    let mut wrong = Vec::new();
    for mut stage in stages {
        stage.asked().await?;
        wrong.extend(stage.wrong);
    }
    Ok(Transcript {
        description,
        wrong,
        machines,
        lives,
        node_change,
        thefts,
        shared,
        forgeries,
        inventories,
        touched,
        versions,
        routes,
        volumes,
        claims,
    })
}
