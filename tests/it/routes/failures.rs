//! A cloud that fails, is busy, or does not answer.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Error, RouteOutcome};
use controllers::route::Options;
use tests::control_plane::cluster;

use crate::cloud::{Call, Cloud, List};
use crate::controller::*;

#[tokio::test]
async fn case_186_and_196_a_failed_creation_is_told_and_tried_again() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.answers("10.244.1.0/24", Err(Error::Unavailable("quota".to_owned())), Some(1));
    create_all(&cluster, [node(1), node(2)]).await;
    let _controller = Controller::start(&cluster, &cloud, options());
    let failed = node_when(&cluster, "n1", |it| is(it, "True NoRouteCreated")).await;
    let message = condition(&failed).unwrap().message.as_deref();
    assert_eq!(message, Some("RouteController failed to create a route"));
    becomes(&cluster, "n2", "False RouteCreated").await;
    let message = event(&cluster, "n1", "FailedToCreateRoute").await;
    let uid = failed.metadata.uid.unwrap();
    let (before, after) = message.split_once(" after ").unwrap();
    assert_eq!(before, format!("Could not create route {uid} 10.244.1.0/24 for node n1"));
    assert!(after.ends_with("s: quota"), "{message}");
    let event = &events(&cluster, "n1").await[0];
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    assert_eq!(event.source.as_ref().unwrap().component.as_deref(), Some("route_controller"));
    assert_eq!(event.involved_object.resource_version, None, "as upstream refers to it");
    // No node changes meanwhile.
    becomes(&cluster, "n1", "False RouteCreated").await;
    assert_eq!(cloud.lists_at().len(), 2, "what may have happened is looked at first");
}

#[tokio::test]
async fn case_189_without_a_list_nothing_is_done() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.lists(List::Error(Error::Unavailable("down".to_owned())));
    create_all(&cluster, [node(1)]).await;
    let period = Some(Duration::from_millis(500));
    let _controller = Controller::start(&cluster, &cloud, Options { period, ..options() });
    lists(&cloud, 3).await;
    assert!(cloud.changes().is_empty());
    assert_eq!(patches(&cluster, "n1").await, 0);
    cloud.lists(List::Honest);
    becomes(&cluster, "n1", "False RouteCreated").await;
}

#[tokio::test]
async fn a_pending_route_is_asked_for_again_after_its_pause() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let locked =
        RouteOutcome::Pending { after: Duration::from_millis(700), reason: "the network is locked".to_owned() };
    cloud.answers("10.244.1.0/24", Ok(locked), Some(3));
    create_all(&cluster, [node(1)]).await;
    let _controller = Controller::start(&cluster, &cloud, options());
    becomes(&cluster, "n1", "False RouteCreated").await;
    assert_eq!(cloud.changes(), vec!["10.244.1.0/24: - > hop-n1"; 4], "the same change");
    let at: Vec<_> = cloud.calls().into_iter().filter(|it| matches!(it.1, Call::Apply(_))).map(|it| it.0).collect();
    assert!(at.windows(2).all(|it| it[1] - it[0] >= Duration::from_millis(700)), "and not before");
    assert_eq!(cloud.lists_at().len(), 1, "no failure, and no list");
    assert_eq!(patches(&cluster, "n1").await, 1);
    assert!(events(&cluster, "n1").await.is_empty());
}

#[tokio::test]
async fn a_denied_route_is_tried_at_once_with_another_credential() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.always_answers(Some(Err(Error::Denied("the token may only read".to_owned()))));
    create_all(&cluster, [node(1)]).await;
    let _controller = Controller::start(&cluster, &cloud, options());
    becomes(&cluster, "n1", "True NoRouteCreated").await;
    cloud.always_answers(None);
    cloud.gets_another_credential();
    becomes(&cluster, "n1", "False RouteCreated").await;
}

#[tokio::test]
async fn a_next_hop_that_nobody_knows_is_told_of_the_node() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.leads("n1", Err(Error::Invalid("node n1 has no address in the network".to_owned())));
    create_all(&cluster, [node(1), node(2)]).await;
    let _controller = Controller::start(&cluster, &cloud, options());
    becomes(&cluster, "n2", "False RouteCreated").await;
    becomes(&cluster, "n1", "True NoRouteCreated").await;
    let message = event(&cluster, "n1", "FailedToCreateRoute").await;
    assert!(message.contains("10.244.1.0/24") && message.ends_with("no address in the network"), "{message}");
    // It gets one.
    cloud.leads("n1", Ok("hop-n1".to_owned()));
    let addresses = serde_json::json!({ "status": { "addresses": [{ "type": "InternalIP", "address": "10.9.9.9" }] } });
    let params = kube::api::PatchParams::default();
    nodes(&cluster).patch_status("n1", &params, &kube::api::Patch::Merge(addresses)).await.unwrap();
    becomes(&cluster, "n1", "False RouteCreated").await;
}

#[tokio::test]
async fn another_route_at_the_destination_is_found_by_a_list() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_all(&cluster, [node(1)]).await;
    let _controller = Controller::start(&cluster, &cloud, options());
    becomes(&cluster, "n1", "False RouteCreated").await;
    // Somebody makes a route behind our back, for a node that is about to come.
    cloud.has([crate::cloud::route("10.244.1.0/24", "hop-n1"), crate::cloud::route("10.244.2.0/24", "elsewhere")]);
    create_all(&cluster, [node(2)]).await;
    becomes(&cluster, "n2", "True NoRouteCreated").await;
    becomes(&cluster, "n2", "False RouteCreated").await;
    let changes = cloud.changes();
    assert_eq!(&changes[1..], ["10.244.2.0/24: - > hop-n2", "10.244.2.0/24: elsewhere > hop-n2"]);
}
