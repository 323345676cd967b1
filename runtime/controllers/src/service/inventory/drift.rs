//! Whether a load balancer that was as desired still is, as far as a list tells. No client, no clock, no log.
//!
//! A `ready` is proven again by the revision that a list showed when it was asked for. Where the process remembers
//! nothing, the Service does: a condition in its status, where its authors cannot write, has a hash of what was asked for
//! and that revision.

use std::time::Duration;

use cloud_provider::InventoryState;
use sha256::Digest;

use crate::service::inventory::snapshot::Snapshot;

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
    use tokio::time::Instant;

    use super::*;
    use crate::service::inventory::snapshot::tests::{incomplete, item, snapshot};

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
    fn evidence_that_is_written_is_read_again() {
        let print = "0123456789abcdef";
        assert_eq!(proven_revision(&evidence(print, "r 1"), print), Some("r 1"));
        assert_eq!(proven_revision(&evidence("0123456789abcdee", "r 1"), print), None, "something else was asked for");
        for other in ["", print, "0123456789abcdef ", "0123 1"] {
            assert_eq!(proven_revision(other, print), None, "{other:?}");
        }
    }
}
