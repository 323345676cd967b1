//! Which networks nodes get, and when they are free again.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::json;
use tests::control_plane::cluster;
use tests::faults::Faults;
use tests::lagging::Recorded;
use tests::rig::nodes::{create, node_when, nodes, patch};
use tests::rig::{Rig, writes, written};
use tests::wait;

use crate::setup::{
    all_given, assert_distinct, begin, delete, event, given, join, join_all, networks, options, small, start, start_as,
    takes, with,
};

/// The labels and values of a family, as `label value`.
fn metric(rig: &Rig, name: &str) -> Vec<String> {
    let families = rig.registry.gather();
    let family = families.iter().find(|it| it.name() == name).unwrap_or_else(|| panic!("there is no {name}"));
    let text = |metric: &prometheus::proto::Metric| {
        let label = &metric.get_label()[0];
        let value = metric.get_counter().get_value() + metric.get_gauge().get_value();
        format!("{}={} {value}", label.name(), label.value())
    };
    family.get_metric().iter().map(text).collect()
}

#[tokio::test]
async fn case_204_nodes_get_blocks_in_order_one_write_each() {
    let cluster = cluster().await;
    let _controller = start(&cluster, small()).await;
    for (name, cidr) in [("n1", "127.123.234.0/30"), ("n2", "127.123.234.4/30")] {
        join(&cluster, name).await;
        assert_eq!(given(&cluster, name).await, [cidr]);
        let written = node_when(&cluster, name, |_| true).await;
        assert_eq!(written.spec.unwrap().pod_cidr.as_deref(), Some(cidr));
    }
    cluster.audit().settle(&cluster.admin).await.unwrap();
    let requests = cluster.audit().requests().unwrap();
    let requests: Vec<_> = requests.iter().map(|it| format!("{} {}", it.verb, it.object.name)).collect();
    assert_eq!(requests, ["patch n1", "patch n2"]);
}

#[tokio::test]
async fn case_205_services_and_nodes_that_were_there_come_first() {
    let cluster = cluster().await;
    for last in [64, 68, 72, 80] {
        create(&cluster, &with(&format!("old-{last}"), &[&format!("127.123.234.{last}/30")])).await;
    }
    let mut options = small();
    options.services = vec!["127.123.234.0/26".parse().unwrap()];
    let _controller = start(&cluster, options).await;
    join(&cluster, "n1").await;
    assert_eq!(given(&cluster, "n1").await, ["127.123.234.76/30"]);
}

#[tokio::test]
async fn case_202_both_families_come_in_the_order_of_the_flag() {
    let cluster = cluster().await;
    let _controller = start(&cluster, options(&[("fd00::/56", 72), ("10.0.0.0/16", 25)])).await;
    join(&cluster, "n1").await;
    assert_eq!(given(&cluster, "n1").await, ["fd00::/72", "10.0.0.0/25"]);
}

#[tokio::test]
async fn case_206_the_fifth_of_four_waits_for_a_deletion() {
    let cluster = cluster().await;
    let _controller = start(&cluster, options(&[("127.123.234.0/28", 30)])).await;
    join_all(&cluster, (1..=4).map(|nth| format!("n{nth}"))).await;
    let all = all_given(&cluster, 4).await;
    assert_distinct(&all);
    join(&cluster, "n5").await;
    let said = event(&cluster, "n5", "CIDRNotAvailable").await;
    assert_eq!(said.message.as_deref(), Some("Node n5 status is now: CIDRNotAvailable"));
    assert_eq!(said.type_.as_deref(), Some("Normal"));
    assert_eq!(said.source.unwrap().component.as_deref(), Some("cidrAllocator"));
    assert!(networks(&node_when(&cluster, "n5", |_| true).await).is_empty());
    let (leaves, cidr) = all.iter().find(|(_, cidrs)| cidrs[0] == "127.123.234.4/30").unwrap();
    delete(&cluster, leaves).await;
    assert_eq!(given(&cluster, "n5").await, *cidr);
}

#[tokio::test]
async fn case_210_blocks_of_nodes_at_start_are_never_handed_out() {
    let cluster = cluster().await;
    create(&cluster, &with("old", &["127.123.234.0/30"])).await;
    create(&cluster, &with("wide", &["127.123.234.8/29"])).await;
    let controller = start(&cluster, small()).await;
    join(&cluster, "n1").await;
    join(&cluster, "n2").await;
    let all = all_given(&cluster, 4).await;
    assert_distinct(&all);
    takes(&controller, 3).await;
    assert!(written(&cluster, "old").await.is_empty(), "nobody writes what is right");
}

