//! What one list of the cluster's load balancers showed. No client, no clock, no log.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use cloud_provider::{Error, InventoryItem, InventoryState};
use tokio::time::Instant;

use crate::error::{BackOff, Pause};
use crate::last_list::CloudList;

/// The pauses after lists that failed.
const BACK_OFF: BackOff = BackOff { first: Duration::from_secs(5), longest: Duration::from_secs(60) };

/// What one list showed.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// When the first page was asked for.
    pub(crate) began: Instant,
    /// Why it may lack items.
    pub(crate) incomplete: Option<String>,
    /// How many calls it took.
    pub(crate) pages: usize,
    items: Vec<InventoryItem>,
    /// Where the item with a memo is; `None` if several have it: then none of them is anybody's.
    by_memo: HashMap<String, Option<usize>>,
}

impl CloudList for Snapshot {
    const NAME: &'static str = "load balancers";

    fn began(&self) -> Instant {
        self.began
    }

    fn pause(failures: u32, error: &Error) -> Duration {
        match BACK_OFF.pause(failures, error) {
            Pause::Exactly(pause) => pause,
            Pause::AtLeast(pause) => pause.min(BACK_OFF.longest),
        }
    }
}

impl Snapshot {
    /// A list that begins then, and of which nothing is read yet.
    pub(crate) fn empty(began: Instant) -> Self {
        Self { began, incomplete: None, pages: 0, items: Vec::new(), by_memo: HashMap::new() }
    }

    /// Adds the next item.
    pub(crate) fn add(&mut self, item: InventoryItem) {
        if let Some(memo) = &item.memo {
            match self.by_memo.entry(memo.clone()) {
                Entry::Vacant(entry) => drop(entry.insert(Some(self.items.len()))),
                Entry::Occupied(mut entry) => drop(entry.insert(None)),
            }
        }
        self.items.push(item);
    }

    /// The one item with this memo.
    pub(crate) fn item(&self, memo: &str) -> Option<&InventoryItem> {
        self.by_memo.get(memo).copied().flatten().map(|index| &self.items[index])
    }

    /// All items, in the cloud's order.
    pub(crate) fn items(&self) -> &[InventoryItem] {
        &self.items
    }

    /// Whether several items have this memo.
    pub(crate) fn is_ambiguous(&self, memo: &str) -> bool {
        self.by_memo.get(memo) == Some(&None)
    }
}

/// Whether the cloud is done with it, for good or ill.
pub(crate) fn is_at_rest(item: &InventoryItem) -> bool {
    match item.state {
        InventoryState::Ready | InventoryState::Failed(_) => true,
        InventoryState::Changing => false,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use cloud_provider::{MarkedOwner, Proof};

    use super::*;

    /// An item whose memo is its name, at rest.
    pub(crate) fn item(memo: &str, revision: Option<&str>) -> InventoryItem {
        let unmarked = InventoryItem::new(format!("load balancer {memo}"), MarkedOwner::default(), Proof::Unique);
        InventoryItem { memo: Some(memo.to_owned()), revision: revision.map(str::to_owned), ..unmarked }
    }

    /// A complete list of one page.
    pub(crate) fn snapshot(items: Vec<InventoryItem>, began: Instant) -> Snapshot {
        let mut list = Snapshot { pages: 1, ..Snapshot::empty(began) };
        items.into_iter().for_each(|it| list.add(it));
        list
    }

    /// A list of one page that may lack items, for this reason.
    pub(crate) fn incomplete(items: Vec<InventoryItem>, why: &str, began: Instant) -> Snapshot {
        Snapshot { incomplete: Some(why.to_owned()), ..snapshot(items, began) }
    }

    #[test]
    fn an_item_is_found_by_its_memo_unless_two_have_it() {
        let items = vec![item("a", None), item("b", Some("1")), item("b", Some("2")), item("c", None)];
        let list = snapshot(items, Instant::now());
        assert_eq!(list.item("a").map(|it| &*it.cloud_object), Some("load balancer a"));
        assert_eq!(list.item("b"), None, "neither is proof");
        assert!(list.is_ambiguous("b") && !list.is_ambiguous("a") && !list.is_ambiguous("d"));
        assert_eq!(list.item("d"), None);
    }
}
