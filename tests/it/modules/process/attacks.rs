//! Hostile registries, and hostile modules in honest ones, against the binary: what it says, what it sends, and that it does
//! not lead with anything else than what the operator has named.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tests::aerostat::message;
use tests::capture::{Capture, Step};
use tests::control_plane::cluster;
use tests::operator::{PATIENCE, Setup, says};
use tests::registry::{Access, Answers, Artifact, RealRegistry};
use tests::{component, costly, guests, wait};

use super::{acme, in_hostile, in_registry, with_login};

/// The memory that the host may hold at the most, in mebibytes: that of every process, and a few modules.
const MEBIBYTES: u64 = 200;

/// The most that a process ever had in memory.
fn peak_mebibytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|it| it.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

fn blob_of(artifact: &Artifact) -> String {
    format!("blobs/sha256:{}", sha256::Digest::of(&artifact.module))
}

#[tokio::test]
async fn adv_52_a_swapped_manifest_or_layer_ends_the_start() {
    let cluster = cluster().await;
    let other = Artifact::new(&component::only_provider());
    let mut layer = acme().module;
    *layer.last_mut().unwrap() ^= 1;
    let manifest = format!("manifests/sha256:{}", acme().digest());
    for (path, bytes, part) in [
        (manifest, &other.manifest, "sent other bytes as manifest sha256:"),
        (blob_of(&acme()), &layer, "sent other bytes as blob sha256:"),
    ] {
        let registry = Answers::of(&acme()).with(&other).set(&path, Step::bytes(&[], bytes)).serve().await;
        let setup = in_hostile(Setup::guest(&cluster, guests::ACME), &registry, &acme().digest());
        let pinned = format!("@sha256:{} is refused", acme().digest());
        says(&setup.refused().await, &["module 127.0.0.1:", &pinned, part, "find out who replaced them"]);
    }
}

#[tokio::test]
async fn adv_52_machine_code_of_our_own_compiler_is_refused() {
    let cluster = cluster().await;
    let registry = RealRegistry::distribution(Access::Anyone).await;
    let code = Artifact::new(&compiled(&component::only_provider()));
    registry.push(&code, None).await;
    let setup = in_registry(Setup::guest(&cluster, guests::ACME), &registry, &code.digest());
    says(&setup.refused().await, &["module 127.0.0.1:", "not a WebAssembly component", "build it with --target"]);
}

