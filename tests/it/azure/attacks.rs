//! Services whose authors ask for addresses and frontends of others, for other groups, and for more rules than there may be.

use futures::future::join_all;
use k8s_openapi::api::core::v1::{Namespace, Service};
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::{Value, json};
use tests::clouds::azure::{Kind, id};
use tests::services::{self, create_in};
use tests::wait;

use crate::ground::{Ground, balancer, parts};

const ANNOTATION: &str = "service.beta.kubernetes.io/azure-";

/// The Services of another namespace, which is made.
async fn thieves(ground: &Ground) -> Api<Service> {
    let namespace = serde_json::from_value(json!({ "metadata": { "name": "thieves" } })).unwrap();
    let namespaces: Api<Namespace> = Api::all(ground.cluster.admin.clone());
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    Api::namespaced(ground.cluster.admin.clone(), "thieves")
}

#[tokio::test]
async fn addresses_of_services_elsewhere_are_refused() {
    let ground = Ground::start().await;
    let base = ground.create("web", &json!({}), &json!({})).await;
    let address = ground.address("web").await;
    let thieves = thieves(&ground).await;
    let public = id(&format!("Microsoft.Network/publicIPAddresses/kubernetes-{base}"));
    let before = ground.cloud.with(|world| world.get(&public).cloned().unwrap());
    let begun = ground.cloud.requests().len();
    let key = |name: &str| format!("{ANNOTATION}{name}");
    let other_port = json!([{ "port": 8080 }]);
    for (name, annotations, spec) in [
        ("by-name", json!({ key("pip-name"): format!("kubernetes-{base}") }), json!({ "ports": other_port })),
        ("by-number", json!({}), json!({ "loadBalancerIP": address, "ports": other_port })),
        ("by-annotation", json!({ key("load-balancer-ipv4"): address }), json!({ "ports": other_port })),
        ("further", json!({ key("additional-public-ips"): address }), json!({ "ports": other_port })),
    ] {
        create_in(&thieves, name, &annotations, &spec).await;
        ground.told(name, &[&format!("kubernetes-{base} belongs to Service default/web, of another namespace")]).await;
    }
    assert_eq!(ground.writes_since(begun), [""; 0]);
    assert_eq!(ground.cloud.with(|world| world.get(&public).cloned().unwrap()), before);
    // The owner's end is that of its address, too.
    ground.delete("web").await;
    assert_eq!(ground.made(), [""; 0]);
    for name in ["by-name", "by-number", "by-annotation", "further"] {
        thieves.delete(name, &DeleteParams::default()).await.unwrap();
        wait::until("the thief is gone", async || thieves.get_opt(name).await.unwrap().is_none().then_some(())).await;
    }
    ground.stop().await;
}

/// Cases: azure 24
#[tokio::test]
async fn internal_addresses_of_others_are_refused() {
    let ground = Ground::start().await;
    let internal = |ip: Option<&str>| {
        let mut all = json!({ format!("{ANNOTATION}load-balancer-internal"): "true" });
        if let Some(ip) = ip {
            all[format!("{ANNOTATION}load-balancer-ipv4")] = json!(ip);
        }
        all
    };
    let base = ground.create("inner", &internal(None), &json!({})).await;
    let address = ground.address("inner").await;
    let begun = ground.cloud.requests().len();
    let port = json!({ "ports": [{ "port": 8080 }] });
    ground.create("thief", &internal(Some(&address)), &port).await;
    ground.told("thief", &[&address, &format!("is that of frontend {base}")]).await;
    ground.create("outside", &internal(Some("10.77.0.9")), &port).await;
    ground.told("outside", &["10.77.0.9", "subnet1"]).await;
    assert_eq!(ground.writes_since(begun), [""; 0]);
    for name in ["thief", "outside", "inner"] {
        ground.delete(name).await;
    }
    assert_eq!(ground.made(), [""; 0]);
    ground.stop().await;
}

