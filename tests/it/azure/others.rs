//! Other writers of the objects that Services share: one between a read and the write over it, and other clusters.

use std::pin::pin;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Service;
use kube::api::Api;
use serde_json::{Value, json};
use tests::clouds::azure::{Kind, Options, Recorded, Side, Simulator, World, id};
use tests::control_plane::cluster;
use tests::operator::event;
use tests::services::{address, create, delete};
use tests::vendor::azure;

use crate::ground::{Ground, balancer, group, join, line, names, writes};

/// The other writer's public address.
const OFFICE: &str = "Microsoft.Network/publicIPAddresses/office";

/// Whether a request writes a whole load balancer or the security group.
fn is_shared(request: &Recorded) -> bool {
    let shared = ["PUT loadBalancers/kubernetes ", "PUT networkSecurityGroups/nsg1 "];
    shared.iter().any(|it| line(request).starts_with(it))
}

/// Changes what a write is about, a moment before it is carried out: each time something of its own comes to it.
fn write_before(world: &mut World, request: &Recorded, number: u64) {
    if request.path.contains("/networkSecurityGroups/") {
        let id = id("Microsoft.Network/networkSecurityGroups/nsg1");
        world.get_mut(&id).unwrap()["properties"]["securityRules"].as_array_mut().unwrap().push(json!({
            "name": format!("by-hand-{number}"), "properties": {
                "priority": 100 + number, "direction": "Inbound", "access": "Allow", "protocol": "Tcp",
                "sourcePortRange": "*", "sourceAddressPrefix": "192.0.2.0/24", "destinationAddressPrefix": "*",
                "destinationPortRange": (20_000 + number).to_string(),
            },
        }));
        world.mark(&id);
        return;
    }
    let balancer = id("Microsoft.Network/loadBalancers/kubernetes");
    let frontend = format!("{balancer}/frontendIPConfigurations/office");
    let rule = json!({ "name": format!("by-hand-{number}"), "properties": {
        "frontendIPConfiguration": { "id": frontend }, "protocol": "Tcp", "frontendPort": 20_000 + number,
        "backendPort": 22,
    } });
    let mut body = world.get(&balancer).cloned().unwrap_or_else(|| {
        let office = json!({ "name": "office", "properties": { "publicIPAddress": { "id": id(OFFICE) } } });
        json!({
            "location": "westeurope", "sku": { "name": "Standard" },
            "properties": { "frontendIPConfigurations": [office], "inboundNatRules": [] },
        })
    });
    body["properties"]["inboundNatRules"].as_array_mut().unwrap().push(rule);
    world.insert(Kind::LoadBalancer, &balancer, body);
}

/// The other writer, until the story has ended. Answers how often it wrote.
async fn beside(ground: &Ground, story: impl Future<Output = ()>) -> u64 {
    let mut story = pin!(story);
    let mut number = 0;
    let mut nth = 1;
    loop {
        let hold = ground.cloud.hold(nth, Side::Before, is_shared);
        let request = tokio::select! {
            request = hold.reached() => request,
            () = &mut story => return number,
        };
        number += 1;
        ground.cloud.with(|world| write_before(world, &request, number));
        // The one that is let go now is counted again, and refused; it is repeated, and that goes through.
        nth = 3;
        hold.resume();
    }
}

/// Cases: azure 22
#[tokio::test]
async fn another_writer_loses_nothing_in_a_whole_story() {
    let office = |world: &mut World| {
        let body = json!({ "location": "westeurope", "sku": { "name": "Standard" }, "properties": {
            "publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4", "ipAddress": "20.60.0.9",
        } });
        world.insert(Kind::PublicIp, &id(OFFICE), body);
    };
    let ground = Ground::with(office, |setup| setup).await;
    join_all([1, 2].map(|it| ground.join(it))).await;
    let by_hand = |world: &World| {
        let nat = names(&balancer(world, "kubernetes")["properties"]["inboundNatRules"]);
        let rules = names(&group(world)["properties"]["securityRules"]);
        nat.into_iter().chain(rules).filter(|it| it.starts_with("by-hand-")).count() as u64
    };
    let written = beside(&ground, async {
        let first = ground.create("first", &json!({}), &json!({})).await;
        ground.address("first").await;
        ground.create("second", &json!({}), &json!({ "ports": [{ "port": 443 }] })).await;
        ground.address("second").await;
        ground.patch("first", &json!({ "spec": { "ports": [{ "name": "http", "port": 8080 }] } })).await;
        let moved = |world: &World| {
            let all = names(&balancer(world, "kubernetes")["properties"]["loadBalancingRules"]);
            all.contains(&format!("{first}-TCP-8080")) && !all.contains(&format!("{first}-TCP-80"))
        };
        ground.becomes("the first has its other port", moved).await;
        for name in ["first", "second"] {
            ground.delete(name).await;
        }
    })
    .await;
    assert!(written >= 6, "the other has written {written} times");
    ground.cloud.with(|world| {
        assert_eq!(by_hand(world), written, "{:#}", balancer(world, "kubernetes"));
        let left = balancer(world, "kubernetes");
        assert_eq!(names(&left["properties"]["frontendIPConfigurations"]), ["office"], "nothing else is left");
        assert_eq!(left["properties"]["loadBalancingRules"], json!([]));
    });
    let refused = ground.cloud.requests().iter().filter(|it| it.status == Some(412)).count() as u64;
    assert_eq!(refused, written, "each time the write over what was read is refused");
    assert_eq!(ground.made(), ["loadBalancers/kubernetes", "publicIPAddresses/office"]);
    ground.stop().await;
}