#[tokio::test]
async fn case_210_nodes_of_another_cluster_end_the_start() {
    let cluster = cluster().await;
    create(&cluster, &with("good", &["127.123.234.0/30"])).await;
    for name in ["old-1", "old-2"] {
        create(&cluster, &with(name, &["10.9.0.0/24"])).await;
    }
    let failure = begin(cluster.aerostat.clone(), small()).fails().await;
    let expected = "of 3 nodes, 2 have pod networks outside --cluster-cidr 127.123.234.0/24: node old-1 has \
                    10.9.0.0/24, node old-2 has 10.9.0.0/24; correct --cluster-cidr, or delete these nodes and let their \
                    kubelets register again";
    assert_eq!(failure, expected);
}

#[tokio::test]
async fn case_210_a_second_family_everywhere_ends_the_start() {
    let cluster = cluster().await;
    for (name, v4, v6) in [("a", "127.123.234.0/30", "fd00::/64"), ("b", "127.123.234.4/30", "fd00:0:0:1::/64")] {
        create(&cluster, &with(name, &[v4, v6])).await;
    }
    let failure = begin(cluster.aerostat.clone(), small()).fails().await;
    assert!(
        failure.contains("2 have pod networks outside --cluster-cidr") && failure.contains("a has fd00::/64"),
        "{failure}"
    );
}

/// Cases: adv 154
#[tokio::test]
async fn adv_153_a_foreign_node_gets_an_event_at_start_and_later() {
    let cluster = cluster().await;
    create(&cluster, &with("good", &["127.123.234.0/30"])).await;
    create(&cluster, &with("before", &["10.9.0.0/24"])).await;
    let controller = start(&cluster, small()).await;
    let foreign = [
        ("before", vec!["10.9.0.0/24"], "The pod network 10.9.0.0/24 is outside --cluster-cidr 127.123.234.0/24; "),
        ("all", vec!["0.0.0.0/0"], "The pod network 0.0.0.0/0 is wider than a node's part of --cluster-cidr"),
        ("cluster", vec!["127.123.234.0/24"], "The pod network 127.123.234.0/24 is wider than a node's part"),
        ("wide", vec!["127.123.234.0/29"], "The pod network 127.123.234.0/29 is wider than a node's part"),
        ("v6", vec!["fd00::/64"], "The pod network fd00::/64 is outside"),
        (
            "both",
            vec!["127.123.234.8/30", "fd00::/64"],
            "The pod network fd00::/64 is one more than --cluster-cidr has",
        ),
        ("twice", vec!["127.123.234.0/30"], "The pod network 127.123.234.0/30 overlaps that of node good"),
    ];
    for (name, networks, _) in foreign.iter().skip(1) {
        create(&cluster, &with(name, networks)).await;
    }
    for (name, _, part) in &foreign {
        let event = event(&cluster, name, "ForeignPodCIDR").await;
        let message = event.message.unwrap();
        assert!(message.starts_with(part) && message.contains("let its kubelet register again"), "{name}: {message}");
        assert_eq!(event.type_.as_deref(), Some("Warning"));
    }
    // The blocks of good and both are taken, and nothing else: the others get the rest, those around wide at first.
    takes(&controller, 2).await;
    join_all(&cluster, (0..61).map(|nth| format!("n{nth}"))).await;
    takes(&controller, 63).await;
    for (name, _, _) in &foreign {
        delete(&cluster, name).await;
    }
    takes(&controller, 62).await;
    join(&cluster, "last-but-one").await;
    join(&cluster, "last").await;
    let all = all_given(&cluster, 64).await;
    assert_distinct(&all);
}

#[tokio::test]
async fn case_212_a_node_with_networks_is_not_written() {
    let cluster = cluster().await;
    let controller = start(&cluster, small()).await;
    join(&cluster, "n1").await;
    given(&cluster, "n1").await;
    create(&cluster, &with("n2", &["127.123.234.40/30"])).await;
    takes(&controller, 2).await;
    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    for name in ["n1", "n2"] {
        patch(&cluster, name, label.clone()).await;
    }
    join(&cluster, "n3").await;
    given(&cluster, "n3").await;
    assert_eq!(written(&cluster, "n1").await, ["patch nodes 200"]);
    assert!(written(&cluster, "n2").await.is_empty());
}

#[tokio::test]
async fn case_214_a_leaving_node_keeps_its_network_until_it_is_gone() {
    let cluster = cluster().await;
    let controller = start(&cluster, small()).await;
    let mut node = tests::kubelet::node("n1");
    node.metadata.finalizers = Some(vec!["example.com/hold".to_owned()]);
    create(&cluster, &node).await;
    given(&cluster, "n1").await;
    delete(&cluster, "n1").await;
    node_when(&cluster, "n1", |it| it.metadata.deletion_timestamp.is_some()).await;
    // Whatever happened to n1 was seen before n2 comes.
    join(&cluster, "n2").await;
    given(&cluster, "n2").await;
    takes(&controller, 2).await;
    let free = json!({ "metadata": { "finalizers": null } });
    nodes(&cluster).patch("n1", &PatchParams::default(), &Patch::Merge(free)).await.unwrap();
    takes(&controller, 1).await;
}

