//! The turn of an entry: a table takes one request at a time. It stands in the reason with which its change is pending, and what was read
//! once is not read again for a new one. Pure.

use std::fmt::Display;

use aerostat_sdk::{Result, RouteChange, RouteOutcome};

use super::sent::{SOON, SentEntry};
use crate::api::route_tables::BATCH;

/// Words behind the id of the table.
const SENT: &str = "takes the new entry over";
const LATER: &str = "takes its entry after others";
/// The same where an entry goes.
const DELETED_LATER: &str = "deletes its entry after others";
/// Words around the interface that drops packets of pods still.
const CHECKS: (&str, &str) = (", once ", " lets them through");
/// Words around how often it was refused.
const REFUSED: (&str, &str) = (", refused ", " times");
/// So often an entry is refused with others before it is sent alone.
pub(super) const MOST: u32 = 6;

/// The knowledge of a new entry from an earlier call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum EntryTurn<'a> {
    /// Nothing: the table is read first.
    Unknown,
    /// Nothing stood at its destination. Its instance lets packets of pods through, but for this interface.
    Waits(Option<&'a str>),
    /// The same, and its request was refused so often because something carries out another change: the table, or what one of the entries in
    /// the request leads to.
    Refused(u32),
    /// It was sent.
    Sent,
}

/// The turn of a change at a table. What is known of another table is nothing here.
pub(super) fn of<'a>(change: &'a RouteChange, table: &str) -> EntryTurn<'a> {
    read(change).filter(|it| it.1 == table).map_or(EntryTurn::Unknown, |it| it.0)
}

/// The table that a change waits for: it stands first in each reason that is about one of its entries.
pub(super) fn table(change: &RouteChange) -> Option<&str> {
    change.pending()?.split(' ').next().filter(|it| it.starts_with("vtb-"))
}

/// So many entries go together that were refused so often. One of them may be what is in the way of the others, and is among fewer and fewer.
pub(super) fn together(refused: u32) -> usize {
    (BATCH >> refused.saturating_sub(1)).max(1)
}

/// How often the deletion of a change's entry was refused with others at a table.
pub(super) fn refused_deletions(change: &RouteChange, table: &str) -> u32 {
    let times = || {
        let reason = change.pending().filter(|_| change.before.is_some())?;
        let words = reason.strip_prefix(table)?.strip_prefix(' ')?.strip_prefix(DELETED_LATER)?;
        between(words, REFUSED)?.parse::<u32>().ok()
    };
    times().filter(|it| *it <= MOST).unwrap_or_default()
}

/// The entries in their turn: those that are refused hold up no others.
pub(super) fn in_turn<T: Copy>(entries: &[T], refused: impl Fn(&T) -> u32 + Copy) -> impl Iterator<Item = T> {
    (0..=MOST).flat_map(move |times| entries.iter().copied().filter(move |it| refused(it) == times))
}

/// How often one that waits counts as refused: once a table takes entries again, they need not be so few.
pub(super) fn refused_by_now(refused: u32, is_any_taken: bool) -> u32 {
    refused.saturating_sub(u32::from(is_any_taken))
}

fn read(change: &RouteChange) -> Option<(EntryTurn<'_>, &str)> {
    let reason = change.pending().filter(|_| change.before.is_none() && change.after.is_some())?;
    let table = table(change)?;
    let words = reason[table.len()..].trim_start();
    let turn = match words.strip_prefix(LATER) {
        _ if words == SENT => EntryTurn::Sent,
        Some("") => EntryTurn::Waits(None),
        rest => match between(rest?, REFUSED) {
            Some(times) => EntryTurn::Refused(times.parse().ok().filter(|it| *it <= MOST)?),
            None => EntryTurn::Waits(Some(between(rest?, CHECKS)?)),
        },
    };
    Some((turn, table))
}

fn between<'a>(text: &'a str, (before, behind): (&str, &str)) -> Option<&'a str> {
    text.strip_prefix(before)?.strip_suffix(behind)
}

/// The outcome of a change that this table carries out.
pub(super) fn waits(table: &str, words: impl Display) -> RouteOutcome {
    RouteOutcome::pending(SOON, format_args!("{table} {words}"))
}

/// A new entry is Pending first: packets do not follow it yet.
pub(super) fn sent(table: &str) -> RouteOutcome {
    waits(table, SENT)
}

/// The outcome of an entry that is sent in a later call: of its instance this interface still drops packets, or it was refused so often.
pub(super) fn later(table: &str, interface: Option<&str>, refused: u32) -> RouteOutcome {
    let (before, behind) = CHECKS;
    let words = interface.map_or_else(|| refusals(refused), |it| format!("{before}{it}{behind}"));
    waits(table, format_args!("{LATER}{words}"))
}

