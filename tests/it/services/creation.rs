//! Services that get a load balancer, and Services that do not.

use cloud_provider::{ExternalTrafficPolicy, Ingress, IpFamily, Protocol};
use controllers::service::Options;
use http::Method;
use kube::ResourceExt;
use tests::control_plane::cluster;
use tests::faults::{Fault, Faults};
use tests::wait;

use crate::cloud::{Answer, Cloud, at_address, ready};
use crate::controller::{
    Controller, FINALIZER, MEMO, RETRY, addressed, addresses, called, create, delete, events, finalizers, gone,
    join_all, one, service, services, settled, told, workers, writes, written,
};

const ENSURING: &str = "Normal EnsuringLoadBalancer: Ensuring load balancer";
const ENSURED: &str = "Normal EnsuredLoadBalancer: Ensured load balancer";
const STATUS: &str = r"/services/s1/status(\?|$)";

#[tokio::test]
async fn case_117_finalizer_call_and_status_come_in_this_order() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.hold("s1");
    join_all(&cluster, 2).await;
    let _controller = Controller::start(&cluster, &cloud, one());
    let created = create(&cluster, &service("s1")).await;

    called(&cloud, "s1", 1).await;
    let during = services(&cluster).get("s1").await.unwrap();
    assert_eq!(finalizers(&during), [FINALIZER]);
    assert!(addresses(&during).is_empty());
    assert_eq!(told(&cluster, "s1", "EnsuringLoadBalancer", 1).await, [ENSURING]);
    cloud.release("s1");

    addressed(&cluster, "s1", "192.0.2.1").await;
    assert_eq!(told(&cluster, "s1", "EnsuredLoadBalancer", 1).await, [ENSURING, ENSURED]);
    settled(&cluster).await;
    assert_eq!(cloud.about("s1").len(), 1);
    assert_eq!(written(&cluster, "s1").await, ["patch services/status 200", "patch services/status 200"]);

    let call = cloud.about("s1").remove(0);
    assert_eq!(call.nodes(), ["n1", "n2"]);
    let (uid, desired) = (created.uid().unwrap(), call.desired);
    assert_eq!(desired.name, format!("a{}", uid.replace('-', ""))[..32]);
    let owner = desired.owner;
    assert_eq!(
        (owner.cluster.as_str(), owner.namespace.as_str(), owner.name.as_str(), owner.uid),
        ("kubernetes", "default", "s1", uid)
    );
    let port = &desired.ports[0];
    assert_eq!((port.name.as_str(), port.protocol, port.port), ("http", Protocol::Tcp, 80));
    assert!(port.node_port.is_some());
    assert_eq!(
        (desired.external_traffic_policy, desired.ip_families),
        (ExternalTrafficPolicy::Cluster, vec![IpFamily::Ipv4])
    );
    assert_eq!(
        (desired.memo, desired.current_ingress, desired.load_balancer_class),
        (None, Vec::<Ingress>::new(), None)
    );
}

#[tokio::test]
async fn case_118_addresses_that_are_there_are_not_written() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    let mut held = service("s1");
    held.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    create(&cluster, &held).await;
    let controller = Controller::start(&cluster, &cloud, one());
    addressed(&cluster, "s1", "192.0.2.1").await;
    settled(&cluster).await;
    assert_eq!(written(&cluster, "s1").await.len(), 1, "memo and addresses in one patch");
    controller.stop().ended().await;

    let _controller = Controller::start(&cluster, &cloud, one());
    called(&cloud, "s1", 2).await;
    settled(&cluster).await;
    // The API server has filled in `ipMode`, which the cloud does not tell.
    assert_eq!(written(&cluster, "s1").await.len(), 1, "nothing differs");
    let second = cloud.about("s1").remove(1).desired;
    assert_eq!(second.memo.as_deref(), Some("lb-1"));
    assert_eq!(second.current_ingress[0].ip.as_deref(), Some("192.0.2.1"));
    assert_eq!(cloud.about("s1").len(), 2);
}

#[tokio::test]
async fn case_120_without_finalizer_the_cloud_is_not_called() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let faults = Faults::new();
    faults.set(Fault::status(Method::PATCH, STATUS, 500, "InternalError", "injected failure").times(1));
    let _controller = Controller::start_as(cluster.faulty(&faults), &cloud, one());
    create(&cluster, &service("s1")).await;
    addressed(&cluster, "s1", "192.0.2.1").await;

    let events = told(&cluster, "s1", "EnsuredLoadBalancer", 1).await;
    let failed = "Warning SyncLoadBalancerFailed: Error syncing load balancer: failed to add load balancer cleanup \
                  finalizer: ";
    assert!(events[1].starts_with(failed) && events[1].contains("injected failure"), "{events:#?}");
    let calls = cloud.about("s1");
    assert_eq!(calls.len(), 1);
    let pause = calls[0].at.duration_since(faults.answered()[0].time).unsigned_abs();
    assert!(pause >= RETRY, "{pause:?}");
}

#[tokio::test]
async fn case_125_without_nodes_the_cloud_is_called_with_none() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    let unavailable = "Warning UnAvailableLoadBalancer: There are no available nodes for LoadBalancer";
    assert_eq!(told(&cluster, "s1", "EnsuredLoadBalancer", 1).await, [ENSURING, unavailable, ENSURED]);
    assert!(cloud.about("s1")[0].nodes().is_empty());
}

