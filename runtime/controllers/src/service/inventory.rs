//! The lists of the cluster's load balancers, shared by all who ask: one answers for everybody who waits for the cloud,
//! for whether anything has changed behind our back, and for what nobody has any more.

pub(super) mod drift;
pub(super) mod fingerprint;
pub(super) mod listing;
pub(super) mod orphans;
pub(super) mod schedule;
pub(super) mod snapshot;

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Error, LoadBalancerInventory, Result};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::warn;

use crate::error::{BackOff, Pause};

use self::orphans::Ages;
use self::schedule::Last;
use self::snapshot::Snapshot;

/// The pauses after lists that failed.
const BACK_OFF: BackOff = BackOff { first: Duration::from_secs(5), longest: Duration::from_secs(60) };
/// How soon a list comes for those who have just begun.
const SOON: Duration = Duration::from_secs(2);

/// How load balancers are looked after beyond what Services ask for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Options {
    /// `--load-balancer-resync-period`: how often they are listed, to find what has changed in the cloud. Each period is up
    /// to a tenth longer or shorter.
    pub resync_period: Duration,
    /// `--delete-orphaned-load-balancers`: whether those of Services that do not exist are deleted.
    pub delete_orphans: bool,
    /// For how long every complete list must show one as an orphan before it is deleted. It is told of after a sixth.
    pub orphan_age: Duration,
    /// The pause between two deletions of orphans.
    pub orphan_pause: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            resync_period: Duration::from_secs(300),
            delete_orphans: false,
            orphan_age: Duration::from_secs(3600),
            orphan_pause: Duration::from_secs(600),
        }
    }
}

impl Options {
    /// How long an orphan must have been one.
    pub(super) fn ages(&self) -> Ages {
        Ages { told: self.orphan_age / 6, deleted: self.orphan_age, pause: self.orphan_pause }
    }
}

/// The lists of the cluster's load balancers.
pub(super) struct Lists {
    source: Arc<dyn LoadBalancerInventory>,
    pub(super) options: Options,
    /// Held while a list is read: who comes meanwhile waits for it.
    reading: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    changed: Notify,
    orphans: Notify,
}

struct State {
    newest: Option<Arc<Snapshot>>,
    /// The error of the last list, how many have failed in a row, and when the next may be tried.
    failed: Option<(Error, u32, Instant)>,
    /// When a list is due for those who wait, if one is.
    next: Option<Instant>,
    last: Option<Last>,
    resync: Instant,
}

impl Lists {
    pub(super) fn new(source: Arc<dyn LoadBalancerInventory>, options: Options, now: Instant) -> Self {
        let state = State { newest: None, failed: None, next: None, last: None, resync: now + options.resync_period };
        Self {
            source,
            options,
            reading: tokio::sync::Mutex::default(),
            state: Mutex::new(state),
            changed: Notify::new(),
            orphans: Notify::new(),
        }
    }

    /// Whether lists tell when something has changed.
    pub(super) fn have_revisions(&self) -> bool {
        self.source.description().revisions
    }

    /// The newest list.
    pub(super) fn newest(&self) -> Option<Arc<Snapshot>> {
        self.state().newest.clone()
    }

    /// How many calls the newest list took.
    pub(super) fn pages(&self) -> usize {
        self.state().newest.as_ref().map_or(1, |it| it.pages)
    }

    /// A list that began at this time or later: the newest, one that is under way, or a new one.
    pub(super) async fn since(&self, began: Instant) -> Result<Arc<Snapshot>> {
        let _reading = self.reading.lock().await;
        if let Some(newest) = self.newest().filter(|it| it.began >= began) {
            return Ok(newest);
        }
        if let Some((error, _, until)) = &self.state().failed
            && *until > Instant::now()
        {
            return Err(error.clone());
        }
        let list = listing::read(&*self.source).await;
        let mut state = self.state();
        match list {
            Ok(list) => {
                let list = Arc::new(list);
                state.failed = None;
                state.newest = Some(list.clone());
                Ok(list)
            }
            Err(error) => {
                let failures = state.failed.take().map_or(0, |(_, failures, _)| failures.saturating_add(1));
                let pause = match BACK_OFF.pause(failures, &error) {
                    Pause::Exactly(pause) => pause,
                    Pause::AtLeast(pause) => pause.min(BACK_OFF.longest),
                };
                warn!(error = error.to_string(), ?pause, "the cloud could not list its load balancers");
                state.failed = Some((error.clone(), failures, Instant::now() + pause));
                Err(error)
            }
        }
    }

    /// When the next list may be tried, if the last one failed.
    pub(super) fn failed_until(&self) -> Option<Instant> {
        self.state().failed.as_ref().map(|(_, _, until)| *until)
    }

    /// When a list is due for those who wait; `None` also if the last one failed.
    pub(super) fn next(&self) -> Option<Instant> {
        let state = self.state();
        state.next.filter(|_| state.failed.is_none())
    }

    pub(super) fn set_next(&self, next: Option<Instant>) {
        self.state().next = next;
    }

    /// The last list that answered for those who wait.
    pub(super) fn last(&self) -> Option<Last> {
        self.state().last
    }

    pub(super) fn set_last(&self, last: Last) {
        self.state().last = Some(last);
    }

    /// When it is looked next for what has changed.
    pub(super) fn resync_due(&self) -> Instant {
        self.state().resync
    }

    pub(super) fn set_resync(&self, at: Instant) {
        self.state().resync = at;
    }

    /// Somebody was believed without a list: it is looked soon.
    pub(super) fn resync_soon(&self, now: Instant) {
        {
            let mut state = self.state();
            state.resync = state.resync.min(now + SOON);
        }
        self.changed.notify_one();
    }

    /// Somebody waits for the cloud from now on.
    pub(super) fn wake(&self) {
        self.changed.notify_one();
    }

    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// A list was looked at for orphans.
    pub(super) fn look_at_orphans(&self) {
        self.orphans.notify_one();
    }

    pub(super) async fn orphans_are_due(&self) {
        self.orphans.notified().await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}
