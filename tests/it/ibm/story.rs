//! A cluster in a simulated account, by the binary, with an API key for which IAM gives tokens: nodes join, Services come, change and go, and one
//! that names another's load balancer gets nothing.

use futures::future::join_all;
use k8s_openapi::api::core::v1::{Event, Node, Service};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use serde_json::json;
use tests::clouds::ibm::{Behaviour, Options, Simulator, Taking, VPC, VpcKind, World};
use tests::control_plane::{Cluster, cluster};
use tests::simulator::Recorded;
use tests::vendor::{Built, IbmCloud, Vendor as _, ibm};
use tests::{kubelet, operator, services, wait};

const PREFIX: &str = IbmCloud::PREFIX;

/// The host under which a Service is reached.
async fn host(cluster: &Cluster, name: &str) -> String {
    let all: Api<Service> = services::services(cluster);
    wait::until(&format!("Service {name} has its host"), async || {
        let ingress = all.get(name).await.unwrap().status?.load_balancer?.ingress?;
        ingress.into_iter().next()?.hostname
    })
    .await
}

/// Waits until a load balancer is so, and at rest.
async fn becomes(cloud: &Simulator, what: &str, is_so: impl Fn(&Built) -> bool) -> Built {
    wait::until(what, async || {
        let all = IbmCloud::built(cloud.account());
        let rests = cloud.with(|world| world.is_at_rest());
        all.into_iter().find(|it| rests && it.serves && is_so(it))
    })
    .await
}

fn writes(all: &[Recorded]) -> Vec<String> {
    let all = all.iter().filter(|it| !it.method.is_safe() && !ibm::is_for_a_token(it));
    all.map(|it| format!("{} {}", it.method, it.status.unwrap_or_default())).collect()
}

/// Cases: ibm 3, ibm 14, ibm 17, ibm 34, ibm 36
#[tokio::test]
async fn a_cluster_at_ibm_cloud_lives_by_its_api_key() {
    let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(Options::default()));
    let cloud = cloud.unwrap();
    cloud.with(World::build_plain);
    cloud.with(|world| (1..=2).for_each(|it| _ = world.add_machine(it, &format!("web-{it}"))));
    let process = ibm::setup(&cluster, &cloud).started().await;
    join_all([1, 2].map(async |number| {
        let name = format!("web-{number}");
        kubelet::join(&cluster.admin, &name).await.unwrap();
        let node = operator::initialized(&cluster, &name).await;
        assert_eq!(node.spec.unwrap().provider_id, IbmCloud::worker(number).provider_id);
    }))
    .await;

    services::create(&cluster, "web", &json!({}), &json!({})).await;
    let shown = host(&cluster, "web").await;
    let made = becomes(&cloud, "both nodes take traffic", |it| it.machines == [1, 2]).await;
    assert_eq!((made.addresses.as_slice(), made.ports.as_slice()), (&[shown][..], &[80][..]));

    let begun = cloud.requests().len();
    let port = json!({ "spec": { "ports": [{ "name": "http", "port": 80 }, { "name": "tls", "port": 443 }] } });
    services::patch(&cluster, "web", &port).await;
    becomes(&cloud, "a second port is served", |it| it.ports == [80, 443]).await;
    assert_eq!(writes(&cloud.requests_from(begun)), ["POST 201", "POST 201"], "a pool, and its listener");

    // A person's load balancer, and the Service's own, by the name that a second one chooses.
    let foreign = cloud.with(|world| world.add_foreign(VPC, "shared"));
    let before = cloud.account().all(VpcKind::LoadBalancer);
    let chosen = json!({ format!("{PREFIX}vpc-lb-name"): "shared" });
    services::create(&cluster, "thief", &chosen, &json!({})).await;
    operator::event(&cluster, "thief", &[&foreign, "not this Service's"]).await;
    services::delete(&cluster, "thief").await;
    services::create(&cluster, "typo", &json!({ format!("{PREFIX}ip-type"): "pubic" }), &json!({})).await;
    operator::event(&cluster, "typo", &["\"pubic\" is not public or private"]).await;
    services::delete(&cluster, "typo").await;
    assert_eq!(cloud.account().all(VpcKind::LoadBalancer), before);

    services::delete(&cluster, "web").await;
    wait::until("its load balancer goes", async || {
        let left = IbmCloud::built(cloud.account());
        (left.len() == 1 && left[0].id == foreign).then_some(())
    })
    .await;
    let tokens = cloud.requests_to("POST", "/identity/token");
    assert_eq!(tokens.iter().filter_map(|it| it.status).collect::<Vec<_>>(), [200], "one token for all of it");
    process.stop().await;
    cloud.assert_valid();
}

