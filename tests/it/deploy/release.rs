//! `make release` and `make publish`: which files there will be, and that pages name no others.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use crate::setup::{deploy, text};

/// Runs a script of `deploy/`, which builds nothing.
fn run(script: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(deploy().join(script));
    command.args(arguments).env_remove("CYCLONEDX").output().unwrap()
}

/// The files of a release.
fn names() -> BTreeSet<String> {
    let output = run("release.sh", &["names"]);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_release_has_the_program_all_modules_and_their_sboms() {
    let names = names();
    let providers: Vec<_> = std::fs::read_dir(deploy().join("../providers"))
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut wanted: BTreeSet<_> = ["aerostat.cdx.json", "BUILT-WITH.txt", "SHA256SUMS"].map(str::to_owned).into();
    wanted.extend(providers.iter().flat_map(|it| [format!("{it}.wasm"), format!("{it}.cdx.json")]));
    let program: Vec<_> = names.difference(&wanted).cloned().collect();
    assert_eq!(names.intersection(&wanted).count(), wanted.len(), "{names:?}");
    assert!(matches!(&program[..], [it] if it.starts_with("aerostat-linux-")), "{program:?}");
}

#[test]
fn pages_name_files_that_a_release_has() {
    let names = names();
    let program = names.iter().find(|it| it.starts_with("aerostat-linux-")).unwrap().clone();
    let mut named = BTreeSet::new();
    for page in ["../SECURITY.md", "../README.md", "README.md", "hetzner/README.md", "registry/README.md"] {
        let text = text(page);
        let words = text.split(|it: char| !(it.is_ascii_alphanumeric() || "-_.".contains(it)));
        let words = words.map(|it| it.trim_end_matches('.')).filter(|it| {
            [".cdx.json", "BUILT-WITH.txt", "SHA256SUMS"].iter().any(|end| it.ends_with(end))
                || it.starts_with("aerostat-linux-")
        });
        named.extend(words.map(|it| it.replace("aerostat-linux-amd64", &program)));
    }
    assert!(named.contains("SHA256SUMS") && named.contains(&program), "{named:?}");
    let invented: Vec<_> = named.difference(&names).collect();
    assert!(invented.is_empty(), "pages name {invented:?}, and a release has {names:?}");
}

#[test]
fn what_the_scripts_cannot_do_is_said_with_the_next_step() {
    let none: &[&str] = &[];
    for (script, arguments, parts) in [
        ("release.sh", &["nonsense"] as &[&str], ["there is no nonsense to build", "Next step: deploy/release.sh"]),
        ("release.sh", none, ["CYCLONEDX names no program", "Next step: make release"]),
        ("publish.sh", none, ["no registry is named", "Next step: make publish REGISTRY="]),
    ] {
        let output = run(script, arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        assert!(parts.iter().all(|it| said.contains(it)), "{script} {arguments:?}: {said}");
    }
}
