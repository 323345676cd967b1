//! Requests that Azure refuses, and lists that are wrong for a moment: nothing of others is lost, and nothing is left over.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::clouds::azure::{Fault, Kind, OperationFailure, RequestGroup, Service, World, id, refusal};
use tests::{services, wait};

use crate::ground::{Ground, balancer, parts};

/// The paths of lists and objects in the cluster's group.
fn path(rest: &str) -> String {
    id(&format!("Microsoft.Network/{rest}"))
}

/// Two Services that are served, by their bases.
async fn two_are_served(ground: &Ground) -> [String; 2] {
    let served = async |name: &str, port: u16| {
        let base = ground.create(name, &json!({}), &json!({ "ports": [{ "port": port }] })).await;
        ground.address(name).await;
        base
    };
    let bases: [String; 2] = tokio::join!(served("one", 80), served("two", 443)).into();
    ground.becomes("both have their rules", |world| has_all(world, &bases)).await;
    bases
}

/// Whether all of these have frontend and rule on the load balancer.
fn has_all(world: &World, bases: &[String]) -> bool {
    let shown = balancer(world, "kubernetes");
    let lists = ["frontendIPConfigurations", "loadBalancingRules"];
    bases.iter().all(|base| lists.iter().all(|list| !parts(&shown, list, base).is_empty()))
}

/// All writes of the load balancer since, each of which must have these.
fn assert_none_is_lost(ground: &Ground, begun: usize, bases: &[String]) {
    let writes = ground.cloud.requests_from(begun).into_iter();
    for write in writes.filter(|it| it.is("PUT", &path("loadBalancers/kubernetes"))) {
        let body: Value = serde_json::from_slice(&write.body).unwrap();
        for base in bases {
            assert!(!parts(&body, "frontendIPConfigurations", base).is_empty(), "{base} is lost in {body:#}");
        }
    }
}

/// A further Service comes and goes while Azure says this twice: those that are served lose nothing, and nothing is left over.
async fn assert_nobody_is_lost(fault: Fault) {
    let ground = Ground::start().await;
    let bases = two_are_served(&ground).await;
    let begun = ground.cloud.requests().len();
    ground.cloud.inject(fault.times(2));
    ground.create("late", &json!({}), &json!({ "ports": [{ "port": 9_000 }] })).await;
    let faulty = |all: &[tests::clouds::azure::Recorded]| all[begun..].iter().filter(|it| it.fault.is_some()).count();
    ground.cloud.wait_for("it was said twice", |all| faulty(all) == 2).await;
    // After two refusals it is tried again ten seconds later.
    services::address_after(Duration::from_secs(10), &ground.cluster, "late").await;
    assert_none_is_lost(&ground, begun, &bases);
    ground.delete("late").await;
    assert_none_is_lost(&ground, begun, &bases);
    assert!(ground.cloud.with(|world| has_all(world, &bases)));
    tokio::join!(ground.delete("one"), ground.delete("two"));
    assert_eq!((ground.made(), ground.rules()), (vec![], vec![]));
    ground.stop().await;
}

/// A group that is there is not found.
fn group_is_missing(list: &str) -> Fault {
    let missing = refusal("ResourceGroupNotFound", "Resource group 'rg1' could not be found.");
    Fault::status("GET", &path(list), 404).body(missing)
}

#[tokio::test]
async fn a_load_balancer_whose_group_is_not_found_loses_nobody() {
    assert_nobody_is_lost(group_is_missing("loadBalancers/kubernetes")).await;
}

#[tokio::test]
async fn addresses_whose_group_is_not_found_lose_nobody() {
    assert_nobody_is_lost(group_is_missing("publicIPAddresses")).await;
}

#[tokio::test]
async fn an_empty_list_of_addresses_loses_nobody() {
    assert_nobody_is_lost(Fault::empty_list("GET", &path("publicIPAddresses"))).await;
}

#[tokio::test]
async fn a_security_group_whose_group_is_not_found_loses_nobody() {
    assert_nobody_is_lost(group_is_missing("networkSecurityGroups/nsg1")).await;
}

