//! When the load balancers are listed for those who wait for the cloud. No client, no clock, no log.
//!
//! One list answers for all, where each `ensure` would read one. It comes when the first provider's pause ends, and again
//! every five seconds at most; once some have come to rest, others of their age are about to, and it comes each second.

use std::time::Duration;

use tokio::time::Instant;

use crate::service::inventory::snapshot::{Snapshot, is_at_rest};

/// The pause between two lists, while nothing comes to rest. A little longer than whole seconds: clouds take whole seconds.
const STEP: Duration = Duration::from_secs(5);
/// The shortest pause between two lists, and the pause after a list that had news.
pub(crate) const SHORTEST: Duration = Duration::from_secs(1);
/// Whoever has waited for longer is waited for at the provider's own pace.
const LONG: Duration = Duration::from_secs(120);
/// What a list showed as being changed is asked about with `ensure` after so long all the same.
pub(crate) const LONGEST: Duration = Duration::from_secs(300);

/// A Service whose load balancer the cloud is busy with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting<'a> {
    /// What its provider asked to keep.
    pub(crate) memo: &'a str,
    /// When the last call about it ended.
    pub(crate) answered: Instant,
    /// When its provider wanted to be called again.
    pub(crate) due: Instant,
    /// Since when it waits.
    pub(crate) since: Instant,
    /// Whether a list showed it at rest before the last call, which said otherwise: then lists say nothing about it.
    pub(crate) is_doubtful: bool,
}

/// The last list, for those who wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Last {
    pub(crate) began: Instant,
    /// Whether somebody who waited was at rest in it.
    pub(crate) news: bool,
}

/// Whether lists take fewer requests than asking about each of so many Services.
pub(crate) fn is_worth_it(waiting: usize, pages: usize) -> bool {
    waiting > pages.max(1)
}

/// When the next list is due for these Services; `None` if each is asked about alone.
pub(crate) fn next<'a>(
    waiting: impl IntoIterator<Item = Waiting<'a>>,
    pages: usize,
    last: Option<Last>,
    now: Instant,
) -> Option<Instant> {
    let (mut count, mut first, mut pause, mut is_young) = (0, None::<Instant>, None::<Duration>, false);
    for it in waiting.into_iter().filter(|it| !it.is_doubtful) {
        count += 1;
        first = Some(first.map_or(it.due, |first| first.min(it.due)));
        let own = it.due.saturating_duration_since(it.answered);
        pause = Some(pause.map_or(own, |pause| pause.min(own)));
        is_young |= now.saturating_duration_since(it.since) < LONG;
    }
    let (first, pause) = (first?, pause?);
    if !is_worth_it(count, pages) {
        return None;
    }
    let Some(last) = last else { return Some(first) };
    let soonest = last.began + SHORTEST;
    if last.began < first {
        return Some(first.max(soonest));
    }
    Some(if last.news { soonest } else { last.began + step(pause, count, is_young) })
}

/// The pause without news: no more lists than there would have been other reads.
fn step(pause: Duration, count: usize, is_young: bool) -> Duration {
    let most = if is_young { STEP } else { pause };
    let share = pause / u32::try_from(count).unwrap_or(u32::MAX).max(1);
    let step = pause.min(most).max(share).max(SHORTEST);
    step + step / 20
}

/// What a list says about one who waits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Word {
    /// The cloud is done: `ensure` says what became of it.
    AtRest,
    /// The cloud is at work on it.
    Changing,
    /// Nothing: it is older than the last call, lacks the item, or was wrong before.
    Nothing,
}

/// What a list says about one who waits.
pub(crate) fn word(waiting: &Waiting<'_>, list: Option<&Snapshot>) -> Word {
    let newer = list.filter(|it| it.began > waiting.answered && !waiting.is_doubtful);
    match newer.and_then(|it| it.item(waiting.memo)) {
        Some(item) if is_at_rest(item) => Word::AtRest,
        Some(_) => Word::Changing,
        None => Word::Nothing,
    }
}

/// Whether a Service whose provider's pause is over is left to the lists. `comes` says that another list is under way or
/// due, and the last one did not fail.
pub(crate) fn is_left_to_lists(waiting: &Waiting<'_>, list: Option<&Snapshot>, comes: bool, now: Instant) -> bool {
    let is_recent = now.saturating_duration_since(waiting.answered) < LONGEST;
    comes
        && is_recent
        && match word(waiting, list) {
            Word::AtRest => false,
            Word::Changing => true,
            // The first list after the last call is still to come.
            Word::Nothing => !waiting.is_doubtful && list.is_none_or(|it| it.began <= waiting.answered),
        }
}

#[cfg(test)]
mod tests {
    use cloud_provider::{InventoryItem, InventoryState};

    use super::*;
    use crate::service::inventory::snapshot::tests::{item, snapshot};

    const SECOND: Duration = Duration::from_secs(1);

