//! Reading all load balancers of the cluster, page after page, and no more of them than a cluster can have.

use std::collections::HashSet;
use std::time::Duration;

use cloud_provider::{Error, InventoryPage, LoadBalancerInventory, Result};
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
    let (mut list, mut cursors, mut cursor) = (Snapshot::empty(Instant::now()), HashSet::new(), None);
    loop {
        let Ok(reply) = tokio::time::timeout(CALL, inventory.list(cursor, limit)).await else { return Err(late()) };
        let page = reply.answer?;
        if page.items.len() > usize::try_from(limit).unwrap_or(usize::MAX) {
            return Err(Error::Invalid(format!(
                "the provider lists {} load balancers on one page, and was asked for {limit} at most",
                page.items.len(),
            )));
        }
        cursor = add(&mut list, &mut cursors, page);
        if cursor.is_some() && list.began.elapsed() >= LIST {
            cursor = cut(&mut list, format!("it was not read to its end within {} s", LIST.as_secs()));
        }
        if cursor.is_none() {
            return Ok(list);
        }
    }
}

/// Takes a page, or as much of it as fits. Returns where the next one begins; `cursors` are those of the pages before.
fn add(list: &mut Snapshot, cursors: &mut HashSet<String>, page: InventoryPage) -> Option<String> {
    let InventoryPage { items, next, incomplete } = page;
    list.pages += 1;
    if list.incomplete.is_none() {
        list.incomplete = incomplete;
    }
    let room = ITEMS - list.items().len();
    let is_too_long = items.len() > room;
    items.into_iter().take(room).for_each(|it| list.add(it));
    if is_too_long {
        return cut(list, format!("it has more than {ITEMS} items"));
    }
    let next = next?;
    if !cursors.insert(next.clone()) {
        return cut(list, "it leads in a circle: a cursor came twice".to_owned());
    }
    if list.pages == PAGES {
        return cut(list, format!("it has more than {PAGES} pages"));
    }
    Some(next)
}

/// Ends a list before its end.
fn cut(list: &mut Snapshot, because: String) -> Option<String> {
    warn!(
        items = list.items().len(),
        pages = list.pages,
        "the provider's list of load balancers was not read further: {because}; nothing is concluded from what it lacks"
    );
    list.incomplete = Some(because);
    None
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
        let (mut list, mut cursors) = (Snapshot::empty(Instant::now()), HashSet::new());
        assert!(pages.into_iter().any(|it| add(&mut list, &mut cursors, it).is_none()), "the list never ends");
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
