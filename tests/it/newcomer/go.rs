//! The way of a newcomer who writes Go: Go, aerostat, and nothing else.

use crate::journey::node_joins;
use crate::story::Story;

#[tokio::test]
async fn a_newcomer_in_go_comes_from_nothing_to_a_node() {
    let given = [
        "--url=https://api.acme.example/v2",
        "--tags=50",
        "--pages=pages:pages",
        "--page-items=data",
        "--page-query=page,page_size",
        "--smallest-page=5",
        "--errors=errors.0.reason",
    ];
    let mut story = Story::begin_in_go("acme-cloud", &given).await;
    assert_eq!(story.program("gofmt", &["-l", "."]).await, "", "it is as gofmt writes it");
    story.program("go", &["vet", "./..."]).await;
    story.program("go", &["test", ".", "./cloud/..."]).await;
    let (folder, module) = (story.folder(), story.folder().join("acme-cloud.wasm"));
    let module_file = module.to_str().unwrap();
    story.aerostat(&["provider", "build", folder.to_str().unwrap()]).await;
    story.checked(module_file).await;
    let cloud = story.cloud_in_go().await;
    // Go's own test has lost each request already.
    let report = story.aerostat(&["provider", "conformance", module_file, "--cloud", &cloud.url, "--every=40"]).await;
    for words in ["provider acme-cloud 0.1.0", "nothing-twice ", " 0 broken"] {
        assert!(report.contains(words), "no {words}: {report}");
    }
    node_joins(&mut story, module_file, &cloud.url, "/v2").await;
    story.tell();
}

#[tokio::test]
async fn a_cloud_whose_names_are_chosen_is_served_in_go_too() {
    let mut story = Story::begin_in_go("named", &["--ids=name", "--pages=not-full"]).await;
    story.program("go", &["vet", "./..."]).await;
    story.program("go", &["test", ".", "./cloud/..."]).await;
}
