//! The reads of lists of machines that go on, by the cursor of their next page.

use std::time::Duration;

use egress::ListReads;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

/// So many lists are remembered. With more, the one that began first is forgotten, and reads again.
const REMEMBERED: usize = 4;
/// A list that takes longer is over.
const LONGEST: Duration = Duration::from_secs(900);

/// How long what a whole list has read may answer other calls.
const RECENT: Duration = Duration::from_secs(15);

/// The lists that have a next page.
#[derive(Default)]
pub(super) struct Lists(Mutex<Vec<List>>);

/// The reads of the newest whole list, for a while after it.
#[derive(Default)]
pub(super) struct Newest(Mutex<Option<(ListReads, Instant)>>);

impl Newest {
    /// A list has come to its end. One that began earlier than the newest changes nothing; of one that was too large to be
    /// remembered, nothing serves.
    pub(super) fn put(&self, list: &List) {
        let mut newest = self.0.lock();
        if newest.as_ref().is_none_or(|(_, begun)| *begun <= list.begun) {
            *newest = list.reads.is_whole().then(|| (list.reads.clone(), list.begun));
        }
    }

    /// The list's reads, for a call that comes after it; nothing if it began too long ago.
    pub(super) fn sealed(&self, now: Instant) -> Option<ListReads> {
        let mut newest = self.0.lock();
        *newest = newest.take().filter(|(_, begun)| now.saturating_duration_since(*begun) < RECENT);
        newest.as_ref().map(|(reads, _)| reads.sealed())
    }
}

/// One list, from its first page on.
#[derive(Clone)]
pub(super) struct List {
    next: String,
    begun: Instant,
    pub(super) reads: ListReads,
}

impl Lists {
    /// The list that goes on with this cursor; a new one without a cursor, and where none is known.
    pub(super) fn take(&self, cursor: Option<&str>, now: Instant) -> List {
        let mut lists = self.lists();
        lists.retain(|it| now.saturating_duration_since(it.begun) < LONGEST);
        let known = cursor.and_then(|cursor| lists.iter().position(|it| it.next == cursor));
        known.map_or_else(
            || List { next: String::new(), begun: now, reads: ListReads::default() },
            |index| lists.swap_remove(index),
        )
    }

    /// A list goes on with this cursor. Where two lists wait with one cursor, the one that began later is kept: a list
    /// must not be answered by what was read before it began.
    pub(super) fn put(&self, mut list: List, next: &str) {
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

    fn lists(&self) -> MutexGuard<'_, Vec<List>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_list_goes_on_from_page_to_page() {
        let (lists, start) = (Lists::default(), Instant::now());
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
    fn of_two_lists_with_one_cursor_the_later_one_is_kept() {
        let (lists, start) = (Lists::default(), Instant::now());
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
        let (lists, newest, start) = (Lists::default(), Newest::default(), Instant::now());
        assert!(newest.sealed(start).is_none());
        newest.put(&lists.take(None, start + SECOND));
        newest.put(&lists.take(None, start));
        assert!(newest.sealed(start + RECENT).is_some(), "one that began earlier ended later");
        assert!(newest.sealed(start + RECENT + SECOND).is_none());
    }

    #[test]
    fn few_lists_are_remembered() {
        let (lists, start) = (Lists::default(), Instant::now());
        for nth in 0..100_u32 {
            let list = lists.take(None, start + nth * SECOND / 10);
            lists.put(list, &nth.to_string());
        }
        assert_eq!(lists.lists().len(), REMEMBERED);
        assert_eq!(lists.take(Some("99"), start + 10 * SECOND).begun, start + 99 * SECOND / 10);
    }
}
