//! Writes to the cloud and deletions of nodes, as an annotation of the Lease lists the latest: without a client or a clock.
//!
//! Times are minutes of the wall clock: another process reads them, perhaps on another machine. A minute counts as long as its last
//! moment does, and one that is still to come counts as now, so that clocks that differ by less than a window free nothing early by
//! more than they differ.

use std::collections::BTreeMap;
use std::time::Duration;

use egress::{StoredCounts, WriteAges};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The annotation of the Lease. Only those who hold the Lease write it.
pub(super) const WRITTEN: &str = "aerostat.dev/cloud-writes";

/// The longest text that is read, in bytes. An hour of all kinds of writes with ten credentials is less.
const LONGEST: usize = 64 << 10;

const MINUTE: i64 = 60;

/// Counts for each minute since the epoch.
type Minutes = BTreeMap<i64, u32>;

/// The writes, and the changes that Kubernetes has asked for.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct History {
    pub(super) written: Vec<StoredCounts>,
    pub(super) changes: WriteAges,
    /// Deletions of nodes.
    pub(super) nodes: WriteAges,
}

#[derive(Default, Deserialize, Serialize)]
struct HistoryText {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    changes: Minutes,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    nodes: Minutes,
    /// By whose writes they are and by their kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    writes: BTreeMap<String, BTreeMap<String, Minutes>>,
}

impl History {
    /// The annotation's value; `None` if nothing was written.
    pub(super) fn text(&self, wall: Timestamp) -> Option<String> {
        let (changes, nodes) = (minutes(&self.changes, wall), minutes(&self.nodes, wall));
        let mut text = HistoryText { changes, nodes, ..HistoryText::default() };
        for StoredCounts { whose, kind, ages } in &self.written {
            text.writes.entry(whose.clone()).or_default().insert(kind.clone(), minutes(ages, wall));
        }
        let is_empty = text.changes.is_empty() && text.nodes.is_empty() && text.writes.is_empty();
        (!is_empty).then(|| serde_json::to_string(&text).ok()).flatten()
    }

    /// Reads the annotation's value.
    ///
    /// # Errors
    ///
    /// Why not, without its full stop.
    pub(super) fn parse(text: &str, wall: Timestamp) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("it has more than {LONGEST} bytes"));
        }
        // A list would do for a struct whose members may all be missing.
        let object: serde_json::Map<_, _> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let HistoryText { changes, nodes, writes } =
            serde_json::from_value(object.into()).map_err(|error| error.to_string())?;
        let ages = |minutes: Minutes, moment: i64| -> WriteAges {
            minutes.into_iter().map(|(minute, count)| (age(minute, moment, wall), count)).collect()
        };
        let mut written = Vec::new();
        for (whose, kinds) in writes {
            let of = |(kind, minutes)| StoredCounts { whose: whose.clone(), kind, ages: ages(minutes, MINUTE) };
            written.extend(kinds.into_iter().map(of));
        }
        // What was asked for frees writes: its minute counts from its first moment.
        Ok(Self { written, changes: ages(changes, 0), nodes: ages(nodes, MINUTE) })
    }
}

fn minutes(ages: &WriteAges, wall: Timestamp) -> Minutes {
    let mut minutes = Minutes::new();
    for (age, count) in ages {
        let second = wall.as_second().saturating_sub(i64::try_from(age.as_secs()).unwrap_or(i64::MAX));
        let sum = minutes.entry(second.div_euclid(MINUTE)).or_default();
        *sum = sum.saturating_add(*count);
    }
    minutes
}

/// How long ago a moment of a minute was.
fn age(minute: i64, moment: i64, wall: Timestamp) -> Duration {
    let second = minute.saturating_mul(MINUTE).saturating_add(moment);
    Duration::from_secs(u64::try_from(wall.as_second().saturating_sub(second)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use measured_work::Line;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn written(ages: &[(u64, u32)]) -> StoredCounts {
        let ages = ages.iter().map(|(age, count)| (Duration::from_secs(*age), *count)).collect();
        StoredCounts { whose: "credential token".to_owned(), kind: "deletion".to_owned(), ages }
    }

    #[test]
    fn adv_158_a_record_costs_no_more_than_its_bytes() {
        let pieces: [&[u8]; 9] = [
            b"{\"writes\":{\"a\":{\"b\":{",
            b"{\"nodes\":{",
            b"\"1\":1,",
            b"\"-9999999999\":4294967295,",
            b"\"a\":{},",
            b"[",
            b"{",
            b"}",
            b"\\u0041",
        ];
        measured_work::fuzz("a record of writes", Line { nanoseconds: 3_000, memory: 256 }, &pieces, |text| {
            let text = String::from_utf8_lossy(text);
            for (before, after) in
                [("", ""), ("{\"nodes\":{", "\"1\":1}}"), ("{\"writes\":{\"a\":{\"b\":{", "\"1\":1}}}}")]
            {
                drop(History::parse(&format!("{before}{text}{after}"), at(0)));
            }
        });
    }

    #[test]
    fn adv_162_the_record_of_writes_outlives_the_process() {
        let history = History {
            written: vec![written(&[(130, 2), (5, 1), (0, 3)])],
            changes: vec![(61 * SECOND, 4)],
            nodes: vec![(SECOND, 5)],
        };
        let text = history.text(at(600)).unwrap();
        assert_eq!(
            text,
            r#"{"changes":{"8":4},"nodes":{"9":5},"writes":{"credential token":{"deletion":{"7":2,"9":1,"10":3}}}}"#
        );
        let read = History::parse(&text, at(900)).unwrap();
        let expected = History {
            written: vec![written(&[(420, 2), (300, 1), (240, 3)])],
            changes: vec![(420 * SECOND, 4)],
            nodes: vec![(300 * SECOND, 5)],
        };
        assert_eq!(read, expected, "writes count from the end of their minute, what was asked for from its begin");
        assert_eq!(History::default().text(at(600)), None, "a Lease says nothing where nothing is written");
    }

    #[test]
    fn adv_162_a_clock_that_was_ahead_frees_nothing() {
        let text = History { written: vec![written(&[(0, 3)])], ..History::default() }.text(at(6_000)).unwrap();
        let read = History::parse(&text, at(60)).unwrap();
        assert_eq!(read.written, [written(&[(0, 3)])], "as if it were written now");
        let far =
            format!(r#"{{"writes":{{"credential token":{{"deletion":{{"{}":1,"{}":2}}}}}}}}"#, i64::MAX, i64::MIN);
        let read = History::parse(&far, at(60)).unwrap();
        assert_eq!(read.written[0].ages[1], (Duration::ZERO, 1));
        assert!(read.written[0].ages[0].0 > 1_000_000 * SECOND);
    }

    #[test]
    fn adv_162_a_text_without_meaning_is_an_error() {
        let long = format!(r#"{{"changes":{{{}"1":1}}}}"#, " ".repeat(LONGEST));
        for text in ["", "7", "[]", r#"{"changes":{"x":1}}"#, r#"{"writes":{"a":{"deletion":{"1":-1}}}}"#, &long] {
            assert!(History::parse(text, at(60)).is_err(), "{text}");
        }
        assert_eq!(History::parse(r#"{"later":1}"#, at(60)), Ok(History::default()), "a later version may say more");
    }
}
