//! The way of a newcomer, for both origins of ids.

use std::time::Instant;

use k8s_openapi::api::core::v1::Node;
use kube::api::Api;
use serde_json::json;
use tests::control_plane::cluster;
use tests::operator::Setup;
use tests::{kubelet, wait};

use crate::story::Story;

/// The node that joins.
const NODE: &str = "web-1";

#[tokio::test]
async fn a_newcomer_comes_from_nothing_to_a_node() {
    let given = [
        "--url=https://api.acme.example/v2",
        "--tags=50",
        "--pages=pages:pages",
        "--page-items=data",
        "--page-query=page,page_size",
        "--smallest-page=5",
        "--errors=errors.0.reason",
    ];
    let mut story = Story::begin("acme-cloud", &given).await;
    story.cargo(&["test"]).await;
    story.cargo(&["build", "--release", "--target", "wasm32-wasip2"]).await;
    let module = story.module();
    let module_file = module.to_str().unwrap();
    story.checked(module_file).await;
    let cloud = story.cloud().await;
    let report = story.aerostat(&["provider", "conformance", module_file, "--cloud", &cloud.url, "--every=3"]).await;
    for words in ["provider acme-cloud 0.1.0", "nothing-twice ", " 0 broken"] {
        assert!(report.contains(words), "no {words}: {report}");
    }
    let size = std::fs::metadata(&module).unwrap().len();
    assert!(size < 400 << 10, "the profile of the folder makes few bytes, and not {size}");

    node_joins(&mut story, module_file, &cloud.url, "/v2").await;
    story.tell();
}

#[tokio::test]
async fn a_cloud_whose_names_are_chosen_keeps_every_promise_too() {
    let sdk = format!("--sdk={}/../guest-sdk", env!("CARGO_MANIFEST_DIR"));
    let mut story = Story::begin("named", &["--ids=name", "--pages=not-full", &sdk]).await;
    // The same stories as of the command, natively.
    story.cargo(&["test"]).await;
    story.tell();
}

/// A node joins a cluster of the tests that runs this module, with what the folder's `cloud.yaml` allows.
pub(crate) async fn node_joins(story: &mut Story, module_file: &str, url: &str, base: &str) {
    let start = Instant::now();
    let cluster = cluster().await;
    let config = std::fs::read_to_string(story.folder().join("cloud.yaml")).unwrap();
    let config: serde_json::Value = serde_saphyr::from_str(&config).unwrap();
    let base_url = format!("{url}{base}");
    let setup = Setup::guest(&cluster, module_file).edit(|own| {
        own["endpoints"] = config["endpoints"].clone();
        assert_eq!(own["endpoints"][0]["baseUrl"], format!("http://127.0.0.1:8080{base}"));
        own["endpoints"][0]["baseUrl"] = json!(base_url);
    });
    let _process = setup.started().await;
    let change = json!({ "addMachine": { "name": NODE } });
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let changed = client.post(format!("{url}/conformance/change")).body(change.to_string()).send().await.unwrap();
    assert!(changed.status().is_success());
    kubelet::join(&cluster.admin, NODE).await.unwrap();
    let nodes: Api<Node> = Api::all(cluster.admin.clone());
    let node = wait::until("the node is initialised", async || {
        Some(nodes.get(NODE).await.unwrap()).filter(|it| !kubelet::is_uninitialized(it))
    })
    .await;
    let id = node.spec.unwrap().provider_id.unwrap();
    assert!(id.contains("://m-"), "{id}");
    story.note("a node joins a cluster of the tests, and is initialised", start);
}
