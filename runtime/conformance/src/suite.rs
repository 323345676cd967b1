//! The suite: everything is played, and every promise judged.

use std::time::{Duration, Instant};

use sandbox::{Module, Sandbox};

use crate::admin::Admin;
use crate::error::ConformanceError;
use crate::host::NativeHost;
use crate::judge::PromiseJudgement;
use crate::play::stage::Stage;
use crate::play::{inventories, lives, machines, routes, shares, thefts, touched, versions, volumes};
use crate::promise::PROMISES;
use crate::report::{ConformanceReport, PromiseOutcome, Tried, costs};
use crate::transcript::Transcript;

/// How long a simulated cloud may take for a load balancer.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A provider, and where its simulated cloud is.
pub struct Suite {
    /// Where the provider is compiled and run; best one that keeps compiled modules, since its process dies often.
    pub sandbox: Sandbox,
    /// The provider.
    pub module: Module,
    /// The simulator: `http://127.0.0.1:8080`.
    pub cloud: String,
    /// One for every way in which each request can go wrong; more for one of so many of them.
    pub every: usize,
    /// An older version of the provider, which has to go on with what this one begins, and the other way round.
    pub older: Option<Module>,
    /// How long a load balancer is waited for: [`PATIENCE`] unless it is known to be made faster.
    pub patience: Duration,
}

/// Plays everything, and judges every promise.
///
/// # Errors
///
/// If the simulator does not answer, or the provider cannot be loaded. A promise that is broken is no error.
pub async fn run(suite: Suite) -> Result<ConformanceReport, ConformanceError> {
    let Suite { sandbox, module, cloud, every, older, patience } = suite;
    let start = Instant::now();
    let admin = Admin::new(&cloud)?;
    let world = admin.world().await?;
    let (exceptions, unplayed) = (world.setup.exceptions.clone(), world.setup.unplayed.clone());
    if let Some(unknown) = exceptions.keys().find(|it| !PROMISES.iter().any(|promise| promise.name == **it)) {
        return Err(ConformanceError::Setup(format!("exceptions name {unknown}, which is no promise")));
    }
    let older = match older {
        Some(older) => Some(NativeHost::older(sandbox.clone(), older, admin.base_url(), world.setup.clone()).await?),
        None => None,
    };
    let host = NativeHost::new(sandbox, module, admin.base_url(), world.setup).await?;
    let transcript = play(Stage::set(host, admin, patience).await?, older.as_ref(), every).await?;
    let tried = PROMISES.iter().map(|promise| {
        let outcome = match exceptions.get(promise.name) {
            Some(why) => PromiseOutcome::Excepted(why.clone()),
            None => match (promise.judge)(&transcript) {
                PromiseJudgement::Untried(why) => PromiseOutcome::Untried(why.to_owned()),
                PromiseJudgement::Tried(findings) if findings.is_empty() => PromiseOutcome::Kept,
                PromiseJudgement::Tried(findings) => PromiseOutcome::Broken(findings),
            },
        };
        Tried { promise: *promise, outcome }
    });
    let tried = tried.collect();
    let stories =
        transcript.lives.as_ref().map_or(0, Vec::len) + transcript.routes.as_ref().map_or(0, |it| it.stories.len());
    Ok(ConformanceReport {
        provider: transcript.description.name.clone(),
        version: transcript.description.version.clone(),
        seconds: start.elapsed().as_secs_f64(),
        stories,
        unplayed,
        costs: costs(&transcript),
        tried,
    })
}

async fn play(mut stage: Stage, older: Option<&NativeHost>, every: usize) -> Result<Transcript, ConformanceError> {
    let description = stage.host.description().clone();
    let machines = machines::play(&mut stage).await?;
    let has_balancers = stage.process().await?.cloud.load_balancers.is_some();
    let (mut lives, mut node_change, mut thefts, mut forgeries, mut touched) = (None, None, None, None, None);
    let (mut shared, mut versions) = (None, None);
    if has_balancers {
        lives = Some(lives::play(&mut stage, every).await?);
        node_change = Some(lives::node_change(&mut stage).await?);
        let (stolen, forged) = thefts::play(&mut stage).await?;
        (thefts, forgeries) = (Some(stolen), forged);
        shared = shares::play(&mut stage).await?;
        touched = touched::play(&mut stage).await?;
        if let Some(older) = older {
            versions = Some(versions::play(&mut stage, older).await?);
        }
    }
    let inventories = inventories::play(&mut stage).await?;
    let routes = routes::play(&mut stage, every).await?;
    let volumes = volumes::play(&mut stage).await?;
    // With the requests that nobody has looked at yet.
    stage.asked().await?;
    let wrong = stage.wrong;
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
    })
}
