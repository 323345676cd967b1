//! Services that share a load balancer, by the real binary.

use serde_json::{Value, json};
use tests::clouds::openstack::Kind;
use tests::vendor::{OpenStack, Vendor as _};

use crate::ground::Ground;

/// A load balancer of a person with a floating IP and the listener 443. Answers its id.
fn persons(ground: &Ground) -> String {
    ground.cloud.account().with(|world| {
        let [subnet, network] = [(Kind::Subnet, "k8s"), (Kind::Network, "ext")].map(|(kind, it)| world.named(kind, it));
        let id = world.build_balancer(&json!({
            "name": "front", "vip_subnet_id": subnet, "tags": ["by hand"],
            "listeners": [{ "name": "mine", "protocol": "TCP", "protocol_port": 443, "tags": ["by hand"] }],
        }));
        let port = world.get(Kind::LoadBalancer, &id).map(|it| it["vip_port_id"].clone());
        world.build_floating_ip(&json!({ "floating_network_id": network, "port_id": port, "description": "by hand" }));
        id
    })
}

/// The ports at which a load balancer listens, and its tags of Services.
fn state(ground: &Ground, id: &str) -> (Vec<u64>, Vec<String>) {
    let account = ground.cloud.account();
    let listeners = account.all(Kind::Listener).into_iter().filter(|it| it["_balancer"] == *id);
    let mut ports: Vec<_> = listeners.map(|it| it["protocol_port"].as_u64().unwrap()).collect();
    ports.sort_unstable();
    let balancer = account.all(Kind::LoadBalancer).into_iter().find(|it| it["id"] == *id).unwrap();
    let tags = balancer["tags"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned());
    (ports, tags.filter(|it| !it.starts_with("aerostat:")).collect())
}

/// Cases: openstack 46, openstack 52
#[tokio::test]
async fn openstack_046_services_share_a_load_balancer_of_a_person() {
    let ground = Ground::start().await;
    let id = persons(&ground);
    let shares = json!({ OpenStack::ID: id });
    ground.create_with("one", &shares, &[81]).await;
    ground.address("one").await;
    let tag = |service: &str| format!("kube_service_kubernetes_default_{service}");
    assert_eq!(state(&ground, &id), (vec![81, 443], vec!["by hand".to_owned(), tag("one")]));
    let listener = ground.cloud.account().all(Kind::Listener).into_iter().find(|it| it["protocol_port"] == 81).unwrap();
    assert_eq!(listener["tags"], json!([tag("one")]));

    // A port that somebody has, a person or a Service; and a Service that must not be reached from outside.
    ground.create_with("taken", &shares, &[81]).await;
    ground.create_with("persons", &shares, &[443]).await;
    let internal = "service.beta.kubernetes.io/openstack-internal-load-balancer";
    ground.create_with("inner", &json!({ OpenStack::ID: id, internal: "true" }), &[83]).await;
    ground.told("taken", &["port 81 already exists"]).await;
    ground.told("persons", &["port 443 already exists"]).await;
    ground.told("inner", &["internal Service cannot share"]).await;
    ground.create_with("two", &shares, &[82]).await;
    ground.address("two").await;
    ground.create_with("three", &shares, &[84]).await;
    ground.told("three", &["already shared with 2 Services", "maxShared"]).await;
    let both = (vec![81, 82, 443], vec!["by hand".to_owned(), tag("one"), tag("two")]);
    assert_eq!(state(&ground, &id), both);

    // The ones that were refused leave nothing, and one that goes takes its own.
    for service in ["taken", "persons", "inner", "three"] {
        ground.delete(service).await;
    }
    assert_eq!(state(&ground, &id), both);
    let begun = ground.cloud.requests().len();
    ground.delete("one").await;
    assert_eq!(state(&ground, &id), (vec![82, 443], vec!["by hand".to_owned(), tag("two")]));
    let gone: Vec<_> = ground.writes_since(begun).into_iter().filter(|it| it.starts_with("DELETE")).collect();
    assert!(!gone.is_empty() && gone.iter().all(|it| it.contains("/listeners/") || it.contains("/pools/")), "{gone:?}");
    ground.delete("two").await;
    assert_eq!(state(&ground, &id), (vec![443], vec!["by hand".to_owned()]));
    let pools = ground.cloud.account().all(Kind::Pool);
    assert_eq!(
        (pools, ground.left().len()),
        (Vec::<Value>::new(), 2),
        "the person's load balancer and floating IP stay"
    );
    ground.stop().await;
}
