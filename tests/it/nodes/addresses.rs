//! The address loop.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Error, Instance};
use controllers::node::Options;
use kube::ResourceExt;
use tests::control_plane::{Cluster, cluster};
use tests::{kubelet, wait};

use crate::cloud::{Answer, Cloud, external, internal, machine};
use crate::controller::{
    BUSY_LOOP, Controller, NODE_IP, OPTIONS, addressed, annotate, create, label, node_when, nodes, ready, standing,
    taken, waiting, writes, written,
};

/// Waits for three whole passes more.
async fn passes(cloud: &Cloud, name: &str) {
    let before = cloud.gets(name);
    wait::until("further passes", async || (cloud.gets(name) >= before + 4).then_some(())).await;
}

/// Runs the loop over one node, until it has the expected addresses; then three passes more, which must not write.
/// Returns the bodies of what was written.
async fn check(before: &[(&str, &str)], instance: Instance, after: &[(&str, &str)]) -> Vec<serde_json::Value> {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([instance]);
    create(&cluster, &standing("n1", before)).await;
    let _controller = Controller::start(&cluster, &cloud, BUSY_LOOP);
    addressed(&cluster, "n1", after).await;
    passes(&cloud, "n1").await;
    let taken = taken(&cluster, "n1").await;
    assert_eq!(taken.len(), usize::from(before != after));
    taken.into_iter().map(|it| it.body).collect()
}

fn with(addresses: Vec<cloud_provider::Address>) -> Instance {
    Instance { addresses, ..machine(1) }
}

#[tokio::test]
async fn case_045_the_loop_asks_about_each_initialised_node_once() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has((1..=3).map(machine));
    let pause = Error::RetryAfter { after: Duration::from_secs(3600), reason: "quota".to_owned() };
    cloud.answers("n4", Answer::Error(pause));
    for nth in 1..=3 {
        let address = format!("10.1.0.{nth}");
        let name = format!("n{nth}");
        create(&cluster, &standing(&name, &[("InternalIP", &address), ("Hostname", &name)])).await;
    }
    create(&cluster, &kubelet::node("n4")).await;
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    wait::until("one pass", async || (cloud.calls().len() >= 4).then_some(())).await;
    let mut calls = cloud.calls();
    calls.sort();
    assert_eq!(calls, ["get n1", "get n2", "get n3", "get n4"], "n4 was asked about by the worker");
}

#[tokio::test]
async fn case_048_a_changed_address_replaces_the_list_only() {
    let bodies = check(
        &[("InternalIP", "10.1.0.1"), ("Hostname", "n1")],
        with(vec![internal("10.1.0.99")]),
        &[("InternalIP", "10.1.0.99"), ("Hostname", "n1")],
    )
    .await;
    let [body] = bodies.try_into().expect("one write");
    let keys: Vec<_> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["metadata", "status"]);
    assert_eq!(body["metadata"].as_object().unwrap().keys().collect::<Vec<_>>(), ["resourceVersion"]);
    assert_eq!(body["status"].as_object().unwrap().keys().collect::<Vec<_>>(), ["addresses"]);
}

#[tokio::test]
async fn case_049_an_empty_status_gets_the_clouds_list() {
    check(&[], machine(1), &[("InternalIP", "10.1.0.1"), ("Hostname", "n1")]).await;
}

#[tokio::test]
async fn case_050_an_address_that_the_cloud_took_away_goes() {
    check(
        &[("InternalIP", "10.1.0.1"), ("Hostname", "n1"), ("ExternalIP", "192.0.2.9")],
        machine(1),
        &[("InternalIP", "10.1.0.1"), ("Hostname", "n1")],
    )
    .await;
}

/// Runs the loop over n1, which must not change, and n2, which does.
async fn check_unchanged(cluster: &Cluster, cloud: &Arc<Cloud>) {
    cloud.has([machine(2)]);
    create(cluster, &standing("n2", &[])).await;
    let _controller = Controller::start(cluster, cloud, BUSY_LOOP);
    addressed(cluster, "n2", &[("InternalIP", "10.1.0.2"), ("Hostname", "n2")]).await;
    passes(cloud, "n1").await;
    assert_eq!(written(cluster, "n1").await, [""; 0]);
    assert!(!kubelet::is_uninitialized(&nodes(cluster).get("n1").await.expect("n1 is there")));
}

#[tokio::test]
async fn case_052_a_node_ip_that_went_wrong_keeps_the_addresses() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine(1)]);
    let mut node = standing("n1", &[("InternalIP", "10.1.0.33")]);
    annotate(&mut node, NODE_IP, "10.1.0.33");
    create(&cluster, &node).await;
    check_unchanged(&cluster, &cloud).await;
}

