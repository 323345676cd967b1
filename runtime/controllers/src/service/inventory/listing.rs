//! Reading all load balancers of the cluster, page after page, and no more of them than a cluster can have.

use std::collections::HashSet;
use std::time::Duration;

use cloud_provider::{Error, InventoryItem, InventoryPage, LoadBalancerInventory, Result};
use tokio::time::Instant;
use tracing::warn;

use crate::cloud_call::{CALL, late};
use crate::service::inventory::snapshot::Snapshot;

/// Items in one list. An honest one has an item or a few for each Service of type LoadBalancer; with 3 KiB an item, all of
/// them have 30 MiB.
const ITEMS: usize = 10_000;
/// Pages of one list: pages without items count too.
const PAGES: usize = 1_000;
/// How long a whole list may take: what takes longer says little about now.
const LIST: Duration = Duration::from_secs(300);

/// Reads all of them. A list over one of its limits is incomplete: what was read of it counts.
///
/// # Errors
///
/// What the provider answered instead of a page.
pub(crate) async fn read(inventory: &dyn LoadBalancerInventory) -> Result<Snapshot> {
    let limit = inventory.description().page_size.max(1);
    let (began, mut content, mut cursor) = (Instant::now(), ListingContent::default(), None);
    loop {
        let Ok(reply) = tokio::time::timeout(CALL, inventory.list(cursor, limit)).await else { return Err(late()) };
        let page = reply.answer?;
        if page.items.len() > usize::try_from(limit).unwrap_or(usize::MAX) {
            return Err(Error::Invalid(format!(
                "the provider lists {} load balancers on one page, and was asked for {limit} at most",
                page.items.len(),
            )));
        }
        cursor = content.add(page);
        if cursor.is_some() && began.elapsed() >= LIST {
            cursor = content.cut(format!("it was not read to its end within {} s", LIST.as_secs()));
        }
        if cursor.is_none() {
            return Ok(content.into_snapshot(began));
        }
    }
}

/// What was read of a list so far.
#[derive(Default)]
struct ListingContent {
    items: Vec<InventoryItem>,
    pages: usize,
    incomplete: Option<String>,
    cursors: HashSet<String>,
}

impl ListingContent {
    /// Takes a page, or as much of it as fits. Returns where the next one begins.
    fn add(&mut self, page: InventoryPage) -> Option<String> {
        let InventoryPage { items, next, incomplete } = page;
        self.pages += 1;
        if self.incomplete.is_none() {
            self.incomplete = incomplete;
        }
        let room = ITEMS - self.items.len();
        let is_too_long = items.len() > room;
        self.items.extend(items.into_iter().take(room));
        if is_too_long {
            return self.cut(format!("it has more than {ITEMS} items"));
        }
        let next = next?;
        if !self.cursors.insert(next.clone()) {
            return self.cut("it leads in a circle: a cursor came twice".to_owned());
        }
        if self.pages == PAGES {
            return self.cut(format!("it has more than {PAGES} pages"));
        }
        Some(next)
    }

    /// Ends the list before its end.
    fn cut(&mut self, because: String) -> Option<String> {
        warn!(
            items = self.items.len(),
            pages = self.pages,
            "the provider's list of load balancers was not read further: {because}; nothing is concluded from what it lacks"
        );
        self.incomplete = Some(because);
        None
    }

    fn into_snapshot(self, began: Instant) -> Snapshot {
        Snapshot::new(self.items, self.incomplete, self.pages, began)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::inventory::snapshot::tests::item;

    fn page(items: usize, next: Option<&str>) -> InventoryPage {
        let items = vec![item("a", None); items];
        InventoryPage { items, next: next.map(str::to_owned), incomplete: None }
    }

    /// Adds pages until the list ends. Returns why it is incomplete, and how many items are in it.
    fn read(pages: impl IntoIterator<Item = InventoryPage>) -> (Option<String>, usize) {
        let mut content = ListingContent::default();
        assert!(pages.into_iter().any(|it| content.add(it).is_none()), "the list never ends");
        let list = content.into_snapshot(Instant::now());
        (list.incomplete.clone(), list.items().len())
    }

    fn endless(items: usize) -> impl Iterator<Item = InventoryPage> {
        (0..).map(move |it: u32| page(items, Some(&it.to_string())))
    }

    #[test]
    fn a_list_that_ends_is_complete() {
        assert_eq!(read([page(2, Some("a")), page(0, Some("b")), page(1, None)]), (None, 3));
    }

    #[test]
    fn a_list_that_never_ends_is_cut() {
        let check = |pages: &mut dyn Iterator<Item = InventoryPage>, because: &str, items: usize| {
            let (incomplete, found) = read(pages);
            assert!(incomplete.as_ref().is_some_and(|it| it.contains(because)), "{incomplete:?}");
            assert_eq!(found, items);
        };
        check(&mut endless(3), "more than 1000 pages", 3_000);
        check(&mut endless(70), "more than 10000 items", ITEMS);
        check(&mut ["a", "b"].into_iter().cycle().map(|it| page(1, Some(it))), "a cursor came twice", 3);
    }

    #[test]
    fn a_page_may_say_that_it_lacks_items() {
        let told = InventoryPage { incomplete: Some("a zone is silent".to_owned()), ..page(1, Some("a")) };
        assert_eq!(read([told, page(1, None)]), (Some("a zone is silent".to_owned()), 2));
    }
}
