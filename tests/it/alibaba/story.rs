//! A cluster in a simulated account, by the binary, which signs each request with a key: nodes join, Services of both kinds come, change and go,
//! and the load balancer of the API server stands.

use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::json;
use tests::clouds::alibaba::{CLUSTER, OIDC_TOKEN, Options, PROVIDER, REGION, ROLE, Simulator, ZONES, machine_id};
use tests::control_plane::{Cluster, cluster};
use tests::published::{Served, alibaba as served};
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

/// Cases: alibaba 13, alibaba 34, alibaba 37
#[tokio::test]
async fn nodes_of_a_cluster_at_alibaba_cloud_get_routes() {
    let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(Options::default()));
    let cloud = cloud.unwrap();
    cloud.with(|world| (1..=3).for_each(|it| world.add_machine(it, &format!("web-{it}"))));
    let flags = [
        "--cluster-cidr=10.244.0.0/16",
        "--configure-cloud-routes=true",
        "--route-reconciliation-period=2s",
        "--route-deletion-warm-up=0s",
        "--route-deletion-budget=100",
    ];
    let process = alibaba::setup(&cluster, &cloud).flags(&flags).started().await;
    let nodes: Api<Node> = Api::all(cluster.admin.clone());
    join_all([1, 2, 3].map(async |number| {
        let name = format!("web-{number}");
        kubelet::join(&cluster.admin, &name).await.unwrap();
        operator::initialized(&cluster, &name).await;
        let network = format!("10.244.{number}.0/24");
        let patch = json!({ "spec": { "podCIDR": network, "podCIDRs": [network] } });
        nodes.patch(&name, &PatchParams::default(), &Patch::Strategic(patch)).await.unwrap();
    }))
    .await;
    // Destinations with the machines that they lead to, where packets follow.
    let entries = || {
        cloud.with(|world| {
            let all = world.routes.all().map(|(_, it)| it).filter(|it| it["Status"] == "Available");
            let text = |it: &serde_json::Value| it.as_str().unwrap().to_owned();
            let shown = |entry: &serde_json::Value| {
                (text(&entry["DestinationCidrBlock"]), text(&entry["NextHops"]["NextHop"][0]["NextHopId"]))
            };
            let mut shown: Vec<_> = all.map(shown).collect();
            shown.sort();
            shown
        })
    };
    let expected =
        |all: &[u64]| all.iter().map(|it| (format!("10.244.{it}.0/24"), machine_id(*it))).collect::<Vec<_>>();
    wait::until("each node has a route", async || (entries() == expected(&[1, 2, 3])).then_some(())).await;
    let checking = |world: &tests::clouds::alibaba::World| {
        world.interfaces.all().filter(|(_, it)| it["SourceDestCheck"] != json!(false)).count()
    };
    assert_eq!(cloud.with(|world| checking(world)), 0, "packets of pods are let through");
    wait::until("no node lacks its network", async || {
        let node = nodes.get("web-1").await.unwrap();
        let conditions = node.status?.conditions?;
        conditions.iter().any(|it| it.type_ == "NetworkUnavailable" && it.status == "False").then_some(())
    })
    .await;
    nodes.delete("web-2", &DeleteParams::default()).await.unwrap();
    wait::until("its route goes with a node", async || (entries() == expected(&[1, 3])).then_some(())).await;
    process.stop().await;
    cloud.assert_valid();
}

/// Cases: alibaba 40
#[tokio::test]
async fn a_cluster_at_alibaba_cloud_lives_by_its_role() {
    let (cluster, served) = tokio::join!(cluster(), served::serve(0, Some(Duration::ZERO)));
    let Served { url, simulator: cloud } = served.unwrap();
    cloud.with(|world| (1..=2).for_each(|it| world.add_machine(it, &format!("web-{it}"))));
    let setup = alibaba::setup(&cluster, &cloud);
    let token = setup.folder.write("alibaba-token", OIDC_TOKEN);
    // As rrsa-patch.yaml projects it, and config.yaml names it.
    let setup = setup.edit(|config| {
        config["credentials"][0]["acs3"] = json!({
            "region": REGION, "oidc": { "roleArn": ROLE, "providerArn": PROVIDER, "tokenFile": token },
            "sts": { "baseUrl": url, "addresses": ["127.0.0.0/8"] },
        });
    });
    let process = setup.started().await;
    let joins = async |number: u8| {
        let name = format!("web-{number}");
        kubelet::join(&cluster.admin, &name).await.unwrap();
        let node = operator::initialized(&cluster, &name).await;
        assert_eq!(node.spec.unwrap().provider_id, AlibabaCloud::worker(number).provider_id);
    };
    joins(1).await;
    let asked = || cloud.requests().iter().filter(|it| it.path == "/sts/AssumeRoleWithOIDC").count();
    assert_eq!(asked(), 1, "one session for all requests");
    cloud.ram().end_sessions();
    joins(2).await;
    assert_eq!(asked(), 2, "one that has ended is renewed, and the node waits for nothing else");
    process.stop().await;
    cloud.assert_valid();
}
