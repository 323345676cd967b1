//! Load balancers that somebody wants to have who must not, and a cloud that refuses.

use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use tests::clouds::gcp::{Collection, Fault, PROJECT, Place};
use tests::vendor::{GoogleCloud, Vendor as _};
use tests::wait;

use crate::ground::{Ground, region};

const TYPE: &str = "networking.gke.io/load-balancer-type";
const SUBNET: &str = "networking.gke.io/internal-load-balancer-subnet";
/// How long the endpoint is left alone that says that requests come too fast.
const PAUSE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn addresses_of_other_services_are_refused() {
    let ground = Ground::start().await;
    let mine =
        json!({ "name": "mine", "address": "203.0.113.200", "addressType": "EXTERNAL", "networkTier": "PREMIUM" });
    ground.cloud.with(|world| _ = world.insert(&region(), Collection::Addresses, mine));
    let made = async |name, kind, spec| {
        ground.create(name, &json!({ TYPE: kind }), &spec).await;
        ground.address(name).await
    };
    let (one, reserved, inner) = tokio::join!(
        made("one", "External", json!({})),
        made("reserved", "External", json!({ "loadBalancerIP": "203.0.113.200" })),
        made("inner", "Internal", json!({})),
    );
    assert_eq!(reserved, "203.0.113.200");
    let before = ground.made();

    let refused = async |name, kind, address: &str, parts: [&str; 2]| {
        ground.create(name, &json!({ TYPE: kind }), &json!({ "loadBalancerIP": address })).await;
        ground.told(name, &parts).await;
        ground.delete(name).await;
    };
    tokio::join!(
        refused("thief", "External", &one, [&one, "is neither static nor assigned to the LB"]),
        refused("second-thief", "External", &reserved, ["203.0.113.200\" is address mine", "has: choose another"]),
        refused("inner-thief", "Internal", &inner, [&inner, "is in-use and would result in a conflict"]),
    );
    assert_eq!(ground.made(), before);
    let goes = async |name, address: &str| {
        assert_eq!(ground.address(name).await, address);
        ground.delete(name).await;
    };
    tokio::join!(goes("one", &one), goes("reserved", &reserved), goes("inner", &inner));
    // What a person has reserved stays.
    assert_eq!(ground.made(), ["regions/europe-west1/addresses/mine"]);
    ground.stop().await;
}

#[tokio::test]
async fn objects_that_somebody_else_made_stay_untouched() {
    let ground = Ground::start().await;
    let global = Place::global(PROJECT);
    for (name, place, collection) in [
        ("rule", region(), Collection::ForwardingRules),
        ("pool", region(), Collection::TargetPools),
        ("firewall", global, Collection::Firewalls),
    ] {
        // Its UID is known before it asks for a load balancer.
        let plain = json!({ "metadata": { "name": name }, "spec": { "ports": [{ "port": 80 }] } });
        let made = ground.services().create(&PostParams::default(), &serde_json::from_value(plain).unwrap()).await;
        let balancer = GoogleCloud::default_name(&made.unwrap().metadata.uid.unwrap());
        let theirs = if collection == Collection::Firewalls { format!("k8s-fw-{balancer}") } else { balancer };
        let description = r#"{"kubernetes.io/service-name":"other/web"}"#;
        let mut body = json!({ "name": theirs, "description": description });
        match collection {
            Collection::ForwardingRules => {
                body["loadBalancingScheme"] = json!("EXTERNAL");
                body["IPAddress"] = json!("203.0.113.250");
            }
            Collection::Firewalls => body["allowed"] = json!([{ "IPProtocol": "tcp" }]),
            _ => {}
        }
        let path = ground.cloud.with(|world| world.insert(&place, collection, body));
        let before = ground.cloud.with(|world| world.get(&path).cloned());
        ground.patch(name, &json!({ "spec": { "type": "LoadBalancer" } })).await;
        ground.told(name, &["its description names Service other/web: it is not touched"]).await;
        ground.delete(name).await;
        assert_eq!(ground.cloud.with(|world| world.get(&path).cloned()), before, "{name}");
        ground.cloud.with(|world| drop(world.remove(&path)));
    }
    assert_eq!(ground.made(), [""; 0]);
    ground.stop().await;
}

