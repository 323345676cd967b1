//! The reads of lists: those that go on, by the cursor of their next page, and the newest whole one.

use std::time::Duration;

use cloud_provider::Freshness;
use egress::ListReads;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::call::Earlier;

/// So many lists are remembered. With more, the one that began first is forgotten, and reads again.
const REMEMBERED: usize = 4;
/// A list that takes longer is over.
const LONGEST: Duration = Duration::from_secs(900);

/// How long it is kept in memory what a whole list has read.
const KEPT: Duration = Duration::from_secs(15);

/// The lists of one kind of things.
#[derive(Default)]
pub(super) struct OpenLists {
    /// Those that have a next page.
    going_on: Mutex<Vec<OpenList>>,
    /// The newest that has ended.
    whole: Mutex<Option<OpenList>>,
}

/// One list, from its first page on.
#[derive(Clone)]
pub(super) struct OpenList {
    next: String,
    begun: Instant,
    pub(super) reads: ListReads,
}

impl OpenList {
    /// The answers that serve its next page: those of its earlier pages, and others that were asked for since it began.
    pub(super) fn earlier(&self) -> Earlier {
        Earlier { list: Some(self.reads.clone()), freshness: Freshness::since(self.begun) }
    }
}

impl OpenLists {
    /// A list has come to its end. One that began earlier than the newest changes nothing; of one that was too large to be
    /// remembered, nothing serves.
    pub(super) fn end(&self, list: OpenList) {
        let mut whole = self.whole.lock();
        if whole.as_ref().is_none_or(|it| it.begun <= list.begun) {
            *whole = Some(list).filter(|it| it.reads.is_whole());
        }
    }

    /// The reads of the newest whole list, for a call that comes after it and may rest on answers so fresh.
    pub(super) fn sealed(&self, freshness: Freshness, now: Instant) -> Option<ListReads> {
        let mut whole = self.whole.lock();
        *whole = whole.take().filter(|it| now.saturating_duration_since(it.begun) < KEPT);
        whole.as_ref().filter(|it| freshness.allows(it.begun, now)).map(|it| it.reads.sealed())
    }

    /// The list that goes on with this cursor; a new one without a cursor, and where none is known.
    pub(super) fn take(&self, cursor: Option<&str>, now: Instant) -> OpenList {
        let mut lists = self.lists();
        lists.retain(|it| now.saturating_duration_since(it.begun) < LONGEST);
        let known = cursor.and_then(|cursor| lists.iter().position(|it| it.next == cursor));
        known.map_or_else(
            || OpenList { next: String::new(), begun: now, reads: ListReads::default() },
            |index| lists.swap_remove(index),
        )
    }

    /// A list goes on with this cursor. Where two lists wait with one cursor, the one that began later is kept: a list
    /// must not be answered by what was read before it began.
    pub(super) fn put(&self, mut list: OpenList, next: &str) {
        next.clone_into(&mut list.next);
        let mut lists = self.lists();
        match lists.iter_mut().find(|it| it.next == next) {
            Some(known) if known.begun < list.begun => *known = list,
            Some(_) => {}
            None => {
                if lists.len() >= REMEMBERED {
                    lists.sort_by_key(|it| it.begun);
                    lists.remove(0);
                }
                lists.push(list);
            }
        }
    }

    fn lists(&self) -> MutexGuard<'_, Vec<OpenList>> {
        self.going_on.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_list_goes_on_from_page_to_page() {
        let (lists, start) = (OpenLists::default(), Instant::now());
        let first = lists.take(None, start);
        lists.put(first, "2");
        assert_eq!(lists.take(Some("3"), start + SECOND).begun, start + SECOND, "another list");
        let second = lists.take(Some("2"), start + SECOND);
        assert_eq!(second.begun, start);
        assert_eq!(lists.take(Some("2"), start + SECOND).begun, start + SECOND, "it was taken");
        lists.put(second, "3");
        assert_eq!(lists.take(None, start + SECOND).begun, start + SECOND, "a list begins without a memory");
        assert_eq!(lists.take(Some("3"), start + LONGEST).begun, start + LONGEST, "it took too long");
    }

    #[test]
    fn the_later_of_two_lists_with_one_cursor_is_kept() {
        let (lists, start) = (OpenLists::default(), Instant::now());
        let (early, late) = (lists.take(None, start), lists.take(None, start + SECOND));
        lists.put(early.clone(), "2");
        lists.put(late.clone(), "2");
        assert_eq!(lists.take(Some("2"), start + SECOND).begun, late.begun);
        lists.put(late.clone(), "2");
        lists.put(early, "2");
        assert_eq!(lists.take(Some("2"), start + SECOND).begun, late.begun);
    }

    #[test]
    fn the_newest_whole_list_serves_for_a_while() {
        let (lists, start) = (OpenLists::default(), Instant::now());
        let serves = |freshness, now| lists.sealed(freshness, now).is_some();
        assert!(!serves(Freshness::ANY, start));
        lists.end(lists.take(None, start + SECOND));
        lists.end(lists.take(None, start));
        assert!(serves(Freshness::ANY, start + KEPT), "one that began earlier ended later");
        assert!(serves(Freshness::since(start + SECOND), start + KEPT));
        assert!(!serves(Freshness::after(start + SECOND), start + KEPT), "it began before that had ended");
        assert!(!serves(Freshness::within(SECOND), start + 2 * SECOND));
        assert!(!serves(Freshness::ANY, start + KEPT + SECOND));
    }

    #[test]
    fn few_lists_are_remembered() {
        let (lists, start) = (OpenLists::default(), Instant::now());
        for nth in 0..100_u32 {
            let list = lists.take(None, start + nth * SECOND / 10);
            lists.put(list, &nth.to_string());
        }
        assert_eq!(lists.lists().len(), REMEMBERED);
        assert_eq!(lists.take(Some("99"), start + 10 * SECOND).begun, start + 99 * SECOND / 10);
    }
}
