//! The lists of the cluster's load balancers, shared by all who ask: one answers for everybody who waits for the cloud,
//! for whether anything has changed behind our back, and for what nobody has any more.

pub(super) mod drift;
pub(super) mod fingerprint;
pub(super) mod listing;
pub(crate) mod orphans;
pub(super) mod schedule;
pub(super) mod snapshot;

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{CurrentDescription, Freshness, LoadBalancerInventory, Result};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::last_list::LastList;

use self::schedule::{Last, WaitingService, is_left_to_lists, is_worth_it};
use self::snapshot::Snapshot;

/// How soon a list comes for those who have just begun.
const SOON: Duration = Duration::from_secs(2);
/// How long after the next list a Service that is left to lists is looked at again without its word.
const RECHECK: Duration = Duration::from_secs(2);

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

/// The lists of the cluster's load balancers.
pub(super) struct LoadBalancerLists {
    source: Arc<dyn LoadBalancerInventory>,
    description: CurrentDescription,
    pub(super) options: Options,
    last_list: LastList<Snapshot>,
    state: Mutex<ListTimes>,
    changed: Notify,
    orphans: Notify,
}

struct ListTimes {
    /// When a list is due for those who wait, if one is.
    next: Option<Instant>,
    last: Option<Last>,
    resync: Instant,
}

impl LoadBalancerLists {
    pub(super) fn new(
        source: Arc<dyn LoadBalancerInventory>,
        description: CurrentDescription,
        options: Options,
        now: Instant,
    ) -> Self {
        let state = ListTimes { next: None, last: None, resync: now + options.resync_period };
        Self {
            source,
            description,
            options,
            last_list: LastList::default(),
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
        self.last_list.known(Freshness::ANY)
    }

    /// Whether a list may answer several Services with fewer requests than calls about them. Where all load balancers are one object, a
    /// call about several reads it once.
    pub(super) fn spare_requests(&self) -> bool {
        !self.description.now().load_balancers_are_one
    }

    /// How many calls the newest list took.
    pub(super) fn pages(&self) -> usize {
        self.newest().map_or(1, |it| it.pages)
    }

    /// The newest list, if it is so fresh.
    pub(super) fn known(&self, freshness: Freshness) -> Option<Arc<Snapshot>> {
        self.last_list.known(freshness)
    }

    /// A list that is so fresh: the newest, one that is under way, or a new one.
    pub(super) async fn get(&self, freshness: Freshness) -> Result<Arc<Snapshot>> {
        self.last_list.get(freshness, listing::read(&*self.source)).await.map(|(list, _)| list)
    }

    /// How long a Service that waits for the cloud is left to the lists, although its provider's pause is over.
    pub(super) fn leaves(&self, waiting: &WaitingService<'_>, now: Instant) -> Option<Duration> {
        let next = self.next().filter(|_| waiting.due <= now)?;
        let is_left = is_left_to_lists(waiting, self.newest().as_deref(), now);
        is_left.then(|| next.saturating_duration_since(now) + RECHECK)
    }

    /// How fresh the reads of a list have to be to answer a call too, which needs a list so fresh; `None` if there is none. So many
    /// Services are about to be created, or are asked about for the first time, if this is one of them: then one list is read for
    /// all of them.
    pub(super) async fn answer(&self, freshness: Freshness, together: usize) -> Option<Freshness> {
        // Those who come while a list is read are answered by it too, however long it takes.
        let freshness = freshness.asked_at(Instant::now());
        if self.known(freshness).is_some() {
            return Some(freshness);
        }
        if !self.spare_requests() || !is_worth_it(together, self.pages()) {
            return None;
        }
        self.get(freshness).await.is_ok().then_some(freshness)
    }

    /// When the next list may be tried, if the last one failed.
    pub(super) fn failed_until(&self) -> Option<Instant> {
        self.last_list.failed_until()
    }

    /// When a list is due for those who wait; `None` also if the last one failed.
    pub(super) fn next(&self) -> Option<Instant> {
        self.state().next.filter(|_| self.failed_until().is_none())
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

    fn state(&self) -> MutexGuard<'_, ListTimes> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use cloud_provider::{Description, InventoryPage, Reply};
    use scripted_cloud::ScriptedCloud;

    use super::*;

    #[tokio::test]
    async fn no_list_is_read_for_many_that_are_one_object() {
        for are_one in [false, true] {
            let cloud = Arc::new(ScriptedCloud::default());
            cloud.list_load_balancers.answers(|_| Reply::from(Ok(InventoryPage::default())));
            let description = Arc::new(Description { load_balancers_are_one: are_one, ..Description::default() });
            let lists = LoadBalancerLists::new(cloud.clone(), description.into(), Options::default(), Instant::now());
            let answers = lists.answer(Freshness::ANY, 20).await.is_some();
            assert_eq!((answers, cloud.list_load_balancers.calls().len()), (!are_one, usize::from(!are_one)));
            lists.get(Freshness::ANY).await.unwrap();
            assert!(lists.answer(Freshness::ANY, 20).await.is_some(), "one that was read for something else serves");
        }
    }
}
