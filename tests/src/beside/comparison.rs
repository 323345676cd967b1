//! The comparison of two managers: the same objects after each step, and no more requests in the steps together. Pure.

use std::collections::BTreeSet;

use serde_json::Value;

use super::asked::Asked;
use super::differences::{Difference, differences};
use super::meant::{Meant, rows};

/// The state that a manager leaves after a step, and the requests that it took.
#[derive(Clone, Debug)]
pub struct ManagerState {
    /// Services, Nodes and the cloud, in words that are the same each time: names stand for what is made up.
    pub seen: Value,
    /// The requests in the step.
    pub asked: Asked,
}

/// A step that both have played.
#[derive(Clone, Debug)]
pub struct ComparedStep {
    /// The step's name with its part's: `services/create`.
    pub name: String,
    /// The vendor's manager.
    pub theirs: ManagerState,
    /// Aerostat.
    pub ours: ManagerState,
    /// Whether its requests are compared by themselves: they are no part of the sum of the part.
    pub alone: bool,
}

/// The outcome of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// A line for each difference that no row means: `services/create: services/web/finalizers: "theirs" → "ours"`.
    pub wrong: Vec<String>,
    /// The rows by which the others are meant.
    used: BTreeSet<usize>,
}

/// Compares the steps of one part of a story. Objects are compared after each step; requests, reads and writes apart, in all steps of the
/// part together: aerostat may make fewer, and no more.
#[must_use]
pub fn compare(table: &[Meant], part: &str, steps: &[ComparedStep]) -> Compared {
    let mut compared = Compared::default();
    let (mut theirs_in_all, mut ours_in_all) = (Asked::default(), Asked::default());
    for ComparedStep { name, theirs, ours, alone } in steps {
        compared.judge(table, name, differences(&theirs.seen, &ours.seen));
        if *alone {
            compared.judge(table, name, too_many(&theirs.asked, &ours.asked));
        } else {
            theirs_in_all.add(&theirs.asked);
            ours_in_all.add(&ours.asked);
        }
    }
    compared.judge(table, part, too_many(&theirs_in_all, &ours_in_all));
    compared
}

impl Compared {
    /// Adds those of another part.
    pub fn add(&mut self, other: Compared) {
        self.wrong.extend(other.wrong);
        self.used.extend(other.used);
    }

    /// The same, and wrong where aerostat made more requests in a step or a part than `most`, reads and writes apart: a row that means more than
    /// theirs knows no number.
    #[must_use]
    pub fn bounded(mut self, name: &str, asked: &Asked, most: (usize, usize)) -> Self {
        let (reads, writes) = (asked.reads(), asked.writes());
        if reads > most.0 || writes > most.1 {
            self.wrong
                .push(format!("{name}: {reads} reads and {writes} writes are more than {most:?}: {:?}", asked.actions));
        }
        self
    }

    /// The same, and wrong where something in the cloud is another than before.
    #[must_use]
    pub fn unchanged(mut self, step: &str, name: &str, before: &Value, now: &Value) -> Self {
        let changed = differences(before, now);
        self.wrong.extend(changed.iter().map(|it| format!("{step}: {name} is not this step's to change: {it}")));
        self
    }

    /// All that is not as it should be: differences that are not meant, and rows of the table by which nothing is meant any more.
    #[must_use]
    pub fn verdict(mut self, table: &[Meant]) -> Vec<String> {
        let unused = table.iter().enumerate().filter(|(row, it)| it.always && !self.used.contains(row));
        self.wrong.extend(unused.map(|(_, it)| format!("nothing differs so any more: {}", it.pattern)));
        self.wrong
    }

    fn judge(&mut self, table: &[Meant], step: &str, differ: impl IntoIterator<Item = Difference>) {
        for difference in differ {
            let rows = rows(table, step, &difference);
            if rows.is_empty() {
                self.wrong.push(format!("{step}: {difference}"));
            }
            self.used.extend(rows);
        }
    }
}

