//! A guest in Go: the same limits stop it, and its standard library finds nothing of the machine.

use std::process::Command;
use std::time::Duration;

use sandbox::{CallLimits, Interfaces, Module};
use tests::capture::{Capture, Step};
use tests::go_guests;

use crate::setup::{Guest, digest};

fn hostile() -> Guest {
    Guest::of(std::fs::read(go_guests::hostile()).unwrap())
}

#[test]
fn a_guest_in_go_imports_no_more_than_one_in_rust() {
    for path in [go_guests::acme(), go_guests::hostile()] {
        let bytes = std::fs::read(path).unwrap();
        let module = Module::new(path, bytes.clone(), digest(&bytes)).unwrap();
        let found = Interfaces::of(&module).unwrap();
        let others: Vec<_> = found.imports.iter().filter(|it| !it.starts_with("aerostat:cloud/")).collect();
        let expected = [
            "wasi:io/error@0.2.6",
            "wasi:io/streams@0.2.6",
            "wasi:cli/stderr@0.2.6",
            "wasi:cli/stdout@0.2.6",
            "wasi:io/poll@0.2.6",
            "wasi:clocks/monotonic-clock@0.2.6",
            "wasi:clocks/wall-clock@0.2.6",
            "wasi:random/random@0.2.6",
        ];
        assert_eq!(others, expected, "{path}");
    }
}

#[tokio::test]
async fn a_guest_in_go_sees_nothing_of_the_machine() {
    let lab = hostile().load().await;
    // One variable, of the adapter; no arguments; reading, listing, making and dialing fail.
    assert_eq!(lab.report("environment").await, "[GOTRACEBACK=none] 0 true true true true");
    assert_ne!(lab.report("randomness").await, lab.report("randomness").await);
    let clock: i64 = lab.report("clock").await.parse().unwrap();
    assert!((clock - jiff::Timestamp::now().as_second()).abs() < 60, "{clock}");
    assert_eq!(lab.report("sleep-a-moment").await, "true");
}

#[tokio::test]
async fn a_guest_in_go_reaches_its_endpoints_alone() {
    let server = Capture::http(|_| Step::ok(&"x".repeat(100_000))).await;
    let lab = hostile().endpoint("api", server.address()).load().await;
    assert_eq!(lab.report("fetch:api/machines").await, "200 with 100000 bytes");
    for elsewhere in ["other/machines", "http://169.254.169.254/latest", "127.0.0.1/machines", "/machines"] {
        let denied = lab.get(&format!("fetch:{elsewhere}")).await.unwrap_err();
        assert!(denied.to_string().contains("E-EGRESS-"), "{elsewhere}: {denied}");
    }
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn goroutines_of_a_guest_ask_one_after_the_other() {
    let server = Capture::http(|_| Step::ok("0123456789")).await;
    let lab = hostile().endpoint("api", server.address()).load().await;
    let expected = format!("[{}]", ["10"; 20].join(" "));
    assert_eq!(lab.report("goroutines:api").await, expected);
    lab.assert_alive().await;
}

#[tokio::test]
async fn a_guest_in_go_is_stopped_by_each_limit() {
    let limits = CallLimits { cpu: Duration::from_secs(2), ..CallLimits::default() };
    let lab = hostile().limits(limits).load().await;
    let cpu = "was stopped after 2s of CPU time (provider.limits.cpu)";
    assert_eq!(lab.end("spin").await, format!("provider hostile: get {cpu}"));
    lab.assert_alive().await;
    let memory = "was stopped: it wanted more than 65536 KiB of memory (provider.limits.memory)";
    assert_eq!(lab.end("eat-memory").await, format!("provider hostile: get {memory}"));
    lab.assert_alive().await;
    let text = lab.end("recurse").await;
    assert!(text.contains("call stack exhausted") || text.contains(memory), "{text}");
    for (crime, words) in [
        ("panic:no region", "the last that it printed: panic: no region"),
        ("deadlock", "all goroutines are asleep - deadlock!"),
        ("exit", "crashed"),
    ] {
        let text = lab.end(crime).await;
        assert!(text.contains(words), "{crime}: {text}");
        lab.assert_alive().await;
    }
}

#[tokio::test]
async fn a_sleeping_guest_in_go_ends_at_the_deadline() {
    let limits = CallLimits { wall: Duration::from_millis(300), ..CallLimits::default() };
    let lab = hostile().limits(limits).load().await;
    let text = lab.end("sleep-an-hour").await;
    assert_eq!(text, "provider hostile: get was stopped after 300ms (provider.limits.wall)");
}

#[tokio::test]
async fn garbage_of_a_guest_in_go_is_collected_in_time() {
    let limits = CallLimits { cpu: Duration::from_secs(10), ..CallLimits::default() };
    let lab = hostile().limits(limits).load().await;
    assert_eq!(lab.report("make-garbage").await, "400 MiB");
}

#[test]
fn the_sdk_for_go_and_its_example_pass_their_own_tests() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for folder in ["guest-sdk/go", "guest-sdk/examples/acme-go"] {
        let output = Command::new("go").args(["test", "./..."]).current_dir(root.join(folder)).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{folder}: {text}");
    }
}