#[tokio::test]
async fn gcp_031_annotations_with_refused_values_are_events() {
    let ground = Ground::start().await;
    let begun = ground.cloud.requests().len();
    let refused = [
        ("cloud.google.com/network-tier", "Gold"),
        (TYPE, "Inner"),
        ("cloud.google.com/load-balancer-type", "Inner"),
        ("networking.gke.io/internal-load-balancer-allow-global-access", "yes"),
        (SUBNET, "projects/p1/regions/europe-west1/subnetworks/other"),
        (SUBNET, "../../../shared/regions/europe-west1/subnetworks/default"),
        ("cloud.google.com/l4-rbs", "off"),
        ("alpha.cloud.google.com/load-balancer-backend-share", "yes"),
        ("cloud.google.com/load-balancer-backend-share", "yes"),
    ];
    for (at, (key, value)) in refused.into_iter().enumerate() {
        ground.create(&format!("web-{at}"), &json!({ key: value }), &json!({})).await;
    }
    for (at, (key, value)) in refused.into_iter().enumerate() {
        ground.told(&format!("web-{at}"), &[key, value, "is not"]).await;
    }
    let mixed = json!({ "ports": [{ "name": "t", "port": 80 }, { "name": "u", "port": 80, "protocol": "UDP" }] });
    ground.create("mixed", &json!({}), &mixed).await;
    ground.told("mixed", &["mixed protocol is not supported for LoadBalancer"]).await;
    let services: Api<Service> = ground.services();
    let condition = async || {
        let all = services.get("mixed").await.unwrap().status?.conditions?;
        all.into_iter().find(|it| it.type_ == "LoadBalancerPortsError")
    };
    let condition = wait::until("its condition says so", condition).await;
    assert_eq!((&*condition.status, &*condition.reason), ("True", "LoadBalancerMixedProtocolNotSupported"));
    assert_eq!(ground.writes_since(begun), [""; 0]);
    assert_eq!(ground.made(), [""; 0]);
    ground.stop().await;
}

#[tokio::test]
async fn links_to_other_hosts_lead_nowhere() {
    let mut ground = Ground::start().await;
    let balancer = ground.create("web", &json!({}), &json!({})).await;
    let address = ground.address("web").await;
    ground.cloud.with(|world| {
        for collection in [Collection::ForwardingRules, Collection::TargetPools] {
            let body = world.get_mut(&region().path(collection, &balancer)).unwrap();
            for field in ["selfLink", "region", "target"] {
                if let Some(link) = body[field].as_str() {
                    body[field] = json!(link.replace("https://www.googleapis.com", "https://evil.example"));
                }
            }
        }
    });
    // A provider id of another project, whose kubelet says so.
    let elsewhere =
        json!({ "metadata": { "name": "foreign" }, "spec": { "providerID": "gce://shared/europe-west1-b/node-9" } });
    ground.nodes().create(&PostParams::default(), &serde_json::from_value(elsewhere).unwrap()).await.unwrap();
    let begun = ground.cloud.requests().len();
    ground.restart().await;
    let pool = format!("/compute/v1/{}", region().path(Collection::TargetPools, &balancer));
    ground.cloud.wait_for("it is read again", |all| all[begun..].iter().any(|it| it.is("GET", &pool))).await;
    ground.leave(2, "c").await;
    let left = |world: &tests::clouds::gcp::World| {
        world.get(&region().path(Collection::TargetPools, &balancer)).unwrap()["instances"].as_array().unwrap().len()
            == 1
    };
    assert_eq!(ground.becomes("web", "it goes on as before", left).await, address);
    ground.delete("web").await;
    let own = |path: &str| path == "/token" || path.starts_with("/compute/v1/projects/p1");
    let others: Vec<_> = ground.cloud.requests().into_iter().filter(|it| !own(&it.path)).collect();
    assert!(others.is_empty(), "{others:?}");
    assert_eq!(ground.made(), [""; 0]);
    ground.stop().await;
}

