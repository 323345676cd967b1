//! Load balancers with the provider, as the binary runs it: from creation to deletion, and what changes between.

use std::collections::BTreeSet;

use futures::future::join_all;
use serde_json::{Value, json};
use tests::clouds::azure::{Kind, World, id, machine_address};
use tests::operator::Setup;
use tests::services::shown_addresses;
use tests::wait;

use crate::ground::{Ground, balancer, gathered, group, members, names, parts};

const INTERNAL: &str = "service.beta.kubernetes.io/azure-load-balancer-internal";

/// The interfaces of single machines, as members are named.
fn interfaces(numbers: &[u32]) -> Vec<String> {
    numbers.iter().map(|it| format!("Microsoft.Network/networkInterfaces/node-{it}-nic")).collect()
}

/// Pools have addresses of nodes.
fn by_address(setup: Setup) -> Setup {
    let settings = |config: &mut Value| {
        config["provider"]["settings"]["loadBalancerBackendPoolConfigurationType"] = json!("nodeIP");
    };
    setup.edit(settings)
}

/// Two nodes, a new process without a write, a node that leaves, one that joins, and nothing that is left.
async fn lives(annotations: Value, network: &str, name: &str) {
    let mut ground = Ground::start().await;
    let base = ground.create("web", &annotations, &json!({})).await;
    let address = ground.address("web").await;
    assert!(address.starts_with(network), "{address}");
    ground.becomes("both nodes are in its pool", |world| members(world, name) == interfaces(&[1, 2])).await;
    let before = ground.cloud.with(|world| balancer(world, name));

    let begun = ground.cloud.requests().len();
    ground.restart().await;
    let second = ground.create("second", &annotations, &json!({ "ports": [{ "port": 8080 }] })).await;
    ground.address("second").await;
    ground
        .becomes("the second is there", |world| parts(&balancer(world, name), "loadBalancingRules", &second).len() == 1)
        .await;
    let after = ground.cloud.with(|world| balancer(world, name));
    for part in ["frontendIPConfigurations", "loadBalancingRules", "probes"] {
        let without_etag = |shown: &Value| {
            let mut all = parts(shown, part, &base);
            all.iter_mut().for_each(|it| drop(it.as_object_mut().unwrap().remove("etag")));
            all
        };
        assert_eq!(without_etag(&before), without_etag(&after), "{part} of the first are as they were");
    }
    let lb = format!("PUT loadBalancers/{name} 200");
    let writes = ground.writes_since(begun);
    assert_eq!(writes.iter().filter(|it| **it == lb).count(), 1, "{writes:?}");
    ground.delete("second").await;
    assert_eq!(ground.address("web").await, address);

    ground.leave(2).await;
    ground.becomes("the node has left", |world| members(world, name) == interfaces(&[1])).await;
    ground.join(3).await;
    ground.becomes("another node is in it", |world| members(world, name) == interfaces(&[1, 3])).await;
    ground.delete("web").await;
    assert_eq!(ground.made(), [""; 0]);
    assert_eq!(ground.rules(), [""; 0]);
    ground.stop().await;
}

/// Cases: azure 18, azure 19, azure 21, azure 48, azure 49
#[tokio::test]
async fn an_external_service_of_azure_lives_and_leaves_nothing() {
    lives(json!({}), "20.50.0.", "kubernetes").await;
}

/// Cases: azure 23
#[tokio::test]
async fn an_internal_service_of_azure_lives_and_leaves_nothing() {
    lives(json!({ INTERNAL: "true" }), "10.240.", "kubernetes-internal").await;
}

