//! A compiler in a process of its own: what it makes runs, and what else may come of it is an error that says so.

use std::path::{Path, PathBuf};

use prometheus::Registry;
use sandbox::{CallLimits, Module, Sandbox};
use tests::folder::Folder;
use tests::{component, costly, guests};

use crate::setup::{Guest, digest};

fn compiled_by(program: impl Into<PathBuf>) -> Guest {
    Guest { compiler: Some(program.into()), ..Guest::hostile() }
}

async fn check(program: impl AsRef<Path>, expected: &str) {
    let text = compiled_by(program.as_ref()).refusal().await;
    assert!(text.contains("cannot be compiled") && text.contains(expected), "{text}");
}

#[tokio::test]
async fn a_module_that_the_binary_compiled_runs() {
    let lab = compiled_by(tests::aerostat::binary().unwrap()).load().await;
    lab.assert_alive().await;
}

#[tokio::test]
async fn a_kept_module_is_compiled_by_the_binary_once() {
    let folder = Folder::new();
    let program = folder.path("compiler");
    std::os::unix::fs::symlink(tests::aerostat::binary().unwrap(), &program).unwrap();
    let sandbox = Sandbox::new(CallLimits::default().memory).unwrap().compiling_with(&program).keeping_modules();
    let load = async || {
        let guest = Guest::hostile();
        let module = Module::new("hostile", guest.bytes.clone(), digest(&guest.bytes)).unwrap();
        guest.load_into(&sandbox, module, &Registry::new()).await.map(drop)
    };
    load().await.unwrap();
    std::fs::remove_file(&program).unwrap();
    load().await.expect("nobody has to compile it again");
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

/// The compiler's process and this one refuse these bytes, and name the limit that an operator can raise.
async fn check_costly(bytes: Vec<u8>, what: &str, key: &str) {
    for compiler in [Some(tests::aerostat::binary().unwrap()), None] {
        let text = Guest { compiler, ..Guest::of(bytes.clone()) }.refusal().await;
        let limit = format!("provider.limits.compile.{key} allows");
        for part in ["cannot be compiled", what, &limit, "raise that in --cloud-config if you trust this module"] {
            assert!(text.contains(part), "{part:?} is not in {text:?}");
        }
    }
}

#[tokio::test]
async fn adv_106_components_inside_components_are_refused() {
    check_costly(costly::nested_components(118_000), "17 components, modules or types inside", "nesting").await;
}

#[tokio::test]
async fn adv_106_types_inside_types_are_refused() {
    check_costly(costly::nested_types(10_000), "17 components, modules or types inside", "nesting").await;
}

#[tokio::test]
async fn adv_106_a_function_of_832_kb_is_refused() {
    check_costly(costly::nested_loops(277_000), "bytes in one function", "functionBytes").await;
}

#[tokio::test]
async fn adv_106_blocks_inside_blocks_are_refused() {
    check_costly(costly::nested_loops(10_000), "2001 blocks inside one another", "blocks").await;
}

#[tokio::test]
async fn adv_106_loops_with_many_variables_are_refused() {
    check_costly(costly::loops_with_locals(500, 1_001), "1001 local variables", "locals").await;
}

#[tokio::test]
async fn adv_106_branch_tables_with_many_targets_are_refused() {
    check_costly(costly::branch_tables(16, 60_000), "bytes in one function", "functionBytes").await;
    check_costly(costly::branch_tables(2, 6_000), "targets of br_table in one function", "branchTargets").await;
}

#[tokio::test]
async fn adv_106_many_functions_are_refused() {
    check_costly(costly::functions(20_001), "20001 functions", "functions").await;
}

#[tokio::test]
async fn adv_106_a_compiler_that_writes_without_end_is_stopped() {
    // Its arguments are no options of that program, which then complains, or words that it repeats for ever.
    check("/usr/bin/yes", "the compiler wrote more than 67108864 bytes of machine code; raise").await;
}

#[tokio::test]
async fn adv_106_our_own_providers_are_compiled() {
    for path in [guests::DIGITALOCEAN, guests::HETZNER, guests::ACME, guests::HOSTILE, guests::SCRIPTED] {
        let guest = Guest { bytes: std::fs::read(path).unwrap(), ..compiled_by(tests::aerostat::binary().unwrap()) };
        // What is compiled may still miss a setting or an endpoint.
        if let Err(error) = guest.try_load(&prometheus::Registry::new()).await {
            let text = format!("{:#}", anyhow::Error::from(error));
            assert!(text.contains("needs the endpoint"), "{path}: {text}");
        }
    }
}