/// The names of everything of a cluster in the cloud, with what it is.
fn of_cluster(cloud: &Simulator, name: &str) -> Vec<Value> {
    let is_own = |it: &Value| it["name"] == name || it["tags"]["k8s-azure-cluster-name"] == name;
    let kinds = [Kind::LoadBalancer, Kind::PublicIp].into_iter();
    cloud.with(|world| {
        kinds.flat_map(|kind| world.all(kind).filter(|it| is_own(it)).cloned().collect::<Vec<_>>()).collect()
    })
}

#[tokio::test]
async fn clusters_of_two_names_share_a_group_in_peace() {
    let cloud = Simulator::start(Options::default()).await.unwrap();
    cloud.with(World::build_plain);
    let (one, two) = tokio::join!(cluster(), cluster());
    let first = azure::soon(azure::setup(&one, &cloud)).flags(&["--cluster-name=one"]).started().await;
    join(&one, &cloud, 1).await;
    create(&one, "web", &json!({}), &json!({})).await;
    let own = address(&one, "web").await;
    let before = of_cluster(&cloud, "one");
    assert_eq!(before.len(), 2, "{before:#?}");

    let second = azure::soon(azure::setup(&two, &cloud)).flags(&["--cluster-name=two"]).started().await;
    join(&two, &cloud, 2).await;
    create(&two, "web", &json!({}), &json!({})).await;
    let other = address(&two, "web").await;
    assert_ne!(own, other);
    assert_eq!(of_cluster(&cloud, "one"), before, "the second changes nothing of the first");
    let rule =
        |cloud: &Simulator| cloud.with(|world| group(world)["properties"]["securityRules"][0]["properties"].clone());
    let both = rule(&cloud);
    let mut expected = [own.as_str(), other.as_str()];
    expected.sort_unstable();
    assert_eq!(both["destinationAddressPrefixes"], json!(expected), "they have one rule");
    delete(&two, "web").await;
    assert!(of_cluster(&cloud, "two").is_empty());
    assert_eq!(of_cluster(&cloud, "one"), before);
    assert_eq!(rule(&cloud)["destinationAddressPrefix"], json!(own), "the first is let in still");
    delete(&one, "web").await;
    first.stop().await;
    second.stop().await;
    cloud.assert_valid();
}

#[tokio::test]
async fn a_second_cluster_of_one_name_stops_before_it_writes() {
    let cloud = Simulator::start(Options::default()).await.unwrap();
    cloud.with(World::build_plain);
    let (one, two) = tokio::join!(cluster(), cluster());
    let first = azure::soon(azure::setup(&one, &cloud)).started().await;
    join(&one, &cloud, 1).await;
    create(&one, "web", &json!({}), &json!({})).await;
    create(&one, "inner", &json!({ "service.beta.kubernetes.io/azure-load-balancer-internal": "true" }), &json!({}))
        .await;
    for name in ["web", "inner"] {
        address(&one, name).await;
    }
    first.stop().await;
    let before = of_cluster(&cloud, "kubernetes");
    let begun = cloud.requests().len();
    let second = azure::soon(azure::setup(&two, &cloud)).started().await;
    join(&two, &cloud, 2).await;
    for (name, internal) in [("web", "false"), ("inner", "true")] {
        let annotations = json!({ "service.beta.kubernetes.io/azure-load-balancer-internal": internal });
        create(&two, name, &annotations, &json!({})).await;
        event(&two, name, &["was made for another cluster that is called kubernetes", "--cluster-name"]).await;
    }
    let written: Vec<_> = cloud.requests_from(begun).iter().filter(|it| writes(it)).map(line).collect();
    assert_eq!(written, [""; 0]);
    assert_eq!(of_cluster(&cloud, "kubernetes"), before);
    // It has made nothing, and so nothing is in the way of its end.
    let services: Api<Service> = tests::services::services(&two);
    assert!(services.get("web").await.unwrap().status.unwrap().load_balancer.unwrap().ingress.is_none());
    second.stop().await;
    cloud.assert_valid();
}