#[tokio::test]
async fn case_216_many_events_of_a_node_are_one_allocation() {
    let cluster = cluster().await;
    let controller = start(&cluster, small()).await;
    join_all(&cluster, (0..20).map(|nth| format!("n{nth}"))).await;
    for value in 0..10 {
        patch(&cluster, "n1", json!({ "metadata": { "labels": { "a": value.to_string() } } })).await;
    }
    let all = all_given(&cluster, 20).await;
    assert_distinct(&all);
    takes(&controller, 20).await;
    for name in all.keys() {
        let patches = writes(&cluster, name).await;
        assert_eq!(patches.len(), 1, "{name}: {patches:?}");
    }
}

#[tokio::test]
async fn case_217_metrics_have_upstreams_names() {
    let cluster = cluster().await;
    let controller = start(&cluster, options(&[("10.42.0.0/16", 24)])).await;
    for name in ["n1", "n2"] {
        join(&cluster, name).await;
        given(&cluster, name).await;
    }
    let expect = |name: &str, value: &str| {
        assert_eq!(metric(&controller, name), [format!("clusterCIDR=10.42.0.0/16 {value}")]);
    };
    expect("node_ipam_controller_cidrset_cidrs_allocations_total", "2");
    expect("node_ipam_controller_cidrset_usage_cidrs", &(2.0 / 256.0).to_string());
    expect("node_ipam_controller_cirdset_max_cidrs", "256");
    delete(&cluster, "n1").await;
    takes(&controller, 1).await;
    expect("node_ipam_controller_cidrset_cidrs_releases_total", "1");
    let families = controller.registry.gather();
    let tries = "node_ipam_controller_cidrset_allocation_tries_per_request";
    let tries = families.iter().find(|it| it.name() == tries).unwrap();
    let histogram = tries.get_metric()[0].get_histogram();
    let bounds: Vec<_> = histogram.get_bucket().iter().map(prometheus::proto::Bucket::upper_bound).collect();
    assert_eq!(bounds, [1.0, 5.0, 25.0, 125.0, 625.0]);
    assert_eq!(histogram.get_sample_count(), 2);
}

#[tokio::test]
async fn a_node_made_again_under_its_name_gets_a_network_of_its_own() {
    let cluster = cluster().await;
    let controller = start(&cluster, small()).await;
    for cidr in ["127.123.234.0/30", "127.123.234.4/30", "127.123.234.8/30"] {
        join(&cluster, "n1").await;
        assert_eq!(given(&cluster, "n1").await, [cidr]);
        delete(&cluster, "n1").await;
    }
    takes(&controller, 0).await;
}

#[tokio::test]
async fn nodes_that_wait_at_start_are_marked_unless_all_was_finished() {
    let cluster = cluster().await;
    for (follows_clean_end, writes) in [(false, 2), (true, 1)] {
        join(&cluster, "n1").await;
        let before = written(&cluster, "n1").await.len();
        let mut options = small();
        options.follows_clean_end = follows_clean_end;
        let controller = start(&cluster, options).await;
        given(&cluster, "n1").await;
        assert_eq!(written(&cluster, "n1").await.len() - before, writes);
        delete(&cluster, "n1").await;
        takes(&controller, 0).await;
    }
}

#[tokio::test]
async fn a_mark_that_the_watch_does_not_show_yet_is_known() {
    let (cluster, faults) = (cluster().await, Faults::new());
    join(&cluster, "n1").await;
    let before = written(&cluster, "n1").await.len();
    Recorded::now(&cluster.admin, "nodes").await.stay(&faults);
    let _controller = start_as(cluster.faulty(&faults), small()).await;
    given(&cluster, "n1").await;
    assert_eq!(written(&cluster, "n1").await.len() - before, 2, "one marks it, one gives it networks");
    assert_ne!(Recorded::answered(&faults), 0);
}

#[tokio::test]
async fn a_thousand_nodes_cost_one_request_each() {
    let cluster = cluster().await;
    let controller = start(&cluster, options(&[("10.0.0.0/12", 24)])).await;
    join_all(&cluster, (0..1000).map(|nth| format!("n{nth}"))).await;
    takes(&controller, 1000).await;
    let all = wait::within(Duration::from_secs(60), async || Some(all_given(&cluster, 1000).await)).await;
    assert_distinct(&all.unwrap());
    cluster.audit().settle(&cluster.admin).await.unwrap();
    assert_eq!(cluster.audit().requests().unwrap().len(), 1000);
}
