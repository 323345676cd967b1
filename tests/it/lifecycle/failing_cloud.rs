//! A cloud that fails in one way after the other costs no node: a hundred are not ready, and all stay.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::Error;
use controllers::node_lifecycle::{Budget, Options};
use tests::control_plane::{Cluster, cluster};

use crate::cloud::{Answer, Cloud, List, machine, names, unavailable};
use crate::controller::{Controller, OPTIONS, asked, create_all, deletions, event, events, left, left_are, passed};

/// The usual budget; nothing else asks for patience.
const USUAL: Options =
    Options { budget: Budget { percent: 10, least: 1, window: Duration::from_secs(600) }, ..OPTIONS };

/// A hundred nodes that are not ready, their machines, and the controller.
async fn hundred(cluster: &Cluster, tell: impl FnOnce(&Cloud)) -> (Arc<Cloud>, Controller) {
    let cloud = Arc::new(Cloud::default());
    cloud.has((1..=100).map(machine));
    tell(&cloud);
    create_all(cluster, 100).await;
    let controller = Controller::start(cluster, &cloud, USUAL);
    (cloud, controller)
}

/// Checks that all nodes are there, and that none was to be deleted.
async fn check_all_left(cluster: &Cluster) {
    passed(cluster).await;
    assert_eq!(deletions(cluster).await, 0);
    assert_eq!(left(cluster).await.len(), 100);
}

/// Errors for all questions: looks and their pauses go on, and nothing is deleted.
async fn check_error(error: Error, lists: usize) {
    let cluster = cluster().await;
    let (cloud, _controller) = hundred(&cluster, |cloud| {
        cloud.lists(List::Error(error.clone()));
        cloud.always_answers(Answer::Error(error));
    })
    .await;
    asked(&cloud, "list", lists).await;
    check_all_left(&cluster).await;
    assert_eq!(events(&cluster, "n1").await.len(), 0);
}

#[tokio::test]
async fn no_node_is_lost_to_401_for_all() {
    check_error(Error::Denied("HTTP 401: unable to authenticate you".to_owned()), 1).await;
}

#[tokio::test]
async fn no_node_is_lost_to_500_for_all() {
    check_error(unavailable(), 5).await;
}

#[tokio::test]
async fn no_node_is_lost_to_404_for_all() {
    let cluster = cluster().await;
    let (cloud, _controller) = hundred(&cluster, |cloud| {
        cloud.lists(List::Error(Error::Unavailable("HTTP 404: not found".to_owned())));
        // This is what a provider makes of 404 for one machine.
        cloud.always_answers(Answer::None);
    })
    .await;
    asked(&cloud, "list", 5).await;
    check_all_left(&cluster).await;
}

#[tokio::test]
async fn no_node_is_lost_to_an_empty_list() {
    let cluster = cluster().await;
    let (_cloud, controller) = hundred(&cluster, |cloud| {
        cloud.lists(List::Without(names(1..=100)));
        cloud.always_answers(Answer::None);
    })
    .await;
    controller.withholds(100, "unfamiliar").await;
    event(&cluster, "n100", "NodeDeletionWithheld").await;
    check_all_left(&cluster).await;
}

#[tokio::test]
async fn no_node_is_lost_to_half_a_list() {
    let cluster = cluster().await;
    let (cloud, controller) = hundred(&cluster, |it| it.lists(List::Without(names(1..=50)))).await;
    controller.withholds(50, "contradiction").await;
    asked(&cloud, "get n50", 3).await;
    check_all_left(&cluster).await;
    assert_eq!(events(&cluster, "n51").await.len(), 0);
}

#[tokio::test]
async fn no_node_is_lost_to_a_foreign_accounts_list() {
    let cluster = cluster().await;
    let (cloud, controller) = hundred(&cluster, |it| it.belongs_to("ours")).await;
    asked(&cloud, "list", 2).await;
    // The token is another one from now on: its machines are others, and ours are not found.
    cloud.lists(List::Without(names(1..=100)));
    cloud.has((501..=600).map(machine));
    cloud.always_answers(Answer::None);
    cloud.belongs_to("theirs");
    controller.withholds(100, "account").await;
    check_all_left(&cluster).await;
}

#[tokio::test]
async fn no_node_is_lost_to_a_list_of_another_account() {
    let cluster = cluster().await;
    let (_cloud, controller) = hundred(&cluster, |cloud| {
        cloud.lists(List::Without(names(1..=100)));
        cloud.has((501..=600).map(machine));
        cloud.always_answers(Answer::None);
    })
    .await;
    controller.withholds(100, "unfamiliar").await;
    check_all_left(&cluster).await;
}

#[tokio::test]
async fn no_node_is_lost_to_a_hanging_api() {
    let cluster = cluster().await;
    let (cloud, controller) = hundred(&cluster, |cloud| {
        cloud.lists(List::Silence);
        cloud.always_answers(Answer::Silence);
    })
    .await;
    asked(&cloud, "list", 1).await;
    check_all_left(&cluster).await;
    controller.stop().ended().await;
}

/// Cases: failing-cloud
#[tokio::test]
async fn a_cloud_that_denies_machines_costs_ten_nodes_at_most() {
    let cluster = cluster().await;
    let (_cloud, controller) = hundred(&cluster, |cloud| {
        cloud.lists(List::Without(names(1..=99)));
        cloud.always_answers(Answer::None);
    })
    .await;
    controller.withholds(89, "budget").await;
    left_are(&cluster, 90).await;
    passed(&cluster).await;
    let deleted = deletions(&cluster).await;
    assert!((1..=10).contains(&deleted), "{deleted}");
    let left = left(&cluster).await;
    assert_eq!(left.len(), 100 - deleted);
    assert!(left.contains(&"n100".to_owned()), "the one that lives");
}