/// A module as the binary's compiler leaves it: the very form in which the host loads machine code.
fn compiled(module: &[u8]) -> Vec<u8> {
    let mut compiler = Command::new(tests::aerostat::binary().unwrap())
        .args(["compile-provider", "67108864"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    compiler.stdin.take().unwrap().write_all(module).unwrap();
    let mut code = Vec::new();
    compiler.stdout.take().unwrap().read_to_end(&mut code).unwrap();
    assert!(compiler.wait().unwrap().success() && code.starts_with(b"\x7fELF"), "it compiles");
    code
}

#[tokio::test]
async fn adv_53_a_tag_that_moved_changes_nothing_at_a_restart() {
    let cluster = cluster().await;
    let registry = RealRegistry::distribution(Access::Anyone).await;
    let (module, later) = (Artifact::new(&component::only_provider()), acme());
    registry.push(&module, Some("1.2.0")).await;
    let setup = in_registry(Setup::guest(&cluster, guests::ACME), &registry, &module.digest());
    for tagged in [&module, &later] {
        registry.push(tagged, Some("1.2.0")).await;
        let mut process = setup.start();
        let line = process.says("provider minimal").await;
        says(message(&line), &[&format!("sha256 {}", sha256::Digest::of(&module.module))]);
        process.says("successfully acquired lease").await;
        process.stop().await;
    }
}

#[tokio::test]
async fn adv_56_a_start_sends_its_login_to_nobody_else() {
    let cluster = cluster().await;
    let thief = Capture::https(&["127.0.0.1"], |_| Step::ok(r#"{ "token": "t" }"#)).await;
    for (realm, part) in [
        (format!("{}/token", thief.url()), "if that is its token service, name 127.0.0.1:"),
        ("http://169.254.169.254/latest".to_owned(), "nothing was sent"),
    ] {
        let challenge = format!("Bearer realm=\"{realm}\",service=\"registry\"");
        let asks = Step::answer("401 Unauthorized", &[("www-authenticate", &challenge)], "");
        let path = format!("manifests/sha256:{}", acme().digest());
        let registry = Answers::of(&acme()).set(&path, asks).serve().await;
        let setup = in_hostile(Setup::guest(&cluster, guests::ACME), &registry, &acme().digest());
        setup.folder.write("registry-ca.pem", format!("{}\n{}", registry.ca(), thief.ca()));
        let address = registry.address().to_string();
        let login = json!({ "auths": { address.as_str(): { "username": "alice", "password": "correct-horse" } } });
        let (status, lines) = with_login(setup, &login).start().aerostat.ended(PATIENCE).await.unwrap();
        let last = lines.last().map(message).unwrap_or_default();
        assert_eq!(status.code(), Some(1), "{last}");
        says(last, &[&address, "asks for its login to be sent to", part]);
        let all = Value::from_iter(lines.iter().cloned().map(Value::Object)).to_string();
        assert!(!all.contains("correct-horse") && !all.contains("Y29ycmVjdC1ob3JzZ"), "{all}");
        assert!(registry.requests().iter().all(|it| it.header("authorization").is_none()));
    }
    assert_eq!(thief.connections(), 0);
}

#[tokio::test]
async fn adv_57_a_start_is_not_sent_to_metadata_or_loopback() {
    let cluster = cluster().await;
    let module = acme().module;
    let trap = Capture::https(&["127.0.0.1"], move |_| Step::bytes(&[], &module)).await;
    for (location, part) in [
        ("https://169.254.169.254/latest/meta-data", "is at 169.254.169.254, which is link-local"),
        (trap.url().as_str(), "is at 127.0.0.1, which is loopback"),
    ] {
        let redirect = Step::answer("307 Temporary Redirect", &[("location", location)], "");
        let registry = Answers::of(&acme()).set(&blob_of(&acme()), redirect).serve().await;
        let setup = in_hostile(Setup::guest(&cluster, guests::ACME), &registry, &acme().digest());
        setup.folder.write("registry-ca.pem", format!("{}\n{}", registry.ca(), trap.ca()));
        says(&setup.refused().await, &["module 127.0.0.1:", "is refused", part]);
    }
    assert_eq!(trap.connections(), 0);
}

#[tokio::test]
async fn adv_59_a_module_that_unpacks_to_1_gib_is_not_unpacked() {
    let cluster = cluster().await;
    let bomb = costly::zstd_of_zeros(1 << 30);
    assert!(bomb.len() < 64 << 10, "{}", bomb.len());
    let registry = RealRegistry::distribution(Access::Anyone).await;
    let plain = Artifact::new(&bomb);
    let packed = Artifact::edited(&bomb, |it| it["layers"][0]["mediaType"] = json!("application/wasm+zstd"));
    for (artifact, part) in [
        (plain, "not a WebAssembly component"),
        (packed, "has a layer of the type application/wasm+zstd, and a module has application/wasm"),
    ] {
        registry.push(&artifact, None).await;
        let setup = in_registry(Setup::guest(&cluster, guests::ACME), &registry, &artifact.digest());
        says(&setup.refused_within_memory(512 << 20).await, &["module 127.0.0.1:", part]);
    }
}

#[tokio::test]
async fn the_process_reads_100_bytes_where_10_gb_are_sent() {
    let cluster = cluster().await;
    let small = Artifact::new(&[b'x'; 100]);
    for head in [
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 10737418240\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
    ] {
        let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000)).into_bytes();
        let flood = vec![Step::raw(head), Step::Flood(chunk)];
        let registry = Answers::of(&small).set(&blob_of(&small), flood).serve().await;
        let setup = in_hostile(Setup::guest(&cluster, guests::ACME), &registry, &small.digest());
        let mut process = setup.start();
        let line = process.says("tried again in 1s; until then nothing is led").await;
        says(message(&line), &["module 127.0.0.1:", "answered with more than the 100 bytes that are awaited"]);
        let peak = peak_mebibytes(process.aerostat.pid());
        assert!(peak < MEBIBYTES, "{peak} MiB");
        process.stop().await;
    }
}

#[tokio::test]
async fn a_page_for_people_in_place_of_a_module_is_not_loaded() {
    let cluster = cluster().await;
    let page = Step::bytes(&[("content-type", "text/html")], b"<html>Please log in</html>");
    let registry = Answers::of(&acme()).set(&blob_of(&acme()), page).serve().await;
    let setup = in_hostile(Setup::guest(&cluster, guests::ACME), &registry, &acme().digest());
    let mut process = setup.start();
    let line = process.says("tried again in 1s; until then nothing is led").await;
    says(message(&line), &["module 127.0.0.1:", "sent 26 bytes as blob sha256:"]);
    process.stop().await;
}

#[tokio::test]
async fn a_start_that_waits_for_an_endless_answer_can_be_ended() {
    let cluster = cluster().await;
    let endless = vec![Step::raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"), Step::Hang];
    let path = format!("manifests/sha256:{}", acme().digest());
    let registry = Answers::of(&acme()).set(&path, endless).serve().await;
    let setup = in_hostile(Setup::guest(&cluster, guests::ACME), &registry, &acme().digest());
    let process = setup.start();
    wait::until("the registry is asked", async || (registry.requests().len() == 1).then_some(())).await;
    assert_eq!(process.get("/healthz", None).await.code, 200, "no restart would help");
    assert_eq!(process.get("/readyz", None).await.code, 500);
    process.stop().await;
}