#[tokio::test]
async fn links_of_operations_to_other_hosts_lead_nowhere() {
    let ground = Ground::start().await;
    ground.cloud.behave(|it| it.operation_links = Some("https://evil.example"));
    let lives = async |name, kind| {
        let balancer = ground.create(name, &json!({ TYPE: kind }), &json!({})).await;
        let address = ground.address(name).await;
        // Its rule is made again, with an address that is held meanwhile.
        ground.patch(name, &json!({ "spec": { "ports": [{ "name": "http", "port": 80, "protocol": "UDP" }] } })).await;
        let rule = region().path(Collection::ForwardingRules, &balancer);
        let is_udp = |world: &tests::clouds::gcp::World| world.get(&rule).is_some_and(|it| it["IPProtocol"] == "UDP");
        assert_eq!(ground.becomes(name, "the protocol is another", is_udp).await, address);
        ground.delete(name).await;
    };
    tokio::join!(lives("external", "External"), lives("internal", "Internal"));
    assert_eq!(ground.made(), [""; 0]);
    let asked = ground.cloud.requests();
    let own = |path: &str| path == "/token" || path.starts_with("/compute/v1/projects/p1/");
    let others: Vec<_> = asked.iter().filter(|it| !own(&it.path) && it.path != "/compute/v1/projects/p1").collect();
    assert!(others.is_empty(), "{others:?}");
    assert!(asked.iter().any(|it| it.path.contains("/operations/operation-")), "operations are asked about");
    ground.stop().await;
}

/// The body of a refusal with this reason.
fn refusal(reason: &str) -> String {
    let one = json!({ "message": "Rate Limit Exceeded", "domain": "usageLimits", "reason": reason });
    let body: Value = json!({ "error": { "code": 403, "message": "Rate Limit Exceeded", "errors": [one], "status": "PERMISSION_DENIED" } });
    body.to_string()
}

#[tokio::test]
async fn too_many_requests_pause_the_endpoint() {
    let ground = Ground::start().await;
    let fault = Fault::status("POST", "/compute/v1/projects/p1/regions/*/targetPools", 403).times(1);
    ground.cloud.inject(fault.body(refusal("rateLimitExceeded")));
    ground.create("web", &json!({}), &json!({})).await;
    let refused = |all: &[tests::clouds::gcp::Recorded]| all.iter().position(|it| it.fault.is_some());
    ground.cloud.wait_for("the refusal", |all| refused(all).is_some()).await;
    let is_compute = |asked: &&tests::clouds::gcp::Recorded| {
        !asked.path.contains("/global/firewalls") && !asked.path.contains("/global/routes")
    };
    ground
        .cloud
        .wait_after(PAUSE, "the next request", |all| {
            refused(all).is_some_and(|at| all[at + 1..].iter().filter(is_compute).count() > 0)
        })
        .await;
    let all = ground.cloud.requests();
    let at = refused(&all).unwrap();
    let next = all[at + 1..].iter().find(is_compute).unwrap();
    let pause = next.at.duration_since(all[at].at).unwrap();
    assert!(pause >= PAUSE, "{pause:?} until {next}");
    ground.address("web").await;
    ground.delete("web").await;
    assert_eq!(ground.made(), [""; 0]);
    ground.stop().await;
}

#[tokio::test]
async fn quotas_that_are_used_up_are_told_by_their_names() {
    let ground = Ground::start().await;
    ground.cloud.behave(|it| _ = it.quotas.insert(Collection::ForwardingRules, 0));
    ground.create("web", &json!({}), &json!({})).await;
    ground.told("web", &["Quota 'FORWARDING_RULES' exceeded"]).await;
    ground.cloud.behave(|it| it.refuses_in_operations = true);
    ground.create("second", &json!({}), &json!({})).await;
    ground.told("second", &["ended with QUOTA_EXCEEDED: Quota 'FORWARDING_RULES' exceeded"]).await;
    for name in ["web", "second"] {
        ground.delete(name).await;
    }
    assert_eq!(ground.made(), [""; 0]);
    ground.stop().await;
}
