//! A cluster in a simulated environment of Rancher, by the binary: hosts are nodes, and one that is gone takes its node along; a Service has a
//! load balancer, which changes and goes with it.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams};
use serde_json::{Value, json};
use tests::clouds::rancher::{ACCESS_KEY, Behaviour, RancherKind, SECRET_KEY, Simulator, Taking, host_uuid};
use tests::control_plane::{Cluster, cluster};
use tests::operator::Setup;
use tests::{guests, kubelet, operator, services, wait};

/// The provider as the config beside its sources has it.
fn setup(cluster: &Cluster, cloud: &Simulator) -> Setup {
    let mut setup =
        Setup::guest(cluster, guests::RANCHER).flags(&["--node-monitor-period=1s"]).flags(&operator::NODES_GO_AT_ONCE);
    let shipped: Value = serde_saphyr::from_str(include_str!("../../../providers/rancher/cloud.yaml")).unwrap();
    let module = setup.config["provider"]["module"].take();
    let [user, password] =
        [("access-key", ACCESS_KEY), ("secret-key", SECRET_KEY)].map(|(name, key)| setup.folder.write(name, key));
    setup.config = shipped;
    setup.config["provider"]["module"] = module;
    setup.config["provider"]["settings"] = json!({ "pollInterval": "1s", "createAgainAfter": "5s" });
    setup.config["endpoints"][0]["baseUrl"] = json!(cloud.environment_url());
    setup.config["endpoints"][0]["tls"] = json!({ "caFile": cloud.ca_file() });
    setup.config["credentials"][0]["basic"] = json!({ "userFile": user, "passwordFile": password });
    setup
}

/// A field of the only external service: none while there is none.
fn external(cloud: &Simulator, field: &str) -> Value {
    cloud.with(|world| world.all(RancherKind::External).next().map(|it| it.1.field(field).clone())).unwrap_or_default()
}

/// The ports of load balancers that serve.
fn ports(cloud: &Simulator) -> Vec<Value> {
    let serves = |state: &str| ["active", "upgraded"].contains(&state);
    cloud.with(|world| {
        let all = world.all(RancherKind::Balancer).filter(|(_, it)| serves(&it.state));
        all.map(|(_, it)| it.field("launchConfig")["ports"].clone()).collect()
    })
}

/// Cases: rancher 2, rancher 4, rancher 8
#[tokio::test]
async fn a_cluster_at_rancher_serves_from_join_to_deletion() {
    let behaviour = Behaviour { taking: Taking::Time(Duration::from_millis(200)), asks_for_keys: true };
    let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(behaviour));
    let cloud = cloud.unwrap();
    // A host that is no node of the cluster runs the load balancers.
    cloud.with(|world| {
        world.add_host(9, "edge");
        world.host_of_balancers = Some(9);
    });
    cloud.with(|world| (1..=3).for_each(|it| world.add_host(it, &format!("web-{it}"))));
    let process = setup(&cluster, &cloud).started().await;
    for number in 1..=3 {
        let name = format!("web-{number}");
        kubelet::join(&cluster.admin, &name).await.unwrap();
        let node = operator::initialized(&cluster, &name).await;
        assert_eq!(node.spec.unwrap().provider_id, Some(format!("rancher://{}", host_uuid(number))));
    }

    services::create(&cluster, "web", &json!({}), &json!({})).await;
    let address = services::address(&cluster, "web").await;
    assert_eq!(address, "10.0.0.9");
    let hosts = |last: &[u8]| json!(last.iter().map(|it| format!("10.0.0.{it}")).collect::<Vec<_>>());
    assert_eq!((external(&cloud, "externalIpAddresses"), ports(&cloud).len()), (hosts(&[1, 2, 3]), 1));

    let second = json!({ "spec": { "ports": [{ "name": "http", "port": 80 }, { "name": "tls", "port": 443 }] } });
    services::patch(&cluster, "web", &second).await;
    wait::until("a second port is served", async || {
        let ports = ports(&cloud);
        (ports.len() == 1 && ports[0].as_array().is_some_and(|it| it.len() == 2)).then_some(())
    })
    .await;
    assert_eq!(services::address(&cluster, "web").await, address, "another port, and the same address");

    // A host whose kubelet is silent, and which is there: its node stays. One that was removed takes its node along.
    let nodes: Api<Node> = Api::all(cluster.admin.clone());
    kubelet::post_ready(&cluster.admin, "web-2", false).await.unwrap();
    cloud.with(|world| world.remove_host(3));
    kubelet::post_ready(&cluster.admin, "web-3", false).await.unwrap();
    wait::until("the node of a removed host goes", async || {
        nodes.get_opt("web-3").await.unwrap().is_none().then_some(())
    })
    .await;
    wait::until("no traffic goes to it", async || {
        (external(&cloud, "externalIpAddresses") == hosts(&[1, 2])).then_some(())
    })
    .await;
    let left = nodes.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(left.iter().map(Node::name_any).collect::<Vec<_>>(), ["web-1", "web-2"]);

    services::services(&cluster).delete("web", &DeleteParams::default()).await.unwrap();
    services::gone(&cluster, "web").await;
    let left = cloud.with(|world| world.all(RancherKind::Balancer).count() + world.all(RancherKind::External).count());
    assert_eq!(left, 0);
    process.stop().await;
    assert_eq!(cloud.take_violations(), [""; 0]);
}
