//! Creation of load balancers.

use std::time::Duration;

use serde_json::{Value, json};
use tests::clouds::digitalocean::{Behaviour, Creation, LoadBalancer, LoadBalancerStatus, Options, Simulator};

use crate::client::{get, send, simulator};

/// The smallest body of a creation.
pub(crate) fn desired(name: &str) -> Value {
    let rule = json!({ "entry_protocol": "tcp", "entry_port": 80, "target_protocol": "tcp", "target_port": 30080 });
    json!({ "name": name, "region": "fra1", "droplet_ids": [1, 2], "forwarding_rules": [rule] })
}

/// Creates a load balancer. Returns it as the answer shows it.
pub(crate) async fn create(simulator: &Simulator, desired: &Value) -> Value {
    let answer = send(simulator, "POST", "/v2/load_balancers", desired).await.unwrap();
    assert_eq!(answer.status, 202, "{}", answer.body);
    answer.body["load_balancer"].clone()
}

/// A load balancer as it is shown now.
pub(crate) async fn show(simulator: &Simulator, id: &Value) -> Value {
    let answer = get(simulator, &format!("/v2/load_balancers/{}", id.as_str().unwrap())).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["load_balancer"].clone()
}

fn behaving(load_balancers: Behaviour) -> Options {
    Options { load_balancers, ..Options::default() }
}

#[tokio::test]
async fn attributes_that_are_left_out_have_published_defaults() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let mut made = create(&simulator, &desired("web")).await;
    let (id, created_at) = (made["id"].take(), made["created_at"].take());
    assert_eq!((id.as_str().unwrap().len(), created_at.as_str().unwrap().len()), (36, "2026-08-20T09:30:12Z".len()));
    assert_eq!(made["region"].take()["slug"], "fra1");
    assert_eq!(
        made,
        json!({
            "id": null,
            "created_at": null,
            "region": null,
            "name": "web",
            "status": "new",
            "ip": "",
            "type": "REGIONAL",
            "network": "EXTERNAL",
            "network_stack": "IPV4",
            "vpc_uuid": "760e09ef-dc84-11e8-981e-3cfdfeaae000",
            "project_id": "9cc10173-e9ea-4176-9dbc-a4cee4c4ff30",
            "size": "lb-small",
            "size_unit": 1,
            "algorithm": "round_robin",
            "forwarding_rules": [{
                "entry_protocol": "tcp",
                "entry_port": 80,
                "target_protocol": "tcp",
                "target_port": 30080,
                "certificate_id": "",
                "tls_passthrough": false,
            }],
            "health_check": {
                "protocol": "http",
                "port": 80,
                "path": "/",
                "check_interval_seconds": 10,
                "response_timeout_seconds": 5,
                "unhealthy_threshold": 5,
                "healthy_threshold": 3,
            },
            "sticky_sessions": { "type": "none" },
            "firewall": { "deny": [], "allow": [] },
            "droplet_ids": [1, 2],
            "tag": "",
            "redirect_http_to_https": false,
            "enable_proxy_protocol": false,
            "enable_backend_keepalive": false,
            "http_idle_timeout_seconds": 60,
            "disable_lets_encrypt_dns_records": false,
            "tls_cipher_policy": "DEFAULT",
        })
    );
}

#[tokio::test]
async fn all_attributes_of_a_request_are_kept() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let mut desired = desired("web.example-1");
    let said = json!({
        "type": "REGIONAL_NETWORK",
        "network_stack": "DUALSTACK",
        "size_unit": 3,
        "health_check": {
            "protocol": "tcp", "port": 10256, "check_interval_seconds": 3, "response_timeout_seconds": 4,
            "unhealthy_threshold": 2, "healthy_threshold": 6, "proxy_protocol": false,
        },
        "sticky_sessions": { "type": "cookies", "cookie_name": "DO-LB", "cookie_ttl_seconds": 300 },
        "firewall": { "allow": ["cidr:10.0.0.0/8"], "deny": ["ip:192.0.2.7", "ip:2001:db8::7"] },
        "enable_proxy_protocol": true,
        "enable_backend_keepalive": true,
        "http_idle_timeout_seconds": 600,
        "disable_lets_encrypt_dns_records": true,
        "project_id": "4de7ac8b-495b-4884-9a69-1050c6793cd6",
        "tls_cipher_policy": "STRONG",
        "subnet_uuid": "0b7ee1b3-3d2b-44b1-9a1b-4b6f6f4f0c11",
        "vpc_uuid": "760e09ef-dc84-11e8-981e-3cfdfeaae000",
    });
    desired.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
    let made = create(&simulator, &desired).await;
    for (name, value) in said.as_object().unwrap() {
        match value.as_object() {
            None => assert_eq!(&made[name], value, "{name}"),
            Some(parts) => parts.iter().for_each(|(part, value)| assert_eq!(&made[name][part], value, "{name}.{part}")),
        }
    }
    assert_eq!((&made["size"], &made["health_check"]["path"]), (&json!("lb-medium"), &json!("")));
}