    fn waiting(memo: &str, answered: Instant, pause: Duration) -> Waiting<'_> {
        Waiting { memo, answered, due: answered + pause, since: answered, is_doubtful: false }
    }

    fn changing(memo: &str) -> InventoryItem {
        InventoryItem { state: InventoryState::Changing, ..item(memo, None) }
    }

    /// Lists until all are at rest that take `building` and were begun within `spread`. Returns when, and how many lists
    /// it took.
    fn play(count: u32, spread: Duration, building: Duration, pause: Duration) -> (Duration, usize) {
        let start = Instant::now();
        let names: Vec<_> = (0..count).map(|it| it.to_string()).collect();
        let mut left: Vec<_> =
            (0..count).map(|it| waiting(&names[it as usize], start + spread * it / count, pause)).collect();
        let (mut last, mut now, mut lists) = (None, start, 0);
        while !left.is_empty() {
            now = now.max(next(left.iter().copied(), 1, last, now).expect("a list serves all of them"));
            let before = left.len();
            left.retain(|it| it.answered + building > now);
            last = Some(Last { began: now, news: left.len() < before });
            lists += 1;
        }
        (now - start, lists)
    }

    #[test]
    fn two_hundred_services_of_30_seconds_take_six_lists() {
        for pause in [5, 15] {
            let (ended, lists) = play(200, SECOND, 30 * SECOND, pause * SECOND);
            assert!(lists <= 6, "{lists} lists with a pause of {pause} s");
            assert!(ended <= Duration::from_secs_f64(32.5), "{ended:?} with a pause of {pause} s");
        }
    }

    #[test]
    fn a_slow_burst_is_followed_second_by_second() {
        let (ended, lists) = play(200, 10 * SECOND, 30 * SECOND, 15 * SECOND);
        assert!(ended <= 41 * SECOND, "{ended:?}");
        assert!(lists <= 16, "{lists} lists");
    }

    #[test]
    fn one_alone_is_asked_about_alone() {
        let now = Instant::now();
        let one = waiting("a", now, SECOND);
        assert_eq!(next([one], 1, None, now), None);
        assert_eq!(next([one, one], 1, None, now), Some(now + SECOND));
        assert_eq!(next([one, one], 2, None, now), None, "two pages are two requests");
        assert_eq!(next([one, Waiting { is_doubtful: true, ..one }], 1, None, now), None);
        assert_eq!(next([], 1, None, now), None);
    }

    #[test]
    fn lists_are_no_more_than_the_reads_they_replace() {
        let (now, pause) = (Instant::now(), 15 * SECOND);
        let last = |began| Some(Last { began, news: false });
        let due = |count, now: Instant| {
            let all = vec![waiting("a", now - 2 * pause, pause); count];
            next(all, 1, last(now), now).unwrap() - now
        };
        assert_eq!(due(2, now + 2 * pause), Duration::from_millis(7_875));
        assert_eq!(due(50, now + 2 * pause), STEP + STEP / 20);
        let old = Waiting { since: now, ..waiting("a", now + LONG - pause, pause) };
        let later = now + LONG;
        assert_eq!(next([old, old], 1, last(later), later), Some(later + pause + pause / 20), "it has waited for long");
    }

    #[test]
    fn what_a_list_shows_as_changing_is_not_asked_about() {
        let now = Instant::now();
        let one = waiting("a", now, SECOND);
        let shown = |items, at| snapshot(items, now + at);
        let left = |list: &Snapshot, at| is_left_to_lists(&one, Some(list), true, now + at);
        let changing = shown(vec![changing("a")], 2 * SECOND);
        assert!(left(&changing, 3 * SECOND));
        assert!(!left(&changing, LONGEST), "not for ever");
        assert!(!is_left_to_lists(&one, Some(&changing), false, now + 3 * SECOND), "no list comes any more");
        assert!(!left(&shown(vec![item("a", None)], 2 * SECOND), 3 * SECOND), "it is at rest");
        assert!(!left(&shown(Vec::new(), 2 * SECOND), 3 * SECOND), "absence says nothing");
        assert!(left(&shown(Vec::new(), Duration::ZERO), 3 * SECOND), "that list is older than the last call");
        assert!(is_left_to_lists(&one, None, true, now + 3 * SECOND), "the first list comes");
        let doubtful = Waiting { is_doubtful: true, ..one };
        assert!(!is_left_to_lists(&doubtful, Some(&changing), true, now + 3 * SECOND), "a list was wrong about it");
    }

    #[test]
    fn a_list_wakes_those_who_are_at_rest_in_it() {
        let now = Instant::now();
        let (one, later) = (waiting("a", now, SECOND), now + SECOND);
        assert_eq!(word(&one, Some(&snapshot(vec![item("a", None)], later))), Word::AtRest);
        assert_eq!(word(&one, Some(&snapshot(vec![item("a", None)], now))), Word::Nothing, "from before the call");
        let failed = InventoryItem { state: InventoryState::Failed("no".to_owned()), ..item("a", None) };
        assert_eq!(word(&one, Some(&snapshot(vec![failed], later))), Word::AtRest);
        assert_eq!(word(&one, Some(&snapshot(vec![changing("a")], later))), Word::Changing);
        let two = snapshot(vec![item("a", None), item("a", None)], later);
        assert_eq!(word(&one, Some(&two)), Word::Nothing, "two have its memo");
    }
}
