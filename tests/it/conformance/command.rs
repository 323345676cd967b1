//! The command `aerostat provider conformance`, as its author calls it.

use std::process::{Output, Stdio};

use serde_json::Value;
use tests::aerostat::binary;
use tests::folder::Folder;
use tests::guests;
use tests::published::acme;
use tokio::process::Command;

async fn conformance(arguments: &[&str]) -> Output {
    let command = ["provider", "conformance"].iter().chain(arguments);
    Command::new(binary().unwrap()).args(command).stdin(Stdio::null()).output().await.unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn a_provider_that_keeps_all_ends_with_0() {
    let served = acme::serve(0, &[]).await.unwrap();
    let output = conformance(&[guests::ACME, "--cloud", &served.url, "--every=4"]).await;
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    for words in ["provider acme 1.0.0", "nothing-twice", "create a load balancer", " 0 broken"] {
        assert!(out.contains(words), "no {words}: {out}");
    }
    // One part alone says nothing of the others.
    let output = conformance(&[guests::ACME, "--cloud", &served.url, "--only=machines", "--output=json"]).await;
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of = |name: &str| report["promises"].as_array().unwrap().iter().find(|it| it["name"] == name).cloned().unwrap();
    assert_eq!((output.status.code(), &of("none-only-when-certain")["outcome"]), (Some(0), &Value::from("kept")));
    assert_eq!(of("nothing-twice")["reason"], "another part was asked for alone");
}

#[tokio::test]
async fn a_broken_promise_ends_with_1_in_three_forms() {
    let served = acme::serve(0, &[("fault", "none-on-error")]).await.unwrap();
    let folder = Folder::new();
    let junit = folder.path("conformance.xml");
    let flags =
        [guests::FAULTY, "--cloud", &served.url, "--every=20", "--output=json", "--junit", junit.to_str().unwrap()];
    let output = conformance(&flags).await;
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let promises = report["promises"].as_array().unwrap();
    let broken: Vec<_> = promises.iter().filter(|it| it["outcome"] == "broken").collect();
    let named: Vec<_> = broken.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(named, ["none-only-when-certain"]);
    assert_eq!(broken[0]["page"], "wit/instances.wit");
    assert_eq!(broken[0]["findings"][1]["story"], "get web-1 by its name, request 1 answered with 500");
    let xml = std::fs::read_to_string(junit).unwrap();
    assert!(xml.starts_with("<?xml") && xml.contains("failures=\"1\""), "{xml}");
    assert!(xml.contains("name=\"none-only-when-certain\"><failure message=\"ok(none) means"), "{xml}");
}

#[tokio::test]
async fn a_wrong_argument_is_one_sentence_with_a_next_step() {
    let served = acme::serve(0, &[]).await.unwrap();
    let folder = Folder::new();
    let nothing = folder.write("nothing.wasm", "no component");
    let missing = folder.path("missing.wasm");
    for (file, url, words) in [
        (missing.to_str().unwrap(), served.url.as_str(), &["cannot read", "correct the path"][..]),
        (nothing.to_str().unwrap(), &served.url, &["nothing.wasm"]),
        (guests::ACME, "https://api.example.com", &["--cloud https://api.example.com", "write the URL"]),
        (guests::ACME, "http://192.0.2.1:80", &["on loopback alone", "write the URL"]),
        (guests::ACME, "http://127.0.0.1:1", &["GET /conformance/world", "start it", "docs/conformance.md"]),
        (guests::DIGITALOCEAN, "http://127.0.0.1:1", &["GET /conformance/world"]),
    ] {
        let output = conformance(&[file, "--cloud", url]).await;
        let complaint = text(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{complaint}");
        assert!(words.iter().all(|it| complaint.contains(it)), "{file} {url}: {complaint}");
        assert_eq!(complaint.trim_end().lines().count(), 1, "{complaint}");
    }
    for (arguments, words) in [
        (&[guests::ACME][..], "--cloud"),
        (&[guests::ACME, "--cloud", "x", "--every=0"], "--every"),
        (&["--cloud", "x"], "FILE.wasm"),
    ] {
        let output = conformance(arguments).await;
        assert!(output.status.code() == Some(2) && text(&output.stderr).contains(words), "{arguments:?}");
    }
}
