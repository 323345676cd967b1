//! Nodes and routes with the provider, as the binary runs it, by the secret of an application.

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use tests::azure_vendor::story::whole_state;
use tests::clouds::azure::{Kind, TENANT, World, id};
use tests::{kubelet, operator, wait};

use crate::ground::Ground;

/// Dead nodes go within seconds.
const FAST: [&str; 3] = ["--node-monitor-period=1s", "--node-deletion-warm-up=1s", "--node-deletion-grace-period=1s"];

fn label<'n>(node: &'n Node, key: &str) -> &'n str {
    node.labels().get(key).map_or("", String::as_str)
}

fn provider_id(node: &Node) -> &str {
    node.spec.as_ref().unwrap().provider_id.as_deref().unwrap_or_default()
}

#[tokio::test]
async fn nodes_of_azure_join_and_a_dead_one_goes() {
    let flags = FAST;
    let sets = |world: &mut World| {
        world.add_scale_set("pool1");
        world.add_instance("pool1", 3);
        world.add_flexible_machine("flex1", 6, "flex-6");
    };
    let ground = Ground::with(sets, |setup| setup.flags(&flags)).await;
    let node = ground.join(1).await;
    assert_eq!(provider_id(&node), format!("azure://{}", id("Microsoft.Compute/virtualMachines/node-1")));
    for (key, value) in [
        ("node.kubernetes.io/instance-type", "Standard_D2s_v5"),
        ("topology.kubernetes.io/zone", "westeurope-1"),
        ("topology.kubernetes.io/region", "westeurope"),
    ] {
        assert_eq!(label(&node, key), value, "{key}");
    }
    wait::until("node-1 has its addresses", async || {
        let node = ground.nodes().get("node-1").await.unwrap();
        let found = kubelet::addresses(&node).into_iter().map(|(_, it)| it.to_owned()).collect::<Vec<_>>();
        ["10.240.0.4", "20.1.1.1"].iter().all(|it| found.iter().any(|one| one == it)).then_some(())
    })
    .await;
    for (name, path) in
        [("pool1000003", "virtualMachineScaleSets/pool1/virtualMachines/3"), ("flex-6", "virtualMachines/flex-6")]
    {
        kubelet::join(&ground.cluster.admin, name).await.unwrap();
        let node = operator::initialized(&ground.cluster, name).await;
        assert_eq!(provider_id(&node), format!("azure://{}", id(&format!("Microsoft.Compute/{path}"))));
        assert_eq!(label(&node, "topology.kubernetes.io/region"), "westeurope");
    }
    let tokens = ground.cloud.requests_to("POST", &format!("/{TENANT}/oauth2/v2.0/token"));
    assert_eq!(tokens.iter().filter_map(|it| it.status).collect::<Vec<_>>(), [200], "one token for both endpoints");

    // A machine of a scale set that is being deleted counts as gone.
    let member = id("Microsoft.Compute/virtualMachineScaleSets/pool1/virtualMachines/3");
    let deleting = json!("Deleting");
    ground.cloud.with(|world| world.get_mut(&member).unwrap()["properties"]["provisioningState"] = deleting);
    kubelet::post_ready(&ground.cluster.admin, "pool1000003", false).await.unwrap();
    wait::until("the node of the machine that is gone goes", async || {
        ground.nodes().get_opt("pool1000003").await.unwrap().is_none().then_some(())
    })
    .await;
    assert!(ground.nodes().get_opt("flex-6").await.unwrap().is_some());
    assert!(ground.nodes().get_opt("node-1").await.unwrap().is_some());
    ground.stop().await;
}

#[tokio::test]
async fn a_node_whose_machine_is_deallocated_is_tainted() {
    let ground = Ground::with(|_| {}, |setup| setup.flags(&FAST)).await;
    ground.join(1).await;
    let machine = id("Microsoft.Compute/virtualMachines/node-1");
    let taint = async |is_there: bool| {
        let what = format!("the taint of a machine that is shut down is there: {is_there}");
        wait::until(&what, async || {
            let node = ground.nodes().get("node-1").await.unwrap();
            let taints = node.spec.unwrap().taints.unwrap_or_default();
            let has = taints.iter().any(|it| it.key == "node.cloudprovider.kubernetes.io/shutdown");
            (has == is_there).then_some(())
        })
        .await;
    };
    kubelet::post_ready(&ground.cluster.admin, "node-1", false).await.unwrap();
    ground.cloud.with(|world| assert!(world.set_power(&machine, "deallocated")));
    taint(true).await;
    ground.cloud.with(|world| assert!(world.set_power(&machine, "running")));
    kubelet::post_ready(&ground.cluster.admin, "node-1", true).await.unwrap();
    taint(false).await;
    ground.stop().await;
}

