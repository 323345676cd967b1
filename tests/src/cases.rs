//! Holds `tests/CASES.md` and `SECURITY.md` against the tests that there are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What the names of cases begin with: a number follows, or words.
const NUMBERED: [&str; 3] = ["adv_", "case_", "do_"];
const NAMED: [&str; 2] = ["bad_input_", "theft_"];

/// A name in the threat model with so many words is the name of a test.
const WORDS: usize = 4;

#[test]
fn the_table_names_every_case_test_and_no_other() {
    let written: BTreeSet<String> = all_functions().into_iter().filter(|it| is_case(it)).collect();
    let listed: BTreeSet<String> = quoted("tests/CASES.md").into_iter().filter(|it| is_case(it)).collect();

    let missing: Vec<_> = written.difference(&listed).collect();
    let invented: Vec<_> = listed.difference(&written).collect();
    assert!(missing.is_empty(), "tests/CASES.md does not list {missing:#?}");
    assert!(invented.is_empty(), "tests/CASES.md lists tests that do not exist: {invented:#?}");
}

#[test]
fn every_test_that_the_threat_model_names_exists() {
    let written = all_functions();
    let named: Vec<_> = quoted("SECURITY.md").into_iter().filter(|it| is_test_name(it)).collect();
    let invented: Vec<_> = named.iter().filter(|it| !written.contains(*it)).collect();
    assert!(invented.is_empty(), "SECURITY.md names tests that do not exist: {invented:#?}");
    assert!(named.len() > 30, "SECURITY.md names only {} tests", named.len());
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What a page of the project quotes as code.
fn quoted(page: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(page)).expect("the page is there");
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn is_test_name(text: &str) -> bool {
    text.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_')
        && text.split('_').count() >= WORDS
}

fn all_functions() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for folder in ["runtime", "guest-sdk/src", "providers", "tests/src", "tests/it"] {
        functions(&root().join(folder), &mut names);
    }
    names
}

/// Adds the names of all functions below `folder`, and of what could be a test that a macro writes, one a line: the name,
/// a colon, and what makes it a test.
fn functions(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|it| panic!("{}: {it}", folder.display())) {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            functions(&path, names);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path).expect("source is UTF-8");
            let after_fn = text.split("fn ").skip(1).filter_map(|it| it.split('(').next());
            let before_colon = text.lines().filter_map(|it| it.trim_start().split(": \"").next());
            names.extend(after_fn.chain(before_colon).map(str::to_owned));
        }
    }
}

/// Whether `name` is a prefix, a number or a word, and nothing that a function's name cannot be.
fn is_case(name: &str) -> bool {
    let word = |it: &str| !it.is_empty() && it.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let after = |prefixes: &[&str], fits: fn(char) -> bool| {
        let rest = prefixes.iter().find_map(|it| name.strip_prefix(it));
        rest.is_some_and(|rest| word(rest) && rest.starts_with(fits))
    };
    after(&NUMBERED, |it| it.is_ascii_digit()) || after(&NAMED, |_| true)
}
