//! How many machines are asked for at once: as many as the provider can give, unless the cloud could not lately; and how
//! many calls a list takes.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

/// How long a smaller size is used that worked where a larger one did not, and how long a list's pages count.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// The page size of the next list.
#[derive(Debug, Default)]
pub(super) struct PageSize {
    /// A size that worked where a larger one did not, if that was so in the last list.
    smaller: Mutex<Option<Smaller>>,
    /// How many pages the last complete list had, and when it ended.
    pages: Mutex<Option<(usize, Instant)>>,
}

/// A size that worked where a larger one did not.
#[derive(Clone, Copy, Debug)]
struct Smaller {
    size: u32,
    since: Instant,
    /// Whether it was so in two lists in a row. One alone may have begun while the cloud answered nothing, whatever the size.
    is_used: bool,
}

impl PageSize {
    /// The size to begin with, of a provider that can give pages of `whole`.
    pub(super) fn at(&self, whole: u32, now: Instant) -> u32 {
        let whole = whole.max(1);
        match *self.smaller() {
            Some(it) if it.is_used && now.saturating_duration_since(it.since) < REMEMBERED => it.size.min(whole),
            Some(_) | None => whole,
        }
    }

    /// How many calls a list is likely to take in a cluster with so many nodes: as many as the last complete one of the
    /// last hour, and no fewer than the nodes fill. An account may have many more machines than one cluster has nodes.
    pub(super) fn pages(&self, nodes: usize, whole: u32, now: Instant) -> usize {
        let last = *self.last_pages();
        let last = last.filter(|(_, at)| now.saturating_duration_since(*at) < REMEMBERED).map_or(0, |(pages, _)| pages);
        last.max(nodes.div_ceil(usize::try_from(self.at(whole, now)).unwrap_or(usize::MAX)))
    }

    /// Remembers the size with which a list ended, and its pages if it was complete. One that failed says nothing about
    /// sizes.
    pub(super) fn ended(&self, size: u32, whole: u32, succeeded: bool, pages: Option<usize>, now: Instant) {
        let mut smaller = self.smaller();
        *smaller = match *smaller {
            _ if !succeeded || size >= whole => None,
            Some(it) if it.is_used && it.size == size && now.saturating_duration_since(it.since) < REMEMBERED => {
                Some(it)
            }
            before => Some(Smaller { size, since: now, is_used: before.is_some() }),
        };
        let is_last = smaller.is_some_and(|it| !it.is_used);
        drop(smaller);
        if let Some(pages) = pages {
            // The next list begins with whole pages again.
            let part = |it: u32| usize::try_from(it.max(1)).unwrap_or(usize::MAX);
            let next = if is_last { pages.saturating_mul(part(size)).div_ceil(part(whole)) } else { pages };
            *self.last_pages() = Some((next, now));
        }
    }

    fn last_pages(&self) -> MutexGuard<'_, Option<(usize, Instant)>> {
        self.pages.lock()
    }

    fn smaller(&self) -> MutexGuard<'_, Option<Smaller>> {
        self.smaller.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_size_that_worked_is_used_for_an_hour() {
        let (size, start) = (PageSize::default(), Instant::now());
        let minute = |it: u64| start + Duration::from_secs(60 * it);
        assert_eq!(size.at(200, start), 200);
        size.ended(25, 200, false, None, start);
        assert_eq!(size.at(200, start), 200, "no size worked");
        size.ended(50, 200, true, None, start);
        assert_eq!(size.at(200, start), 200, "perhaps no size worked while the list began");
        size.ended(50, 200, true, None, start);
        assert_eq!(size.at(200, start), 50);
        size.ended(50, 200, true, None, minute(30));
        assert_eq!((size.at(200, minute(59)), size.at(200, minute(60))), (50, 200));
        size.ended(200, 200, true, None, minute(60));
        assert_eq!(size.at(200, minute(60)), 200);
        size.ended(50, 200, true, None, minute(61));
        size.ended(50, 200, true, None, minute(61));
        size.ended(6, 200, false, None, minute(62));
        assert_eq!(size.at(200, minute(62)), 200);
        assert_eq!(PageSize::default().at(0, start), 1);
        size.ended(50, 200, true, None, minute(63));
        size.ended(50, 200, true, None, minute(63));
        assert_eq!(size.at(20, minute(64)), 20, "another version of the provider gives smaller pages");
    }

    #[test]
    fn a_list_costs_the_pages_of_the_last_complete_one() {
        let (size, start) = (PageSize::default(), Instant::now());
        assert_eq!(
            [0, 1, 200, 201, 1000].map(|nodes| size.pages(nodes, 200, start)),
            [0, 1, 1, 2, 5],
            "nothing is known"
        );
        size.ended(200, 200, true, Some(50), start);
        size.ended(200, 200, true, None, start);
        size.ended(200, 200, false, None, start);
        assert_eq!(size.pages(100, 200, start + REMEMBERED / 2), 50, "the account has 10,000 machines");
        assert_eq!(size.pages(100, 200, start + REMEMBERED), 1, "it may have shrunk since");
        size.ended(12, 50, true, Some(9), start);
        assert_eq!(size.pages(100, 50, start), 3, "the next one begins with whole pages");
        size.ended(12, 50, true, Some(9), start);
        assert_eq!(size.pages(100, 50, start), 9);
    }
}
