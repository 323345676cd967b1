//! What was asked of the cloud for a Service, and what came of it.

use std::sync::Arc;
use std::time::Duration;

use budgets::Waiting;
use cloud_provider::{Ingress, LoadBalancer};
use k8s_openapi::api::core::v1::Service;
use token_bucket::TokenBucket;
use tokio::time::Instant;

use super::counted::Counted;
use super::steps::{Cause, Phase};
use super::unwritten::Unwritten;
use crate::service::backends::Backend;
use crate::service::error::FailureKind;
use crate::service::status;

/// Changes of one Service's load balancer at once: its author must not use up the account's quota.
const CHANGES: u32 = 10;
/// The pause between further ones.
const CHANGE_PAUSE: Duration = Duration::from_secs(10);

/// What was asked of the cloud for one Service, and what came of it. Only the worker that has the Service's key in the
/// queue writes it, and there is one at most: between two of its steps nothing in here changes. Everybody else reads.
pub(crate) struct Work {
    /// The load balancer that was worked on last, without what we write ourselves.
    pub(crate) desired: Option<LoadBalancer>,
    /// The nodes for which it was worked on.
    pub(crate) backends: Arc<[Backend]>,
    pub(crate) phase: Phase,
    /// Why it was worked on.
    pub(super) cause: Cause,
    /// Whether a call may have given it a load balancer.
    pub(crate) may_exist: bool,
    /// Whether the API server, asked for it alone, has said that it is gone. It cannot come back: its UID is not given twice.
    pub(crate) is_gone: bool,
    /// Whether its deletion met a memo of another Service, whose load balancer stays.
    pub(crate) has_foreign_memo: bool,
    /// What the provider asked to keep last, written or not.
    pub(crate) memo: Option<String>,
    /// The memo that was kept last, until a call begins with it.
    pub(crate) new_memo: Option<String>,
    /// The revision that a list showed when the cloud was asked for what it has now.
    pub(crate) revision: Option<String>,
    /// The same of the last call, if that found it as the list has shown it.
    pub(crate) asked_revision: Option<String>,
    /// Whether the last call asked for something else than the one before.
    pub(super) is_changed: bool,
    /// When the last call about it ended.
    pub(crate) answered: Option<Instant>,
    /// When the last call about it ended that wrote to the cloud.
    pub(crate) wrote: Option<Instant>,
    /// Whether it was called at rest by a list before its last call.
    pub(super) was_at_rest: bool,
    /// Whether it was so, and the call said that it is not.
    pub(super) is_doubtful: bool,
    /// Whether its creation was announced in the memo, and comes next.
    pub(crate) creates: bool,
    /// Where it was reached last.
    pub(crate) current: Vec<Ingress>,
    /// What the provider answered, and could not be written.
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
    pub(super) waiting: Option<Waiting>,
    /// Whether an event said that the present work began.
    pub(super) is_announced: bool,
    /// The failure that was shown last.
    pub(super) shown: Option<String>,
    /// What kind of failure it had last.
    pub(super) failure_kind: FailureKind,
}

impl Work {
    pub(super) fn new(service: &Service, counted: &Counted, now: Instant) -> Self {
        let burst = || TokenBucket::new(CHANGE_PAUSE, CHANGES, now);
        Self {
            desired: None,
            backends: Arc::default(),
            phase: Phase::Open,
            cause: Cause::Service,
            may_exist: false,
            is_gone: false,
            has_foreign_memo: false,
            memo: status::memo(service).map(str::to_owned),
            new_memo: None,
            revision: None,
            asked_revision: None,
            is_changed: false,
            answered: None,
            wrote: None,
            was_at_rest: false,
            is_doubtful: false,
            creates: false,
            current: status::current(service),
            unwritten: None,
            burst: burst(),
            backend_burst: burst(),
            counted: counted.clone(),
            counted_burst: burst(),
            counted_nodes: 0,
            waiting: None,
            is_announced: false,
            shown: None,
            failure_kind: FailureKind::Transient,
        }
    }
}