fn too_many(theirs: &Asked, ours: &Asked) -> Vec<Difference> {
    let shown = |asked: &Asked| Some(format!("{:?}", asked.actions));
    let more =
        [("requests/reads", ours.reads() > theirs.reads()), ("requests/writes", ours.writes() > theirs.writes())];
    let difference = |at: &str| Difference { at: at.to_owned(), theirs: shown(theirs), ours: shown(ours) };
    more.iter().filter(|it| it.1).map(|it| difference(it.0)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TABLE: [Meant; 2] = [
        Meant { pattern: "*: cloud/*/tags/ours: nothing → *", reason: "our mark", always: true },
        Meant { pattern: "a/delete: requests/writes: *", reason: "we delete it", always: false },
    ];

    fn state(seen: Value, asked: &[(&str, bool, usize)]) -> ManagerState {
        let asked = asked.iter().map(|(action, writes, times)| ((*action).to_owned(), *writes, *times));
        ManagerState { seen, asked: Asked::counted(asked) }
    }

    fn step(name: &str, theirs: ManagerState, ours: ManagerState) -> ComparedStep {
        ComparedStep { name: name.to_owned(), theirs, ours, alone: false }
    }

    #[test]
    fn the_same_objects_and_no_more_requests_are_right() {
        let theirs = state(json!({ "cloud": { "web": { "ports": [80] } } }), &[("GET", false, 3), ("POST", true, 1)]);
        let marked = json!({ "cloud": { "web": { "ports": [80], "tags": { "ours": "1" } } } });
        let ours = state(marked, &[("GET", false, 1), ("POST", true, 1)]);
        // The mark is under tags, which the other does not have at all.
        let theirs = ManagerState { seen: json!({ "cloud": { "web": { "ports": [80], "tags": {} } } }), ..theirs };
        let compared = compare(&TABLE, "a", &[step("a/create", theirs, ours)]);
        assert_eq!(compared.verdict(&TABLE), [""; 0]);
    }

    #[test]
    fn each_difference_that_no_row_means_is_wrong() {
        let theirs = state(json!({ "cloud": { "web": { "ports": [80] } } }), &[("GET", false, 1), ("POST", true, 1)]);
        let ours = state(json!({ "cloud": { "web": { "ports": [81] } } }), &[("GET", false, 2), ("PUT", true, 2)]);
        let wrong = compare(&TABLE, "a", &[step("a/create", theirs, ours)]).verdict(&TABLE);
        let begins = [
            "a/create: cloud/web/ports: [80] → [81]",
            "a: requests/reads: {\"GET\": 1, \"POST\": 1} → {",
            "a: requests/writes: {",
            "nothing differs so any more: *: cloud/*/tags/ours: nothing → *",
        ];
        assert_eq!(wrong.len(), begins.len(), "{wrong:#?}");
        assert!(wrong.iter().zip(begins).all(|(line, begin)| line.starts_with(begin)), "{wrong:#?}");
    }

    #[test]
    fn requests_beyond_a_number_and_foreign_changes_are_wrong() {
        let asked = Asked::counted([("GET".to_owned(), false, 3), ("PUT".to_owned(), true, 2)]);
        let bounded = |most: (usize, usize)| Compared::default().bounded("a", &asked, most).wrong;
        assert_eq!((bounded((3, 2)), bounded((9, 9))), (Vec::new(), Vec::new()));
        let expected = "a: 3 reads and 2 writes are more than (2, 2): {\"GET\": 3, \"PUT\": 2}";
        assert_eq!((bounded((2, 2)), bounded((3, 1)).len()), (vec![expected.to_owned()], 1));
        let of =
            |now: Value| Compared::default().unchanged("a/delete", "shared", &json!({ "ports": [80] }), &now).wrong;
        assert_eq!(of(json!({ "ports": [80] })), [""; 0]);
        assert_eq!(of(Value::Null).len(), 1);
    }

    #[test]
    fn requests_of_a_step_alone_are_not_made_up_for_by_others() {
        let empty = json!({});
        let few = || state(empty.clone(), &[("GET", false, 1)]);
        let many = || state(empty.clone(), &[("GET", false, 9)]);
        let saved = step("a/create", many(), few());
        let spent = step("a/retry", few(), many());
        assert_eq!(compare(&TABLE, "a", &[saved.clone(), spent.clone()]).wrong, [""; 0]);
        let wrong = compare(&TABLE, "a", &[saved, ComparedStep { alone: true, ..spent }]).wrong;
        assert!(wrong.len() == 1 && wrong[0].starts_with("a/retry: requests/reads: "), "{wrong:?}");
    }
}
