//! Tables that are full, lists that never end, and many routes at once.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::Error;
use controllers::route::Options;
use tests::control_plane::cluster;
use tests::wait;

use crate::cloud::{Call, Cloud, List, route};
use crate::controller::*;

const LEASE: &str = "cloud-controller-manager";

/// Cases: bad-routes
#[tokio::test]
async fn bad_input_route_table_that_is_full() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([route("10.244.9.0/24", "hop-n9")]);
    cloud.always_answers(Some(Err(Error::Invalid("the route table has no room".to_owned()))));
    create_all(&cluster, [node(1), node(2), node(9)]).await;
    let _controller = Controller::start(&cluster, &cloud, options());
    let message = event(&cluster, LEASE, "RouteTableFull").await;
    assert!(message.contains("all of 2 new ones") && message.contains("no room"), "{message}");
    becomes(&cluster, "n1", "True NoRouteCreated").await;
    becomes(&cluster, "n2", "True NoRouteCreated").await;
    let tried = cloud.changes().len();
    create_all(&cluster, [node(3)]).await;
    becomes(&cluster, "n3", "True NoRouteCreated").await;
    assert_eq!(cloud.changes().len(), tried, "nobody asks for what there is no room for");
    // A deletion makes room.
    cloud.always_answers(None);
    delete(&cluster, "n9").await;
    let expected = [1, 2, 3].map(|nth| format!("{} > hop-n{nth}", network(nth)));
    has(&cloud, &expected).await;
}

/// Cases: bad-routes
#[tokio::test]
async fn bad_input_route_table_that_is_full_for_each_who_joins() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.always_answers(Some(Err(Error::Invalid("the route table has no room".to_owned()))));
    let _controller = Controller::start(&cluster, &cloud, options());
    create_all(&cluster, [node(1)]).await;
    becomes(&cluster, "n1", "True NoRouteCreated").await;
    create_all(&cluster, [node(2)]).await;
    let message = event(&cluster, LEASE, "RouteTableFull").await;
    assert!(message.contains("all of 2 new ones") && message.contains("no room"), "{message}");
    becomes(&cluster, "n2", "True NoRouteCreated").await;
    let tried = cloud.changes().len();
    create_all(&cluster, [node(3)]).await;
    becomes(&cluster, "n3", "True NoRouteCreated").await;
    let more = async || (cloud.changes().len() > tried).then(|| cloud.changes());
    // Longer than the first pauses of a node whose route was refused.
    assert_eq!(wait::within(Duration::from_secs(12), more).await, None, "the table rests for an hour");
}

/// Cases: bad-routes
#[tokio::test]
async fn bad_input_list_of_routes_that_never_ends() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([route("10.244.50.0/24", "gone")]);
    cloud.lists(List::Endless);
    create_all(&cluster, [node(1)]).await;
    let _controller = Controller::start(&cluster, &cloud, options());
    becomes(&cluster, "n1", "False RouteCreated").await;
    let pages = cloud.calls().into_iter().filter(|(_, call)| *call == Call::Page).count();
    assert!(pages <= 1_000, "{pages} pages were read");
    assert_eq!(cloud.changes(), ["10.244.1.0/24: - > hop-n1"]);
}

#[tokio::test]
async fn case_193_a_thousand_routes_are_few_calls_at_once() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::taking(50, 4));
    cloud.takes(Duration::ZERO, Duration::from_millis(50));
    let networks: Vec<_> = (0..1000).map(|nth| format!("10.{}.{}.0/24", 240 + nth / 250, nth % 250)).collect();
    create_all(&cluster, networks.iter().enumerate().map(|(nth, it)| node_with(&format!("n{nth}"), &[it]))).await;
    let cluster_cidrs = vec!["10.240.0.0/12".parse().unwrap()];
    let _controller = Controller::start(&cluster, &cloud, Options { cluster_cidrs, ..options() });
    wait::until("all routes are there", async || (cloud.routes().len() == 1000).then_some(())).await;
    assert_eq!(cloud.most_in_flight(), 4);
    let calls: Vec<_> = cloud.calls().into_iter().map(|it| it.1).collect();
    let sizes: Vec<_> =
        calls.iter().filter_map(|it| if let Call::Apply(it) = it { Some(it.len()) } else { None }).collect();
    assert_eq!(sizes, [50; 20], "4 calls of 50 are 200 changes at a time");
    assert_eq!(calls.iter().filter(|it| matches!(it, Call::Hops(_))).count(), 2, "500 networks in a question");
}

#[tokio::test]
async fn a_provider_that_locks_its_table_gets_one_call_at_a_time() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::taking(10, 1));
    cloud.takes(Duration::ZERO, Duration::from_millis(20));
    create_all(&cluster, (1..=45).map(node)).await;
    let _controller = Controller::start(&cluster, &cloud, options());
    wait::until("all routes are there", async || (cloud.routes().len() == 45).then_some(())).await;
    assert_eq!(cloud.most_in_flight(), 1);
}
