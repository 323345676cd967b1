//! What load balancers of a type, and projects, have at most.

use serde_json::{Value, json};
use tests::clouds::hetzner::{Behaviour, Certificate, Options};

use super::{act, action, create, desired, service, simulator};
use crate::client::{get, send};

#[tokio::test]
async fn types_say_what_they_have_at_most() {
    let simulator = simulator(Options::instant(), 0).await;
    let types = get(&simulator, "/v1/load_balancer_types").await.unwrap().body["load_balancer_types"].clone();
    let limits = types.as_array().unwrap().iter().map(|it| {
        ["max_targets", "max_services", "max_assigned_certificates", "max_connections"]
            .map(|key| it[key].as_u64().unwrap())
    });
    let limits = Vec::from_iter(limits);
    assert_eq!(limits, [[25, 5, 10, 10_000], [75, 15, 25, 20_000], [150, 30, 50, 40_000], [25, 5, 10, 5_000]]);
    assert!(types[0]["deprecated"].is_null() && types[3]["deprecated"].is_string());
    let named = get(&simulator, "/v1/load_balancer_types?name=lb21").await.unwrap();
    assert_eq!(named.body["load_balancer_types"][0]["id"], 2);
    assert_eq!(get(&simulator, "/v1/load_balancer_types/3").await.unwrap().body["load_balancer_type"]["name"], "lb31");
}

#[tokio::test]
async fn a_type_has_so_many_targets() {
    let simulator = simulator(Options::instant(), 26).await;
    let target = |id: u64| json!({ "type": "server", "server": { "id": id }, "use_private_ip": false });
    let mut many = desired("web");
    many["targets"] = (1..=26).map(target).collect();
    let refused = send(&simulator, "POST", "/v1/load_balancers", &many).await.unwrap();
    assert_eq!(refused.code(), (403, "resource_limit_exceeded"));
    many["targets"] = (1..=25).map(target).collect();
    let id = create(&simulator, &many).await;
    assert_eq!(act(&simulator, id, "add_target", &target(26)).await.code(), (403, "resource_limit_exceeded"));
    action(&act(&simulator, id, "change_type", &json!({ "load_balancer_type": "lb21" })).await);
    action(&act(&simulator, id, "add_target", &target(26)).await);
    let smaller = act(&simulator, id, "change_type", &json!({ "load_balancer_type": "lb11" })).await;
    assert_eq!(smaller.code(), (422, "invalid_load_balancer_type"));
}

#[tokio::test]
async fn a_type_has_so_many_services_and_certificates() {
    let simulator = simulator(Options::instant(), 2).await;
    let mut many = desired("web");
    many["services"] = (1..=6).map(|it| service(it, 30_000 + it)).collect();
    let refused = send(&simulator, "POST", "/v1/load_balancers", &many).await.unwrap();
    assert_eq!(refused.code(), (403, "resource_limit_exceeded"));
    many["services"] = (1..=5).map(|it| service(it, 30_000 + it)).collect();
    let id = create(&simulator, &many).await;
    assert_eq!(act(&simulator, id, "add_service", &service(6, 6)).await.code(), (403, "resource_limit_exceeded"));

    let ids = Vec::from_iter(1..=11);
    ids.iter().for_each(|id| simulator.certificates().insert(Certificate::new(*id, &format!("www-{id}"))));
    let https = json!({ "listen_port": 1, "protocol": "https", "http": { "certificates": ids } });
    assert_eq!(act(&simulator, id, "update_service", &https).await.code(), (403, "resource_limit_exceeded"));
}

#[tokio::test]
async fn a_project_has_so_many_load_balancers() {
    let behaviour = Behaviour { limit: Some(1), ..Behaviour::instant() };
    let simulator = simulator(Options { behaviour, ..Options::default() }, 2).await;
    create(&simulator, &desired("web")).await;
    let second: Value = desired("another");
    let refused = send(&simulator, "POST", "/v1/load_balancers", &second).await.unwrap();
    assert_eq!(refused.code(), (403, "resource_limit_exceeded"));
}