#[tokio::test]
async fn a_new_load_balancer_becomes_active_with_its_addresses() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let mut dual = desired("dual");
    dual["network_stack"] = json!("DUALSTACK");
    let (single, dual) = (create(&simulator, &desired("single")).await, create(&simulator, &dual).await);
    assert_eq!((&single["status"], &single["ip"], &dual["ipv6"]), (&json!("new"), &json!(""), &Value::Null));

    let (single, dual) = (show(&simulator, &single["id"]).await, show(&simulator, &dual["id"]).await);
    assert_eq!((&single["status"], &dual["status"]), (&json!("active"), &json!("active")));
    assert!(single["ip"] != dual["ip"] && single["ip"] != "" && dual["ip"] != "", "{single} {dual}");
    assert_eq!(single["ipv6"], Value::Null);
    assert!(dual["ipv6"].as_str().unwrap().starts_with("2001:db8:"), "{dual}");
    assert_eq!(show(&simulator, &single["id"]).await["ip"], single["ip"]);
}

#[tokio::test]
async fn an_internal_load_balancer_has_a_private_address() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let mut desired = desired("inside");
    desired["network"] = json!("INTERNAL");
    let made = create(&simulator, &desired).await;
    let made = show(&simulator, &made["id"]).await;
    assert!(made["ip"].as_str().unwrap().starts_with("10."), "{made}");
}

#[tokio::test]
async fn creation_lasts_as_many_reads_as_a_test_says() {
    let creation = Creation::Reads(2);
    let simulator = simulator(behaving(Behaviour { creation, ..Behaviour::default() }), 1, 2).await;
    let id = create(&simulator, &desired("web")).await["id"].clone();
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(show(&simulator, &id).await["status"].clone());
    }
    assert_eq!(seen, ["new", "new", "active", "active"]);
}

#[tokio::test]
async fn a_list_counts_as_a_read_of_all_that_it_shows() {
    let creation = Creation::Reads(2);
    let simulator = simulator(behaving(Behaviour { creation, ..Behaviour::default() }), 1, 2).await;
    create(&simulator, &desired("web")).await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        let list = get(&simulator, "/v2/load_balancers").await.unwrap().body;
        seen.push(list["load_balancers"][0]["status"].clone());
    }
    assert_eq!(seen, ["new", "new", "active", "active"]);
}

#[tokio::test]
async fn creation_lasts_as_long_as_a_test_says() {
    let creation = Creation::Takes(Duration::from_hours(1));
    let simulator = simulator(behaving(Behaviour { creation, ..Behaviour::default() }), 1, 2).await;
    let id = create(&simulator, &desired("web")).await["id"].clone();
    assert_eq!(show(&simulator, &id).await["status"], "new");
    simulator.load_balancers().update(id.as_str().unwrap(), |it| it.created_at -= Duration::from_hours(1));
    assert_eq!(show(&simulator, &id).await["status"], "active");
}

#[tokio::test]
async fn creation_may_fail_or_never_end() {
    let simulator = simulator(Options::default(), 1, 2).await;
    simulator.load_balancers().behave(|it| it.creation = Creation::Stuck);
    let id = create(&simulator, &desired("web")).await["id"].clone();
    assert_eq!(show(&simulator, &id).await["status"], "new");
    simulator.load_balancers().behave(|it| (it.creation, it.creations_fail) = (Creation::Takes(Duration::ZERO), true));
    let failed = show(&simulator, &id).await;
    assert_eq!((&failed["status"], &failed["ip"]), (&json!("errored"), &json!("")));
    simulator.load_balancers().update(id.as_str().unwrap(), |it| it.status = LoadBalancerStatus::Active);
    assert_ne!(show(&simulator, &id).await["ip"], "");
}

