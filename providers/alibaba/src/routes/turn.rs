//! The turn of a new entry: a table takes one request at a time. It stands in the reason with which its change is pending, and what was read
//! once is not read again for it. Pure.

use aerostat_sdk::{RouteChange, RouteOutcome};

use super::sent::SOON;

/// Words behind the id of the table.
const SENT: &str = "takes the new entry over";
const LATER: &str = "takes its entry after others";
/// Words around the interface that drops packets of pods still.
const CHECKS: (&str, &str) = (", once ", " lets them through");

/// What is known of a new entry since an earlier call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum EntryTurn<'a> {
    /// Nothing: the table is read first.
    Unknown,
    /// Nothing stood at its destination. Its instance lets packets of pods through, but for this interface.
    Waits(Option<&'a str>),
    /// It was sent.
    Sent,
}

/// The turn of a change, and the table that it waits for.
pub(super) fn of(change: &RouteChange) -> (EntryTurn<'_>, Option<&str>) {
    read(change).map_or((EntryTurn::Unknown, None), |(turn, table)| (turn, Some(table)))
}

fn read(change: &RouteChange) -> Option<(EntryTurn<'_>, &str)> {
    let reason = change.pending().filter(|_| change.before.is_none() && change.after.is_some())?;
    let (table, words) = reason.split_once(' ').filter(|(table, _)| table.starts_with("vtb-"))?;
    let turn = match words.strip_prefix(LATER) {
        _ if words == SENT => EntryTurn::Sent,
        Some("") => EntryTurn::Waits(None),
        rest => EntryTurn::Waits(Some(rest?.strip_prefix(CHECKS.0)?.strip_suffix(CHECKS.1)?)),
    };
    Some((turn, table))
}

/// A new entry is Pending first: packets do not follow it yet.
pub(super) fn sent(table: &str) -> RouteOutcome {
    RouteOutcome::pending(SOON, format_args!("{table} {SENT}"))
}

/// The outcome of an entry that is sent in a later call, and of whose instance this interface still drops packets.
pub(super) fn later(table: &str, interface: Option<&str>) -> RouteOutcome {
    let (before, behind) = if interface.is_some() { CHECKS } else { ("", "") };
    RouteOutcome::pending(SOON, format_args!("{table} {LATER}{before}{}{behind}", interface.unwrap_or_default()))
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
            (later("vtb-1", None), EntryTurn::Waits(None)),
            (later("vtb-1", Some("eni-5")), EntryTurn::Waits(Some("eni-5"))),
        ] {
            let change = pending(&reason(outcome));
            assert_eq!(of(&change), (turn, Some("vtb-1")), "{change:?}");
            let moved = RouteChange { before: Some(Route::new("10.244.1.0/24", "i-2")), ..change };
            assert_eq!(of(&moved), (EntryTurn::Unknown, None), "something stands there");
        }
        for other in ["", "eni-1 carries out a change", "vtb-1 takes its entry after others, once", "vtb-1 is full"] {
            assert_eq!(of(&pending(other)), (EntryTurn::Unknown, None), "{other}");
        }
    }
}