/// Cases: azure 20
#[tokio::test]
async fn ten_services_at_once_are_one_write_of_each() {
    let mut ground = Ground::started(|setup| gathered(by_address(setup))).await;
    let all: Vec<String> = (0..10).map(|it| format!("web-{it}")).collect();
    // All of them wait when the process starts, with both nodes: those that came one by one would be further writes.
    ground.rest().await;
    let bases = join_all(all.iter().map(async |it| ground.create(it, &json!({}), &json!({})).await)).await;
    let begun = ground.cloud.requests().len();
    ground.restart().await;
    let addresses = join_all(all.iter().map(|it| ground.address(it))).await;
    assert_eq!(addresses.iter().collect::<BTreeSet<_>>().len(), 10, "{addresses:?}");
    ground
        .becomes("all is written", |world| {
            names(&balancer(world, "kubernetes")["properties"]["loadBalancingRules"]).len() == 10
        })
        .await;
    let writes = ground.writes_since(begun);
    let count = |what: &str| writes.iter().filter(|it| it.starts_with(what)).count();
    let (pips, balancers, groups, pools) = (
        count("PUT publicIPAddresses/"),
        count("PUT loadBalancers/kubernetes "),
        count("PUT networkSecurityGroups/"),
        count("PUT loadBalancers/kubernetes/backendAddressPools/"),
    );
    assert_eq!((pips, balancers, groups, pools, writes.len()), (10, 1, 1, 1, 13), "{writes:#?}");
    assert_eq!(bases.iter().collect::<BTreeSet<_>>().len(), 10);
    let rule = ground.cloud.with(|world| group(world)["properties"]["securityRules"][0]["properties"].clone());
    assert_eq!(rule["destinationAddressPrefixes"].as_array().unwrap().len(), 10, "{rule}");

    // All at once again, the other way round.
    let begun = ground.cloud.requests().len();
    join_all(all.iter().map(|it| ground.delete(it))).await;
    assert_eq!((ground.made(), ground.rules()), (vec![], vec![]));
    let writes = ground.writes_since(begun);
    let count = |what: &str| writes.iter().filter(|it| it.starts_with(what)).count();
    assert!(count("PUT loadBalancers/") + count("DELETE loadBalancers/") <= 3, "{writes:#?}");
    assert!(count("PUT networkSecurityGroups/") <= 2, "{writes:#?}");
    ground.stop().await;
}

/// Cases: azure 46
#[tokio::test]
async fn a_node_that_comes_is_one_write_for_all_services() {
    let ground = Ground::started(|setup| gathered(by_address(setup))).await;
    let all: Vec<String> = (0..5).map(|it| format!("web-{it}")).collect();
    join_all(all.iter().map(async |it| ground.create(it, &json!({}), &json!({})).await)).await;
    join_all(all.iter().map(|it| ground.address(it))).await;
    let pool = |world: &World| {
        let all = balancer(world, "kubernetes")["properties"]["backendAddressPools"][0]["properties"].clone();
        let all = all["loadBalancerBackendAddresses"].as_array().cloned().unwrap_or_default();
        let of = |it: Value| it["properties"]["ipAddress"].as_str().unwrap_or_default().to_owned();
        all.into_iter().map(of).collect::<BTreeSet<_>>()
    };
    let with = |numbers: &[u32]| -> BTreeSet<String> { numbers.iter().map(|it| machine_address(*it)).collect() };
    ground.becomes("both nodes are in the pool", |world| pool(world) == with(&[1, 2])).await;
    for (numbers, step) in [(&[1, 2, 3][..], 3), (&[1, 3][..], 2)] {
        let begun = ground.cloud.requests().len();
        match step {
            3 => drop(ground.join(3).await),
            _ => ground.leave(2).await,
        }
        ground.becomes("the pool follows", |world| pool(world) == with(numbers)).await;
        let expected = ["PUT loadBalancers/kubernetes/backendAddressPools/kubernetes 200"];
        assert_eq!(ground.writes_since(begun), expected, "{numbers:?}");
    }
    join_all(all.iter().map(|it| ground.delete(it))).await;
    assert_eq!(ground.made(), [""; 0]);
    ground.stop().await;
}

/// Cases: azure 46
#[tokio::test]
async fn machines_of_scale_sets_join_a_pool() {
    let set = |world: &mut World| {
        world.add_scale_set("pool1");
        (1..3).for_each(|it| drop(world.add_instance("pool1", it)));
    };
    let ground = Ground::with(set, |setup| setup).await;
    for name in ["pool1000001", "pool1000002"] {
        tests::kubelet::join(&ground.cluster.admin, name).await.unwrap();
        tests::operator::initialized(&ground.cluster, name).await;
    }
    ground.create("web", &json!({}), &json!({})).await;
    ground.address("web").await;
    let member = |instance: u32| {
        format!("Microsoft.Compute/virtualMachineScaleSets/pool1/virtualMachines/{instance}/networkInterfaces/nic0")
    };
    ground.becomes("both are in the pool", |world| members(world, "kubernetes") == [member(1), member(2)]).await;
    ground.delete("web").await;
    assert_eq!(ground.made(), [""; 0]);
    let model = ground.cloud.with(|world| world.all(Kind::ScaleSet).next().unwrap().to_string());
    assert!(!model.contains("/backendAddressPools/"), "{model}");
    ground.stop().await;
}

