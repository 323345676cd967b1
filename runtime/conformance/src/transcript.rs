//! Transcripts: what was asked, what came of it, and what was in the cloud. Values only.

pub(crate) mod claims;
pub(crate) mod routes;
pub(crate) mod volumes;
mod wrong;

use std::collections::BTreeMap;
use std::time::Duration;

use cloud_provider::{Description, Instance, InventoryItem};

use crate::protocol::{ArrivedRequest, CloudObject, How};
use crate::trouble::{Phase, Trouble};

use self::claims::RecordedClaims;
use self::routes::RecordedRoutes;
use self::volumes::RecordedVolumes;
pub(crate) use self::wrong::Wrong;

/// A call of the provider, and everything about it that can be seen from outside.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedCall {
    /// As in "ensure".
    pub(crate) function: &'static str,
    /// The answer.
    pub(crate) said: SaidAnswer,
    /// The requests that it made.
    pub(crate) requests: Vec<ArrivedRequest>,
    /// The reasons of its events.
    pub(crate) events: Vec<String>,
}

/// An answer to `ensure` or `delete`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum SaidAnswer {
    /// `ready`, with the memo, and where it is reached.
    Ready { memo: Option<String>, ingress: Vec<String> },
    /// `pending`.
    Pending { memo: Option<String>, after: Duration, reason: String },
    /// `failed`.
    Failed { memo: Option<String>, wrong: Wrong },
    /// `not-managed`.
    NotManaged,
    /// `done`.
    Done,
    /// `kept`.
    Kept(String),
    /// An error.
    Error(Wrong),
    /// An answer that nobody heard, because the process died.
    Unheard,
}

/// The life of one load balancer.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    /// The trouble; `None`: nothing goes wrong.
    pub(crate) trouble: Option<Trouble>,
    /// The UID of its Service.
    pub(crate) uid: String,
    /// The number of the simulator that it was played with: each gives ids of its own.
    pub(crate) cloud: usize,
    /// The objects before it.
    pub(crate) before: Vec<CloudObject>,
    /// In their order.
    pub(crate) parts: Vec<Part>,
}

/// One part of a life.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) phase: Phase,
    /// All calls until it was over, or nobody waited any longer.
    pub(crate) calls: Vec<RecordedCall>,
    /// Whether nobody waits for its end, because the Service is deleted.
    pub(crate) is_given_up: bool,
    /// The further call, after all was well, that has nothing to do.
    pub(crate) again: Option<RecordedCall>,
    /// The objects afterwards.
    pub(crate) after: Vec<CloudObject>,
}

impl Part {
    /// Whether it came to its end.
    pub(crate) fn is_over(&self) -> bool {
        match (self.phase, self.calls.last().map(|it| &it.said)) {
            (Phase::Create | Phase::Change, Some(SaidAnswer::Ready { .. }))
            | (Phase::Delete, Some(SaidAnswer::Done)) => true,
            (_, _) => false,
        }
    }

    /// All its requests, but those of the further call.
    pub(crate) fn requests(&self) -> impl Iterator<Item = &ArrivedRequest> + Clone {
        self.calls.iter().flat_map(|it| &it.requests)
    }
}

impl Life {
    /// The story in words.
    pub(crate) fn title(&self) -> String {
        match self.trouble {
            None => "nothing goes wrong".to_owned(),
            Some(trouble) => trouble.title(),
        }
    }

    pub(crate) fn part(&self, phase: Phase) -> Option<&Part> {
        self.parts.iter().find(|it| it.phase == phase)
    }
}

/// One question about a machine.
#[derive(Clone, Debug)]
pub(crate) struct RecordedQuestion {
    /// In words: "get web-1 by its name".
    pub(crate) title: String,
    /// The trouble of its requests, by the number of the one that goes wrong.
    pub(crate) trouble: Option<(usize, How)>,
    /// The truth about the machine.
    pub(crate) truth: Truth,
    /// The answer.
    pub(crate) said: Result<Option<Instance>, Wrong>,
    /// The requests that it made.
    pub(crate) requests: Vec<ArrivedRequest>,
}

