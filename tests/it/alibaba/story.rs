//! A cluster in a simulated account, by the binary, which signs each request with a key: nodes join, Services of both kinds come, change and go,
//! and the load balancer of the API server stands.

use futures::future::join_all;
use k8s_openapi::api::core::v1::Service;
use kube::api::Api;
use serde_json::json;
use tests::clouds::alibaba::{CLUSTER, Options, Simulator, ZONES};
use tests::control_plane::{Cluster, cluster};
use tests::vendor::{AlibabaCloud, Built, Vendor as _, alibaba};
use tests::{kubelet, operator, services, wait};

/// The address, or the host, under which a Service is reached.
async fn reached(cluster: &Cluster, name: &str) -> String {
    let all: Api<Service> = services::services(cluster);
    wait::until(&format!("Service {name} is reached"), async || {
        let ingress = all.get(name).await.unwrap().status?.load_balancer?.ingress?.into_iter().next()?;
        ingress.ip.or(ingress.hostname)
    })
    .await
}

/// Waits until a load balancer is so, and at rest.
async fn becomes(cloud: &Simulator, what: &str, is_so: impl Fn(&Built) -> bool) -> Built {
    wait::until(what, async || {
        let all = AlibabaCloud::built(cloud.account());
        let rests = cloud.with(|world| world.is_at_rest());
        all.into_iter().find(|it| rests && it.serves && is_so(it))
    })
    .await
}

/// Cases: alibaba 10, alibaba 14, alibaba 21, alibaba 29
#[tokio::test]
async fn a_cluster_at_alibaba_cloud_lives_by_its_key() {
    let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(Options::default()));
    let cloud = cloud.unwrap();
    // It has the cluster's tag, too, and nothing of a Service's.
    let api_server = cloud.with(|world| {
        (1..=2).for_each(|it| world.add_machine(it, &format!("web-{it}")));
        world.add_foreign("ManagedK8SSlbIntranet", &[("ack.aliyun.com", CLUSTER)])
    });
    let process =
        alibaba::setup(&cluster, &cloud).flags(&["--load-balancer-class=alibabacloud.com/nlb"]).started().await;
    join_all([1, 2].map(async |number| {
        let name = format!("web-{number}");
        kubelet::join(&cluster.admin, &name).await.unwrap();
        let node = operator::initialized(&cluster, &name).await;
        assert_eq!(node.spec.unwrap().provider_id, AlibabaCloud::worker(number).provider_id);
    }))
    .await;

    services::create(&cluster, "web", &json!({}), &json!({})).await;
    let shown = reached(&cluster, "web").await;
    let made = becomes(&cloud, "both nodes take traffic", |it| it.machines == [1, 2]).await;
    assert_eq!((made.addresses.as_slice(), made.ports.as_slice()), (&[shown][..], &[80][..]));
    let port = json!({ "spec": { "ports": [{ "name": "http", "port": 80 }, { "name": "tls", "port": 443 }] } });
    services::patch(&cluster, "web", &port).await;
    becomes(&cloud, "a second port is served", |it| it.ports == [80, 443]).await;

    let zones = json!({ format!("{}zone-maps", AlibabaCloud::PREFIX): ZONES });
    services::create(&cluster, "net", &zones, &json!({ "loadBalancerClass": "alibabacloud.com/nlb" })).await;
    let host = reached(&cluster, "net").await;
    let network = becomes(&cloud, "the other kind takes traffic", |it| it.id.starts_with("nlb-")).await;
    assert_eq!((network.addresses.as_slice(), network.machines.as_slice()), (&[host][..], &[1, 2][..]));

    services::delete(&cluster, "web").await;
    services::delete(&cluster, "net").await;
    wait::until("both load balancers go", async || {
        let left = AlibabaCloud::built(cloud.account());
        (left.len() == 1 && left[0].id == api_server && AlibabaCloud::leftovers(cloud.account()).is_empty())
            .then_some(())
    })
    .await;
    process.stop().await;
    cloud.assert_valid();
}
