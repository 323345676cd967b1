//! The metric families, compared with upstream's.

use std::collections::BTreeMap;

use tests::clouds::digitalocean::{Droplet, Options, Simulator};
use tests::control_plane::cluster;
use tests::kubelet;
use tests::wait::until;

use crate::recording::{self, Family, Reasons, families, reason};
use crate::setup::{Setup, admin_token, initialized};

/// Families that have no meaning here, or belong to what this release does not have.
const LEFT_OUT: Reasons = &[
    ("aggregator_discovery_*", "of an API server's library that upstream links"),
    ("apiserver_*", "of an API server's library that upstream links"),
    ("authenticated_user_requests", "of an API server's library that upstream links"),
    ("authentication_*", "of an API server's library that upstream links"),
    ("authorization_*", "of an API server's library that upstream links"),
    ("cardinality_enforcement_unexpected_categorizations_total", "about the metrics library itself"),
    ("disabled_metrics_total", "about the metrics library itself"),
    ("go_*", "about Go's runtime"),
    ("hidden_metrics_total", "about the metrics library itself"),
    ("registered_metrics_total", "about the metrics library itself"),
    ("rest_client_exec_plugin_*", "kube's client does not count plugins"),
    ("rest_client_transport_*", "about the cache of Go's transports"),
];

/// Families that upstream shows only where they have samples, as we do.
const FURTHER: Reasons = &[
    ("aerostat_*", "ours"),
    ("leader_election_slowpath_total", "in upstream's code; not seen in the recording, as nothing went wrong"),
];

fn check(recorded: Vec<Family>, ours: &BTreeMap<String, Family>) {
    for expected in &recorded {
        match (ours.get(&expected.name), reason(LEFT_OUT, &expected.name)) {
            (Some(own), None) => assert_eq!(own, expected),
            (None, Some(_)) => {}
            (Some(_), Some(_)) => panic!("{} is there, and listed as left out", expected.name),
            (None, None) => panic!("{} is missing", expected.name),
        }
    }
    for name in ours.keys() {
        let known = recorded.iter().any(|it| it.name == *name) || reason(FURTHER, name).is_some();
        assert!(known, "{name} is not upstream's, and not named as ours");
    }
}

/// Cases: metrics
#[tokio::test]
async fn the_families_are_upstreams() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    cloud.droplets().insert(Droplet::new(42, "worker-1"));
    let setup = Setup::digitalocean(&cluster, &cloud);
    let process = setup.started().await;
    kubelet::join(&cluster.admin, "worker-1").await.unwrap();
    initialized(&cluster, "worker-1").await;
    let token = admin_token(&cluster).await;
    // So that the checks have been made once.
    process.checks().await;

    let recorded = recording::metrics();
    // The node's addresses are written after its taint is gone, and it is counted then.
    let page = until("the node is counted", async || {
        let page = process.get("/metrics", Some(&token)).await.body;
        page.contains("node_controller_initial_node_sync_delay_seconds_count 1").then_some(page)
    })
    .await;
    check(recorded.metrics, &families(&page));
    check(recorded.slis, &families(&process.get("/metrics/slis", Some(&token)).await.body));
    for line in [
        r#"leader_election_master_status{name="cloud-controller-manager"} 1"#,
        r#"running_managed_controllers{manager="cloud-controller-manager",name="cloud-node"} 1"#,
        r#"workqueue_adds_total{name="Nodes"}"#,
        r#"aerostat_cloud_requests_total{code="200",endpoint="api",method="GET"}"#,
        r#"aerostat_provider_calls_total{function="get",outcome="ok"}"#,
    ] {
        assert!(page.contains(line), "{line} is not in\n{page}");
    }
    process.stop().await;
}

#[tokio::test]
async fn a_standby_says_that_it_does_not_lead() {
    let cluster = cluster().await;
    let (first, second) =
        (Setup::guest(&cluster, tests::guests::HOSTILE), Setup::guest(&cluster, tests::guests::HOSTILE));
    let leader = first.started().await;
    let mut standby = second.start();
    standby.says("standing by").await;
    let token = admin_token(&cluster).await;
    let page = standby.get("/metrics", Some(&token)).await.body;
    assert!(page.contains(r#"leader_election_master_status{name="cloud-controller-manager"} 0"#), "{page}");
    assert!(!page.contains("running_managed_controllers{"), "nothing runs yet");
    standby.stop().await;
    leader.stop().await;
}
