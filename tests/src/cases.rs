//! Holds `tests/CASES.md` and `SECURITY.md` against the tests that there are.
//!
//! The tests of a row of `tests/CASES.md` are written by a program, everything else by people. A test belongs to a row
//! - by the numbers that its name begins with: `case_037_…`, `adv_08_adv_16_…`, `case_109_to_114_…`, `golden_07_…`,
//! - or by a comment line before it, `/// Cases: restart, case 37`. One at the top of a file, `//! Cases: restart`, counts for the file's
//!   tests that say nothing of their own, and one before a macro that writes tests, `// Cases: restart`, for those.

mod page;
mod sources;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use self::sources::Test;

/// A name in the threat model with so many words is the name of a test.
const WORDS: usize = 4;

/// How many characters the name of a test has at most.
const LONGEST_NAME: usize = 60;

/// The last of OpenStack's cases.
const OPENSTACK: u32 = 61;

/// The command that writes the page.
const WRITE: &str = "AEROSTAT_WRITE_CASES=1 cargo test -p tests --lib the_page_of_cases_is_up_to_date";

#[test]
fn the_page_of_cases_is_up_to_date() {
    let path = root().join("tests/CASES.md");
    let page = fs::read_to_string(&path).expect("the page is there");
    let written = page::with_tests(&page, &tests()).unwrap_or_else(|errors| panic!("\n{}", errors.join("\n")));
    if is_to_be_written() {
        fs::write(&path, &written).expect("the page can be written");
        return;
    }
    let differs = page.lines().zip(written.lines()).enumerate().find(|(_, (is, should_be))| is != should_be);
    if let Some((index, (is, should_be))) = differs {
        panic!("tests/CASES.md:{} is\n{is}\nand should be\n{should_be}\nWrite it with: {WRITE}", index + 1);
    }
    assert_eq!(page, written, "write tests/CASES.md with: {WRITE}");
}

#[test]
fn cases_of_openstack_are_real_or_listed_with_a_reason() {
    let page = fs::read_to_string(root().join("tests/openstack/README.md")).expect("the page is there");
    let rows = page.lines().filter_map(|it| it.strip_prefix("| ")?.split_once(" | "));
    let listed = rows.flat_map(|(cases, _)| cases.split(", ")).map(|it| format!("openstack {it}"));
    let played = tests().into_iter().filter(|it| it.kind() == "real_openstack").flat_map(|it| it.cases);
    let known: BTreeSet<String> = played.chain(listed).collect();
    let lost: Vec<_> = (1..=OPENSTACK).filter(|it| !known.contains(&format!("openstack {it}"))).collect();
    assert!(lost.is_empty(), "no test of tests/it/real_openstack plays these, and its page does not say why: {lost:?}");
}

#[test]
fn every_test_that_the_threat_model_names_exists() {
    let written: BTreeSet<String> = tests().into_iter().map(|it| it.name).collect();
    let text = fs::read_to_string(root().join("SECURITY.md")).expect("the page is there");
    let quoted = text.split('`').skip(1).step_by(2);
    let named: Vec<_> = quoted.filter(|it| is_test_name(it)).collect();
    let invented: Vec<_> = named.iter().filter(|it| !written.contains(**it)).collect();
    assert!(invented.is_empty(), "SECURITY.md names tests that do not exist: {invented:#?}");
    assert!(named.len() > 30, "SECURITY.md names only {} tests", named.len());
}

#[test]
fn names_of_tests_have_at_most_60_characters() {
    let long = tests().into_iter().filter(|it| it.name.len() > LONGEST_NAME);
    let named: Vec<_> = long.map(|it| format!("{} in {} ({})", it.name, it.file, it.name.len())).collect();
    assert!(named.is_empty(), "shorten these names to {LONGEST_NAME} characters: {named:#?}");
}

fn tests() -> Vec<Test> {
    let mut tests = Vec::new();
    for folder in ["runtime", "guest-sdk", "providers", "tests/src", "tests/it"] {
        sources::add_tests(&root(), Path::new(folder), &mut tests);
    }
    tests
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn is_test_name(text: &str) -> bool {
    text.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_')
        && text.split('_').count() >= WORDS
}

#[expect(clippy::disallowed_methods, reason = "whether to write the page is said when the test is started")]
fn is_to_be_written() -> bool {
    std::env::var_os("AEROSTAT_WRITE_CASES").is_some()
}
