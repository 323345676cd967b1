//! Load balancers that take their time: nobody waits for them, and it is no failure.

use std::collections::BTreeSet;
use std::time::Duration;

use cloud_provider::{Ingress, LoadBalancerStatus, PendingStatus};
use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;
use kube::api::ListParams;
use tests::control_plane::cluster;
use tests::wait;

use crate::cloud::{Answer, Call, Cloud, at_address, building, ready};
use crate::controller::{
    Controller, addressed, addresses, called, create, delete, events, gone, join_all, memo, one, resize, serve_s1,
    service, service_when, services, settled, told,
};

const SECOND: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(300);
const ENSURING: &str = "Normal EnsuringLoadBalancer: Ensuring load balancer";
const ENSURED: &str = "Normal EnsuredLoadBalancer: Ensured load balancer";

#[tokio::test]
async fn one_worker_serves_two_hundred_pending_load_balancers() {
    const ALL: usize = 200;
    let cluster = cluster().await;
    let cloud = Cloud::new();
    for nth in 1..=ALL {
        let (name, memo) = (format!("s{nth}"), format!("lb-{nth}"));
        cloud.ensures_next(&name, [building(&memo, SECOND)]);
        cloud.ensures(&name, ready(&format!("192.0.2.{nth}"), &memo));
    }
    let cluster = &cluster;
    stream::iter(1..=ALL)
        .for_each_concurrent(32, |nth| async move { drop(create(cluster, &service(&format!("s{nth}"))).await) })
        .await;
    let _controller = Controller::start(cluster, &cloud, one());
    for number in 1..=2 * ALL {
        wait::until(&format!("call {number}"), async || (cloud.count() >= number).then_some(())).await;
    }
    let services = services(cluster);
    let all = wait::until("all have their addresses", async || {
        let mut all = services.list(&ListParams::default()).await.ok()?.items;
        all.retain(|it| it.name_any() != "kubernetes");
        all.iter().all(|it| !addresses(it).is_empty()).then_some(all)
    })
    .await;
    assert_eq!(all.len(), ALL);
    let right = |service: &Service| {
        let nth = service.name_any().trim_start_matches('s').to_owned();
        addresses(service) == [format!("192.0.2.{nth}")] && memo(service) == Some(&format!("lb-{nth}"))
    };
    assert!(all.iter().all(right));
    let calls = cloud.calls();
    assert_eq!(calls.len(), 2 * ALL, "two for each");
    assert!(calls.iter().all(|it| it.in_flight == 1));
    let first: BTreeSet<_> = calls[..ALL].iter().map(Call::name).collect();
    assert_eq!(first.len(), ALL, "each has its turn before any has its second");
    let pauses = calls[..ALL].windows(2).filter(|it| it[1].began - it[0].began >= SECOND).count();
    assert!(pauses < ALL / 2, "the worker waits for what is pending: {pauses} pauses");
}

#[tokio::test]
async fn a_pending_service_does_not_keep_the_worker_from_others() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = Controller::start(&cluster, &cloud, one());
    for nth in 1..=5 {
        let name = format!("s{nth}");
        cloud.ensures(&name, building(&format!("lb-{nth}"), LONG));
        create(&cluster, &service(&name)).await;
        service_when(&cluster, &name, |it| memo(it).is_some()).await;
    }
    settled(&cluster).await;
    assert_eq!(cloud.calls().len(), 6, "our own writes do not bring it forward");
}

#[tokio::test]
async fn pending_makes_no_event() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures_next("s1", [building("lb-1", SECOND), building("lb-1", SECOND)]);
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    join_all(&cluster, 1).await;
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    assert_eq!(told(&cluster, "s1", "EnsuredLoadBalancer", 1).await, [ENSURING, ENSURED]);
    let calls = cloud.about("s1");
    assert_eq!(calls.len(), 3);
    for pair in calls.windows(2) {
        let pause = pair[1].began - pair[0].began;
        assert!(pause >= SECOND, "{pause:?}");
    }
    settled(&cluster).await;
    assert_eq!(cloud.about("s1").len(), 3);
}

#[tokio::test]
async fn a_change_does_not_wait_for_what_is_pending() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures_next("s1", [building("lb-1", LONG)]);
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    join_all(&cluster, 1).await;
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    service_when(&cluster, "s1", |it| memo(it).is_some()).await;
    resize(&cluster, "s1", "2").await;
    called(&cloud, "s1", 2).await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    let events = told(&cluster, "s1", "EnsuredLoadBalancer", 1).await;
    assert_eq!(events, [ENSURING, ENSURING, ENSURED], "another value is announced again");
}