#[tokio::test]
async fn a_name_is_given_once_if_names_are_unique() {
    let simulator = simulator(Options::default(), 1, 2).await;
    create(&simulator, &desired("web")).await;
    let second = send(&simulator, "POST", "/v2/load_balancers", &desired("web")).await.unwrap();
    assert_eq!(second.refusal(), (422, "There is already a load balancer with that name"));
    assert_eq!(simulator.load_balancers().all().len(), 1);

    simulator.load_balancers().behave(|it| it.names_are_unique = false);
    create(&simulator, &desired("web")).await;
    let names: Vec<_> = simulator.load_balancers().all().iter().map(|it| it.name().to_owned()).collect();
    assert_eq!(names, ["web", "web"]);
}

#[tokio::test]
async fn a_late_list_shows_a_new_load_balancer_when_its_time_has_come() {
    let lists_late_by = Duration::from_secs(20);
    let simulator = simulator(behaving(Behaviour { lists_late_by, ..Behaviour::default() }), 1, 2).await;
    let id = create(&simulator, &desired("web")).await["id"].clone();
    let list = get(&simulator, "/v2/load_balancers").await.unwrap();
    assert_eq!((&list.body["load_balancers"], &list.body["meta"]["total"]), (&json!([]), &json!(0)));
    assert_eq!(show(&simulator, &id).await["id"], id);

    simulator.load_balancers().update(id.as_str().unwrap(), |it| it.created_at -= lists_late_by);
    let list = get(&simulator, "/v2/load_balancers").await.unwrap();
    assert_eq!(list.body["load_balancers"][0]["id"], id);
}

#[tokio::test]
async fn load_balancers_are_listed_in_pages() {
    let simulator = simulator(Options::default(), 1, 2).await;
    for number in 1..=21 {
        simulator.load_balancers().insert(LoadBalancer::new(&format!("id-{number}"), &format!("web-{number}")));
    }
    simulator.load_balancers().update("id-2", |it| it.listed = false);
    // Their ids are short, which the description does not like.
    simulator.load_balancers().remove("id-1");
    let list = get(&simulator, "/v2/load_balancers?page=2&per_page=10").await.unwrap();
    let names = list.body["load_balancers"].as_array().unwrap().iter().map(|it| it["name"].clone());
    assert_eq!(Vec::from_iter(names), (13..=21).map(|it| json!(format!("web-{it}"))).collect::<Vec<_>>());
    assert_eq!(list.body["meta"]["total"], 19);
    let first = "https://api.digitalocean.com/v2/load_balancers?page=1&per_page=10";
    assert_eq!(list.body["links"]["pages"], json!({ "first": first, "prev": first }));
    assert!(!simulator.take_violations().is_empty());
}

#[tokio::test]
async fn the_account_has_a_limit() {
    let load_balancers = Behaviour { limit: Some(1), targets: Some(1), ..Behaviour::default() };
    let simulator = simulator(behaving(load_balancers), 1, 2).await;
    let many = send(&simulator, "POST", "/v2/load_balancers", &desired("web")).await.unwrap();
    assert_eq!(many.refusal(), (422, "a load balancer can have at most 1 droplets"));
    let mut small = desired("web");
    small["droplet_ids"] = json!([2]);
    create(&simulator, &small).await;
    small["name"] = json!("another");
    let second = send(&simulator, "POST", "/v2/load_balancers", &small).await.unwrap();
    assert_eq!(second.refusal(), (422, "you have reached the limit of load balancers for this account"));
}

#[tokio::test]
async fn an_own_address_is_taken_at_creation() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let mut own = desired("own");
    own["ip"] = json!("198.51.100.7");
    let made = create(&simulator, &own).await;
    assert_eq!((&made["ip"], &show(&simulator, &made["id"]).await["ip"]), (&json!(""), &json!("198.51.100.7")));

    own["name"] = json!("again");
    let taken = send(&simulator, "POST", "/v2/load_balancers", &own).await.unwrap();
    assert_eq!(taken.refusal(), (422, "ip 198.51.100.7 is in use"));
    own["ip"] = json!("192.0.2.1");
    let foreign = send(&simulator, "POST", "/v2/load_balancers", &own).await.unwrap();
    assert_eq!(foreign.refusal(), (422, "ip 192.0.2.1 does not belong to this account"));
}
