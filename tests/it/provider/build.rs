//! `aerostat provider build`.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;
use tests::folder::Folder;
use tests::guests;

use crate::setup::{Ended, aerostat_with, says};

/// A crate with nothing in it, outside of every workspace.
fn crate_with(kind: &str, code: &str) -> Folder {
    let folder = Folder::new();
    let manifest = format!(
        "[package]\nname = \"little\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"{kind}\"]\n[workspace]\n"
    );
    folder.write("Cargo.toml", manifest);
    std::fs::create_dir(folder.path("src")).unwrap();
    folder.write("src/lib.rs", code);
    folder
}

async fn build(folder: &Folder, variables: &[(&str, &str)]) -> Ended {
    aerostat_with(&["provider", "build", &folder.path("").display().to_string()], variables).await
}

#[tokio::test]
async fn the_example_of_the_sdk_is_built_as_it_is_tested() {
    let (sdk, folder) = (format!("{}/../guest-sdk", env!("CARGO_MANIFEST_DIR")), Folder::new());
    let target = format!("{}/../target/guests", env!("CARGO_MANIFEST_DIR"));
    let out = folder.path("acme.wasm");
    let command = ["provider", "build", &sdk, "--example=acme", "--out", out.to_str().unwrap(), "--output=json"];
    let variables =
        [("CARGO_TARGET_DIR", target.as_str()), ("CARGO_ENCODED_RUSTFLAGS", guests::FLAGS), ("CARGO_INCREMENTAL", "0")];
    let ended = aerostat_with(&command, &variables).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let built: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(built["profile"], "guest, of its workspace");
    assert!(built["exports"].as_array().unwrap().iter().any(|it| it == "aerostat:cloud/provider@0.1.0"), "{built}");
    assert_eq!(built["size"], std::fs::metadata(&out).unwrap().len());
    assert_eq!(built["sha256"], guests::sha256(&out));
    // With other crates beside it, cargo may choose other features of the same dependencies.
    let tested = std::fs::read(guests::ACME).unwrap();
    assert!(strip_module::stripped(&tested).unwrap() == tested, "tests strip alike");
    assert!(built["size"].as_u64() < built["largest"].as_u64());
}

#[tokio::test]
async fn a_folder_of_go_is_built_without_names() {
    let (example, folder) = (format!("{}/../guest-sdk/examples/acme-go", env!("CARGO_MANIFEST_DIR")), Folder::new());
    let out = folder.path("acme.wasm");
    let command = ["provider", "build", &example, "--out", out.to_str().unwrap(), "--output=json"];
    let ended = aerostat_with(&command, &[]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let built: Value = serde_json::from_str(&ended.out).unwrap();
    assert!(built["profile"].as_str().unwrap().starts_with("go build -buildmode=c-shared"), "{built}");
    assert!(
        built["exports"].as_array().unwrap().iter().any(|it| it == "aerostat:cloud/load-balancers@0.1.0"),
        "{built}"
    );
    assert_eq!(built["sha256"], guests::sha256(&out));
    let bytes = std::fs::read(&out).unwrap();
    for name in ["component-name", "producers"] {
        assert!(!bytes.windows(name.len()).any(|it| it == name.as_bytes()), "{name}");
    }
}

#[tokio::test]
async fn a_program_that_go_cannot_build_ends_with_2() {
    let folder = Folder::new();
    folder.write("go.mod", "module acme.example/provider\n\ngo 1.26\n");
    folder.write("main.go", "package main\n\nfunc main() {\n");
    let ended = build(&folder, &[]).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{ended:?}");
    says(&ended.errors, &["go cannot build ", "correct the program"]);
    folder.write("main.go", "package main\n\nfunc main() {}\n");
    let ended = build(&folder, &[]).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{ended:?}");
    says(&ended.errors, &["is no provider", "call Export of the packages provider and instances"]);
    let empty = Folder::new();
    let ended = build(&folder, &[("PATH", &empty.path("").display().to_string())]).await;
    says(&ended.errors, &["cannot start go ", "install Go 1.26 or newer"]);
    let path = folder.path("").display().to_string();
    let ended = aerostat_with(&["provider", "build", &path, "--example=acme"], &[]).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    says(&ended.errors, &["--package and --example are for crates"]);
}

#[tokio::test]
async fn a_component_that_is_no_provider_ends_with_1() {
    let ended = build(&crate_with("cdylib", ""), &[]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    says(&ended.out, &["little.wasm: sha256:", " of 4096 KiB at most", "profile     release, with opt-level=\"z\""]);
    says(&ended.out, &["wrong       it does not export aerostat:cloud/provider"]);
}

#[tokio::test]
async fn a_crate_that_cannot_be_built_ends_with_2() {
    let cases = [
        (crate_with("rlib", ""), "builds no component; write crate-type = [\"cdylib\", \"rlib\"]"),
        (crate_with("cdylib", "fn main() {"), "as it says above; correct the crate"),
    ];
    for (folder, words) in cases {
        let ended = build(&folder, &[]).await;
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{ended:?}");
        says(&ended.errors, &[words]);
    }
    let folder = crate_with("cdylib", "");
    folder.write("Cargo.toml", "no manifest");
    says(&build(&folder, &[]).await.errors, &["cargo cannot read ", "correct the file"]);
}

#[tokio::test]
async fn a_toolchain_without_the_target_is_told_what_to_install() {
    let folder = crate_with("cdylib", "");
    let tools = Folder::new();
    let rustc = tools.write("rustc", "#!/bin/sh\necho /nowhere/lib/rustlib/wasm32-wasip2/lib\n");
    std::fs::set_permissions(rustc, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = tools.path("").display().to_string();
    let ended = build(&folder, &[("PATH", &path)]).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    says(&ended.errors, &["cannot compile for wasm32-wasip2", "install it with: rustup target add wasm32-wasip2"]);
    let empty = Folder::new();
    let ended = build(&folder, &[("PATH", &empty.path("").display().to_string())]).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    says(&ended.errors, &["cannot start rustc", "install Rust"]);
}
