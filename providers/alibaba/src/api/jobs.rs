//! Jobs: what the API of Network Load Balancers does after it has answered.

use aerostat_sdk::SortedMap;

use super::errors::AcsRefusal;
use super::fields::text;
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
pub(crate) fn states(region: &str, ids: &[&str]) -> Result<SortedMap<String, JobState>, AcsRefusal> {
    let mut states = SortedMap::new();
    for part in ids.chunks(BATCH) {
        let names: Vec<String> = (1..=part.len()).map(|it| format!("JobIds.{it}")).collect();
        let pairs: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(part.iter().copied()).collect();
        let shown = NLB.call("ListAsynJobs", region, &pairs)?;
        for job in shown["Jobs"].as_array().map(Vec::as_slice).unwrap_or_default() {
            let state = match &*text(job, "Status") {
                "Succeeded" => JobState::Succeeded,
                "Failed" => JobState::Failed,
                _ => JobState::Processing,
            };
            states.insert(text(job, "Id"), state);
        }
    }
    Ok(states)
}
