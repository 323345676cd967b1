//! Creation, renaming and deletion of load balancers.

use std::time::Duration;

use serde_json::{Value, json};
use tests::clouds::hetzner::{Behaviour, Certificate, LoadBalancer, Options, Taking};

use super::{NETWORK, action, create, desired, service, show, simulator};
use crate::client::{delete, get, send};

#[tokio::test]
async fn a_creation_takes_everything_at_once() {
    let simulator = simulator(Options::instant(), 2).await;
    simulator.certificates().insert(Certificate::new(7, "www"));
    let mut https = service(443, 30443);
    https["protocol"] = json!("https");
    https["proxyprotocol"] = json!(true);
    https["http"] = json!({ "certificates": [7], "timeout_idle": 60, "redirect_http": true });
    https["health_check"]["protocol"] = json!("http");
    https["health_check"]["http"] = json!({ "domain": "", "path": "/healthz", "status_codes": ["200"], "tls": false });
    let whole = json!({
        "name": "web",
        "load_balancer_type": "lb21",
        "algorithm": { "type": "least_connections" },
        "network_zone": "eu-central",
        "network": NETWORK,
        "public_interface": true,
        "labels": { "hcloud-ccm/service-uid": "c1a5e000-1111-2222-3333-444455556666" },
        "services": [https],
        "targets": [
            { "type": "server", "server": { "id": 1 }, "use_private_ip": true },
            { "type": "server", "server": { "id": 2 }, "use_private_ip": false },
            { "type": "label_selector", "label_selector": { "selector": "env=dev" }, "use_private_ip": true },
        ],
    });
    let answer = send(&simulator, "POST", "/v1/load_balancers", &whole).await.unwrap();
    action(&answer);
    let new = &answer.body["load_balancer"];
    assert_eq!((&new["public_net"]["ipv4"]["ip"], &new["private_net"]), (&Value::Null, &json!([])));

    let made = show(&simulator, new["id"].as_u64().unwrap()).await;
    assert_eq!((&made["location"]["name"], &made["load_balancer_type"]["max_targets"]), (&json!("fsn1"), &json!(75)));
    assert_eq!((&made["algorithm"]["type"], &made["labels"]), (&json!("least_connections"), &whole["labels"]));
    assert_eq!(made["private_net"], json!([{ "network": NETWORK, "ip": "10.0.255.254" }]));
    assert!(made["public_net"]["ipv4"]["ip"].is_string() && made["public_net"]["ipv6"]["ip"].is_string(), "{made}");
    let http = &made["services"][0]["http"];
    assert_eq!((&http["cookie_name"], &http["cookie_lifetime"]), (&json!("HCLBSTICKY"), &json!(300)));
    assert_eq!((&http["redirect_http"], &http["timeout_idle"]), (&json!(true), &json!(60)));
    assert_eq!(made["targets"][0]["use_private_ip"], true);
    assert_eq!(made["targets"][2]["targets"], json!([]));
    let server = get(&simulator, "/v1/servers/1").await.unwrap();
    assert_eq!(server.body["server"]["load_balancers"], json!([made["id"]]));
    let network = get(&simulator, "/v1/networks?name=net").await.unwrap();
    assert_eq!(network.body["networks"][0]["load_balancers"], json!([made["id"]]));
}

#[tokio::test]
async fn a_load_balancer_has_no_addresses_before_it_is_done() {
    let creation = Taking::Reads(2);
    let options = Options { behaviour: Behaviour { creation, ..Behaviour::instant() }, ..Options::default() };
    let simulator = simulator(options, 2).await;
    let id = create(&simulator, &desired("web")).await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(show(&simulator, id).await["public_net"]["ipv4"]["ip"].is_string());
    }
    assert_eq!(seen, [false, false, true, true]);
}

#[tokio::test]
async fn a_name_is_had_once() {
    let simulator = simulator(Options::instant(), 2).await;
    let id = create(&simulator, &desired("web")).await;
    let second = send(&simulator, "POST", "/v1/load_balancers", &desired("web")).await.unwrap();
    assert_eq!(second.code(), (409, "uniqueness_error"));
    let other = create(&simulator, &desired("other")).await;
    let renamed = send(&simulator, "PUT", &format!("/v1/load_balancers/{other}"), &json!({ "name": "web" })).await;
    assert_eq!(renamed.unwrap().code(), (409, "uniqueness_error"));

    simulator.behave(|it| it.names_freed_late_by = Duration::from_hours(1));
    assert_eq!(delete(&simulator, &format!("/v1/load_balancers/{id}")).await.unwrap().status, 204);
    let early = send(&simulator, "POST", "/v1/load_balancers", &desired("web")).await.unwrap();
    assert_eq!(early.code(), (409, "uniqueness_error"));
    simulator.behave(|it| it.names_freed_late_by = Duration::ZERO);
    create(&simulator, &desired("web")).await;
}

