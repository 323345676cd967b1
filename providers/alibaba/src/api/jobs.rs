//! Jobs: what the API of Network Load Balancers does after it has answered.

use super::errors::AcsRefusal;
use super::fields::{borrowed, counted, text};
use super::product::NLB;

/// Jobs in one question: the most that the API takes.
const BATCH: usize = 20;

/// The state of a job.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum JobState {
    Processing,
    Succeeded,
    Failed,
}

/// The states of jobs, by their ids. A job of which the cloud says nothing is not among them.
pub(crate) fn states(region: &str, ids: &[&str]) -> Result<Vec<(String, JobState)>, AcsRefusal> {
    let mut states = Vec::new();
    for part in ids.chunks(BATCH) {
        let shown = NLB.call("ListAsynJobs", region, &borrowed(&counted("JobIds", part)))?;
        for job in shown["Jobs"].as_array().map(Vec::as_slice).unwrap_or_default() {
            let state = match &*text(job, "Status") {
                "Succeeded" => JobState::Succeeded,
                "Failed" => JobState::Failed,
                _ => JobState::Processing,
            };
            states.push((text(job, "Id"), state));
        }
    }
    Ok(states)
}