/// The truth about the machine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Truth {
    /// It runs.
    Runs,
    /// It was shut down.
    Stopped,
    /// There is none.
    Gone,
}

/// A list of machines, with all its pages.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    /// The largest page that was asked for.
    pub(crate) limit: u32,
    /// The trouble of its requests.
    pub(crate) trouble: Option<(usize, How)>,
    /// The names of all machines.
    pub(crate) names: Vec<String>,
    /// In the order of the pages.
    pub(crate) pages: Vec<Result<ListedPage, Wrong>>,
    /// Whether nobody read any further, because there was no end.
    pub(crate) is_endless: bool,
    /// The requests of all pages.
    pub(crate) requests: Vec<ArrivedRequest>,
}

/// One page.
#[derive(Clone, Debug)]
pub(crate) struct ListedPage {
    pub(crate) instances: Vec<Instance>,
    /// Why machines may be missing.
    pub(crate) gaps: Vec<String>,
}

impl Listing {
    /// All machines of all pages.
    pub(crate) fn instances(&self) -> impl Iterator<Item = &Instance> {
        self.pages.iter().flatten().flat_map(|it| &it.instances)
    }
}

/// Everything about machines.
#[derive(Clone, Debug)]
pub(crate) struct RecordedMachines {
    pub(crate) questions: Vec<RecordedQuestion>,
    pub(crate) lists: Vec<Listing>,
    /// For each provider id, in two calls of two processes, its canonical word.
    pub(crate) words: Vec<(String, [Result<String, String>; 2])>,
    /// The account, each time that it was asked.
    pub(crate) accounts: Vec<Result<Option<String>, String>>,
}

/// A theft: what belongs to others, and what was tried to get it.
#[derive(Clone, Debug)]
pub(crate) struct Theft {
    /// In words: "a Service of the same name, in another cluster".
    pub(crate) title: String,
    /// The objects before it, all of them another's.
    pub(crate) before: Vec<CloudObject>,
    /// The objects after its `ensure`.
    pub(crate) held: Vec<CloudObject>,
    /// The objects after its `delete`.
    pub(crate) after: Vec<CloudObject>,
    /// Whether the Service may have its part in one of them until it goes.
    pub(crate) may_share: bool,
}

/// Two Services with one load balancer, of which one goes.
#[derive(Clone, Debug)]
pub(crate) struct SharedStory {
    /// In words: "the second of two Services goes".
    pub(crate) title: String,
    /// The last answers to the two Services, when both were asked for.
    pub(crate) said: [Option<SaidAnswer>; 2],
    /// The objects before both.
    pub(crate) before: Vec<CloudObject>,
    /// The objects when the first had its load balancer.
    pub(crate) alone: Vec<CloudObject>,
    /// The objects when both had it.
    pub(crate) both: Vec<CloudObject>,
    /// The objects after the end of one.
    pub(crate) left: Vec<CloudObject>,
    /// The next call about the other one.
    pub(crate) again: RecordedCall,
    /// Whether the second went, and the first stayed.
    pub(crate) first_stays: bool,
    /// The objects after the end of both.
    pub(crate) after: Vec<CloudObject>,
}

/// A load balancer that one version begins, the other goes on with, the first changes, and the other deletes.
#[derive(Clone, Debug)]
pub(crate) struct VersionStory {
    /// In words: "the newer version makes 2 calls, and the older one goes on".
    pub(crate) title: String,
    /// The objects before it.
    pub(crate) before: Vec<CloudObject>,
    /// The last answer to its creation.
    pub(crate) created: Option<SaidAnswer>,
    /// The objects then.
    pub(crate) made: Vec<CloudObject>,
    /// The last answer to its change.
    pub(crate) changed: Option<SaidAnswer>,
    /// The objects then.
    pub(crate) grown: Vec<CloudObject>,
    /// The last answer to its deletion.
    pub(crate) deleted: Option<SaidAnswer>,
    /// The objects afterwards.
    pub(crate) after: Vec<CloudObject>,
}

