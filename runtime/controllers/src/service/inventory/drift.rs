//! Whether a load balancer that was as desired still is, as far as a list tells. No client, no clock, no log.
//!
//! A `ready` is proven again by the revision that a list showed when it was asked for. Where the process remembers
//! nothing, the Service does: a condition in its status, where its authors cannot write, has a hash of what was asked for
//! and that revision.
//!
//! An outline is less: the list does not show all that was asked for. It spares a question only if one was answered while lists showed
//! the same, and for some hours. It is kept nowhere: a new process asks about each.

use std::time::Duration;

use cloud_provider::InventoryState;
use sha256::Digest;
use tokio::time::Instant;

use crate::service::inventory::snapshot::Snapshot;

/// How long one question spares others at least and at most, while lists show the same outline.
const SPARED: (Duration, Duration) = (Duration::from_hours(9), Duration::from_hours(15));
/// Answers that a call may rest on are younger than this when it begins.
const READS: Duration = Duration::from_secs(5);

/// What a list says of a load balancer that was as desired.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Finding {
    /// It is as it was.
    Proven,
    /// It has changed, is gone, or was given up.
    Drifted,
    /// The list does not tell.
    Unknown,
}

/// What a list says of the load balancer with this memo. `revision` is the one that its `ready` was seen with.
pub(crate) fn finding(memo: Option<&str>, revision: Option<&str>, list: &Snapshot) -> Finding {
    // Nobody is spared an `ensure` by a list that may lack something: it may also show something of another day.
    let Some(memo) = memo.filter(|_| list.incomplete.is_none()) else { return Finding::Unknown };
    match list.item(memo) {
        None if list.is_ambiguous(memo) => Finding::Unknown,
        // What was listed before is listed no more.
        None if revision.is_some() => Finding::Drifted,
        None => Finding::Unknown,
        Some(item) => match (&item.state, &item.revision) {
            (InventoryState::Changing, _) => Finding::Unknown,
            (InventoryState::Failed(_), _) => Finding::Drifted,
            (InventoryState::Ready, None) => Finding::Unknown,
            (InventoryState::Ready, Some(listed)) if revision == Some(listed) => Finding::Proven,
            (InventoryState::Ready, Some(_)) => Finding::Drifted,
        },
    }
}

/// The revision with which a list shows the load balancer that has this memo at rest.
pub(crate) fn revision<'a>(memo: Option<&str>, list: &'a Snapshot) -> Option<&'a str> {
    let item = list.item(memo?).filter(|it| it.state == InventoryState::Ready)?;
    item.revision.as_deref()
}

/// The outline with which a list shows the load balancer that has this memo at rest.
pub(crate) fn outline<'a>(memo: Option<&str>, list: &'a Snapshot) -> Option<&'a str> {
    let item = list.item(memo?).filter(|it| list.incomplete.is_none() && it.state == InventoryState::Ready)?;
    item.outline.as_deref()
}

/// An outline that lists show, and when the first of them began that have shown it with no other one and no write of ours between.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Outlined {
    outline: String,
    since: Instant,
}

impl Outlined {
    /// After a list that began then and shows this one, if any. `wrote`: when we changed the load balancer last. What was put right since a list
    /// is not as that list showed it: who makes the same change once more must not be believed.
    pub(crate) fn after(
        before: Option<Self>,
        listed: Option<&str>,
        began: Instant,
        wrote: Option<Instant>,
    ) -> Option<Self> {
        let outline = listed?;
        let same = before.filter(|it| it.outline == outline && wrote.is_none_or(|wrote| wrote < it.since));
        Some(same.unwrap_or_else(|| Self { outline: outline.to_owned(), since: began }))
    }

    /// Whether a question about the Service with this UID that was asked then, and whose answer was that all is as desired, spares one now.
    pub(crate) fn spares(&self, asked: Instant, now: Instant, uid: &str) -> bool {
        self.since + READS <= asked && now < asked + spared(uid)
    }
}

/// How long one question about a Service spares others: all are asked about in the first period of a process, and must not be due together.
fn spared(uid: &str) -> Duration {
    let (least, most) = SPARED;
    least + place_in(most.saturating_sub(least), uid)
}

/// When in a period a Service is asked about of which lists tell nothing: at its own time, so that not all come at once.
pub(crate) fn place_in(period: Duration, uid: &str) -> Duration {
    let place = (Digest::of(uid.as_bytes()).prefix() >> 32) as u32;
    period.mul_f64(f64::from(place) / f64::from(u32::MAX))
}

/// The evidence that a load balancer was as desired, as it is kept on its Service: the fingerprint of what was asked for and of what
/// came of it, and the revision that lists showed then.
pub(crate) fn evidence(fingerprint: &str, revision: &str) -> String {
    format!("{fingerprint} {revision}")
}

/// The revision in such evidence; `None` if it has another fingerprint, or is something else.
pub(crate) fn proven_revision<'a>(evidence: &'a str, fingerprint: &str) -> Option<&'a str> {
    let (kept, revision) = evidence.split_once(' ')?;
    Some(revision).filter(|it| kept == fingerprint && !it.is_empty())
}

#[cfg(test)]
mod tests {
    use cloud_provider::InventoryItem;

    use super::*;
    use crate::service::inventory::snapshot::tests::{incomplete, item, snapshot};

    const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";

    fn found(items: Vec<InventoryItem>, revision: Option<&str>) -> Finding {
        finding(Some("a"), revision, &snapshot(items, Instant::now()))
    }

