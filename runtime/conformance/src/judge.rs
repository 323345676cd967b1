//! Judges: functions from a transcript to the places where a promise is broken. Pure.

pub(crate) mod claims;
pub(crate) mod description;
pub(crate) mod errors;
pub(crate) mod instances;
pub(crate) mod inventory;
pub(crate) mod lives;
pub(crate) mod routes;
pub(crate) mod shares;
pub(crate) mod thefts;
pub(crate) mod touched;
pub(crate) mod versions;
pub(crate) mod volumes;

#[cfg(test)]
mod tests;

use crate::breach::Breach;
use crate::transcript::Transcript;

/// The result of a judge.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum PromiseJudgement {
    /// Where it is broken; nowhere, if it is kept.
    Tried(Vec<Breach>),
    /// Nothing was played that could tell, for this reason.
    Untried(&'static str),
}

impl PromiseJudgement {
    /// Judges what is there of a transcript.
    fn of<T>(part: Option<&T>, untried: &'static str, judge: impl FnOnce(&T) -> Vec<Breach>) -> Self {
        part.map_or(Self::Untried(untried), |it| Self::Tried(judge(it)))
    }
}

/// The beginning of a story and what is wrong in it.
fn finding(story: impl Into<String>, sentence: impl Into<String>) -> Breach {
    Breach { story: story.into(), sentence: sentence.into() }
}

const NO_INSTANCES: &str = "the provider does not export instances";
const NO_BALANCERS: &str = "the provider does not export load-balancers";
const NO_ROUTES: &str = "the provider does not export routes";
const NO_INVENTORY: &str = "the provider does not export load-balancer-inventory";

/// Runs a judge over a part of the transcript.
fn machines(
    transcript: &Transcript,
    judge: impl FnOnce(&crate::transcript::RecordedMachines) -> Vec<Breach>,
) -> PromiseJudgement {
    PromiseJudgement::of(transcript.machines.as_ref(), NO_INSTANCES, judge)
}