#[tokio::test]
async fn another_group_is_reached_only_where_rules_let_it() {
    let in_group = |config: &mut Value| {
        for endpoint in config["endpoints"].as_array_mut().unwrap() {
            let text = endpoint["allow"].to_string().replace("/resourceGroups/*/", "/resourceGroups/rg1/");
            endpoint["allow"] = serde_json::from_str(&text).unwrap();
        }
    };
    let ground = Ground::started(|setup| setup.edit(in_group)).await;
    ground.create("web", &json!({}), &json!({})).await;
    ground.address("web").await;
    let begun = ground.cloud.requests().len();
    let elsewhere = json!({ format!("{ANNOTATION}load-balancer-resource-group"): "elsewhere" });
    ground.create("thief", &elsewhere, &json!({ "ports": [{ "port": 8080 }] })).await;
    ground.told("thief", &["/resourceGroups/elsewhere/"]).await;
    assert_eq!(ground.writes_since(begun), [""; 0]);
    let reached = ground.cloud.requests().into_iter().filter(|it| it.path.contains("/elsewhere/")).count();
    assert_eq!(reached, 0, "no request leaves for another group");
    // Others go on.
    ground.create("second", &json!({}), &json!({ "ports": [{ "port": 443 }] })).await;
    ground.address("second").await;
    for name in ["second", "web"] {
        ground.delete(name).await;
    }
    assert_eq!(ground.made(), [""; 0]);
    ground.stop().await;
}

/// Cases: azure 52
#[tokio::test]
async fn too_many_rules_are_told_and_others_are_served() {
    let few = |config: &mut Value| {
        let settings = &mut config["provider"]["settings"];
        settings["maximumLoadBalancerRuleCount"] = json!("25");
        settings["loadBalancerBackendPoolConfigurationType"] = json!("nodeIP");
    };
    let ground = Ground::started(|setup| setup.edit(few)).await;
    let ports: Vec<Value> = (0..10).map(|it| json!({ "name": format!("p{it}"), "port": 8_000 + it })).collect();
    let all: Vec<String> = (0..6).map(|it| format!("web-{it}")).collect();
    join_all(all.iter().map(async |it| ground.create(it, &json!({}), &json!({ "ports": ports })).await)).await;
    let served = async || {
        let all = ground.services().list(&kube::api::ListParams::default()).await.unwrap().items;
        let all = all.iter().filter(|it| !tests::services::shown_addresses(it).is_empty());
        all.map(|it| it.metadata.name.clone().unwrap()).collect::<Vec<_>>()
    };
    let two = wait::until("two are served", async || Some(served().await).filter(|it| it.len() == 2)).await;
    for name in all.iter().filter(|it| !two.contains(it)) {
        ground
            .told(name, &["load balancer kubernetes would have more than 25 rules with the 10 of this Service"])
            .await;
    }
    let shown = ground.cloud.with(|world| balancer(world, "kubernetes"));
    assert_eq!(parts(&shown, "loadBalancingRules", "a").len(), 20);
    // A refused Service holds no address, even if it has got one before: there are two, and that of a machine.
    ground.becomes("refused ones have no address", |world| world.all(Kind::PublicIp).count() == 3).await;
    ground.create("small", &json!({}), &json!({ "ports": [{ "port": 9000 }] })).await;
    ground.address("small").await;
    ground.delete(&two[0]).await;
    // Refused ones are tried again after pauses that double: a change is tried at once.
    for name in all.iter().filter(|it| !two.contains(it)) {
        let changed = json!({ "metadata": { "annotations": { "example.com/tried": "again" } } });
        services::patch(&ground.cluster, name, &changed).await;
    }
    wait::until("another one is served", async || (served().await.len() == 3).then_some(())).await;
    let left = served().await;
    let gone = all.iter().chain(["small".to_owned()].iter()).filter(|it| **it != two[0]).cloned().collect::<Vec<_>>();
    join_all(gone.iter().map(|it| ground.delete(it))).await;
    assert_eq!((ground.made(), left.len()), (vec![], 3));
    ground.stop().await;
}
