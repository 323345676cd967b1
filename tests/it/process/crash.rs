//! A provider call that crashes is an error of that call.

use tests::control_plane::cluster;
use tests::{guests, kubelet};

use crate::setup::{Setup, admin_token, assert_waits, initialized};

#[tokio::test]
async fn case_256_a_crash_in_a_provider_call_is_an_error_of_that_call() {
    let cluster = cluster().await;
    // One worker: it takes the other nodes after the crash.
    let setup = Setup::guest(&cluster, guests::HOSTILE).flags(&["--concurrent-node-syncs=1"]);
    let mut process = setup.started().await;
    for crime in ["panic", "exit", "recurse"] {
        kubelet::join(&cluster.admin, crime).await.unwrap();
        process.says(&format!("error syncing '{crime}'")).await;
    }
    for honest in ["honest-1", "honest-2"] {
        kubelet::join(&cluster.admin, honest).await.unwrap();
    }
    for honest in ["honest-1", "honest-2"] {
        initialized(&cluster, honest).await;
    }
    for crime in ["panic", "exit", "recurse"] {
        assert_waits(&cluster, crime).await;
    }
    let token = admin_token(&cluster).await;
    let page = process.get("/metrics", Some(&token)).await.body;
    assert!(page.contains(r#"aerostat_provider_calls_total{function="get",outcome="trap"}"#), "{page}");
    process.stop().await;
}
