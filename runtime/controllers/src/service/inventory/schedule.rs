//! When the load balancers are listed for those who wait for the cloud. No client, no clock, no log.
//!
//! One list answers for all, where each `ensure` would read one. It comes when the provider wants to look at the one that has
//! waited longest, and once it has shown how long the cloud takes, when others are about to be done.

use std::time::Duration;

use cloud_provider::InventoryItem;
use tokio::time::Instant;

use crate::pending;
use crate::service::inventory::snapshot::{Snapshot, is_at_rest};

/// The shortest pause between two lists.
pub(crate) const SHORTEST: Duration = Duration::from_secs(1);
/// Those who are about to be done within so long of one another wait for one list.
const TOGETHER: Duration = Duration::from_secs(5);
/// How much later than the others one may be done: answers differ in how long they are under way.
const MARGIN: Duration = Duration::from_millis(300);
/// What a list showed as being changed is asked about with `ensure` after so long all the same.
pub(crate) const LONGEST: Duration = Duration::from_secs(300);

/// A Service whose load balancer the cloud is busy with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingService<'a> {
    /// What its provider asked to keep.
    pub(crate) memo: &'a str,
    /// When the last call about it ended.
    pub(crate) answered: Instant,
    /// When the last call ended that wrote: what the cloud is busy with began then.
    pub(crate) wrote: Instant,
    /// When its provider wanted to be called again.
    pub(crate) due: Instant,
}

/// The last list, for those who wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Last {
    pub(crate) began: Instant,
    /// How long the cloud takes at most: of those who had come to rest in this list, or in the newest earlier one with any, the
    /// one that was begun last had been waited for so long.
    pub(crate) takes: Option<Duration>,
}

/// Whether lists take fewer requests than asking about each of so many Services.
pub(crate) fn is_worth_it(waiting: usize, pages: usize) -> bool {
    waiting > pages.max(1)
}

/// When the next list is due for these Services; `None` if each is asked about alone.
pub(crate) fn next<'a>(
    waiting: impl IntoIterator<Item = WaitingService<'a>>,
    pages: usize,
    last: Option<Last>,
) -> Option<Instant> {
    let waiting: Vec<_> = waiting.into_iter().collect();
    if !is_worth_it(waiting.len(), pages) {
        return None;
    }
    let asked_for = waiting.iter().map(|it| asked_for(it, last)).min()?;
    let done: Vec<_> = waiting.iter().filter_map(|it| done(it, last?)).collect();
    let next = match done.iter().min() {
        Some(first) => done.iter().copied().filter(|it| *it <= *first + TOGETHER).max()?.min(asked_for),
        None => asked_for,
    };
    Some(last.map_or(next, |last| next.max(last.began + SHORTEST)))
}

/// When its provider wants to look at it. A list is a look.
fn asked_for(it: &WaitingService<'_>, last: Option<Last>) -> Instant {
    let pause = it.due.saturating_duration_since(it.answered);
    match last.and_then(|last| Some((last.began, last.began.checked_duration_since(it.answered)?))) {
        Some((began, waited)) if !waited.is_zero() => {
            let pause = pending::pause(pause, waited, pending::SLOWEST_LOAD_BALANCER);
            // A little longer than the first pause: the second look comes just after a cloud that takes a whole number of pauses is done.
            began + pause + pause / 30
        }
        Some(_) | None => it.due,
    }
}

/// When the cloud is done with it if it takes as long as with the others. One that is late is looked at later and later.
fn done(it: &WaitingService<'_>, last: Last) -> Option<Instant> {
    let done = it.wrote + last.takes? + MARGIN;
    let late = last.began.checked_duration_since(done);
    Some(late.map_or(done, |late| last.began + late.max(SHORTEST)))
}

/// The item of one who waits in a list that began after the last call. Once the cloud is done with it, `ensure` says what became
/// of it.
pub(crate) fn listed<'a>(waiting: &WaitingService<'_>, list: Option<&'a Snapshot>) -> Option<&'a InventoryItem> {
    list.filter(|it| it.began > waiting.answered)?.item(waiting.memo)
}

/// Whether a Service whose provider's pause is over is left to the lists, of which another is under way or due.
pub(crate) fn is_left_to_lists(waiting: &WaitingService<'_>, list: Option<&Snapshot>, now: Instant) -> bool {
    let is_recent = now.saturating_duration_since(waiting.answered) < LONGEST;
    is_recent
        && match listed(waiting, list) {
            Some(item) => !is_at_rest(item),
            // The first list after the last call is still to come.
            None => list.is_none_or(|it| it.began <= waiting.answered),
        }
}

