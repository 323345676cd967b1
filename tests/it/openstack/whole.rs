//! The real binary with the provider for OpenStack: Keystone, its catalogue, a node and a Service.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;
use tests::clouds::openstack::Kind;
use tests::control_plane::cluster;
use tests::vendor::{Behaviour, Creation, OpenStack, Vendor as _};
use tests::{kubelet, operator, wait};

#[tokio::test]
async fn a_node_and_a_service_find_their_way_through_keystone() {
    let creation = Creation::Takes(Duration::from_millis(50));
    let (cluster, cloud) = tokio::join!(cluster(), OpenStack::start(Behaviour { creation, ..Behaviour::default() }));
    let cloud = cloud.unwrap();
    let setup = OpenStack::setup(&cluster, &cloud).edit(|it| it["provider"]["settings"]["pollInterval"] = json!("1s"));
    OpenStack::add_machine(cloud.account(), 1, "web-1");
    let process = setup.started().await;

    kubelet::join(&cluster.admin, "web-1").await.unwrap();
    let node = operator::initialized(&cluster, "web-1").await;
    assert_eq!(node.spec.as_ref().unwrap().provider_id.as_deref(), Some(&*OpenStack::worker(1).provider_id.unwrap()));
    let nodes: Api<Node> = Api::all(cluster.admin.clone());
    // They are written beside the taint's end.
    wait::until("the node has its addresses", async || {
        let node = nodes.get("web-1").await.unwrap();
        (kubelet::addresses(&node).first() == Some(&("InternalIP", "10.6.0.11"))).then_some(())
    })
    .await;

    let services: Api<Service> = Api::default_namespaced(cluster.admin.clone());
    let web = json!({
        "metadata": { "name": "web" },
        "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] },
    });
    services.create(&PostParams::default(), &serde_json::from_value(web).unwrap()).await.unwrap();
    let address = wait::until("the Service has its address", async || {
        let status = services.get("web").await.unwrap().status?;
        status.load_balancer?.ingress?.pop()?.ip
    })
    .await;
    let [built] = &OpenStack::built(cloud.account())[..] else { panic!("one load balancer") };
    assert_eq!((&built.addresses[..], &built.ports[..], &built.machines[..]), (&[address][..], &[80][..], &[1][..]));
    assert_eq!(built.name, "kube_service_kubernetes_default_web");

    services.delete("web", &DeleteParams::default()).await.unwrap();
    wait::until("the Service is gone", async || services.get_opt("web").await.unwrap().is_none().then_some(())).await;
    let left: Vec<_> = [Kind::LoadBalancer, Kind::FloatingIp].map(|it| cloud.account().all(it)).concat();
    assert_eq!(left, Vec::<serde_json::Value>::new());
    process.stop().await;
    cloud.assert_valid();
}