/// Cases: azure 51
#[tokio::test]
async fn an_address_that_cannot_be_deleted_is_waited_for() {
    let ground = Ground::start().await;
    let base = ground.create("web", &json!({}), &json!({})).await;
    ground.address("web").await;
    let public = path(&format!("publicIPAddresses/kubernetes-{base}"));
    let why = "Public IP address can not be deleted since it is still allocated to resource x.";
    let begun = ground.cloud.requests().len();
    let fault = Fault::status("DELETE", &public, 400).body(refusal("PublicIPAddressCannotBeDeleted", why));
    ground.cloud.inject(fault.times(3));
    ground.services().delete("web", &kube::api::DeleteParams::default()).await.unwrap();
    let refused = |all: &[tests::clouds::azure::Recorded]| all[begun..].iter().filter(|it| it.fault.is_some()).count();
    ground.cloud.wait_for("it is refused", |all| refused(all) == 2).await;
    assert!(ground.services().get_opt("web").await.unwrap().is_some(), "the Service stays as long as its address");
    tests::services::gone(&ground.cluster, "web").await;
    assert_eq!(ground.made(), [""; 0]);
    let asked = ground.cloud.requests_from(begun).into_iter().filter(|it| it.is("DELETE", &public));
    assert_eq!(asked.filter_map(|it| it.status).collect::<Vec<_>>(), [400, 400, 400, 202]);
    ground.stop().await;
}

/// Cases: azure 55
#[tokio::test]
async fn operations_that_fail_are_told_and_made_up_for() {
    let ground = Ground::start().await;
    let failure = |kind| OperationFailure {
        method: "PUT",
        kind,
        code: "InternalServerError",
        message: "it failed by itself".to_owned(),
    };
    for (number, kind) in [Kind::PublicIp, Kind::LoadBalancer, Kind::SecurityGroup].into_iter().enumerate() {
        ground.cloud.behave(|it| it.failures = vec![failure(kind)]);
        let name = format!("web-{number}");
        ground.create(&name, &json!({}), &json!({ "ports": [{ "port": 8_000 + number }] })).await;
        ground.told(&name, &["it failed by itself"]).await;
        ground.cloud.behave(|it| it.failures.clear());
        ground.address(&name).await;
    }
    ground
        .becomes("all is well in the end", |world| {
            let all =
                world.all(Kind::LoadBalancer).chain(world.all(Kind::PublicIp)).chain(world.all(Kind::SecurityGroup));
            all.into_iter().all(|it| it["properties"]["provisioningState"] == "Succeeded")
        })
        .await;
    for number in 0..3 {
        ground.delete(&format!("web-{number}")).await;
    }
    assert_eq!((ground.made(), ground.rules()), (vec![], vec![]));
    ground.stop().await;
}

/// Cases: azure 16
#[tokio::test]
async fn limits_pause_one_api_and_not_the_other() {
    // With the zones in the settings, load balancers need nothing of Compute.
    let zones = |config: &mut Value| config["provider"]["settings"]["zones"] = json!("1,2,3");
    let ground = Ground::started(|setup| setup.edit(zones)).await;
    let (network, compute) = (
        RequestGroup { service: Service::Network, writes: true },
        RequestGroup { service: Service::Compute, writes: false },
    );
    let refused_since = |begun| {
        let all = ground.cloud.requests_from(begun).into_iter();
        all.filter(|it| it.status == Some(429)).count()
    };
    let (begun, pause) = (ground.cloud.requests().len(), Duration::from_secs(8));
    ground.cloud.close(network, pause);
    let closed = Instant::now();
    ground.create("web", &json!({}), &json!({})).await;
    ground.address("web").await;
    assert!(closed.elapsed() >= pause, "nothing is written before");
    assert_eq!(refused_since(begun), 1, "it is asked once");

    let (begun, pause) = (ground.cloud.requests().len(), Duration::from_mins(2));
    ground.cloud.close(compute, pause);
    let closed = Instant::now();
    tests::kubelet::join(&ground.cluster.admin, "node-4").await.unwrap();
    ground.create("second", &json!({}), &json!({ "ports": [{ "port": 443 }] })).await;
    ground.address("second").await;
    for name in ["web", "second"] {
        ground.delete(name).await;
    }
    assert!(closed.elapsed() < pause, "Services come and go meanwhile");
    assert!(refused_since(begun) <= 1, "{} were refused", refused_since(begun));
    assert_eq!(ground.made(), [""; 0]);
    ground.stop().await;
}

