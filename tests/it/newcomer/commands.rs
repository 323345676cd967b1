//! Bad input of `aerostat provider new`: exit codes, one sentence, and a next step.

use std::os::unix::fs::PermissionsExt;
use std::process::{Output, Stdio};

use serde_json::Value;
use tests::aerostat::binary;
use tests::folder::Folder;
use tests::guests;
use tests::registry::{Access, RealRegistry};
use tokio::process::Command;

async fn new(arguments: &[&str]) -> Output {
    let command = ["provider", "new"].iter().chain(arguments);
    Command::new(binary().unwrap()).args(command).stdin(Stdio::null()).output().await.unwrap()
}

/// Cases: bad-provider-command
#[tokio::test]
async fn bad_input_makes_nothing_and_says_what_to_do() {
    let folder = Folder::new();
    let there = folder.path("there");
    std::fs::create_dir(&there).unwrap();
    let file = folder.write("file", "");
    let (made, in_file) = (folder.path("made"), file.join("made"));
    let folder_of = |it: &std::path::Path| format!("--folder={}", it.display());
    for (arguments, words) in [
        (vec!["Acme".to_owned(), folder_of(&made)], "such as acme"),
        (vec!["acme".to_owned(), folder_of(&there)], "is there already: choose another name"),
        (
            vec!["acme".to_owned(), folder_of(&made), "--lang=go".to_owned(), "--sdk=/nowhere".to_owned()],
            "guest-sdk/go",
        ),
        (vec!["acme".to_owned(), folder_of(&made), "--tags=20".to_owned()], "--ids=name"),
        (vec!["acme".to_owned(), folder_of(&made), "--smallest-page=200".to_owned()], "raise --largest-page"),
        (vec!["acme".to_owned(), folder_of(&made), "--sdk=/nowhere".to_owned()], "guest-sdk"),
        (vec!["acme".to_owned(), folder_of(&in_file)], "choose a folder that you may write to"),
    ] {
        let output = new(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{arguments:?}: {complaint}");
        assert!(complaint.contains(words), "{arguments:?}: {complaint}");
        assert_eq!(complaint.trim_end().lines().count(), 1, "{complaint}");
        assert!(!made.exists(), "{arguments:?}");
    }
    for (arguments, words) in
        [(&["acme", "--lang=cobol"][..], "--lang"), (&["acme", "--ids=mine"], "--ids"), (&[], "NAME")]
    {
        let output = new(arguments).await;
        assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains(words), "{arguments:?}");
    }
}

#[tokio::test]
async fn a_folder_is_complete_and_its_steps_are_told() {
    let folder = Folder::new();
    let made = folder.path("acme");
    let output = new(&["acme", &format!("--folder={}", made.display())]).await;
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains(" files. Next:") && said.contains("release/acme.wasm"), "{said}");
    for file in
        ["Cargo.toml", ".cargo/config.toml", ".github/workflows/provider.yaml", "src/balancers.rs", "tests/cloud.rs"]
    {
        assert!(made.join(file).is_file(), "{file}");
    }
    // The same for programs.
    let other = folder.path("other");
    let output = new(&["acme", &format!("--folder={}", other.display()), "--output=json"]).await;
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let files = told["files"].as_array().unwrap();
    assert_eq!(told["folder"].as_str(), other.to_str(), "{told}");
    assert!(said.contains(&format!("has {} files", files.len())), "{said}");
    assert!(files.iter().all(|it| other.join(it.as_str().unwrap()).is_file()), "{told}");
    let next = told["next"].as_array().unwrap().iter().map(|it| it.as_str().unwrap());
    assert!(next.clone().all(|it| said.contains(&it.replace("other", "acme"))) && next.count() == 6, "{told}");
    // Steps of a pipeline that a shell can read, each known.
    let read = Command::new("bash").args(["-n", "ci.sh"]).current_dir(&made).status().await.unwrap();
    assert!(read.success());
    let workflow = std::fs::read_to_string(made.join(".github/workflows/provider.yaml")).unwrap();
    let workflow: Value = serde_saphyr::from_str(&workflow).unwrap();
    let steps = workflow["jobs"]["provider"]["steps"].as_array().unwrap().iter().filter_map(|it| it["run"].as_str());
    for script in steps.clone() {
        assert!(Command::new("bash").args(["-n", "-c", script]).status().await.unwrap().success(), "{script}");
    }
    let steps: Vec<_> = steps.flat_map(str::lines).filter_map(|it| it.strip_prefix("./ci.sh")).collect();
    assert!(matches!(steps[..], ["", push, " sign"] if push.starts_with(" push ")), "{steps:?}");
    let unknown = Command::new("./ci.sh").arg("bake").current_dir(&made).output().await.unwrap();
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("build, test, check, conformance, push or sign"));
}

#[tokio::test]
async fn a_pipeline_signs_the_digest_that_it_has_pushed() {
    let (registry, folder) = (RealRegistry::distribution(Access::Anyone).await, Folder::new());
    let made = folder.path("acme");
    assert!(new(&["acme", &format!("--folder={}", made.display())]).await.status.success());
    let mut push = Command::new(binary().unwrap());
    push.args(["module", "push", guests::ACME, &format!("{}/acme/provider:1", registry.address()), "--output=json"]);
    let pushed = push.arg("--ca").arg(registry.ca_file()).output().await.unwrap();
    let told: Value = serde_json::from_slice(&pushed.stdout).unwrap();
    std::fs::write(made.join("pushed.json"), &pushed.stdout).unwrap();
    let cosign = folder.write("cosign", "#!/bin/sh\necho \"$@\"\n");
    std::fs::set_permissions(&cosign, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", cosign.parent().unwrap().display());
    let mut sign = Command::new("./ci.sh");
    let signed = sign.arg("sign").current_dir(&made).env("PATH", path).env("KEY", "acme.key").output().await.unwrap();
    let reference = told["reference"].as_str().unwrap();
    assert!(reference.contains("@sha256:"), "{told}");
    assert_eq!(
        String::from_utf8_lossy(&signed.stdout),
        format!("sign --yes --key=acme.key {reference}\n"),
        "{signed:?}"
    );
}

#[tokio::test]
async fn the_package_of_the_sdk_holds_all_that_it_needs() {
    let mut command = Command::new(env!("CARGO"));
    command.args(["package", "--list", "--offline", "--allow-dirty", "--package", "aerostat-sdk"]);
    let output = command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).output().await.unwrap();
    let files = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // These lie elsewhere, and are in the package by symbolic links.
    for file in ["wit/provider.wit", "src/go_duration/read.rs", "src/testing/protocol.rs", "src/testing/trouble.rs"] {
        assert!(files.lines().any(|it| it == file), "no {file}: {files}");
    }
}
