//! The controller, for volumes that came past the webhook.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tests::control_plane::Cluster;
use tests::kubelet;
use tests::rig::{Controller, Rig, nodes, written};

use crate::cloud::{Cloud, DRIVER, zones};
use crate::setup::cluster;
use crate::volumes::{
    PROVISIONED_BY, REGION, ZONE, affinity, all, create, event, events, labelled, labels, node_affinity, placed,
    volume, when,
};

const OTHER: &str = "disk.other.example";

/// Creates a volume of the cloud in a zone, and waits until it says so: whatever was before it is done.
pub(crate) async fn settled(cluster: &Cluster, cloud: &Cloud, name: &str) {
    cloud.has(name, "z1");
    create(cluster, &volume(name, DRIVER)).await.unwrap();
    placed(cluster, name).await;
}

#[tokio::test]
async fn case_222_a_volume_gets_labels_and_an_affinity() {
    let cluster = cluster().await;
    let cloud = Cloud::new(1);
    let mut topology = zones(&["z2", "z1"]);
    topology.labels = vec![("rack".to_owned(), "7".to_owned())];
    cloud.answers("pv-1", Ok(Some(topology)));
    let _rig = Rig::start(&cluster, &cloud, Controller::PersistentVolumeLabel);
    create(&cluster, &volume("pv-1", DRIVER)).await.unwrap();
    let pv = placed(&cluster, "pv-1").await;
    assert_eq!(labels(&pv), json!({ ZONE: "z1__z2", REGION: "r1", "rack": "7" }));
    let expected = affinity(&[&[("rack", &["7"]), (REGION, &["r1"]), (ZONE, &["z1", "z2"])]]);
    assert_eq!(node_affinity(&pv), expected);
    assert_eq!(written(&cluster, "pv-1").await, ["patch persistentvolumes 200"], "one write");
    assert_eq!(cloud.asked("pv-1"), 1);
    assert_eq!(events(&cluster, "pv-1").await, []);
}

#[tokio::test]
async fn an_older_source_is_asked_about_by_its_id() {
    let cluster = cluster().await;
    let cloud = Cloud::new(1);
    cloud.has("aws://z1/vol-1", "z1");
    let _rig = Rig::start(&cluster, &cloud, Controller::PersistentVolumeLabel);
    let mut pv = volume("pv-1", DRIVER);
    pv["spec"].as_object_mut().unwrap().remove("csi");
    pv["spec"]["awsElasticBlockStore"] = json!({ "volumeID": "aws://z1/vol-1", "fsType": "ext4" });
    create(&cluster, &pv).await.unwrap();
    placed(&cluster, "pv-1").await;
    let [call] = &cloud.calls()[..] else { panic!("{:?}", cloud.calls()) };
    assert_eq!((call[0].name.as_str(), call[0].source.as_str()), ("pv-1", "awsElasticBlockStore"));
    assert_eq!(call[0].attributes, [("fsType".to_owned(), "ext4".to_owned())]);
}

#[tokio::test]
async fn case_224_225_labels_are_overwritten_and_affinities_not() {
    let cluster = cluster().await;
    let cloud = Cloud::new(1);
    cloud.has("wrong", "z1");
    cloud.has("bound", "z1");
    let _rig = Rig::start(&cluster, &cloud, Controller::PersistentVolumeLabel);
    create(&cluster, &labelled("wrong", DRIVER, json!({ ZONE: "z9", "mine": "1" }))).await.unwrap();
    let pv = placed(&cluster, "wrong").await;
    assert_eq!(labels(&pv), json!({ ZONE: "z1", REGION: "r1", "mine": "1" }));
    // It has an affinity, which nobody can change, and no label.
    let mut bound = volume("bound", DRIVER);
    let own = affinity(&[&[("disk", &["ssd"])]]);
    bound["spec"]["nodeAffinity"] = own.clone();
    create(&cluster, &bound).await.unwrap();
    let pv = placed(&cluster, "bound").await;
    assert_eq!((labels(&pv), node_affinity(&pv)), (json!({ ZONE: "z1", REGION: "r1" }), own));
}

#[tokio::test]
async fn case_226_a_provisioners_word_asks_nobody() {
    let cluster = cluster().await;
    let cloud = Cloud::new(1);
    let _rig = Rig::start(&cluster, &cloud, Controller::PersistentVolumeLabel);
    let beta = |it: &str| format!("failure-domain.beta.kubernetes.io/{it}");
    let current = json!({ ZONE: "z1__z2", REGION: "r1" });
    for (name, labels, expected) in [
        ("current", current, affinity(&[&[(REGION, &["r1"]), (ZONE, &["z1", "z2"])]])),
        (
            "beta",
            json!({ beta("zone"): "z3", beta("region"): "r1" }),
            affinity(&[&[(&beta("region"), &["r1"]), (&beta("zone"), &["z3"])]]),
        ),
    ] {
        let mut pv = labelled(name, DRIVER, labels.clone());
        pv["metadata"]["annotations"] = json!({ PROVISIONED_BY: DRIVER });
        create(&cluster, &pv).await.unwrap();
        let pv = placed(&cluster, name).await;
        assert_eq!((json!(pv.metadata.labels), node_affinity(&pv)), (labels, expected));
    }
    assert!(cloud.calls().is_empty(), "{:?}", cloud.calls());
    // One of two says nothing.
    cloud.has("half", "z1");
    let mut half = labelled("half", DRIVER, json!({ ZONE: "z9" }));
    half["metadata"]["annotations"] = json!({ PROVISIONED_BY: DRIVER });
    create(&cluster, &half).await.unwrap();
    when(&cluster, "half", |it| labels(it) == json!({ ZONE: "z1", REGION: "r1" })).await;
}

