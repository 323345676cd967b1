//! Reports: for people, as JSON, and as JUnit's XML.

mod junit;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::breach::Breach;
use crate::promise::Promise;
use crate::protocol::{ArrivedRequest, CloudObject};
use crate::transcript::Transcript;
use crate::trouble::Phase;

/// A report about one provider.
#[derive(Debug)]
pub struct ConformanceReport {
    /// The provider's name.
    pub provider: String,
    /// The provider's version.
    pub version: String,
    /// How long everything took.
    pub seconds: f64,
    /// How long each part of it took, in the order of the play.
    pub timings: Vec<PartTime>,
    /// How many lives of load balancers were played.
    pub stories: usize,
    /// Stories that were not played, by a part of their titles, and why.
    pub unplayed: BTreeMap<String, String>,
    /// The requests that the usual deeds cost.
    pub costs: Vec<Cost>,
    /// Every promise, in the order of [`PROMISES`](crate::PROMISES).
    pub tried: Vec<Tried>,
}

/// The time of one part of the play.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartTime {
    /// As in "load balancers".
    pub part: &'static str,
    /// How many stories it has; 0 where it has no stories of a kind.
    pub stories: usize,
    /// How long it took.
    pub seconds: f64,
}

/// A promise, and what became of it.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The promise.
    pub promise: Promise,
    /// The outcome.
    pub outcome: PromiseOutcome,
}

/// The outcome of a promise.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PromiseOutcome {
    /// It was kept in every story.
    Kept,
    /// It was broken here.
    Broken(Vec<Breach>),
    /// Nothing could be played that would tell, for this reason.
    Untried(String),
    /// This provider need not keep it, for the reason that the simulator gives.
    Excepted(String),
}

/// The requests that something costs when nothing goes wrong.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// As in "create a load balancer".
    pub deed: String,
    /// Calls of the provider.
    pub calls: usize,
    /// Requests that read.
    pub reads: usize,
    /// Requests that write.
    pub writes: usize,
    /// The fewest reads with which any cloud could do it.
    pub least_reads: usize,
    /// The fewest writes: one for each kind of object that comes, changes or goes.
    pub least_writes: usize,
}

impl ConformanceReport {
    /// Whether no promise is broken.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.tried.iter().all(|it| !matches!(it.outcome, PromiseOutcome::Broken(_)))
    }

    /// The outcome of the promise with this name.
    #[must_use]
    pub fn outcome(&self, name: &str) -> Option<&PromiseOutcome> {
        self.tried.iter().find(|it| it.promise.name == name).map(|it| &it.outcome)
    }

    /// The names of all broken promises.
    #[must_use]
    pub fn broken(&self) -> Vec<&'static str> {
        let broken = self.tried.iter().filter(|it| matches!(it.outcome, PromiseOutcome::Broken(_)));
        broken.map(|it| it.promise.name).collect()
    }

    fn count(&self, is: impl Fn(&PromiseOutcome) -> bool) -> usize {
        self.tried.iter().filter(|it| is(&it.outcome)).count()
    }
}

impl PromiseOutcome {
    /// As in a report: "kept".
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Broken(_) => "BROKEN",
            Self::Untried(_) => "not tried",
            Self::Excepted(_) => "excepted",
        }
    }
}

/// The requests of the story in which nothing goes wrong.
pub(crate) fn costs(transcript: &Transcript) -> Vec<Cost> {
    let mut costs = Vec::new();
    if let Some(list) = transcript.machines.as_ref().and_then(|it| it.lists.iter().rfind(|it| it.trouble.is_none())) {
        let (deed, pages) = (format!("list {} machines", list.names.len()), list.pages.len());
        costs.push(cost(deed, pages, list.requests.iter(), (pages, 0)));
    }
    if let Some(question) = transcript.machines.as_ref().and_then(|it| it.questions.first()) {
        costs.push(cost("find the machine of a new node".to_owned(), 1, question.requests.iter(), (1, 0)));
    }
    costs.extend(route_costs(transcript));
    let Some(measure) = transcript.lives.as_ref().and_then(|it| it.first()) else { return costs };
    let mut before = &measure.before;
    for part in &measure.parts {
        let deed = match part.phase {
            Phase::Create => "create a load balancer",
            Phase::Change => "add a node and a port",
            Phase::Delete => "delete it",
        };
        let least = (1, changed_kinds(before, &part.after));
        costs.push(cost(deed.to_owned(), part.calls.len(), part.requests(), least));
        before = &part.after;
        if let (Phase::Create, Some(again)) = (part.phase, &part.again) {
            costs.push(cost("look at one that is ready".to_owned(), 1, again.requests.iter(), (1, 0)));
            if let Some(change) = &transcript.node_change {
                costs.push(cost("add a node".to_owned(), change.calls.len(), change.requests(), (1, 1)));
            }
        }
    }
    costs
}

/// The requests of routes: a look and a write, or a write for each kind of object where routes are made of several.
fn route_costs(transcript: &Transcript) -> Vec<Cost> {
    let Some(measure) = transcript.routes.as_ref().and_then(|it| it.stories.first()) else { return Vec::new() };
    let (mut costs, mut before) = (Vec::new(), &measure.before);
    for part in &measure.parts {
        let count = part.changes.len();
        let deed = match part.phase {
            Phase::Create => format!("make {count} routes"),
            Phase::Change => "move a route".to_owned(),
            Phase::Delete => format!("delete {count} routes"),
        };
        costs.push(cost(deed, part.calls.len(), part.requests(), (1, changed_kinds(before, &part.after))));
        before = &part.after;
        if let (Phase::Create, Some(again)) = (part.phase, &part.again) {
            costs.push(cost("look at routes that are there".to_owned(), 1, again.requests.iter(), (1, 0)));
        }
    }
    costs
}

/// How many kinds of objects have come, changed or gone.
fn changed_kinds(before: &[CloudObject], after: &[CloudObject]) -> usize {
    let differing =
        before.iter().filter(|it| !after.contains(it)).chain(after.iter().filter(|it| !before.contains(it)));
    differing.map(|it| it.kind.as_str()).collect::<BTreeSet<_>>().len()
}

fn cost<'a>(
    deed: String,
    calls: usize,
    requests: impl Iterator<Item = &'a ArrivedRequest> + Clone,
    (least_reads, least_writes): (usize, usize),
) -> Cost {
    let writes = requests.clone().filter(|it| it.writes).count();
    Cost { deed, calls, reads: requests.count() - writes, writes, least_reads, least_writes }
}