/// A Service whose author has written the marks of another Service's load balancer into an annotation that becomes tags.
#[derive(Clone, Debug)]
pub(crate) struct Forgery {
    /// In words: "a new Service whose tags are another's marks".
    pub(crate) title: String,
    /// The tags that an honest load balancer has, of which some are its marks.
    pub(crate) honest: BTreeMap<String, String>,
    /// The tags of the other Service's.
    pub(crate) victim: BTreeMap<String, String>,
    /// The tags of each object that was made for the forger, by its kind and id.
    pub(crate) made: Vec<(String, BTreeMap<String, String>)>,
}

/// A Service that goes while the cloud protects its load balancer.
#[derive(Clone, Debug)]
pub(crate) struct KeptListing {
    /// The UID of the Service.
    pub(crate) uid: String,
    /// The last answer to its deletion.
    pub(crate) said: Option<SaidAnswer>,
    /// The list while it is protected, and when it is not any more.
    pub(crate) lists: [WholeInventory; 2],
}

/// Lists of all load balancers, at four moments of one life.
#[derive(Clone, Debug)]
pub(crate) struct Inventories {
    /// The UID of the cluster.
    pub(crate) cluster: String,
    /// The UID of the Service.
    pub(crate) uid: String,
    /// The memo of the Service.
    pub(crate) memo: Option<String>,
    /// Twice while nothing changes.
    pub(crate) at_rest: [WholeInventory; 2],
    /// After a change.
    pub(crate) changed: WholeInventory,
    /// As another cluster sees it.
    pub(crate) elsewhere: WholeInventory,
    /// After the deletion.
    pub(crate) gone: WholeInventory,
    /// Another Service's, which is kept; `None` if the cloud protects nothing.
    pub(crate) kept: Option<KeptListing>,
}

/// All pages of one list, or why there is none.
pub(crate) type WholeInventory = Result<Vec<InventoryItem>, String>;

/// An object that a person changed, and that the provider then changes too.
#[derive(Clone, Debug)]
pub(crate) struct Touched {
    /// The object after somebody's change.
    pub(crate) before: CloudObject,
    /// The object as it would have become without that change: `None` is for an object that is gone.
    pub(crate) after: Option<CloudObject>,
    /// The object before somebody's change.
    pub(crate) original: CloudObject,
}

/// Everything that was played.
#[derive(Debug)]
pub(crate) struct Transcript {
    pub(crate) description: std::sync::Arc<Description>,
    /// Requests that the vendor's cloud would not have understood.
    pub(crate) wrong: Vec<String>,
    /// Without capability `None`; so for the others.
    pub(crate) machines: Option<RecordedMachines>,
    /// The first is the one in which nothing goes wrong.
    pub(crate) lives: Option<Vec<Life>>,
    pub(crate) thefts: Option<Vec<Theft>>,
    /// `None` also if Services share no load balancer.
    pub(crate) shared: Option<Vec<SharedStory>>,
    /// `None` also if no annotation writes tags.
    pub(crate) forgeries: Option<Vec<Forgery>>,
    /// One node more, and nothing else.
    pub(crate) node_change: Option<Part>,
    pub(crate) inventories: Option<Inventories>,
    pub(crate) touched: Option<Vec<Touched>>,
    /// `None` also without an older version.
    pub(crate) versions: Option<Vec<VersionStory>>,
    pub(crate) routes: Option<RecordedRoutes>,
    /// `None` also where the simulator has no volumes.
    pub(crate) volumes: Option<RecordedVolumes>,
    /// `None` also where the simulator has no volumes of claims.
    pub(crate) claims: Option<RecordedClaims>,
}
