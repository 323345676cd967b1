//! The memory of one Service beside its stage.

use std::sync::Arc;
use std::time::Duration;

use budgets::WaitingChange;
use cloud_provider::Ingress;
use k8s_openapi::api::core::v1::{ObjectReference, Service};
use token_bucket::TokenBucket;
use tokio::time::Instant;

use super::counted::Counted;
use super::stage::{Question, RefusedMove, SyncStage, SyncState};
use super::unwritten::Unwritten;
use crate::events::reference;
use crate::service::changes::BackendPass;
use crate::service::error::FailureKind;
use crate::service::inventory::drift::Outlined;
use crate::service::long_pending::LongPending;
use crate::service::status;

/// Changes of one Service's load balancer at once: its author must not use up the account's quota.
const CHANGES: u32 = 10;
/// The pause between further ones.
const CHANGE_PAUSE: Duration = Duration::from_secs(10);

/// Observations of one Service, by others than its worker too: by the watch of Services, by the pass over changed nodes, by the watch
/// of credentials, by the clock that reports long waits, and by its worker. Whoever has the lock may write it.
pub(crate) struct Observed {
    /// The reference by which events name it.
    pub(crate) about: ObjectReference,
    /// The Service as our last write left it, until the watch has seen it.
    pub(super) written: Option<Arc<Service>>,
    /// The annotations that nobody knows, if an event said so.
    pub(super) unknown: Vec<String>,
    /// The work that the cloud is busy with, if it said so, and when that was recorded last.
    pub(super) pending: Option<LongPending>,
    /// The version of the credentials that it was last worked on with, or put into the queue for.
    pub(super) credentials: u64,
    /// The pass over changed nodes that waits for it.
    pub(crate) pass: Option<Arc<BackendPass>>,
}

/// Questions to the cloud for one Service, and their answers. Only the worker that has the Service's key in the
/// queue writes it, and there is one at most: between two of its steps nothing in here changes, but for the word of a list
/// about one that is pending or settled. Everybody else reads.
pub(crate) struct Work {
    pub(crate) state: SyncState,
    /// When the API server, asked for it alone, has said that it is gone. It cannot come back: its UID is not given twice.
    pub(crate) gone_since: Option<Instant>,
    /// The memo that the provider gave last, written or not.
    pub(crate) memo: Option<String>,
    /// The memo that was kept last, until a call begins with it.
    pub(super) new_memo: Option<String>,
    /// The last call about it.
    pub(super) last_call: LastCall,
    /// When the last question to the cloud came up. Its call began then or later.
    pub(super) asked: Option<Instant>,
    /// The outline with which lists show it.
    pub(super) outlined: Option<Outlined>,
    /// When the last call about it ended that wrote to the cloud.
    pub(super) wrote: Option<Instant>,
    /// When this process forgot a Service last before it knew this one: that may have been the same one, and written.
    pub(super) forgotten: Option<Instant>,
    /// Where it was reached last.
    pub(crate) current: Vec<Ingress>,
    /// The answer of the provider that could not be written.
    pub(crate) unwritten: Option<Unwritten>,
    /// The changes that its author may still make.
    pub(super) burst: TokenBucket,
    /// The changes that other nodes behind it may still make: a node that comes and goes must not cost more than an author.
    pub(super) backend_burst: TokenBucket,
    pub(super) counted: Counted,
    /// Which of its changes count: a Service or a node that flaps must not let a provider write without end.
    pub(super) counted_burst: TokenBucket,
    /// How often the set of nodes had changed when a change of it was counted last.
    pub(super) counted_nodes: u64,
    /// There while it waits for its first load balancer.
    pub(super) waiting: Option<WaitingChange>,
    /// The failure that was shown last.
    pub(super) shown: Option<String>,
    /// The kind of its last failure.
    pub(super) failure_kind: FailureKind,
    /// The first move of its state that was refused, until it is told.
    pub(super) refused: Option<RefusedMove>,
}

/// The last call of this process about one Service.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum LastCall {
    /// There was none.
    None,
    /// One that gives it a load balancer. It ended then.
    Ensure(Instant),
    /// One that deletes it. It may be under way.
    Delete,
}

impl Observed {
    pub(super) fn new(service: &Service) -> Self {
        Self {
            about: reference(service),
            written: None,
            unknown: Vec::new(),
            pending: None,
            credentials: 0,
            pass: None,
        }
    }
}

impl Work {
    pub(super) fn new(service: &Service, counted: &Counted, now: Instant) -> Self {
        let burst = || TokenBucket::new(CHANGE_PAUSE, CHANGES, now);
        Self {
            state: SyncState::New(None),
            gone_since: None,
            memo: status::memo(service).map(str::to_owned),
            new_memo: None,
            last_call: LastCall::None,
            asked: None,
            outlined: None,
            wrote: None,
            forgotten: None,
            current: status::current(service),
            unwritten: None,
            burst: burst(),
            backend_burst: burst(),
            counted: counted.clone(),
            counted_burst: burst(),
            counted_nodes: 0,
            waiting: None,
            shown: None,
            failure_kind: FailureKind::Transient,
            refused: None,
        }
    }

    /// Makes its state `next`, which is of the stage `to`. A move that is refused is kept, to be told.
    pub(super) fn become_of(&mut self, to: SyncStage, next: impl FnOnce(Option<Question>) -> SyncState) {
        if let Err(refused) = self.state.become_of(to, next) {
            self.refused.get_or_insert(refused);
        }
    }

    /// The same of what was asked for. What nobody has asked for has no answer, and stays as it is: it was forgotten since.
    pub(super) fn go_on(&mut self, to: SyncStage, next: impl FnOnce(Question) -> SyncState) {
        if self.state.question().is_some() {
            self.become_of(to, |question| question.map_or(SyncState::New(None), next));
        }
    }
}
