//! Writes the tests of each case into the tables of a page.
//!
//! A table belongs to cases if a comment such as `<!-- cases: adv -->` stands before it. Its first column names the cases of a row: by
//! numbers (`8`, `12–14, 16`), or, after `<!-- cases -->`, by words in backticks. The column with the head `tests` is written here.
//! A number is no name: the column `what` has some words for each number, `; ` between them, or the first column does.
//! Before the comment a line may name cases without tests: `Not of this release: 11, 19–21 (why)`.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::Test;

/// The beginning of the line that names cases without tests.
const LEFT_OUT: &str = "Not of this release: ";

/// Returns the page with the tests of each row.
///
/// # Errors
///
/// Fails with a sentence for each test whose case has no row, for each that says no case and should, for each row without tests and
/// without a note, for each test of a case that is said to have none, and for each case that has two rows, or no words.
pub(super) fn with_tests(page: &str, tests: &[Test]) -> Result<String, Vec<String>> {
    let (mut known, mut errors) = (BTreeSet::new(), Vec::new());
    let mut lines = Vec::new();
    let mut prefix = None;
    let (mut column, mut what) = (None, None);
    let (mut listed, mut left_out) = (Vec::new(), Vec::new());
    for line in page.lines() {
        if let Some(list) = line.strip_prefix(LEFT_OUT) {
            listed.extend(list.split(" (").next());
        }
        if let Some(comment) = line.strip_prefix("<!-- cases").and_then(|it| it.strip_suffix("-->")) {
            let of = comment.trim_start_matches(':').trim();
            prefix = Some(of);
            left_out.extend(listed.drain(..).flat_map(|it| cases(of, it)));
        }
        let mut cells: Vec<String> = line.split('|').map(str::to_owned).collect();
        match (prefix, column) {
            (Some(_), None) if line.starts_with('|') => {
                let headed = |head: &str| cells.iter().position(|it| it.trim() == head);
                (column, what) = (headed("tests"), headed("what"));
            }
            (Some(prefix), Some(column)) if line.starts_with('|') && !line.starts_with("| ---") => {
                let cases = cases(prefix, cells[1].trim());
                cells[column] = match cell(&cases, tests) {
                    text if text.is_empty() => " ".to_owned(),
                    text => format!(" {text} "),
                };
                if cells[column..].iter().all(|it| it.trim().is_empty()) {
                    errors.push(format!(
                        "tests/CASES.md: {} has neither tests nor a note that says why",
                        cells[1].trim()
                    ));
                }
                errors.extend(wordless(prefix, &cases, what.map_or(&cells[1], |it| &cells[it])));
                errors.extend(
                    cases
                        .iter()
                        .filter(|it| known.contains(*it))
                        .map(|it| format!("tests/CASES.md: `{it}` has two rows")),
                );
                known.extend(cases);
                lines.push(cells.join("|"));
                continue;
            }
            (Some(_), Some(_)) if !line.starts_with('|') => (prefix, column) = (None, None),
            _ => {}
        }
        lines.push(line.to_owned());
    }
    errors.extend(tests.iter().filter_map(|it| wrong(it, &known)));
    errors.extend(left_out.iter().filter_map(|case| {
        let Test { name, file, .. } = tests.iter().find(|it| it.cases.contains(case))?;
        Some(format!(
            "tests/CASES.md: `{case}` is listed as \"{}\", and {file} has {name}",
            LEFT_OUT.trim_end_matches(": ")
        ))
    }));
    if errors.is_empty() { Ok(lines.join("\n") + "\n") } else { Err(errors) }
}

/// The fault of a row with numbers whose words do not say what each of them is.
fn wordless(prefix: &str, cases: &[String], words: &str) -> Option<String> {
    let phrases = words.split("; ").filter(|it| it.chars().any(char::is_alphabetic)).count();
    // A single case may have a sentence with parts.
    let is_said = if cases.len() == 1 { phrases > 0 } else { phrases == cases.len() };
    let fault = || {
        let count = cases.len();
        format!("tests/CASES.md: {} has {phrases} phrases that say what it is, for {count} cases", cases.join(", "))
    };
    (!prefix.is_empty() && !is_said).then(fault)
}

/// The fault in the cases of a test.
fn wrong(test: &Test, known: &BTreeSet<String>) -> Option<String> {
    let Test { name, file, cases } = test;
    if cases.is_empty() && test.is_case() {
        return Some(format!(
            "{file}: {name} says no case: write `/// Cases: …` before it, as its row in tests/CASES.md begins"
        ));
    }
    let unknown = cases.iter().find(|it| !known.contains(*it))?;
    Some(format!(
        "{file}: {name} is of `{unknown}`, which has no row in tests/CASES.md: write one that says what it is"
    ))
}