/// Cases: ibm 15
#[tokio::test]
async fn ibm_015_a_long_creation_is_one_normal_event() {
    let options = Options::with(Behaviour { creation: Taking::Forever, ..Behaviour::default() });
    let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(options));
    let cloud = cloud.unwrap();
    cloud.with(World::build_plain);
    cloud.with(|world| _ = world.add_machine(1, "web-1"));
    let process = ibm::setup(&cluster, &cloud).started().await;
    kubelet::join(&cluster.admin, "web-1").await.unwrap();
    operator::initialized(&cluster, "web-1").await;
    services::create(&cluster, "web", &json!({}), &json!({})).await;
    wait::until("it is read again and again", async || {
        (cloud.requests_to("GET", "/v1/load_balancers/*").len() > 3).then_some(())
    })
    .await;
    operator::event(&cluster, "web", &["Ensuring load balancer"]).await;
    let events: Api<Event> = Api::all(cluster.admin.clone());
    let all = events.list(&ListParams::default()).await.unwrap().items.into_iter();
    // The node may be known to be ready a moment later than the Service.
    let about_it = all.filter(|event| {
        let reason = event.reason.as_deref();
        event.involved_object.name.as_deref() == Some("web") && reason != Some("UnAvailableLoadBalancer")
    });
    let told: Vec<_> = about_it
        .map(|it| (it.type_.unwrap_or_default(), it.reason.unwrap_or_default(), it.count.unwrap_or(1)))
        .collect();
    assert_eq!(told, [("Normal".to_owned(), "EnsuringLoadBalancer".to_owned(), 1)]);
    process.stop().await;
    cloud.assert_valid();
}

/// Cases: ibm 42
#[tokio::test]
async fn nodes_of_a_cluster_at_ibm_cloud_get_routes() {
    let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(Options::default()));
    let cloud = cloud.unwrap();
    cloud.with(World::build_plain);
    cloud.with(|world| (1..=3).for_each(|it| _ = world.add_machine(it, &format!("web-{it}"))));
    let flags = [
        "--cluster-cidr=10.244.0.0/16",
        "--configure-cloud-routes=true",
        "--route-reconciliation-period=2s",
        "--route-deletion-warm-up=0s",
        "--route-deletion-budget=100",
    ];
    let process = ibm::setup(&cluster, &cloud).flags(&flags).started().await;
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
    let entries = || cloud.account().all(VpcKind::Route);
    wait::until("each node has an entry in each zone", async || (entries().len() == 9).then_some(())).await;
    wait::until("no node lacks its network", async || {
        let node = nodes.get("web-1").await.unwrap();
        let conditions = node.status?.conditions?;
        conditions.iter().any(|it| it.type_ == "NetworkUnavailable" && it.status == "False").then_some(())
    })
    .await;
    nodes.delete("web-2", &DeleteParams::default()).await.unwrap();
    wait::until("its entries go with a node", async || (entries().len() == 6).then_some(())).await;
    assert!(entries().iter().all(|it| it["destination"] != "10.244.2.0/24"), "{:#?}", entries());
    process.stop().await;
    cloud.assert_valid();
}
