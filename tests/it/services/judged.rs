//! Addresses of load balancers that are somebody else's: no status shows them, and an event says so.

use std::time::Duration;

use cloud_provider::{Ingress, IngressDescription, IpMode, LoadBalancerStatus, PendingStatus};
use k8s_openapi::api::core::v1::Service;
use kube::api::Api;
use tests::control_plane::{Cluster, cluster};
use tests::wait;

use crate::cloud::{Answer, Cloud, ready};
use crate::controller::{
    Controller, addressed, addresses, called, create, delete, gone, join_all, memo, one, service, service_when,
    services, settled, told, writes,
};

/// A provider that describes the mode VIP, and no sharing.
const OWN: IngressDescription = IngressDescription { vip: true, shared: false };
const FAILED: &str = "Warning SyncLoadBalancerFailed: Error syncing load balancer: failed to ensure load balancer: ";

/// A load balancer at this address, to which each node takes the cluster's traffic.
fn vip(ip: &str) -> LoadBalancerStatus {
    let ingress = vec![Ingress { ip: Some(ip.to_owned()), ip_mode: Some(IpMode::Vip), ..Ingress::default() }];
    LoadBalancerStatus { ingress, memo: Some(format!("at {ip}")), ..LoadBalancerStatus::default() }
}

fn cluster_ip(service: &Service) -> String {
    service.spec.as_ref().and_then(|it| it.cluster_ip.clone()).expect("it has one")
}

/// Waits until an event about a Service says all of this, and checks that its status shows nothing but the memo.
async fn refused(cluster: &Cluster, name: &str, says: &[&str]) {
    let events = told(cluster, name, "SyncLoadBalancerFailed", 1).await;
    let event = events.iter().find(|it| it.contains("SyncLoadBalancerFailed")).expect("there is one");
    assert!(event.starts_with(FAILED), "{event}");
    for part in says {
        assert!(event.contains(part), "{part:?} is not in {event:?}");
    }
    let refused = service_when(cluster, name, |it| memo(it).is_some()).await;
    assert_eq!(addresses(&refused), [] as [&str; 0]);
}

#[tokio::test]
async fn adv_150_addresses_of_the_cluster_are_no_services() {
    let cluster = cluster().await;
    let cloud = Cloud::reached(OWN);
    join_all(&cluster, 1).await;
    let mut dns = service("dns");
    dns.spec.as_mut().expect("it has one").type_ = Some("ClusterIP".to_owned());
    let dns = cluster_ip(&create(&cluster, &dns).await);
    let api_server = cluster_ip(&services(&cluster).get("kubernetes").await.expect("it is there"));
    cloud.ensures("other", ready("192.0.2.2", "other"));
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("other")).await;
    addressed(&cluster, "other", "192.0.2.2").await;

    let stolen = [
        ("api-server", &*api_server, "the ClusterIP of Service default/kubernetes"),
        ("dns-server", &*dns, "the ClusterIP of Service default/dns"),
        ("node", "10.1.0.1", "an address of node n1"),
        ("ingress", "192.0.2.2", "the address of Service default/other"),
    ];
    for (name, ip, because) in stolen {
        cloud.ensures(name, Answer::Done(vip(ip)));
        create(&cluster, &service(name)).await;
        refused(&cluster, name, &[&format!("{ip:?} is {because}"), "look at its load balancer in the cloud"]).await;
    }
    settled(&cluster).await;
    for (name, ..) in stolen {
        let shown = service_when(&cluster, name, |_| true).await;
        assert_eq!(addresses(&shown), [] as [&str; 0], "{name}");
    }
    addressed(&cluster, "other", "192.0.2.2").await;
}

#[tokio::test]
async fn adv_150_an_answer_before_the_last_is_judged_too() {
    let cluster = cluster().await;
    let cloud = Cloud::reached(OWN);
    join_all(&cluster, 1).await;
    let status = |memo: &str| LoadBalancerStatus { memo: Some(memo.to_owned()), ..vip("10.1.0.1") };
    let pending =
        PendingStatus { status: status("soon"), after: Duration::from_secs(1), reason: "it boots".to_owned() };
    cloud.ensures("soon", Answer::Pending(pending.clone()));
    let failed = cloud_provider::Error::Unavailable("it failed".to_owned());
    cloud.ensures("failed", Answer::Failed(status("failed"), failed));
    let _controller = Controller::start(&cluster, &cloud, one());
    for name in ["soon", "failed"] {
        create(&cluster, &service(name)).await;
        refused(&cluster, name, &["\"10.1.0.1\" is an address of node n1"]).await;
    }
    called(&cloud, "soon", 2).await;
    assert_eq!(told(&cluster, "soon", "SyncLoadBalancerFailed", 1).await.len(), 2, "it is said once");

    cloud.ensures("soon", ready("192.0.2.3", "soon"));
    addressed(&cluster, "soon", "192.0.2.3").await;
    cloud.deletes_next("soon", [Answer::Pending(pending)]);
    delete(&cluster, "soon").await;
    gone(&cluster, "soon").await;
    for write in writes(&cluster, "soon").await {
        assert!(!write.body.to_string().contains("\"ip\":\"10.1.0.1\""), "{}", write.body);
    }
}

#[tokio::test]
async fn adv_150_only_a_described_mode_is_written() {
    let cluster = cluster().await;
    let cloud = Cloud::reached(IngressDescription::default());
    cloud.ensures("explicit", Answer::Done(vip("192.0.2.2")));
    cloud.ensures("silent", ready("192.0.2.3", "silent"));
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("explicit")).await;
    refused(&cluster, "explicit", &["\"192.0.2.2\" comes with ipMode VIP"]).await;
    create(&cluster, &service("silent")).await;
    let silent = addressed(&cluster, "silent", "192.0.2.3").await;
    let ingress = silent.status.and_then(|it| it.load_balancer?.ingress).expect("it is served");
    assert_eq!(ingress[0].ip_mode.as_deref(), Some("Proxy"));
}

#[tokio::test]
async fn adv_150_an_address_is_free_again_with_its_service() {
    let cluster = cluster().await;
    let cloud = Cloud::reached(OWN);
    for name in ["first", "second"] {
        cloud.ensures(name, ready("192.0.2.4", name));
    }
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("first")).await;
    addressed(&cluster, "first", "192.0.2.4").await;
    create(&cluster, &service("second")).await;
    refused(&cluster, "second", &["the address of Service default/first"]).await;
    delete(&cluster, "first").await;
    gone(&cluster, "first").await;
    crate::controller::resize(&cluster, "second", "2").await;
    addressed(&cluster, "second", "192.0.2.4").await;
    let services: Api<Service> = services(&cluster);
    wait::until("it is there", async || services.get("second").await.ok()).await;
}