/// The cases that the first cell of a row names.
fn cases(prefix: &str, cell: &str) -> Vec<String> {
    if prefix.is_empty() {
        return cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    }
    let digits = |it: &str| it.chars().take_while(char::is_ascii_digit).collect::<String>().parse::<u32>().ok();
    let ranges = cell.split(", ").filter_map(|part| {
        let first = digits(part)?;
        Some(first..=part.split_once('–').and_then(|(_, last)| digits(last)).unwrap_or(first))
    });
    ranges.flatten().map(|it| format!("{prefix} {it}")).collect()
}

/// The tests of a row, by what they run: `pure `a`, `b`; cluster `c``.
fn cell(cases: &[String], tests: &[Test]) -> String {
    let mut kinds: BTreeMap<(usize, &str), BTreeSet<&str>> = BTreeMap::new();
    for test in tests.iter().filter(|it| it.cases.iter().any(|it| cases.contains(it))) {
        let order = ["pure", "cluster", "binary", "whole"].iter().position(|it| *it == test.kind()).unwrap_or(9);
        kinds.entry((order, test.kind())).or_default().insert(&test.name);
    }
    let kinds = kinds.iter().map(|((_, kind), names)| {
        format!("{kind} {}", names.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", "))
    });
    kinds.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# Cases

Not of this release: 7, 20–22 (no 8 of them
is built).

<!-- cases: adv -->
| case | what | tests | notes |
| --- | --- | --- | --- |
| 8, 10–12 | a; b; c; d | old | a note |
| 13 | e | | left out |

<!-- cases -->
| case | what | tests |
| --- | --- | --- |
| `restart` | again | |

| other | tests |
| --- | --- |
| 8 | x |
";

    fn test(name: &str, file: &str, case: &str) -> Test {
        Test { name: name.to_owned(), file: file.to_owned(), cases: vec![case.to_owned()] }
    }

    #[test]
    fn each_row_gets_its_tests_and_nothing_else_changes() {
        let tests = [
            test("b", "tests/it/whole/x.rs", "adv 8"),
            test("a", "runtime/x.rs", "adv 11"),
            test("c", "runtime/x.rs", "restart"),
        ];
        let page = with_tests(PAGE, &tests).unwrap();
        let changed: Vec<_> = page.lines().filter(|it| !PAGE.lines().any(|line| line == *it)).collect();
        assert_eq!(
            changed,
            ["| 8, 10–12 | a; b; c; d | pure `a`; whole `b` | a note |", "| `restart` | again | pure `c` |"]
        );
        assert_eq!(with_tests(&page, &tests).unwrap(), page);
    }

    #[test]
    fn cases_without_a_row_and_rows_without_a_test_are_errors() {
        let missing = Test { cases: Vec::new(), ..test("theft_of_a", "x.rs", "") };
        let errors = with_tests(PAGE, &[test("a", "x.rs", "adv 9"), missing]).unwrap_err();
        assert_eq!(errors[0], "tests/CASES.md: `restart` has neither tests nor a note that says why");
        assert!(errors[1].starts_with("x.rs: a is of `adv 9`, which has no row"), "{errors:?}");
        assert!(errors[2].starts_with("x.rs: theft_of_a says no case"), "{errors:?}");
        assert_eq!(errors.len(), 3, "{errors:?}");
        let errors = with_tests(PAGE, &[test("b", "y.rs", "restart"), test("a", "x.rs", "adv 21")]).unwrap_err();
        assert_eq!(
            errors[1], "tests/CASES.md: `adv 21` is listed as \"Not of this release\", and x.rs has a",
            "{errors:?}"
        );
    }

    #[test]
    fn each_case_has_its_words_and_one_row() {
        let tests = [test("a", "x.rs", "restart")];
        assert_eq!(with_tests(PAGE, &tests).map(|_| ()), Ok(()));
        for (from, to, fault) in [
            ("| 13 | e |", "| 13 | |", "adv 13 has 0 phrases that say what it is, for 1 cases"),
            ("| 13 | e |", "| 13 | 14 |", "adv 13 has 0 phrases that say what it is, for 1 cases"),
            ("a; b; c; d", "a; b; c", "adv 8, adv 10, adv 11, adv 12 has 3 phrases that say what it is, for 4 cases"),
            ("| 13 |", "| 8 |", "`adv 8` has two rows"),
        ] {
            let errors = with_tests(&PAGE.replacen(from, to, 1), &tests).unwrap_err();
            assert_eq!(errors, [format!("tests/CASES.md: {fault}")], "{to}");
        }
        // The words may stand beside the number.
        let named = "\n<!-- cases: golden -->\n| recording | tests |\n| --- | --- |\n| 01-basic | x |\n";
        let errors = |page: String| with_tests(&page, &[test("a", "x.rs", "restart"), test("b", "x.rs", "golden 1")]);
        assert_eq!(errors(PAGE.to_owned() + named).map(|_| ()), Ok(()));
        assert!(errors(PAGE.to_owned() + &named.replace("01-basic", "01")).is_err());
    }
}