/// Cases: azure 43
#[tokio::test]
async fn services_of_two_families_have_two_addresses() {
    let ground = Ground::started(by_address).await;
    let base = ground.create("web", &json!({}), &json!({ "ipFamilyPolicy": "RequireDualStack" })).await;
    let addresses = async || {
        let shown = shown_addresses(&ground.services().get("web").await.unwrap());
        (shown.len() == 2).then_some(shown)
    };
    let addresses = wait::until("it has two addresses", addresses).await;
    let (v4, v6): (Vec<_>, Vec<_>) = addresses.iter().partition(|it| !it.contains(':'));
    assert_eq!((v4.len(), v6.len()), (1, 1), "{addresses:?}");
    let shown = ground.cloud.with(|world| balancer(world, "kubernetes"));
    assert_eq!(names(&shown["properties"]["frontendIPConfigurations"]), [base.clone(), format!("{base}-IPv6")]);
    let rules = names(&shown["properties"]["loadBalancingRules"]);
    assert_eq!(rules, [format!("{base}-TCP-80"), format!("{base}-TCP-80-IPv6")]);
    let expected =
        [format!("publicIPAddresses/kubernetes-{base}"), format!("publicIPAddresses/kubernetes-{base}-IPv6")];
    assert_eq!(ground.made()[1..], expected);
    assert_eq!(ground.rules().len(), 2, "{:?}", ground.rules());
    ground.delete("web").await;
    assert_eq!((ground.made(), ground.rules()), (vec![], vec![]));
    ground.stop().await;
}

/// Cases: azure 42
#[tokio::test]
async fn a_service_becomes_internal_and_external_again() {
    let ground = Ground::started(by_address).await;
    let base = ground.create("web", &json!({}), &json!({})).await;
    let external = ground.address("web").await;
    let annotate = async |value: &str| {
        ground.patch("web", &json!({ "metadata": { "annotations": { INTERNAL: value } } })).await;
    };
    let other = async |prefix: &str| {
        let what = format!("its address begins with {prefix}");
        wait::until(&what, async || {
            let shown = shown_addresses(&ground.services().get("web").await.unwrap());
            shown.into_iter().next().filter(|it| it.starts_with(prefix))
        })
        .await
    };
    let begun = ground.cloud.requests().len();
    annotate("true").await;
    other("10.240.").await;
    ground.becomes("nothing of the external one is left", |world| world.all(Kind::LoadBalancer).count() == 1).await;
    wait::until("its public address is gone", async || {
        (ground.made() == ["loadBalancers/kubernetes-internal"]).then_some(())
    })
    .await;
    assert_eq!(ground.rules(), [""; 0]);
    let writes = ground.writes_since(begun);
    let at =
        |what: &str| writes.iter().position(|it| it.starts_with(what)).unwrap_or_else(|| panic!("{what}: {writes:#?}"));
    assert!(at("PUT loadBalancers/kubernetes-internal ") < at("DELETE loadBalancers/kubernetes "), "{writes:#?}");
    assert!(at("DELETE loadBalancers/kubernetes ") < at("DELETE publicIPAddresses/"), "{writes:#?}");
    annotate("false").await;
    let again = other("20.50.").await;
    assert_ne!(again, external);
    wait::until("the internal one is gone", async || {
        let expected = ["loadBalancers/kubernetes".to_owned(), format!("publicIPAddresses/kubernetes-{base}")];
        (ground.made() == expected).then_some(())
    })
    .await;
    ground.delete("web").await;
    assert_eq!(ground.made(), [""; 0]);
    ground.stop().await;
}

/// Cases: azure 26, azure 50
#[tokio::test]
async fn peoples_own_addresses_are_shared_and_stay() {
    let mine = |world: &mut World| {
        let body = json!({ "location": "westeurope", "sku": { "name": "Standard" }, "properties": {
            "publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4", "ipAddress": "20.60.0.1",
        } });
        world.insert(Kind::PublicIp, &id("Microsoft.Network/publicIPAddresses/mine"), body);
    };
    let ground = Ground::with(mine, by_address).await;
    ground.join(1).await;
    let named = json!({ "service.beta.kubernetes.io/azure-pip-name": "mine" });
    ground.create("one", &named, &json!({})).await;
    assert_eq!(ground.address("one").await, "20.60.0.1");
    ground.create("two", &named, &json!({ "ports": [{ "port": 8080 }] })).await;
    assert_eq!(ground.address("two").await, "20.60.0.1");
    ground.create("taken", &named, &json!({ "ports": [{ "port": 8080 }] })).await;
    ground.told("taken", &["8080"]).await;
    let shown = ground.cloud.with(|world| balancer(world, "kubernetes"));
    assert_eq!(names(&shown["properties"]["frontendIPConfigurations"]).len(), 1);
    for name in ["taken", "one"] {
        ground.delete(name).await;
    }
    assert_eq!(ground.address("two").await, "20.60.0.1");
    ground.delete("two").await;
    assert_eq!(ground.made(), ["publicIPAddresses/mine"]);
    let mine = ground.cloud.with(|world| world.get(&id("Microsoft.Network/publicIPAddresses/mine")).cloned().unwrap());
    assert_eq!(mine.get("tags"), None, "{mine}");
    ground.stop().await;
}