/// Cases: azure 54
#[tokio::test]
async fn rights_that_are_missing_are_named_with_their_scope() {
    let ground = Ground::start().await;
    for (number, action) in
        ["publicIPAddresses/write", "loadBalancers/write", "networkSecurityGroups/write"].into_iter().enumerate()
    {
        let action = format!("Microsoft.Network/{action}");
        ground.cloud.behave(|it| _ = it.denied.insert(action.clone()));
        let name = format!("web-{number}");
        ground.create(&name, &json!({}), &json!({ "ports": [{ "port": 8_000 + number }] })).await;
        ground.told(&name, &[&action, "scope", "/resourceGroups/rg1/"]).await;
        ground.cloud.behave(|it| it.denied.clear());
        ground.delete(&name).await;
        assert_eq!((ground.made(), ground.rules()), (vec![], vec![]));
    }
    ground.stop().await;
}

#[tokio::test]
async fn a_role_at_the_group_alone_is_enough() {
    let mut ground = Ground::start().await;
    let of_subscription =
        ["Microsoft.Resources/subscriptions/providers/read", "Microsoft.Network/locations/operations/read"];
    ground.cloud.behave(|it| it.denied.extend(of_subscription.map(str::to_owned)));
    ground.create("web", &json!({}), &json!({})).await;
    ground.address("web").await;
    ground.says("say them in setting zones").await;
    let made = |world: &World| {
        let publics = world.all(Kind::PublicIp);
        publics.filter(|it| it["tags"]["k8s-azure-service"] == "default/web").cloned().collect::<Vec<_>>()
    };
    let [public] = &ground.cloud.with(|world| made(world))[..] else { panic!("one address is made") };
    assert_eq!(public.get("zones"), None, "{public}");

    // Why something has failed, its operation does not tell this credential.
    let failure = OperationFailure {
        method: "PUT",
        kind: Kind::LoadBalancer,
        code: "InternalServerError",
        message: "it failed by itself".to_owned(),
    };
    ground.cloud.behave(|it| it.failures = vec![failure]);
    ground.create("second", &json!({}), &json!({ "ports": [{ "port": 443 }] })).await;
    ground.told("second", &["a write has failed", "cannot be read", of_subscription[1]]).await;
    ground.cloud.behave(|it| it.failures.clear());
    ground.address("second").await;
    tokio::join!(ground.delete("web"), ground.delete("second"));
    assert_eq!((ground.made(), ground.rules()), (vec![], vec![]));
    ground.stop().await;
}

/// Cases: azure 44
#[tokio::test]
async fn labels_and_quotas_are_told_in_azures_words() {
    let ground = Ground::start().await;
    ground.cloud.behave(|it| _ = it.taken_labels.insert("shop".to_owned()));
    let label = |it: &str| json!({ "service.beta.kubernetes.io/azure-dns-label-name": it });
    ground.create("taken", &label("shop"), &json!({})).await;
    ground.told("taken", &["DNS record shop", "already used"]).await;
    ground.patch("taken", &json!({ "metadata": { "annotations": label("shop-2") } })).await;
    ground.address("taken").await;
    let shown = |world: &World| {
        world.all(Kind::PublicIp).find(|it| it["tags"]["k8s-azure-service"] == "default/taken").cloned()
    };
    let public = ground.cloud.with(|world| shown(world)).unwrap();
    assert_eq!(public["properties"]["dnsSettings"]["domainNameLabel"], "shop-2", "{public}");
    ground.patch("taken", &json!({ "metadata": { "annotations": label("") } })).await;
    ground
        .becomes("the label is off", |world| {
            shown(world).is_some_and(|it| it["properties"]["dnsSettings"]["domainNameLabel"].is_null())
        })
        .await;

    let count = ground.cloud.with(|world| world.all(Kind::PublicIp).count());
    ground.cloud.behave(|it| _ = it.quotas.insert(Kind::PublicIp, count));
    ground.create("many", &json!({}), &json!({ "ports": [{ "port": 443 }] })).await;
    ground.told("many", &["Cannot create more than", "publicIPAddresses"]).await;
    ground.cloud.behave(|it| it.quotas.clear());
    ground.delete("many").await;
    ground.delete("taken").await;
    wait::until("nothing is left", async || ground.made().is_empty().then_some(())).await;
    ground.stop().await;
}
