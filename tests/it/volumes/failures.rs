//! Failures while volumes are labelled: a cloud that says no, nothing, or nonsense, and an API server that refuses.

use std::time::Duration;

use cloud_provider::{Error, Topology};
use http::Method;
use tests::faults::{Fault, Faults};
use tests::rig::{Controller, Rig, written};
use tests::wait;

use crate::cloud::{Cloud, DRIVER, zones};
use crate::controller::settled;
use crate::setup::cluster;
use crate::volumes::{create, event, events, placed, volume};

const VOLUME: &str = r"/api/v1/persistentvolumes/pv-1(\?|$)";

#[tokio::test]
async fn a_cloud_that_fails_is_asked_again() {
    let cluster = cluster().await;
    let cloud = Cloud::new(1);
    cloud.answers("pv-1", Err(Error::Unavailable("HTTP 500: cloud is down".to_owned())));
    let _rig = Rig::start(&cluster, &cloud, Controller::PersistentVolumeLabel);
    create(&cluster, &volume("pv-1", DRIVER)).await.unwrap();
    let told = event(&cluster, "pv-1", "VolumeNotLabelled").await;
    assert_eq!(told.message.as_deref(), Some("error querying volume pv-1: HTTP 500: cloud is down"));
    assert_eq!(told.source.unwrap().component.as_deref(), Some("persistentvolume-label-controller"));
    wait::until("it was asked three times", async || (cloud.asked("pv-1") >= 3).then_some(())).await;
    cloud.has("pv-1", "z1");
    placed(&cluster, "pv-1").await;
    assert_eq!(written(&cluster, "pv-1").await, ["patch persistentvolumes 200"]);
}

#[tokio::test]
async fn a_refused_volume_is_tried_with_another_credential() {
    let cluster = cluster().await;
    let cloud = Cloud::new(1);
    cloud.answers("pv-1", Err(Error::Denied("HTTP 401: the token is not valid".to_owned())));
    let _rig = Rig::start(&cluster, &cloud, Controller::PersistentVolumeLabel);
    create(&cluster, &volume("pv-1", DRIVER)).await.unwrap();
    event(&cluster, "pv-1", "VolumeNotLabelled").await;
    settled(&cluster, &cloud, "last").await;
    assert_eq!(cloud.asked("pv-1"), 1, "nothing has changed");
    cloud.has("pv-1", "z1");
    cloud.gets_another_credential();
    placed(&cluster, "pv-1").await;
}

#[tokio::test]
async fn a_pause_of_the_cloud_is_kept_without_an_event() {
    let cluster = cluster().await;
    let cloud = Cloud::new(1);
    let pause = Error::RetryAfter { after: Duration::from_secs(3600), reason: "HTTP 429".to_owned() };
    cloud.answers("pv-1", Err(pause));
    let _rig = Rig::start(&cluster, &cloud, Controller::PersistentVolumeLabel);
    create(&cluster, &volume("pv-1", DRIVER)).await.unwrap();
    wait::until("it was asked", async || (cloud.asked("pv-1") == 1).then_some(())).await;
    settled(&cluster, &cloud, "last").await;
    assert_eq!((cloud.asked("pv-1"), events(&cluster, "pv-1").await), (1, vec![]));
}

#[tokio::test]
async fn too_few_answers_count_for_none() {
    let cluster = cluster().await;
    let cloud = Cloud::new(10);
    cloud.has("pv-1", "z1");
    cloud.has("pv-2", "z2");
    cloud.lacks(1);
    for name in ["pv-1", "pv-2"] {
        create(&cluster, &volume(name, DRIVER)).await.unwrap();
    }
    let _rig = Rig::start(&cluster, &cloud, Controller::PersistentVolumeLabel);
    for name in ["pv-1", "pv-2"] {
        let told = event(&cluster, name, "VolumeNotLabelled").await;
        assert!(told.message.as_deref().is_some_and(|it| it.contains("tell its vendor")), "{told:?}");
        assert_eq!(written(&cluster, name).await, [""; 0]);
    }
    cloud.lacks(0);
    // As if its vendor had mended it.
    cloud.gets_another_credential();
    for (name, zone) in [("pv-1", "z1"), ("pv-2", "z2")] {
        let pv = placed(&cluster, name).await;
        assert_eq!(pv.metadata.labels.unwrap()[crate::volumes::ZONE], zone);
    }
}

#[tokio::test]
async fn a_label_that_kubernetes_refuses_is_shown() {
    let cluster = cluster().await;
    let cloud = Cloud::new(1);
    // Each is a label, and both together are none.
    let (one, other) = ("y".repeat(40), "z".repeat(40));
    cloud.answers("pv-1", Ok(Some(zones(&[&one, &other]))));
    cloud.answers("pv-2", Ok(Some(Topology { accessible_topologies: vec![Vec::new()], ..Topology::default() })));
    let _rig = Rig::start(&cluster, &cloud, Controller::PersistentVolumeLabel);
    for (name, part) in [("pv-1", "which Kubernetes does not allow"), ("pv-2", "a place without a name")] {
        create(&cluster, &volume(name, DRIVER)).await.unwrap();
        let told = event(&cluster, name, "VolumeNotLabelled").await;
        assert!(told.message.as_deref().is_some_and(|it| it.contains(part)), "{told:?}");
        assert_eq!(written(&cluster, name).await, [""; 0]);
    }
    settled(&cluster, &cloud, "last").await;
}

#[tokio::test]
async fn a_write_that_fails_is_tried_again() {
    let cluster = cluster().await;
    let cloud = Cloud::new(1);
    cloud.has("pv-1", "z1");
    let faults = Faults::new();
    faults.set(Fault::status(Method::PATCH, VOLUME, 409, "Conflict", "changed meanwhile").times(2));
    let _rig = Rig::start_as(cluster.faulty(&faults), &cloud, Controller::PersistentVolumeLabel);
    create(&cluster, &volume("pv-1", DRIVER)).await.unwrap();
    placed(&cluster, "pv-1").await;
    assert_eq!((faults.answered().len(), cloud.asked("pv-1")), (2, 1), "a conflict asks nobody again");
}

#[tokio::test]
async fn a_write_that_is_refused_is_shown_and_stops_nobody() {
    let cluster = cluster().await;
    let cloud = Cloud::new(1);
    cloud.has("pv-1", "z1");
    let faults = Faults::new();
    faults.set(Fault::status(Method::PATCH, VOLUME, 403, "Forbidden", "not by you"));
    let _rig = Rig::start_as(cluster.faulty(&faults), &cloud, Controller::PersistentVolumeLabel);
    create(&cluster, &volume("pv-1", DRIVER)).await.unwrap();
    let told = event(&cluster, "pv-1", "VolumeNotLabelled").await;
    let message = "failed to update labels and node affinity of volume pv-1: not by you";
    assert_eq!(told.message.as_deref(), Some(message));
    settled(&cluster, &cloud, "last").await;
    assert_eq!(faults.answered().len(), 1);
}
