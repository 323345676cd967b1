//! Differences that are meant to be, and why.

use regex::Regex;
use serde_json::Value;

use super::differences::{Difference, differences};

/// A row of a cloud's table: differences that are meant to be.
#[derive(Clone, Copy, Debug)]
pub struct Meant {
    /// A difference as it is shown, with `*` for any text: `services/create: services/*/conditions: *`.
    pub pattern: &'static str,
    /// Why it is meant to be.
    pub reason: &'static str,
    /// Whether each run shows it. A row that no run shows any more has to go.
    pub always: bool,
}

/// The differences after a step (`services/create`) that no row of the table means: to wait until there are none.
#[must_use]
pub fn unmeant(table: &[Meant], step: &str, theirs: &Value, ours: &Value) -> Vec<Difference> {
    explained(table, step, theirs, ours).into_iter().filter(|it| it.1.is_none()).map(|it| it.0).collect()
}

/// All differences after a step, each with the reason of the first row that means it.
#[must_use]
pub fn explained(table: &[Meant], step: &str, theirs: &Value, ours: &Value) -> Vec<(Difference, Option<&'static str>)> {
    let all = differences(theirs, ours).into_iter();
    let reason = |it: &Difference| rows(table, step, it).first().map(|row| table[*row].reason);
    all.map(|it| (reason(&it), it)).map(|(reason, it)| (it, reason)).collect()
}

/// Which rows a difference after a step is meant by.
pub(super) fn rows(table: &[Meant], step: &str, difference: &Difference) -> Vec<usize> {
    let line = format!("{step}: {difference}");
    (0..table.len()).filter(|it| matches(table[*it].pattern, &line)).collect()
}

fn matches(pattern: &str, line: &str) -> bool {
    let parts: Vec<_> = pattern.split('*').map(regex::escape).collect();
    Regex::new(&format!("^{}$", parts.join(".*"))).is_ok_and(|it| it.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(matches("a/*: nothing → *", "a/b/c: nothing → \"x\""));
        assert!(!matches("a/*: nothing → *", "a/b: 1 → nothing"));
        assert!(!matches("a.b", "axb"));
    }
}