/// The routes of the table, by their names: network and next hop.
fn routes(world: &World) -> Vec<(String, String, String)> {
    let table = world.get(&id("Microsoft.Network/routeTables/rt1")).cloned().unwrap_or_default();
    let text = |route: &Value, field: &str| route["properties"][field].as_str().unwrap_or_default().to_owned();
    let all = table["properties"]["routes"].as_array().into_iter().flatten();
    let one =
        |it: &Value| (it["name"].as_str().unwrap().to_owned(), text(it, "addressPrefix"), text(it, "nextHopIpAddress"));
    let mut all: Vec<_> = all.map(one).collect();
    all.sort();
    all
}

/// The route of a node's pod network.
fn route(number: u32) -> (String, String, String) {
    let hop = tests::clouds::azure::machine_address(number);
    (format!("node-{number}____10244{number}024"), format!("10.244.{number}.0/24"), hop)
}

/// The writes of route tables since so many requests.
fn table_writes(ground: &Ground, begun: usize) -> Vec<String> {
    let all = ground.writes_since(begun).into_iter();
    all.filter(|it| it.contains("routeTables")).collect()
}

/// Nodes with pod networks, which have joined before anybody makes routes; and how much was asked when that begins.
async fn with_routes(prepare: impl FnOnce(&mut World), numbers: &[u32]) -> (Ground, usize) {
    let routes = "--configure-cloud-routes=false";
    let flags =
        ["--cluster-cidr=10.244.0.0/16", "--route-reconciliation-period=1s", "--route-deletion-warm-up=0s", routes];
    let table = |config: &mut Value| config["provider"]["settings"]["routeTableName"] = json!("rt1");
    let mut ground = Ground::with(prepare, |setup| setup.edit(table).flags(&flags)).await;
    for number in numbers {
        ground.join(*number).await;
        let cidr = format!("10.244.{number}.0/24");
        let patch = json!({ "spec": { "podCIDR": cidr, "podCIDRs": [cidr] } });
        let name = format!("node-{number}");
        ground.nodes().patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }
    ground.setup.flags.retain(|it| it != routes);
    let begun = ground.cloud.requests().len();
    ground.restart().await;
    (ground, begun)
}

async fn has_network(ground: &Ground, name: &str) {
    wait::until("the network of a node is available", async || {
        let node = ground.nodes().get(name).await.unwrap();
        let all = node.status?.conditions?;
        all.iter().any(|it| it.type_ == "NetworkUnavailable" && it.status == "False").then_some(())
    })
    .await;
}

#[tokio::test]
async fn routes_of_azures_manager_are_taken_over_unwritten() {
    let table = id("Microsoft.Network/routeTables/rt1");
    let left = whole_state("vm/state-routes-create")["RG/Microsoft.Network/routeTables/rt1"].clone();
    let left: Value = serde_json::from_str(&left.to_string().replace("RG/", &id(""))).unwrap();
    let (ground, begun) = with_routes(|world| world.insert(Kind::RouteTable, &table, left), &[1, 2]).await;
    for name in ["node-1", "node-2"] {
        has_network(&ground, name).await;
    }
    assert_eq!(table_writes(&ground, begun), [""; 0]);
    // They are known as its own.
    ground.nodes().delete("node-2", &DeleteParams::default()).await.unwrap();
    ground.becomes("the route of a deleted node goes", |world| routes(world) == [route(1)]).await;
    ground.stop().await;
}

/// Cases: azure 57, azure 58, azure 59, azure 61
#[tokio::test]
async fn routes_of_azure_are_one_write_and_exact() {
    let (ground, begun) = with_routes(|_| {}, &[1, 2, 3, 10]).await;
    let mut expected = [1, 2, 3, 10].map(route);
    expected.sort();
    ground.becomes("all nodes have their routes", |world| routes(world) == expected).await;
    assert_eq!(table_writes(&ground, begun), ["PUT routeTables/rt1 201"], "the table is made with all routes");
    has_network(&ground, "node-1").await;

    // A route of another writer stays, and node-10 keeps its own when node-1 goes.
    let begun = ground.cloud.requests().len();
    ground.cloud.with(|world| {
        let table = id("Microsoft.Network/routeTables/rt1");
        world.get_mut(&table).unwrap()["properties"]["routes"].as_array_mut().unwrap().push(json!({
            "name": "office", "properties": { "addressPrefix": "10.9.0.0/16", "nextHopType": "VirtualNetworkGateway" },
        }));
        world.mark(&table);
    });
    ground.nodes().delete("node-1", &DeleteParams::default()).await.unwrap();
    let mut expected =
        vec![route(2), route(3), route(10), ("office".to_owned(), "10.9.0.0/16".to_owned(), String::new())];
    expected.sort();
    ground.becomes("the route of a deleted node goes", |world| routes(world) == expected).await;
    assert_eq!(table_writes(&ground, begun), ["PUT routeTables/rt1 200"]);
    ground.stop().await;
}
