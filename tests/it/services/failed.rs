//! Load balancers that the cloud has begun and not finished, and those that it does not let go.

use std::time::Duration;

use cloud_provider::{Error, LoadBalancerStatus};
use tests::control_plane::cluster;

use crate::cloud::{Answer, Cloud, at_address, building, ready};
use crate::controller::{
    Controller, RETRY, addressed, addresses, called, create, delete, events, gone, memo, one, resize, service,
    service_when, told,
};

/// An action of the cloud has failed, and the load balancer is there.
fn failed(ip: &str, memo: &str) -> Answer {
    let status = LoadBalancerStatus { memo: Some(memo.to_owned()), ..at_address(ip) };
    Answer::Failed(status, Error::Unavailable("action 7 has errored".to_owned()))
}

#[tokio::test]
async fn a_failed_step_keeps_its_status_and_backs_off() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures_next("s1", [building("lb-1", Duration::ZERO)]);
    cloud.ensures_next("s1", (0..4).map(|_| failed("192.0.2.1", "lb-1")));
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    let service = service_when(&cluster, "s1", |it| !addresses(it).is_empty()).await;
    assert_eq!((addresses(&service), memo(&service)), (vec!["192.0.2.1"], Some("lb-1")));
    let told = told(&cluster, "s1", "SyncLoadBalancerFailed", 4).await;
    let expected = "Warning SyncLoadBalancerFailed: Error syncing load balancer: failed to ensure load balancer: action 7 has errored";
    assert!(told.iter().any(|it| it == expected), "{told:?}");
    called(&cloud, "s1", 6).await;
    let calls = cloud.about("s1");
    assert!(calls[2..].iter().all(|it| it.desired.memo.as_deref() == Some("lb-1")));
    let pauses: Vec<_> = calls[1..].windows(2).map(|it| it[1].began - it[0].began).collect();
    let grow = (0..).zip(&pauses).all(|(nth, pause)| *pause >= RETRY * 2_u32.pow(nth));
    assert!(grow, "the pauses grow: {pauses:?}");
}

#[tokio::test]
async fn a_failed_change_leaves_the_address_as_it_is() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    let refused = LoadBalancerStatus { memo: Some("lb-1 small".to_owned()), ..LoadBalancerStatus::default() };
    cloud.ensures("s1", Answer::Failed(refused, Error::Invalid("no such size".to_owned())));
    resize(&cluster, "s1", "2").await;
    let service = service_when(&cluster, "s1", |it| memo(it) == Some("lb-1 small")).await;
    assert_eq!(addresses(&service), ["192.0.2.1"], "where it is reached stays as it is");
    told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    resize(&cluster, "s1", "3").await;
    service_when(&cluster, "s1", |it| memo(it) == Some("lb-1")).await;
}

#[tokio::test]
async fn a_protected_load_balancer_stays_and_its_service_goes() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    cloud.deletes("s1", Answer::Kept("deletion protection is on".to_owned()));
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    delete(&cluster, "s1").await;
    gone(&cluster, "s1").await;
    let expected =
        "Warning LoadBalancerNotDeleted: the load balancer stays in the cloud: deletion protection is on".to_owned();
    told(&cluster, "s1", "LoadBalancerNotDeleted", 1).await;
    let events = events(&cluster, "s1");
    assert!(events.contains(&expected), "{events:?}");
    assert!(events.iter().all(|it| !it.contains("DeletedLoadBalancer:")), "{events:?}");
    assert_eq!(cloud.asked(), ["ensure s1", "delete s1"]);
}