/// The outcome of a new entry for which no request of this call is left: what is known of it is not read again.
pub(super) fn unsent(change: &RouteChange, table: &str) -> Result<RouteOutcome> {
    match of(change, table) {
        EntryTurn::Waits(interface) => Ok(later(table, interface, 0)),
        EntryTurn::Refused(times) => Ok(later(table, None, times)),
        EntryTurn::Sent | EntryTurn::Unknown => SentEntry::Unsent.refusal(&change.destination),
    }
}

/// The outcome of an entry that goes in a later call: it was refused so often.
pub(super) fn deleted_later(table: &str, refused: u32) -> RouteOutcome {
    waits(table, format_args!("{DELETED_LATER}{}", refusals(refused)))
}

fn refusals(refused: u32) -> String {
    let (before, behind) = REFUSED;
    if refused > 0 { format!("{before}{refused}{behind}") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use aerostat_sdk::{Node, Route, RouteTarget};

    use super::*;

    fn pending(reason: &str) -> RouteChange {
        let after = RouteTarget { next_hop: "i-1".to_owned(), node: Node::named("n") };
        let extra = vec![("pending".to_owned(), reason.to_owned())];
        RouteChange { destination: "10.244.1.0/24".to_owned(), before: None, after: Some(after), extra }
    }

    fn reason(outcome: RouteOutcome) -> String {
        let RouteOutcome::Pending(pause) = outcome else { panic!("{outcome:?}") };
        pause.reason
    }

    #[test]
    fn reasons_are_read_as_they_were_written() {
        for (outcome, turn) in [
            (sent("vtb-1"), EntryTurn::Sent),
            (later("vtb-1", None, 0), EntryTurn::Waits(None)),
            (later("vtb-1", None, 3), EntryTurn::Refused(3)),
            (later("vtb-1", Some("eni-5"), 0), EntryTurn::Waits(Some("eni-5"))),
        ] {
            let change = pending(&reason(outcome));
            assert_eq!((of(&change, "vtb-1"), table(&change)), (turn, Some("vtb-1")), "{change:?}");
            assert_eq!(of(&change, "vtb-2"), EntryTurn::Unknown, "of another table nothing is known");
            let moved = RouteChange { before: Some(Route::new("10.244.1.0/24", "i-2")), ..change };
            assert_eq!(
                (of(&moved, "vtb-1"), table(&moved)),
                (EntryTurn::Unknown, Some("vtb-1")),
                "something stands there"
            );
        }
        for other in [
            "",
            "eni-1 carries out a change",
            "vtb-1 takes its entry after others, once",
            "vtb-1 takes its entry after others, refused many times",
            "vtb-1 takes its entry after others, refused 7 times",
            "vtb-1 is full",
        ] {
            assert_eq!(of(&pending(other), "vtb-1"), EntryTurn::Unknown, "{other}");
        }
        let tables = ["vtb-1 lets entry rte-1 go", "eni-1 carries out a change", ""].map(pending);
        assert_eq!(tables.each_ref().map(table), [Some("vtb-1"), None, None]);
    }

    #[test]
    fn refused_deletions_are_read_as_they_were_written() {
        let moved = |reason: &str| RouteChange { before: Some(Route::new("10.244.1.0/24", "i-2")), ..pending(reason) };
        for refused in [0, 1, MOST] {
            let words = reason(deleted_later("vtb-1", refused));
            assert_eq!(refused_deletions(&moved(&words), "vtb-1"), refused, "{words}");
            assert_eq!(refused_deletions(&moved(&words), "vtb-2"), 0, "of another table nothing is known");
            assert_eq!(refused_deletions(&pending(&words), "vtb-1"), 0, "nothing stands there");
            assert_eq!((of(&moved(&words), "vtb-1"), table(&moved(&words))), (EntryTurn::Unknown, Some("vtb-1")));
            assert_eq!(of(&pending(&words), "vtb-1"), EntryTurn::Unknown, "{words}");
        }
        for other in ["", "vtb-1 deletes its entry after others, refused 7 times", "vtb-1 lets entry rte-1 go"] {
            assert_eq!(refused_deletions(&moved(other), "vtb-1"), 0, "{other}");
        }
    }

    #[test]
    fn entries_that_are_refused_again_go_among_fewer() {
        let entries = [(1, 2), (2, 0), (3, 1), (4, 0)];
        let turns: Vec<u32> = in_turn(&entries, |it| it.1).map(|it| it.0).collect();
        assert_eq!(turns, [2, 4, 3, 1], "and behind others");
        assert_eq!(
            [(0, true), (2, true), (2, false)].map(|(refused, taken)| refused_by_now(refused, taken)),
            [0, 1, 2]
        );
        assert_eq!([0, 1, 2, 3, 4, 5, MOST].map(together), [50, 50, 25, 12, 6, 3, 1]);
    }
}
