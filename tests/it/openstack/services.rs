//! Services that are refused, that lose what they had, and that steal nothing: by the real binary.

use serde_json::{Value, json};
use tests::clouds::openstack::Kind;
use tests::vendor::{OpenStack, Vendor as _};
use tests::wait;

use crate::ground::Ground;

/// An annotation of OpenStack's own controller.
fn key(short: &str) -> String {
    format!("{}{short}", OpenStack::PREFIX)
}

#[tokio::test]
async fn openstack_039_refused_annotations_are_told() {
    let ground = Ground::start().await;
    let internal = "service.beta.kubernetes.io/openstack-internal-load-balancer".to_owned();
    // OpenStack's own controller takes this one for false, and makes the Service public.
    let refused = [
        ("inner", internal, "True"),
        ("classy", key("class"), "gold"),
        ("slow", key("timeout-client-data"), "5s"),
        ("watched", key("enable-health-monitor"), "yes"),
    ];
    for (name, key, value) in &refused {
        ground.create(name, &json!({ key: value })).await;
    }
    for (name, key, value) in &refused {
        ground.told(name, &[key, value]).await;
    }
    assert_eq!(ground.left(), Vec::<Value>::new());
    ground.stop().await;
}

#[tokio::test]
async fn openstack_053_nothing_stays_of_a_damaged_service() {
    let ground = Ground::start().await;
    ground.create("web", &json!({ key("x-forwarded-for"): "true" })).await;
    let address = ground.address("web").await;
    let protocol = || ground.cloud.account().all(Kind::Listener).first().map(|it| it["protocol"].clone());
    assert_eq!(protocol(), Some(json!("HTTP")));
    // Theirs tries for ever to make a second listener on the port.
    ground.annotate("web", &json!({ key("x-forwarded-for"): "false" })).await;
    wait::until("the port speaks TCP", async || (protocol() == Some(json!("TCP"))).then_some(())).await;
    // Theirs asks for it for ever, and leaves its floating IP.
    let lost = ground.balancer("web").await;
    ground.cloud.account().with(|world| world.take_away(&lost));
    ground.annotate("web", &json!({ key("connection-limit"): "100" })).await;
    wait::until("the load balancer is made again", async || {
        let all = ground.cloud.account().all(Kind::LoadBalancer);
        all.iter().any(|it| it["id"] != *lost && it["provisioning_status"] == "ACTIVE").then_some(())
    })
    .await;
    assert_eq!(ground.address("web").await, address);
    ground.delete("web").await;
    assert_eq!(ground.left(), Vec::<Value>::new());
    ground.stop().await;
}

#[tokio::test]
async fn openstack_047_another_clusters_load_balancer_stays() {
    let ground = Ground::start().await;
    let name = "kube_service_other_bank_pay";
    let theirs = OpenStack::add_foreign(ground.cloud.account(), name);
    let before = ground.cloud.account().all(Kind::LoadBalancer);
    ground.create("thief", &json!({ OpenStack::ID: theirs })).await;
    ground.told("thief", &[&theirs, "another cluster's"]).await;
    ground.delete("thief").await;
    assert_eq!(ground.cloud.account().all(Kind::LoadBalancer), before);
    ground.stop().await;
}

#[tokio::test]
async fn openstack_054_a_met_quota_is_told_on_the_service() {
    let ground = Ground::start().await;
    OpenStack::limit(ground.cloud.account(), 0);
    ground.create("web", &json!({})).await;
    ground.told("web", &["Quota has been met", "quota"]).await;
    assert_eq!(ground.left(), Vec::<Value>::new());
    ground.stop().await;
}
