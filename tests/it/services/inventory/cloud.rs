//! A cloud that can list its load balancers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cloud_provider::{
    Error, InventoryDescription, InventoryItem, InventoryPage, InventoryState, MarkedOwner, Proof, Reply, Result,
};
use tests::rig::FakeCloud;
use tests::wait;

use crate::cloud::Cloud;

/// A cloud with load balancers, which shows of them what a test says.
pub(super) struct Listing {
    pub(super) cloud: Arc<Cloud>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    items: BTreeMap<String, InventoryItem>,
    incomplete: Option<String>,
    is_down: bool,
    is_endless: bool,
    lists: usize,
}

impl Listing {
    /// With revisions, and nothing to show yet.
    pub(super) fn new() -> Arc<Listing> {
        Listing::with(true)
    }

    /// Without revisions.
    pub(super) fn without_revisions() -> Arc<Listing> {
        Listing::with(false)
    }

    fn with(revisions: bool) -> Arc<Listing> {
        let (cloud, state) = (Cloud::new(), Arc::<Mutex<State>>::default());
        cloud.script.describes_inventory(InventoryDescription { page_size: 100, revisions });
        let told = state.clone();
        cloud.script.list_load_balancers.answers_later(move |(cursor, _)| list(told.clone(), cursor));
        Arc::new(Listing { cloud, state })
    }

    /// From now on lists show this one, in the place of one with its memo.
    pub(super) fn shows(&self, item: InventoryItem) {
        let memo = item.memo.clone().expect("it has a memo");
        self.lock().items.insert(memo, item);
    }

    /// From now on lists do not show it.
    pub(super) fn hides(&self, memo: &str) {
        self.lock().items.remove(memo);
    }

    /// From now on lists say that they lack something.
    pub(super) fn is_incomplete(&self) {
        self.lock().incomplete = Some("a zone is silent".to_owned());
    }

    /// From now on there is no list.
    pub(super) fn is_down(&self) {
        self.lock().is_down = true;
    }

    /// From now on lists do not end.
    pub(super) fn is_endless(&self) {
        self.lock().is_endless = true;
    }

    /// How many lists were read.
    pub(super) fn lists(&self) -> usize {
        self.lock().lists
    }

    /// The Services that were asked about right after a list.
    pub(super) fn listed(&self) -> Vec<String> {
        self.cloud.script.listed().into_iter().map(|it| it.owner.name).collect()
    }

    /// Waits for so many lists that begin from now on.
    pub(super) async fn lists_again(&self, times: usize) {
        let before = self.lists();
        let what = format!("{times} more lists");
        wait::until(&what, async || (self.lists() >= before + times).then_some(())).await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn list(told: Arc<Mutex<State>>, cursor: Option<String>) -> Reply<Result<InventoryPage>> {
    // As far away as a cloud is: a list that never ends takes its time too.
    tokio::task::yield_now().await;
    let mut state = lock(&told);
    state.lists += usize::from(cursor.is_none());
    if state.is_down {
        return Reply::from(Err(Error::Unavailable("the cloud lists nothing".to_owned())));
    }
    let items = if cursor.is_none() { state.items.values().cloned().collect() } else { Vec::new() };
    let number = cursor.map_or(0, |it| it.parse::<usize>().expect("our own cursor"));
    let page = InventoryPage {
        items,
        next: state.is_endless.then(|| (number + 1).to_string()),
        incomplete: state.incomplete.clone(),
    };
    Reply::from(Ok(page))
}

/// Something at rest, with its memo and its revision.
pub(super) fn item(memo: &str, revision: Option<&str>) -> InventoryItem {
    let unmarked = InventoryItem::new(format!("load balancer {memo}"), MarkedOwner::default(), Proof::Unique);
    InventoryItem { memo: Some(memo.to_owned()), revision: revision.map(str::to_owned), ..unmarked }
}

/// The same, while the cloud is at work on it.
pub(super) fn changing(memo: &str) -> InventoryItem {
    InventoryItem { state: InventoryState::Changing, ..item(memo, None) }
}

impl FakeCloud for Listing {
    fn offered(self: &Arc<Self>) -> cloud_provider::Cloud {
        cloud_provider::Cloud { load_balancer_inventory: Some(self.cloud.script.clone()), ..self.cloud.offered() }
    }
}

/// How long nothing must happen: several periods.
pub(super) const QUIET: Duration = Duration::from_secs(4);