#[tokio::test]
async fn labels_are_replaced_as_a_whole() {
    let simulator = simulator(Options::instant(), 2).await;
    simulator.load_balancers().insert(LoadBalancer::new(5, "web").label("one", "1"));
    let path = "/v1/load_balancers/5";
    let answer = send(&simulator, "PUT", path, &json!({ "labels": { "two": "2" } })).await.unwrap();
    assert_eq!(answer.body["load_balancer"]["labels"], json!({ "two": "2" }));
    let listed = get(&simulator, "/v1/load_balancers?label_selector=two%3D2").await.unwrap();
    assert_eq!(listed.body["load_balancers"][0]["id"], 5);
    let wrong = send(&simulator, "PUT", path, &json!({ "labels": { "-": "2" } })).await.unwrap();
    assert_eq!(wrong.code(), (422, "invalid_input"));
}

#[tokio::test]
async fn a_protected_load_balancer_stays() {
    let simulator = simulator(Options::instant(), 2).await;
    let id = create(&simulator, &desired("web")).await;
    let path = format!("/v1/load_balancers/{id}");
    let protect = async |yes: bool| {
        let command = format!("{path}/actions/change_protection");
        action(&send(&simulator, "POST", &command, &json!({ "delete": yes })).await.unwrap());
    };
    protect(true).await;
    assert_eq!(show(&simulator, id).await["protection"]["delete"], true);
    assert_eq!(delete(&simulator, &path).await.unwrap().code(), (403, "protected"));
    protect(false).await;
    assert_eq!(delete(&simulator, &path).await.unwrap().status, 204);
    assert_eq!(delete(&simulator, &path).await.unwrap().code(), (404, "not_found"));
    assert!(simulator.load_balancers().all().is_empty());
}

#[tokio::test]
async fn a_late_list_shows_a_load_balancer_when_its_time_has_come() {
    let lists_late_by = Duration::from_secs(20);
    let options = Options { behaviour: Behaviour { lists_late_by, ..Behaviour::instant() }, ..Options::default() };
    let simulator = simulator(options, 2).await;
    let id = create(&simulator, &desired("web")).await;
    let list = get(&simulator, "/v1/load_balancers").await.unwrap();
    assert_eq!((&list.body["load_balancers"], show(&simulator, id).await["id"].as_u64()), (&json!([]), Some(id)));
    simulator.load_balancers().update(id, |it| it.created_at -= lists_late_by);
    let list = get(&simulator, "/v1/load_balancers?name=web").await.unwrap();
    assert_eq!(list.body["load_balancers"][0]["id"], id);
}

#[tokio::test]
async fn what_cannot_be_is_not_created() {
    let simulator = simulator(Options::instant(), 2).await;
    let nowhere = |change: fn(&mut Value)| {
        let mut desired = desired("web");
        change(&mut desired);
        desired
    };
    for (body, code) in [
        (nowhere(|it| it["location"] = json!("moon1")), (422, "invalid_input")),
        (nowhere(|it| it["network_zone"] = json!("eu-central")), (422, "invalid_input")),
        (nowhere(|it| it["load_balancer_type"] = json!("lb99")), (422, "invalid_input")),
        (nowhere(|it| it["load_balancer_type"] = json!("lb1")), (422, "invalid_load_balancer_type")),
        (nowhere(|it| it["network"] = json!(12)), (404, "not_found")),
        (nowhere(|it| it["targets"][0]["server"]["id"] = json!(99)), (422, "invalid_input")),
        (
            nowhere(|it| it["targets"][0]["use_private_ip"] = json!(true)),
            (422, "load_balancer_not_attached_to_network"),
        ),
        (nowhere(|it| it["targets"][1]["server"]["id"] = json!(1)), (409, "target_already_defined")),
        (nowhere(|it| it["services"] = json!([service(80, 1), service(80, 2)])), (409, "source_port_already_used")),
    ] {
        let answer = send(&simulator, "POST", "/v1/load_balancers", &body).await.unwrap();
        assert_eq!(answer.code(), code, "{body}");
    }
    assert!(simulator.load_balancers().all().is_empty());
}

#[tokio::test]
async fn what_nothing_published_refuses_is_taken() {
    let simulator = simulator(Options::instant(), 2).await;
    let mut unusual = desired(&"name ".repeat(60));
    unusual["services"][0]["health_check"] = json!({
        "protocol": "http", "port": 30080, "interval": 1, "timeout": 600, "retries": 40,
        "http": { "domain": null, "path": "healthz" },
    });
    let id = create(&simulator, &unusual).await;
    let made = show(&simulator, id).await;
    let check = &made["services"][0]["health_check"];
    assert_eq!((&check["interval"], &check["timeout"], &check["retries"]), (&json!(1), &json!(600), &json!(40)));
    assert_eq!((&made["name"], &check["http"]["path"]), (&unusual["name"], &json!("healthz")));
    unusual["name"] = json!("another");
    unusual["services"][0]["health_check"]["http"]["path"] = json!("/a b");
    let refused = send(&simulator, "POST", "/v1/load_balancers", &unusual).await.unwrap();
    assert_eq!(refused.code(), (422, "invalid_input"), "spaces are");
}
