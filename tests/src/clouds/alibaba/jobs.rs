//! Jobs: changes that the API of Network Load Balancers carries out after it has answered.

use serde_json::{Value, json};

use crate::simulator::{Answer, Taking};

use super::errors::{Refused, bad, busy, refused};
use super::job_list::AcsJob;
use super::listing;
use super::pairs::AcsPairs;
use super::world::World;

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
        let job = AcsJob {
            id: id.clone(),
            objects: objects.iter().map(|it| (*it).to_owned()).collect(),
            end: taking.begun(self.time()),
            fails,
            change: Box::new(change),
        };
        self.jobs.begin(job);
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