#[cfg(test)]
mod tests {
    use cloud_provider::InventoryState;

    use super::*;
    use crate::service::inventory::snapshot::tests::{item, snapshot};

    const SECOND: Duration = Duration::from_secs(1);

    fn waiting(memo: &str, answered: Instant, pause: Duration) -> WaitingService<'_> {
        WaitingService { memo, answered, wrote: answered, due: answered + pause }
    }

    fn changing(memo: &str) -> InventoryItem {
        InventoryItem { state: InventoryState::Changing, ..item(memo, None) }
    }

    /// Lists until all are at rest that were begun one after the other, so far apart, and take so long. Returns how long after
    /// it was done each was seen at rest, and how many lists it took.
    fn play(apart: Duration, building: impl Fn(u32) -> Duration, pause: Duration) -> (Vec<Duration>, usize) {
        let start = Instant::now();
        let names: Vec<_> = (0..COUNT).map(|it| it.to_string()).collect();
        let begun = |it: u32| start + apart * it;
        let mut left: Vec<u32> = (0..COUNT).collect();
        let (mut last, mut now, mut lists, mut late) = (None, start, 0, Vec::new());
        while !left.is_empty() {
            let of = |it: &u32| waiting(&names[*it as usize], begun(*it), pause);
            let known: Vec<_> = left.iter().filter(|it| begun(**it) <= now).map(of).collect();
            let due = next(known, 1, last);
            // The next one begins before the list is due.
            let coming = left.iter().map(|it| begun(*it)).find(|it| *it > now);
            if let Some(coming) = coming.filter(|it| due.is_none_or(|due| *it <= due)) {
                now = coming;
                continue;
            }
            // The last one, if it is alone, is asked about alone.
            let Some(due) = due else { break };
            now = now.max(due);
            let (rested, still): (Vec<u32>, Vec<u32>) = left.iter().partition(|it| begun(**it) + building(**it) <= now);
            late.extend(rested.iter().map(|it| now - begun(*it) - building(*it)));
            let earlier = last.and_then(|it: Last| it.takes);
            last = Some(Last { began: now, takes: rested.iter().map(|it| now - begun(*it)).min().or(earlier) });
            left = still;
            lists += 1;
        }
        (late, lists)
    }

    const COUNT: u32 = 200;

    fn longest(late: &[Duration]) -> Duration {
        late.iter().copied().max().unwrap()
    }

    #[test]
    fn two_hundred_services_of_30_seconds_take_three_lists() {
        // 200 creations at 250 a second, of which eight are in flight at once, and at the 20 a second of the default.
        for (apart, most) in [(10, 3), (50, 4)] {
            let (late, lists) = play(Duration::from_millis(apart), |_| 30 * SECOND, 15 * SECOND);
            assert!(lists <= most, "{lists} lists");
            assert!(late[late.len() - 1] <= SECOND / 2, "the last was served {:?} late", late[late.len() - 1]);
            assert!(longest(&late) <= TOGETHER + SECOND, "one was served {:?} late", longest(&late));
        }
    }

    #[test]
    fn a_cloud_that_takes_any_time_is_looked_at_seldom() {
        for seconds in [1, 7, 29, 31, 44, 47, 59, 120] {
            let (late, lists) = play(Duration::from_millis(20), |_| SECOND * seconds, 15 * SECOND);
            let looks = seconds as usize / 15 + 4;
            assert!(lists <= looks, "{lists} lists for {seconds} s");
            assert!(longest(&late) <= 16 * SECOND, "{:?} late for {seconds} s", longest(&late));
        }
    }

    #[test]
    fn one_that_takes_longer_than_others_is_looked_at_less_often() {
        let slow = |it| if it == 7 { 120 * SECOND } else { 30 * SECOND };
        let (late, lists) = play(Duration::from_millis(10), slow, 15 * SECOND);
        assert!(lists <= 3, "{lists} lists");
        assert!(longest(&late) <= 16 * SECOND);
        let differ = |it: u32| 20 * SECOND + SECOND * (it % 40);
        let (late, lists) = play(Duration::from_millis(10), differ, 15 * SECOND);
        assert!(lists <= 30, "{lists} lists for {COUNT} that take from 20 s to 60 s");
        assert!(longest(&late) <= 16 * SECOND);
    }

    #[test]
    fn a_list_that_is_due_soon_is_due_later_and_later() {
        let soon = Duration::from_millis(500);
        for (seconds, most) in [(1, 3), (60, 18)] {
            let (late, lists) = play(Duration::ZERO, |_| SECOND * seconds, soon);
            assert!(lists <= most, "{lists} lists for {seconds} s");
            assert!(longest(&late) <= 6 * SECOND, "{:?} late for {seconds} s", longest(&late));
        }
    }

    #[test]
    fn one_alone_is_asked_about_alone() {
        let now = Instant::now();
        let one = waiting("a", now, SECOND);
        assert_eq!(next([one], 1, None), None);
        assert_eq!(next([one, one], 1, None), Some(now + SECOND));
        assert_eq!(next([one, one], 2, None), None, "two pages are two requests");
        assert_eq!(next([], 1, None), None);
    }

    #[test]
    fn a_list_comes_when_the_provider_wants_to_look() {
        let (now, pause) = (Instant::now(), 15 * SECOND);
        let (old, young) = (waiting("a", now, pause), waiting("b", now + 10 * SECOND, pause));
        let last = |began, takes| Some(Last { began, takes });
        assert_eq!(next([young, old], 1, None), Some(now + pause));
        assert_eq!(next([young, old], 1, last(now + 5 * SECOND, None)), Some(now + 20 * SECOND + pause / 30));
        assert_eq!(next([young, old], 1, last(now + pause, None)), Some(now + 2 * pause + pause / 30), "one for both");
        let quick = waiting("c", now, Duration::from_millis(500));
        assert_eq!(next([quick, quick], 1, last(now, None)), Some(now + SECOND), "never one after the other");
    }

    #[test]
    fn a_list_comes_when_others_are_about_to_be_done() {
        let (now, pause) = (Instant::now(), 60 * SECOND);
        let begun = |seconds| waiting("a", now + seconds * SECOND, pause);
        let last = |began| Some(Last { began: now + began * SECOND, takes: Some(30 * SECOND) });
        assert_eq!(
            next([begun(10), begun(14), begun(17)], 1, last(31)),
            Some(now + 44 * SECOND + MARGIN),
            "two at once"
        );
        let late = |began| next([begun(0), begun(0)], 1, last(began)).unwrap() - now - began * SECOND;
        assert_eq!([31, 32, 34].map(late), [1_000, 1_700, 3_700].map(Duration::from_millis), "later and later");
        assert_eq!(next([begun(0), begun(0)], 1, last(95)), Some(now + 157 * SECOND), "at the provider's pace at most");
        let written_long_ago = WaitingService { answered: now + 40 * SECOND, due: now + 100 * SECOND, ..begun(14) };
        assert_eq!(next([written_long_ago, begun(14)], 1, last(31)), Some(now + 44 * SECOND + MARGIN));
    }

    #[test]
    fn a_load_balancer_listed_as_changing_is_not_asked_about() {
        let now = Instant::now();
        let one = waiting("a", now, SECOND);
        let shown = |items, at| snapshot(items, now + at);
        let left = |list: &Snapshot, at| is_left_to_lists(&one, Some(list), now + at);
        let changing = shown(vec![changing("a")], 2 * SECOND);
        assert!(left(&changing, 3 * SECOND));
        assert!(!left(&changing, LONGEST), "not for ever");
        assert!(!left(&shown(vec![item("a", None)], 2 * SECOND), 3 * SECOND), "it is at rest");
        assert!(!left(&shown(Vec::new(), 2 * SECOND), 3 * SECOND), "absence says nothing");
        assert!(left(&shown(Vec::new(), Duration::ZERO), 3 * SECOND), "that list is older than the last call");
        assert!(is_left_to_lists(&one, None, now + 3 * SECOND), "the first list comes");
    }

    #[test]
    fn a_list_wakes_those_who_are_at_rest_in_it() {
        let now = Instant::now();
        let (one, later) = (waiting("a", now, SECOND), now + SECOND);
        let rests = |items, began| listed(&one, Some(&snapshot(items, began))).map(is_at_rest);
        assert_eq!(rests(vec![item("a", None)], later), Some(true));
        assert_eq!(rests(vec![item("a", None)], now), None, "from before the call");
        let failed = InventoryItem { state: InventoryState::Failed("no".to_owned()), ..item("a", None) };
        assert_eq!(rests(vec![failed], later), Some(true));
        assert_eq!(rests(vec![changing("a")], later), Some(false));
        assert_eq!(rests(vec![item("a", None), item("a", None)], later), None, "two have its memo");
    }
}
