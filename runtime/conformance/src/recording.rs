//! The suite over a recorded conversation: its calls are made again, each of their requests goes wrong in turn, and what that can prove is
//! judged.

mod balancers;
mod costs;
mod lists;
mod provable;
mod questions;
mod replay;
mod stage;

use std::time::Instant;

use sandbox::{Module, Sandbox};

use crate::conversation::Conversation;
use crate::error::{ConformanceError, Result};
use crate::judge::PromiseJudgement;
use crate::promise::PROMISES;
use crate::report::{ConformanceReport, PromiseOutcome, Tried};
use crate::transcript::{RecordedMachines, Transcript};

use self::stage::RecordedStage;

/// A provider, and a conversation that it had with its cloud.
pub struct RecordedSuite {
    /// Where the provider is compiled and run.
    pub sandbox: Sandbox,
    /// The provider.
    pub module: Module,
    /// The conversation.
    pub conversation: Conversation,
    /// The name of its file, for whoever reads an error.
    pub file: String,
}

/// Makes every recorded call again, and judges what that can prove. Everything else is not tried, each with its reason.
///
/// # Errors
///
/// If the conversation is another provider's or has no call, or the provider cannot be loaded. A promise that is broken is no error.
pub async fn run_recorded(suite: RecordedSuite) -> Result<ConformanceReport> {
    let RecordedSuite { sandbox, module, conversation, file } = suite;
    let start = Instant::now();
    if conversation.calls.is_empty() {
        let sentence = format!("{file} has no calls; add one with aerostat provider record");
        return Err(ConformanceError::Recording(sentence));
    }
    let name = module.name().to_owned();
    let mut stage = RecordedStage::set(sandbox, module, &conversation, &file).await?;
    let description = stage.description().clone();
    if description.name != conversation.provider.name {
        return Err(ConformanceError::Recording(format!(
            "{file} is of the provider {}, and {name} is {}; name the recording of this one",
            conversation.provider.name, description.name
        )));
    }
    let transcript = play(&mut stage, description).await?;
    let tried = PROMISES.iter().map(|promise| {
        let untried = |why: &str| PromiseOutcome::Untried(why.to_owned());
        let outcome = match (provable::provable(promise.name), provable::lacks(promise.name, &transcript)) {
            (Err(why), _) | (Ok(()), Some(why)) => untried(why),
            (Ok(()), None) => match (promise.judge)(&transcript) {
                PromiseJudgement::Untried(why) => untried(why),
                PromiseJudgement::Tried(findings) if findings.is_empty() => PromiseOutcome::Kept,
                PromiseJudgement::Tried(findings) => PromiseOutcome::Broken(findings),
            },
        };
        Tried { promise: *promise, outcome }
    });
    Ok(ConformanceReport {
        provider: transcript.description.name.clone(),
        version: transcript.description.version.clone(),
        seconds: start.elapsed().as_secs_f64(),
        timings: Vec::new(),
        stories: stage.stories(),
        tried: tried.collect(),
        costs: costs::of(&stage),
        unplayed: stage.unplayed,
    })
}

async fn play(
    stage: &mut RecordedStage,
    description: std::sync::Arc<cloud_provider::Description>,
) -> Result<Transcript> {
    let questions = questions::machines(stage).await?;
    let lists = lists::machines(stage).await?;
    let words = questions::words(stage, &questions, &lists).await?;
    let accounts = questions::accounts(stage).await?;
    let lives = balancers::lives(stage).await?;
    let volumes = questions::volumes(stage).await?;
    Ok(Transcript {
        description,
        wrong: Vec::new(),
        machines: Some(RecordedMachines { questions, lists, words, accounts }),
        lives: Some(lives),
        node_change: None,
        thefts: None,
        shared: None,
        forgeries: None,
        inventories: None,
        touched: None,
        versions: None,
        routes: None,
        volumes,
        claims: None,
    })
}