#[tokio::test]
async fn without_an_answer_of_the_cloud_the_addresses_stay() {
    let without_addresses = Answer::Machine(with(Vec::new()));
    let error = Answer::Error(Error::Unavailable("HTTP 500".to_owned()));
    for answer in [without_addresses, Answer::None, error] {
        let cluster = cluster().await;
        let cloud = Arc::new(Cloud::default());
        cloud.answers("n1", answer);
        create(&cluster, &standing("n1", &[("InternalIP", "10.1.0.1")])).await;
        check_unchanged(&cluster, &cloud).await;
    }
}

#[tokio::test]
async fn case_053_labels_stay_as_they_were_at_the_beginning() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let moved = Instance {
        zone: Some("z2".to_owned()),
        machine_type: Some("t2.big".to_owned()),
        addresses: vec![internal("10.1.0.99"), external("192.0.2.1")],
        ..machine(1)
    };
    cloud.has([moved]);
    let mut node = standing("n1", &[("InternalIP", "10.1.0.1")]);
    label(&mut node, "topology.kubernetes.io/zone", "z1");
    label(&mut node, "node.kubernetes.io/instance-type", "t1.micro");
    let created = create(&cluster, &node).await;
    let _controller = Controller::start(&cluster, &cloud, BUSY_LOOP);
    let expected = [("InternalIP", "10.1.0.99"), ("ExternalIP", "192.0.2.1")];
    let node = addressed(&cluster, "n1", &expected).await;
    passes(&cloud, "n1").await;
    assert_eq!(node.labels(), created.labels());
    assert_eq!(nodes(&cluster).get("n1").await.unwrap().labels(), created.labels());
}

#[tokio::test]
async fn case_054_the_loop_is_as_wide_as_it_is_told() {
    for (syncs, status_updates, wide) in [(4, 0, 4), (4, 6, 6)] {
        let cluster = cluster().await;
        let cloud = Arc::new(Cloud::default());
        cloud.has((1..=7).map(machine));
        cloud.hold(true);
        for nth in 1..=7 {
            create(&cluster, &standing(&format!("n{nth}"), &[])).await;
        }
        let options = Options { syncs, status_updates, ..OPTIONS };
        let _controller = Controller::start(&cluster, &cloud, options);
        wait::until("calls side by side", async || (cloud.calls().len() >= wide).then_some(())).await;
        assert_eq!(cloud.calls().len(), wide);
        cloud.hold(false);
        for nth in 1..=7 {
            node_when(&cluster, &format!("n{nth}"), |it| !kubelet::addresses(it).is_empty()).await;
        }
        assert_eq!(cloud.calls().len(), 7);
    }
}

/// Waits until the cloud was asked for so many lists.
async fn lists(cloud: &Cloud, count: usize) {
    let listed = || cloud.calls().iter().filter(|it| *it == "list").count();
    wait::until(&format!("{count} lists"), async || (listed() >= count).then_some(())).await;
}

#[tokio::test]
async fn a_pass_uses_no_list_older_than_the_last_get() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let booting = Instance { addresses: vec![internal("10.1.0.20")], ..machine(20) };
    let booted = Instance { addresses: vec![internal("10.1.0.20"), external("192.0.2.20")], ..machine(20) };
    cloud.has((1..=8).map(machine).chain([booted]));
    cloud.lists_as_they_were([booting]);
    for nth in 1..=8 {
        let (name, address) = (format!("n{nth}"), format!("10.1.0.{nth}"));
        create(&cluster, &ready(standing(&name, &[("InternalIP", &address), ("Hostname", &name)]))).await;
    }
    let period = Duration::from_secs(20);
    let options = Options { status_update_frequency: period, ..OPTIONS };
    let _controller = Controller::start_with_lifecycle(&cluster, &cloud, options, Duration::from_secs(1));
    lists(&cloud, 1).await;

    // Nodes that are not ready make the other controller ask for a list, which still lacks the external address.
    for name in ["n1", "n2"] {
        kubelet::post_ready(&cluster.admin, name, false).await.expect("the status is patched");
    }
    lists(&cloud, 2).await;
    for name in ["n1", "n2"] {
        kubelet::post_ready(&cluster.admin, name, true).await.expect("the status is patched");
    }
    create(&cluster, &waiting("n20", |it| *it = ready(it.clone()))).await;
    let both = [("InternalIP", "10.1.0.20"), ("ExternalIP", "192.0.2.20")];
    addressed(&cluster, "n20", &both).await;
    cloud.lists_as_they_were([]);
    let listed = || cloud.calls().iter().filter(|it| *it == "list").count();
    let before = listed();
    // The next pass asks for a list of its own.
    wait::until_after(period, "the list of the next pass", async || (listed() > before).then_some(())).await;
    let written: Vec<_> = writes(&cluster, "n20").await.into_iter().map(|it| it.body["status"].clone()).collect();
    let addresses: Vec<_> = written.iter().filter_map(|it| it["addresses"].as_array()).map(Vec::len).collect();
    assert_eq!(addresses, [2], "the addresses were written once: {written:?}");
}
