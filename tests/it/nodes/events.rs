//! Events as the API server gets them.

use controllers::{EventKind, Recorder, reference};
use k8s_openapi::api::core::v1::Event;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams};
use serde_json::json;
use tests::control_plane::cluster;
use tests::{kubelet, wait};
use tokio::task::JoinSet;

use crate::controller::{create, events};

#[tokio::test]
async fn a_repeated_event_is_counted_and_an_expired_one_rewritten() {
    let cluster = cluster().await;
    let node = create(&cluster, &kubelet::node("n1")).await;
    let (recorder, sender) = Recorder::new(cluster.aerostat.clone(), "test");
    let mut sending = JoinSet::new();
    sending.spawn(sender);
    let record = || recorder.record(reference(&node), EventKind::Warning, "Failed", "It did not work.");

    record();
    let first = wait::until("an event", async || events(&cluster, "n1").await.pop()).await;
    record();
    let counted =
        wait::until("a count", async || events(&cluster, "n1").await.into_iter().find(|it| it.count == Some(2))).await;
    assert_eq!(counted.name_any(), first.name_any());
    assert_eq!(counted.first_timestamp, first.first_timestamp);

    let all: Api<Event> = Api::namespaced(cluster.admin.clone(), "default");
    all.delete(&first.name_any(), &DeleteParams::default()).await.unwrap();
    record();
    let again = wait::until("the event again", async || events(&cluster, "n1").await.pop()).await;
    assert_eq!((again.name_any(), again.count), (first.name_any(), Some(3)));

    // What was recorded is sent before the sender ends.
    recorder.record(reference(&node), EventKind::Normal, "Done", "It is over.");
    drop(recorder);
    tokio::time::timeout(wait::DEADLINE, sending.join_next()).await.expect("the sender ends");
    assert_eq!(events(&cluster, "n1").await.len(), 2);

    cluster.audit().settle(&cluster.admin).await.unwrap();
    let requests = cluster.audit().events().unwrap();
    let verbs: Vec<_> = requests.iter().map(|it| (it.verb.as_str(), it.response.code)).collect();
    assert_eq!(verbs, [("create", 201), ("patch", 200), ("patch", 404), ("create", 201), ("create", 201)]);
    let mut patch = requests[1].body.clone();
    assert!(patch.as_object_mut().unwrap().remove("lastTimestamp").is_some());
    assert_eq!(patch, json!({ "count": 2, "message": "It did not work." }));
}