#[tokio::test]
async fn case_228_silence_of_the_cloud_changes_nothing() {
    let cluster = cluster().await;
    let cloud = Cloud::new(1);
    cloud.answers("silent", Ok(Some(cloud_provider::Topology::default())));
    let _rig = Rig::start(&cluster, &cloud, Controller::PersistentVolumeLabel);
    for (name, driver) in [("silent", DRIVER), ("gone", DRIVER), ("foreign", OTHER)] {
        create(&cluster, &volume(name, driver)).await.unwrap();
    }
    settled(&cluster, &cloud, "last").await;
    for (name, asked) in [("silent", 1), ("gone", 1), ("foreign", 0)] {
        assert_eq!(written(&cluster, name).await, [""; 0], "{name}");
        assert_eq!(cloud.asked(name), asked, "{name}");
        assert_eq!(events(&cluster, name).await, [], "{name}");
    }
    // What happens to a claim is no reason to ask again.
    let claim = json!({ "spec": { "claimRef": { "name": "c", "namespace": "default" } } });
    all(&cluster).patch("gone", &PatchParams::default(), &Patch::Merge(claim)).await.unwrap();
    settled(&cluster, &cloud, "very-last").await;
    assert_eq!(cloud.asked("gone"), 1);
}

#[tokio::test]
async fn a_restart_asks_only_about_what_lacks_something() {
    let cluster = cluster().await;
    let cloud = Cloud::new(1);
    for nth in 0..5 {
        cloud.has(&format!("pv-{nth}"), "z1");
        create(&cluster, &volume(&format!("pv-{nth}"), DRIVER)).await.unwrap();
    }
    let rig = Rig::start(&cluster, &cloud, Controller::PersistentVolumeLabel);
    for nth in 0..5 {
        placed(&cluster, &format!("pv-{nth}")).await;
    }
    rig.stop().ended().await;
    assert_eq!(cloud.calls().len(), 5);
    let _rig = Rig::start(&cluster, &cloud, Controller::PersistentVolumeLabel);
    settled(&cluster, &cloud, "last").await;
    assert_eq!(cloud.calls().len(), 6, "{:?}", cloud.calls());
}

#[tokio::test]
async fn many_volumes_share_calls() {
    let cluster = cluster().await;
    let cloud = Cloud::new(50);
    let names: Vec<_> = (0..60).map(|it| format!("pv-{it}")).collect();
    for name in &names {
        cloud.has(name, "z1");
        create(&cluster, &volume(name, DRIVER)).await.unwrap();
    }
    let _rig = Rig::start(&cluster, &cloud, Controller::PersistentVolumeLabel);
    for name in &names {
        placed(&cluster, name).await;
    }
    let calls: Vec<_> = cloud.calls().iter().map(Vec::len).collect();
    assert_eq!(calls.iter().sum::<usize>(), 60, "each once: {calls:?}");
    assert!(calls.len() <= 4, "{calls:?}");
}

#[tokio::test]
async fn a_place_without_nodes_is_told() {
    let cluster = cluster().await;
    let cloud = Cloud::new(1);
    let mut node = kubelet::node("n1");
    node.metadata.labels = Some([(ZONE.to_owned(), "z1".to_owned()), (REGION.to_owned(), "r1".to_owned())].into());
    nodes::create(&cluster, &node).await;
    let rig = Rig::start(&cluster, &cloud, Controller::PersistentVolumeLabel);
    rig.knows("n1").await;
    settled(&cluster, &cloud, "here").await;
    cloud.has("there", "Z1");
    create(&cluster, &volume("there", DRIVER)).await.unwrap();
    placed(&cluster, "there").await;
    let told = event(&cluster, "there", "NoNodeInTopology").await;
    let message = told.message.unwrap();
    assert!(message.contains(&format!("no node has the label {ZONE} with the value Z1")), "{message}");
    assert_eq!(told.type_.as_deref(), Some("Warning"));
    assert_eq!(events(&cluster, "here").await, []);
}

/// A volume whose affinity somebody sets while the cloud is asked keeps it.
#[tokio::test]
async fn writes_of_others_meanwhile_stay() {
    let cluster = cluster().await;
    let cloud = Cloud::new(1);
    create(&cluster, &volume("pv-1", DRIVER)).await.unwrap();
    let own = affinity(&[&[("disk", &["ssd"])]]);
    let patch: Value = json!({ "metadata": { "labels": { "mine": "1" } }, "spec": { "nodeAffinity": own } });
    all(&cluster).patch("pv-1", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    cloud.has("pv-1", "z1");
    let _rig = Rig::start(&cluster, &cloud, Controller::PersistentVolumeLabel);
    let pv = when(&cluster, "pv-1", |it| labels(it)[ZONE] == json!("z1")).await;
    assert_eq!((labels(&pv), node_affinity(&pv)), (json!({ ZONE: "z1", REGION: "r1", "mine": "1" }), own));
}
