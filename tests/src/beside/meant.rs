//! Differences that are meant to be, and why.

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

/// Whether a line is as a pattern has it. Each wait asks this of all rows about all differences, again and again.
fn matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('*');
    let (Some(first), last) = (parts.next(), parts.next_back()) else { return false };
    let Some(rest) = line.strip_prefix(first) else { return false };
    let Some(last) = last else { return rest.is_empty() };
    let Some(mut rest) = rest.strip_suffix(last) else { return false };
    parts.all(|part| rest.split_once(part).map(|(_, behind)| rest = behind).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(matches("a/*: nothing → *", "a/b/c: nothing → \"x\""));
        assert!(!matches("a/*: nothing → *", "a/b: 1 → nothing"));
        assert!(!matches("a.b", "axb"));
        assert!(matches("a*c*e", "abcbcde") && matches("a**b", "ab") && matches("*", ""));
        assert!(
            !matches("ab*bc", "abc") && !matches("a*cd*d", "acd") && !matches("a*x*c", "abc") && !matches("a", "ab")
        );
    }
}