#[tokio::test]
async fn a_service_of_the_configured_class_is_ours() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    join_all(&cluster, 1).await;
    let options = Options { class: Some("example.com/ours".to_owned()), ..one() };
    let _controller = Controller::start(&cluster, &cloud, options);
    for (name, class) in [("s1", Some("example.com/ours")), ("s2", None), ("s3", Some("example.com/other"))] {
        let mut classed = service(name);
        classed.spec.as_mut().unwrap().load_balancer_class = class.map(str::to_owned);
        create(&cluster, &classed).await;
    }
    addressed(&cluster, "s1", "192.0.2.1").await;
    addressed(&cluster, "s2", "192.0.2.1").await;
    settled(&cluster).await;
    assert!(cloud.about("s3").is_empty());
    delete(&cluster, "s1").await;
    gone(&cluster, "s1").await;
    assert!(writes(&cluster, "s3").await.is_empty());
}

#[tokio::test]
async fn case_138_each_service_that_was_there_before_costs_one_call() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    join_all(&cluster, 2).await;
    for nth in 1..=20 {
        create(&cluster, &service(&format!("s{nth}"))).await;
    }
    let _controller = Controller::start(&cluster, &cloud, workers(4));
    for nth in 1..=20 {
        addressed(&cluster, &format!("s{nth}"), "192.0.2.1").await;
    }
    settled(&cluster).await;
    assert_eq!(cloud.calls().len(), 21, "one for each, and one for the last Service");
    assert!(cloud.calls().iter().all(|it| it.nodes() == ["n1", "n2"]), "nodes are known before the first call");
}

#[tokio::test]
async fn case_140_foreign_finalizers_stay_when_ours_is_added() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = Controller::start(&cluster, &cloud, one());
    let mut held = service("s1");
    held.metadata.finalizers = Some(vec!["example.com/foo".to_owned()]);
    create(&cluster, &held).await;
    let service = addressed(&cluster, "s1", "192.0.2.1").await;
    assert_eq!(finalizers(&service), ["example.com/foo", FINALIZER]);
    assert_eq!(written(&cluster, "s1").await, ["patch services/status 200", "patch services/status 200"]);
}

#[tokio::test]
async fn case_142_one_call_for_each_worker_and_for_each_service() {
    for syncs in [1, 5] {
        let cluster = cluster().await;
        let cloud = Cloud::new();
        let names: Vec<_> = (1..=8).map(|nth| format!("s{nth}")).collect();
        names.iter().for_each(|it| cloud.hold(it));
        let _controller = Controller::start(&cluster, &cloud, workers(syncs));
        for name in &names {
            create(&cluster, &service(name)).await;
        }
        wait::until("all workers are busy", async || (cloud.in_flight() == syncs).then_some(())).await;
        // Those that are being worked on change meanwhile. That two of their calls overlap, the cloud would see.
        for call in cloud.calls() {
            crate::controller::resize(&cluster, &call.desired.owner.name, "2").await;
        }
        names.iter().for_each(|it| cloud.release(it));
        for name in &names {
            addressed(&cluster, name, "192.0.2.1").await;
        }
        settled(&cluster).await;
        let most = cloud.calls().iter().map(|it| it.in_flight).max();
        assert_eq!(most, Some(syncs));
    }
}

#[tokio::test]
async fn memo_annotations_and_addresses_come_in_one_patch() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let mut standing = at_address("192.0.2.7");
    standing.memo = Some("lb-7".to_owned());
    standing.annotations = vec![(crate::cloud::ID.to_owned(), "lb-7".to_owned())];
    cloud.ensures("s1", Answer::Done(standing));
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    let service = addressed(&cluster, "s1", "192.0.2.7").await;
    assert_eq!(service.annotations().get(crate::cloud::ID).map(String::as_str), Some("lb-7"));
    let conditions = service.status.as_ref().unwrap().conditions.as_ref().unwrap();
    let kept: Vec<_> = conditions
        .iter()
        .map(|it| (it.type_.as_str(), it.status.as_str(), it.reason.as_str(), it.message.as_str()))
        .collect();
    assert_eq!(kept, [(MEMO, "True", "Kept", "lb-7")]);
    settled(&cluster).await;
    assert_eq!(cloud.about("s1").len(), 1, "what the host wrote itself is no change");
    let writes = writes(&cluster, "s1").await;
    let subjects: Vec<_> = writes.iter().map(|it| it.resource()).collect();
    assert_eq!(subjects, ["services/status", "services/status"]);
    assert!(writes.iter().all(|it| it.body["metadata"]["resourceVersion"].is_string()), "{writes:#?}");
}

#[tokio::test]
async fn elsewhere_changes_no_status_and_makes_no_event() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures("s1", Answer::Elsewhere);
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    called(&cloud, "s1", 1).await;
    settled(&cluster).await;
    let service = services(&cluster).get("s1").await.unwrap();
    assert_eq!(finalizers(&service), [FINALIZER]);
    assert!(addresses(&service).is_empty());
    let events = events(&cluster, "s1");
    assert!(!events.iter().any(|it| it == ENSURED), "{events:#?}");
    assert_eq!(cloud.about("s1").len(), 1);
    assert_eq!(written(&cluster, "s1").await.len(), 1);
}
