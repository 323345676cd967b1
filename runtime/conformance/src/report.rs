//! Reports: for people, as JSON, and as JUnit's XML.

mod junit;
mod text;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::breach::Breach;
use crate::promise::Promise;
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
    /// How many lives of load balancers were played.
    pub stories: usize,
    /// Stories that were not played, by a part of their titles, and why.
    pub unplayed: BTreeMap<String, String>,
    /// The requests that the usual deeds cost.
    pub costs: Vec<Cost>,
    /// Every promise, in the order of [`PROMISES`](crate::PROMISES).
    pub tried: Vec<Tried>,
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
pub struct Cost {
    /// As in "create a load balancer".
    pub deed: String,
    /// Calls of the provider.
    pub calls: usize,
    /// Requests that read.
    pub reads: usize,
    /// Requests that write.
    pub writes: usize,
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
        costs.push(cost(format!("list {} machines", list.names.len()), list.pages.len(), list.requests.iter()));
    }
    if let Some(question) = transcript.machines.as_ref().and_then(|it| it.questions.first()) {
        costs.push(cost("find the machine of a new node".to_owned(), 1, question.requests.iter()));
    }
    let Some(measure) = transcript.lives.as_ref().and_then(|it| it.first()) else { return costs };
    for part in &measure.parts {
        let deed = match part.phase {
            Phase::Create => "create a load balancer",
            Phase::Change => "add a node and a port",
            Phase::Delete => "delete it",
        };
        costs.push(cost(deed.to_owned(), part.calls.len(), part.requests()));
        if let (Phase::Create, Some(again)) = (part.phase, &part.again) {
            costs.push(cost("look at one that is ready".to_owned(), 1, again.requests.iter()));
        }
    }
    costs
}

fn cost<'a>(
    deed: String,
    calls: usize,
    requests: impl Iterator<Item = &'a crate::protocol::ArrivedRequest> + Clone,
) -> Cost {
    let writes = requests.clone().filter(|it| it.writes).count();
    Cost { deed, calls, reads: requests.count() - writes, writes }
}
