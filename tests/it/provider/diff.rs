//! `aerostat module diff`.

use serde_json::json;
use tests::folder::Folder;
use tests::guests;
use tests::versioned::version;

use crate::setup::{ends, flag, json_of, says};

#[tokio::test]
async fn a_module_is_compared_with_itself() {
    let text = ends(0, &["module", "diff", guests::ACME, guests::ACME]).await;
    says(&text, &["--- ", "+++ ", "acme 1.0.0, sha256:", "they say and ask for the same"]);
    let found = json_of(0, &["module", "diff", guests::AWS, guests::AWS]).await;
    assert_eq!(found["changes"], json!([]));
}

#[tokio::test]
async fn another_version_and_another_provider_are_told_apart() {
    let folder = Folder::new();
    let write = |name: &str, words: &str| folder.write(name, version(words)).display().to_string();
    let (old, new) = (write("1.0.0.wasm", "version=1.0.0"), write("1.1.0.wasm", "version=1.1.0"));
    let text = ends(0, &["module", "diff", &old, &new]).await;
    says(&text, &["version     1.0.0 becomes 1.1.0", "nothing of it has to be looked at"]);

    let grown = write("grown.wasm", "version=1.1.0 grown");
    let text = ends(1, &["module", "diff", &old, &grown]).await;
    let line = "! request     + endpoint api: POST /firewalls, write, fields: ['name']";
    says(&text, &[line, "has to be looked at"]);
    // What the config allows has not to be looked at.
    let mut config = json_of(0, &["provider", "describe", &grown]).await;
    let path = folder.write("cloud.yaml", config.to_string());
    let found = json_of(0, &["module", "diff", &old, &grown, &flag("cloud-config", &path)]).await;
    let requests: Vec<_> = found["changes"].as_array().unwrap().iter().filter(|it| it["about"] == "request").collect();
    assert_eq!((requests.len(), &requests[0]["matters"]), (1, &json!(false)), "{found}");
    config["endpoints"][0]["allow"].as_array_mut().unwrap().truncate(1);
    let path = folder.write("cloud.yaml", config.to_string());
    ends(1, &["module", "diff", &old, &grown, &flag("cloud-config", &path)]).await;

    let text = ends(1, &["module", "diff", guests::ACME, guests::HETZNER]).await;
    says(&text, &["! provider    acme becomes hcloud: another provider", "! provider id - acme://", "size        "]);
    says(&text, &["  capability  + routes", "! annotation  + load-balancer.hetzner.cloud/name"]);
}
