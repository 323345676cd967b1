//! Finds tests in source text, and the cases that each belongs to.

use std::fs;
use std::path::Path;

/// The beginnings of the names of tests with a number.
const NUMBERED: [&str; 11] =
    ["adv", "alibaba", "aws", "azure", "case", "do", "gcp", "golden", "hcloud", "ibm", "openstack"];
/// The beginnings of the names of tests that belong to a case in any event.
const NAMED: [&str; 2] = ["bad_input_", "theft_"];
/// A longer number in a name counts something else.
const DIGITS: usize = 3;

/// A test, and where it belongs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Test {
    pub(super) name: String,
    /// The path of its file.
    pub(super) file: String,
    /// The cases: `case 37`, `adv 8`, or the words that a row begins with.
    pub(super) cases: Vec<String>,
}

impl Test {
    /// The part that the test runs in: `pure`, or the name of a target.
    pub(super) fn kind(&self) -> &str {
        match self.file.strip_prefix("tests/it/").and_then(|it| it.split('/').next()) {
            None => "pure",
            Some("nodes" | "lifecycle" | "services") => "cluster",
            Some("process") => "binary",
            Some("golden") => "recording",
            Some(target) => target,
        }
    }

    /// Whether the test has to belong to a case.
    pub(super) fn is_case(&self) -> bool {
        NAMED.iter().any(|it| self.name.starts_with(it)) || !numbers(&self.name).is_empty()
    }
}

/// Adds the tests of all files below `folder`, which is relative to `root`.
pub(super) fn add_tests(root: &Path, folder: &Path, tests: &mut Vec<Test>) {
    let entries = fs::read_dir(root.join(folder)).unwrap_or_else(|it| panic!("{}: {it}", folder.display()));
    for entry in entries {
        let path = folder.join(entry.expect("the folder can be read").file_name());
        if root.join(&path).is_dir() {
            add_tests(root, &path, tests);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(root.join(&path)).expect("source is UTF-8");
            tests.extend(of_file(&path.to_string_lossy(), &text));
        }
    }
}

/// The tests of one file.
fn of_file(file: &str, text: &str) -> Vec<Test> {
    let mut tests = Vec::new();
    let mut of_all: Vec<String> = Vec::new();
    let mut own: Vec<String> = Vec::new();
    let mut of_macros: Vec<String> = Vec::new();
    let (mut is_test, mut in_attribute) = (false, false);
    for line in text.lines().map(str::trim) {
        if let Some(cases) = line.strip_prefix("//! Cases: ") {
            of_all.extend(listed(cases));
        } else if let Some(cases) = line.strip_prefix("/// Cases: ").or_else(|| line.strip_prefix("// Cases: ")) {
            own.extend(listed(cases));
        } else if in_attribute || line.starts_with("#[") {
            is_test |= line.starts_with("#[") && (line.contains("test]") || line.contains("test("));
            in_attribute = !line.ends_with(']');
        } else if !line.starts_with("//") {
            if line.ends_with("! {") {
                of_macros.clone_from(&own);
            }
            let (name, otherwise) = if is_test { (function(line), &of_all) } else { (of_macro(line), &of_macros) };
            if let Some(name) = name {
                let mut cases = numbers(name);
                cases.append(&mut own);
                if cases.is_empty() {
                    cases.clone_from(otherwise);
                }
                tests.push(Test { name: name.to_owned(), file: file.to_owned(), cases });
            }
            own.clear();
            is_test = false;
        }
    }
    tests
}

fn listed(cases: &str) -> impl Iterator<Item = String> {
    cases.split(", ").map(|it| it.trim_end_matches('.').to_owned())
}

/// The name of the function that a line begins.
fn function(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("fn ")?;
    rest.split('(').next().filter(|it| is_name(it))
}

/// The name of the test that a macro makes of a line: the name, a colon, and what it is about.
fn of_macro(line: &str) -> Option<&str> {
    let (name, _) = line.split_once(": \"")?;
    let is_case = NAMED.iter().any(|it| name.starts_with(it)) || !numbers(name).is_empty();
    (is_name(name) && is_case).then_some(name)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
}

/// The numbered cases that a name begins with: of `case_008_and_038_none`, `case 8` and `case 38`.
fn numbers(name: &str) -> Vec<String> {
    let mut words = name.split('_').peekable();
    let Some(prefix) = words.next_if(|it| NUMBERED.contains(it)) else { return Vec::new() };
    let mut numbers: Vec<u32> = Vec::new();
    let mut is_range = false;
    while let Some(word) = words.next() {
        let number = word.parse::<u32>().ok().filter(|_| word.len() <= DIGITS);
        match number {
            Some(last) if is_range => {
                let first = numbers.last().map_or(last, |it| it + 1);
                numbers.extend(first..=last);
            }
            Some(number) => numbers.push(number),
            None if word == prefix || word == "and" || word == "to" => {}
            None => break,
        }
        is_range = word == "to" && words.peek().is_some_and(|it| it.parse::<u32>().is_ok());
    }
    numbers.iter().map(|it| format!("{prefix} {it}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, cases: &[&str]) {
        assert_eq!(numbers(name), cases, "{name}");
    }

    #[test]
    fn a_name_begins_with_the_numbers_of_its_cases() {
        check("case_037_heartbeats_do_not_cut_a_pause_short", &["case 37"]);
        check("case_008_and_038_a_machine_is_missing", &["case 8", "case 38"]);
        check("case_109_to_111_changes", &["case 109", "case 110", "case 111"]);
        check("case_153_154_and_170_nothing_changes", &["case 153", "case 154", "case 170"]);
        check("adv_08_adv_16_headers", &["adv 8", "adv 16"]);
        check("adv_103_15000_nodes_take_little_cpu", &["adv 103"]);
        check("golden_07_provider_id_kept", &["golden 7"]);
        check("do_what_it_says", &[]);
        check("a_case_37", &[]);
    }

    #[test]
    fn a_comment_says_where_a_test_belongs() {
        // Not in this file, which is read as any other.
        let text = include_str!("sample.txt");
        let tests = of_file("tests/it/nodes/x.rs", text);
        let found: Vec<_> = tests.iter().map(|it| (it.name.as_str(), it.cases.join(", "))).collect();
        let expected = [
            ("first", "restart, case 3"),
            ("case_004_second", "case 4"),
            ("third", "theft"),
            ("bad_input_fourth", "refused"),
        ];
        assert_eq!(found, expected.map(|(name, cases)| (name, cases.to_owned())));
        assert_eq!(tests[0].kind(), "cluster");
    }
}