#[tokio::test]
async fn addresses_stay_while_a_change_is_pending() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = serve_s1(&cluster, &cloud).await;
    cloud.ensures("s1", building("lb-1 changing", LONG));
    resize(&cluster, "s1", "2").await;
    let service = service_when(&cluster, "s1", |it| memo(it) == Some("lb-1 changing")).await;
    assert_eq!(addresses(&service), ["192.0.2.1"]);
}

#[tokio::test]
async fn a_pause_lasts_half_a_second_but_for_the_first_memo() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = Controller::start(&cluster, &cloud, one());
    // The memo is written before the second call: on a slow machine that alone may take half a second now and then.
    for nth in 1..=8 {
        let name = format!("s{nth}");
        cloud.ensures_next(&name, [building("lb-1", Duration::ZERO), building("lb-1", Duration::ZERO)]);
        cloud.ensures_next(&name, [building("lb-2", Duration::ZERO)]);
        cloud.ensures(&name, ready("192.0.2.1", "lb-2"));
        create(&cluster, &service(&name)).await;
        addressed(&cluster, &name, "192.0.2.1").await;
        let calls = cloud.about(&name);
        let at_once: Vec<_> = calls.windows(2).map(|it| it[1].began - it[0].began < SECOND / 2).collect();
        assert_eq!(at_once[1..], [false, false]);
        if at_once[0] {
            return;
        }
    }
    panic!("the first memo is never followed at once");
}

#[tokio::test]
async fn a_pause_beside_the_first_memo_is_obeyed() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures_next("s1", [building("lb-1", Duration::from_millis(1))]);
    let _controller = serve_s1(&cluster, &cloud).await;
    let calls = cloud.about("s1");
    let pause = calls[1].began - calls[0].began;
    assert!(pause >= SECOND / 2, "{pause:?}");
}

#[tokio::test]
async fn a_deletion_does_not_wait_for_what_is_pending() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures("s1", building("lb-1", LONG));
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    service_when(&cluster, "s1", |it| memo(it).is_some()).await;
    delete(&cluster, "s1").await;
    gone(&cluster, "s1").await;
    let calls = cloud.about("s1");
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[1].desired.memo.as_deref(), Some("lb-1"));
}

#[tokio::test]
async fn addresses_that_are_known_early_are_shown_early() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let standing = LoadBalancerStatus { memo: Some("lb-1".to_owned()), ..at_address("192.0.2.1") };
    let step = PendingStatus {
        status: standing,
        after: Duration::from_secs(300),
        reason: "targets are being added".to_owned(),
    };
    cloud.ensures("s1", Answer::Pending(step));
    join_all(&cluster, 1).await;
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    settled(&cluster).await;
    assert_eq!(cloud.about("s1").len(), 1);
    assert_eq!(events(&cluster, "s1").len(), 1, "nothing was ensured yet");
    resize(&cluster, "s1", "2").await;
    called(&cloud, "s1", 2).await;
    let current = &cloud.about("s1")[1].desired.current_ingress;
    assert_eq!(current[0], Ingress { ip: Some("192.0.2.1".to_owned()), hostname: None, ip_mode: current[0].ip_mode });
}

#[tokio::test]
async fn one_worker_has_one_call_in_flight() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let names = ["s1", "s2", "s3", "s4", "s5"];
    for name in names {
        cloud.hold(name);
    }
    let controller = Controller::start(&cluster, &cloud, one());
    for name in names {
        create(&cluster, &service(name)).await;
    }
    join_all(&cluster, 2).await;
    wait::until("a call", async || (cloud.in_flight() > 0).then_some(())).await;
    controller.waiting(names.len() - 1).await;
    assert_eq!(cloud.in_flight(), 1, "the others wait for the worker");
    for nth in 0..names.len() {
        let what = format!("call {}", nth + 1);
        let call = wait::until(&what, async || cloud.calls().get(nth).cloned()).await;
        cloud.release(&call.desired.owner.name);
    }
    delete(&cluster, "s1").await;
    gone(&cluster, "s1").await;
    settled(&cluster).await;
    let in_flight: Vec<_> = cloud.calls().iter().map(|it| it.in_flight).collect();
    assert!(in_flight.len() > names.len() && in_flight.iter().all(|it| *it == 1), "{in_flight:?}");
}

#[tokio::test]
async fn how_long_a_load_balancer_has_been_pending_is_measured() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures_next("s1", [building("lb-1", LONG)]);
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    let controller = Controller::start(&cluster, &cloud, one());
    let seconds = || controller.gauge("aerostat_load_balancer_longest_pending_seconds");
    create(&cluster, &service("s1")).await;
    wait::until("a time that grows", async || (seconds() > 2.0).then_some(())).await;
    resize(&cluster, "s1", "2").await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    wait::until("nothing is pending", async || (seconds() == 0.0).then_some(())).await;
}
