//! A compiler in a process of its own: what it makes runs, and what else may come of it is an error that says so.

use std::path::{Path, PathBuf};

use tests::component;

use crate::setup::Guest;

fn compiled_by(program: impl Into<PathBuf>) -> Guest {
    Guest { compiler: Some(program.into()), ..Guest::hostile() }
}

async fn check(program: impl AsRef<Path>, expected: &str) {
    let text = compiled_by(program.as_ref()).refusal().await;
    assert!(text.contains("cannot be compiled") && text.contains(expected), "{text}");
}

#[tokio::test]
async fn what_the_binary_compiles_runs() {
    let lab = compiled_by(tests::aerostat::binary().unwrap()).load().await;
    lab.assert_alive().await;
}

#[tokio::test]
async fn the_compilers_own_words_are_passed_on() {
    let mut bytes = component::only_provider();
    bytes.truncate(bytes.len() / 2);
    let guest = Guest { bytes, ..compiled_by(tests::aerostat::binary().unwrap()) };
    let text = guest.refusal().await;
    assert!(text.contains("it is damaged") && text.contains("unexpected end"), "{text}");
}

#[tokio::test]
async fn a_program_that_is_no_compiler_is_an_error() {
    check("/no/such/program", "/no/such/program cannot be started as the compiler").await;
    check("/bin/false", "the compiler ended with exit status: 1").await;
    // It writes its arguments: what is no machine code of ours is not run.
    check("/bin/echo", "cannot be compiled").await;
}