    #[test]
    fn case_149_only_another_revision_is_drift() {
        let at = |state| InventoryItem { state, ..item("a", Some("1")) };
        assert_eq!(found(vec![item("a", Some("1"))], Some("1")), Finding::Proven);
        assert_eq!(found(vec![item("a", Some("2"))], Some("1")), Finding::Drifted);
        assert_eq!(found(vec![item("a", Some("2"))], None), Finding::Drifted, "no `ready` was seen with it");
        assert_eq!(found(vec![item("b", Some("2"))], Some("1")), Finding::Drifted, "it was there");
        assert_eq!(found(vec![item("b", Some("2"))], None), Finding::Unknown, "it was never listed");
        assert_eq!(found(vec![item("a", None)], None), Finding::Unknown, "there are no revisions");
        assert_eq!(found(vec![at(InventoryState::Changing)], Some("1")), Finding::Unknown);
        assert_eq!(found(vec![at(InventoryState::Failed("no".to_owned()))], Some("1")), Finding::Drifted);
        assert_eq!(found(vec![item("a", Some("1")), item("a", Some("1"))], Some("1")), Finding::Unknown, "two memos");
        assert_eq!(finding(None, Some("1"), &snapshot(vec![item("a", Some("1"))], Instant::now())), Finding::Unknown);
    }

    #[test]
    fn no_service_is_spared_by_an_incomplete_list() {
        let items = vec![item("a", Some("1"))];
        let list = incomplete(items, "a zone is silent", Instant::now());
        assert_eq!(finding(Some("a"), Some("1"), &list), Finding::Unknown);
        assert_eq!(finding(Some("b"), Some("1"), &list), Finding::Unknown, "absence proves nothing");
    }

    #[test]
    fn outline_spares_questions_after_one_that_it_was_there_for() {
        let (start, hour) = (Instant::now(), Duration::from_hours(1));
        let after = |before: &Outlined, listed, began| Outlined::after(Some(before.clone()), listed, began, None);
        let first = Outlined::after(None, Some("a"), start, None).unwrap();
        assert!(!first.spares(start, start + hour, UID), "it may have changed between that question and the list");
        let asked = start + hour;
        let same = after(&first, Some("a"), asked + hour).unwrap();
        assert_eq!(same, first);
        let due = asked + spared(UID);
        assert!(same.spares(asked, due - READS, UID) && !same.spares(asked, due, UID));
        let other = after(&same, Some("b"), asked + hour).unwrap();
        assert!(!other.spares(asked, asked + hour, UID) && other.spares(asked + 2 * hour, asked + 3 * hour, UID));
        let back = after(&other, Some("a"), asked + 2 * hour).unwrap();
        assert!(!back.spares(asked + hour, asked + 2 * hour, UID), "another one was there meanwhile");
        assert_eq!(after(&same, None, asked), None, "it is listed no more");
        let repaired = Outlined::after(Some(first), Some("a"), asked + hour, Some(asked)).unwrap();
        assert!(!repaired.spares(asked, asked + hour, UID), "somebody may have made the same change once more");
        assert!(repaired.spares(asked + 2 * hour, asked + 3 * hour, UID));
    }

    #[test]
    fn outline_of_a_list_is_that_of_one_at_rest() {
        let outlined = |state| InventoryItem { state, outline: Some("o".to_owned()), ..item("a", None) };
        let of = |list: &Snapshot| outline(Some("a"), list).map(str::to_owned);
        let now = Instant::now();
        assert_eq!(of(&snapshot(vec![outlined(InventoryState::Ready)], now)).as_deref(), Some("o"));
        assert_eq!(of(&snapshot(vec![outlined(InventoryState::Changing)], now)), None);
        assert_eq!(of(&incomplete(vec![outlined(InventoryState::Ready)], "a zone is silent", now)), None);
        assert_eq!(of(&snapshot(vec![item("a", None)], now)), None);
        assert_eq!(found(vec![outlined(InventoryState::Ready)], None), Finding::Unknown, "it proves nothing");
    }

    #[test]
    fn case_149_without_revisions_questions_are_spread() {
        let period = Duration::from_secs(300);
        let places: Vec<_> = (0..300).map(|it| place_in(period, &format!("uid-{it}")).as_secs() / 60).collect();
        for minute in 0..5 {
            let count = places.iter().filter(|it| **it == minute).count();
            assert!((40..=80).contains(&count), "{count} in minute {minute}");
        }
        assert_eq!(place_in(period, "a"), place_in(period, "a"));
    }

    #[test]
    fn spared_questions_come_back_hour_by_hour() {
        let hours: Vec<u64> = (0..600).map(|it| spared(&format!("uid-{it}")).as_secs() / 3_600).collect();
        for hour in 9..15 {
            let count = hours.iter().filter(|it| **it == hour).count();
            assert!((75..=125).contains(&count), "{count} after {hour} hours, where a sixth is 100");
        }
        assert_eq!(spared(UID), spared(UID));
    }

    #[test]
    fn evidence_that_is_written_is_read_again() {
        let print = "0123456789abcdef";
        assert_eq!(proven_revision(&evidence(print, "r 1"), print), Some("r 1"));
        assert_eq!(proven_revision(&evidence("0123456789abcdee", "r 1"), print), None, "something else was asked for");
        for other in ["", print, "0123456789abcdef ", "0123 1"] {
            assert_eq!(proven_revision(other, print), None, "{other:?}");
        }
    }
}
