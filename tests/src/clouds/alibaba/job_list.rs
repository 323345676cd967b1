//! Jobs that go on in some state, and those that are over.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::simulator::End;

/// The end of a job, in a state: whether it has succeeded.
pub(super) type JobEnd<W> = Box<dyn FnOnce(&mut W, bool) + Send>;

/// Jobs, by their ids.
pub(super) struct AcsJobs<W> {
    open: Vec<AcsJob<W>>,
    /// Those that are over: whether they have succeeded.
    over: BTreeMap<String, bool>,
}

pub(super) struct AcsJob<W> {
    pub(super) id: String,
    /// The objects that take no other change meanwhile.
    pub(super) objects: Vec<String>,
    pub(super) end: End,
    pub(super) fails: bool,
    pub(super) change: JobEnd<W>,
}

// Derived, it would ask for a state with a default.
impl<W> Default for AcsJobs<W> {
    fn default() -> Self {
        Self { open: Vec::new(), over: BTreeMap::new() }
    }
}

impl<W> AcsJobs<W> {
    /// Adds one.
    pub(super) fn begin(&mut self, job: AcsJob<W>) {
        self.open.push(job);
    }

    /// Takes the jobs whose time has come, and whether they succeed.
    pub(super) fn end_due(&mut self, now: SystemTime) -> Vec<(JobEnd<W>, bool)> {
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
        let is_read = |it: &AcsJob<W>| it.id == id || it.objects.iter().any(|it| it == id);
        self.open.iter_mut().filter(|it| is_read(it)).for_each(|it| it.end.count_read());
    }

    pub(super) fn are_over(&self) -> bool {
        self.open.is_empty()
    }

    /// The state of one, in the words of the API.
    pub(super) fn state(&self, id: &str) -> Option<&'static str> {
        if self.open.iter().any(|it| it.id == id) {
            return Some("Processing");
        }
        self.over.get(id).map(|succeeded| if *succeeded { "Succeeded" } else { "Failed" })
    }
}
