//! Jobs: changes that the API of Network Load Balancers carries out after it has answered.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::simulator::{Answer, End, Taking};

use super::errors::{Refused, bad, busy, refused};
use super::listing;
use super::pairs::AcsPairs;
use super::world::World;

/// The end of a job, in the account: whether it has succeeded.
pub(super) type JobEnd = Box<dyn FnOnce(&mut World, bool) + Send>;

/// Jobs, by their ids.
#[derive(Default)]
pub(super) struct AcsJobs {
    open: Vec<AcsJob>,
    /// Those that are over: whether they have succeeded.
    over: BTreeMap<String, bool>,
}

struct AcsJob {
    id: String,
    /// The objects that take no other change meanwhile.
    objects: Vec<String>,
    end: End,
    fails: bool,
    change: JobEnd,
}

impl AcsJobs {
    /// Takes the jobs whose time has come, and whether they succeed.
    pub(super) fn end_due(&mut self, now: SystemTime) -> Vec<(JobEnd, bool)> {
        let (due, open): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.open).into_iter().partition(|it| it.end.is_due(now));
        self.open = open;
        self.over.extend(due.iter().map(|it| (it.id.clone(), !it.fails)));
        due.into_iter().map(|it| (it.change, !it.fails)).collect()
    }

    pub(super) fn is_busy(&self, object: &str) -> bool {
        self.open.iter().any(|it| it.objects.iter().any(|it| it == object))
    }

    /// Counts that a job, or an object of one, was read.
    pub(super) fn count_read(&mut self, id: &str) {
        let is_read = |it: &AcsJob| it.id == id || it.objects.iter().any(|it| it == id);
        self.open.iter_mut().filter(|it| is_read(it)).for_each(|it| it.end.count_read());
    }

    pub(super) fn are_over(&self) -> bool {
        self.open.is_empty()
    }

    fn state(&self, id: &str) -> Option<&'static str> {
        if self.open.iter().any(|it| it.id == id) {
            return Some("Processing");
        }
        self.over.get(id).map(|succeeded| if *succeeded { "Succeeded" } else { "Failed" })
    }
}

impl World {
    /// Begins a job of an action that changes these objects, and answers its id. If a test wants it to fail, it does, and once.
    pub(super) fn begin_job(
        &mut self,
        action: &str,
        objects: &[&str],
        taking: Taking,
        change: impl FnOnce(&mut World, bool) + Send + 'static,
    ) -> String {
        let number = self.number();
        let id = format!("72dcd26b-f12d-4c27-b3af-{number:012}");
        let failing = self.behaviour.failing.iter().position(|it| it == action);
        let fails = failing.map(|at| self.behaviour.failing.remove(at)).is_some();
        self.jobs.open.push(AcsJob {
            id: id.clone(),
            objects: objects.iter().map(|it| (*it).to_owned()).collect(),
            end: taking.begun(self.time()),
            fails,
            change: Box::new(change),
        });
        id
    }

    /// Refuses a change of what carries out an earlier one.
    pub(super) fn is_free(&self, kind: &str, object: &str) -> Result<(), Refused> {
        match self.jobs.is_busy(object) {
            true => Err(busy(&format!("IncorrectStatus.{kind}"), object)),
            false => Ok(()),
        }
    }
}

/// `ListAsynJobs`, at most 20 of them. One that nobody knows is left out.
pub(super) fn list(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let ids = pairs.list("JobIds");
    if ids.is_empty() || ids.len() > 20 {
        return Err(bad("JobIds", "one asks for 1 to 20"));
    }
    ids.iter().for_each(|id| world.jobs.count_read(id));
    let jobs = ids.iter().filter_map(|id| Some(json!({ "Id": id, "Status": world.jobs.state(id)? })));
    let jobs: Vec<Value> = jobs.collect();
    Ok(Answer::ok(&listing::with(json!({ "TotalCount": jobs.len().to_string() }), &json!({ "Jobs": jobs }))))
}

/// `GetJobStatus`.
pub(super) fn get(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let id = pairs.needed("JobId")?;
    world.jobs.count_read(id);
    let state = world.jobs.state(id).ok_or_else(|| refused(404, "ResourceNotFound.Job", "The job does not exist."))?;
    Ok(Answer::ok(&json!({ "Status": state })))
}
