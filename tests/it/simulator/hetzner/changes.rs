//! Actions that change load balancers.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value, json};
use tests::clouds::hetzner::{Certificate, Network, Options, Server, Simulator, Target};

use super::{NETWORK, act, action, create, desired, service, show, simulator};

/// A simulator with a load balancer, and its id.
async fn with_one() -> (Simulator, u64) {
    let simulator = simulator(Options::instant(), 3).await;
    let id = create(&simulator, &desired("web")).await;
    (simulator, id)
}

/// Asks for an action that succeeds, and shows the load balancer afterwards.
async fn changed(simulator: &Simulator, id: u64, command: &str, body: &Value) -> Value {
    action(&act(simulator, id, command, body).await);
    show(simulator, id).await
}

#[tokio::test]
async fn services_are_added_changed_and_taken_away() {
    let (simulator, id) = with_one().await;
    let made = changed(&simulator, id, "add_service", &service(443, 30443)).await;
    assert_eq!(made["services"].as_array().unwrap().len(), 2);
    let update = json!({ "listen_port": 443, "proxyprotocol": true, "health_check": { "retries": 5 } });
    let updated = changed(&simulator, id, "update_service", &update).await["services"][1].clone();
    assert_eq!((&updated["proxyprotocol"], &updated["destination_port"]), (&json!(true), &json!(30443)));
    assert_eq!((&updated["health_check"]["retries"], &updated["health_check"]["interval"]), (&json!(5), &json!(15)));
    let left = changed(&simulator, id, "delete_service", &json!({ "listen_port": 80 })).await;
    assert_eq!(left["services"][0]["listen_port"], 443);

    let again = act(&simulator, id, "add_service", &service(443, 1)).await;
    assert_eq!(again.code(), (409, "source_port_already_used"));
    let absent = act(&simulator, id, "delete_service", &json!({ "listen_port": 80 })).await;
    assert_eq!(absent.code(), (404, "not_found"));
    let absent = act(&simulator, id, "update_service", &json!({ "listen_port": 80 })).await;
    assert_eq!(absent.code(), (404, "not_found"));
}

#[tokio::test]
async fn a_redirect_takes_port_80() {
    let (simulator, id) = with_one().await;
    simulator.certificates().insert(Certificate::new(7, "www"));
    let mut https = service(443, 30443);
    https["protocol"] = json!("https");
    https["http"] = json!({ "certificates": [7], "redirect_http": true });
    assert_eq!(act(&simulator, id, "add_service", &https).await.code(), (409, "source_port_already_used"));
    changed(&simulator, id, "delete_service", &json!({ "listen_port": 80 })).await;
    changed(&simulator, id, "add_service", &https).await;
    assert_eq!(act(&simulator, id, "add_service", &service(80, 1)).await.code(), (409, "source_port_already_used"));
    https["listen_port"] = json!(8443);
    assert_eq!(act(&simulator, id, "add_service", &https).await.code(), (409, "source_port_already_used"));
    https["http"] = json!({ "certificates": [8] });
    assert_eq!(act(&simulator, id, "add_service", &https).await.code(), (422, "invalid_input"));
}

#[tokio::test]
async fn targets_are_added_and_removed() {
    let (simulator, id) = with_one().await;
    let third = json!({ "type": "server", "server": { "id": 3 }, "use_private_ip": false });
    changed(&simulator, id, "add_target", &third).await;
    assert_eq!(act(&simulator, id, "add_target", &third).await.code(), (409, "target_already_defined"));
    let removed = changed(&simulator, id, "remove_target", &json!({ "type": "server", "server": { "id": 1 } })).await;
    assert_eq!(removed["targets"].as_array().unwrap().len(), 2);
    let absent = act(&simulator, id, "remove_target", &json!({ "type": "server", "server": { "id": 1 } })).await;
    assert_eq!(absent.code(), (404, "not_found"));

    simulator.servers().insert(Server::new(9, "inside").ipv4(None));
    let inside = act(&simulator, id, "add_target", &json!({ "type": "server", "server": { "id": 9 } })).await;
    assert_eq!(inside.code(), (422, "missing_ipv4"));
}

#[tokio::test]
async fn an_address_is_a_target_if_it_is_the_owners() {
    let (simulator, id) = with_one().await;
    let ip = |ip: &str| json!({ "type": "ip", "ip": { "ip": ip } });
    assert_eq!(act(&simulator, id, "add_target", &ip("198.19.128.7")).await.code(), (422, "ip_not_owned"));
    assert_eq!(
        act(&simulator, id, "add_target", &ip("198.18.0.1")).await.code(),
        (422, "cloud_resource_ip_not_allowed")
    );
    simulator.account().own(IpAddr::V4(Ipv4Addr::new(198, 19, 128, 7)));
    let made = changed(&simulator, id, "add_target", &ip("198.19.128.7")).await;
    assert_eq!(made["targets"][2]["ip"]["ip"], "198.19.128.7");
    changed(&simulator, id, "remove_target", &ip("198.19.128.7")).await;
}

#[tokio::test]
async fn a_server_that_is_gone_is_no_target() {
    let (simulator, id) = with_one().await;
    simulator.servers().remove(1);
    assert_eq!(show(&simulator, id).await["targets"].as_array().unwrap().len(), 1);

    simulator.behave(|it| it.targets_stay = true);
    assert_eq!(simulator.load_balancers().get(id).unwrap().targets, [Target::server(1), Target::server(2)]);
    let gone = act(&simulator, id, "remove_target", &json!({ "type": "server", "server": { "id": 1 } })).await;
    assert_eq!(gone.code(), (422, "invalid_input"));
    assert_eq!(gone.body["error"]["details"]["fields"][0]["messages"][0], "server with ID '1' not found");
    assert_eq!(simulator.load_balancers().get(id).unwrap().targets, [Target::server(2)]);
}

#[tokio::test]
async fn a_load_balancer_is_in_one_network_at_most() {
    let (simulator, id) = with_one().await;
    let attached = changed(&simulator, id, "attach_to_network", &json!({ "network": NETWORK, "ip": "10.0.0.9" })).await;
    assert_eq!(attached["private_net"], json!([{ "network": NETWORK, "ip": "10.0.0.9" }]));
    simulator.networks().insert(Network::new(4712, "another"));
    let second = act(&simulator, id, "attach_to_network", &json!({ "network": 4712 })).await;
    assert_eq!(second.code(), (409, "load_balancer_already_attached"));

    let private = json!({ "type": "server", "server": { "id": 3 }, "use_private_ip": true });
    changed(&simulator, id, "add_target", &private).await;
    simulator.servers().insert(Server::new(4, "elsewhere").private(4712, Ipv4Addr::new(10, 0, 0, 5)));
    let elsewhere = json!({ "type": "server", "server": { "id": 4 }, "use_private_ip": true });
    assert_eq!(act(&simulator, id, "add_target", &elsewhere).await.code(), (422, "server_not_attached_to_network"));

    let detached = changed(&simulator, id, "detach_from_network", &json!({ "network": NETWORK })).await;
    assert_eq!(detached["private_net"], json!([]));
    let left: Vec<_> = detached["targets"].as_array().unwrap().iter().map(|it| it["server"]["id"].as_u64()).collect();
    assert_eq!(left, [Some(1), Some(2)], "the third was reached in the network");
    let again = act(&simulator, id, "detach_from_network", &json!({ "network": NETWORK })).await;
    assert_eq!(again.code(), (404, "not_found"));
}

#[tokio::test]
async fn an_address_in_a_network_has_to_be_free() {
    let (simulator, id) = with_one().await;
    for (body, code) in [
        (json!({ "network": NETWORK, "ip": "10.0.0.2" }), "ip_not_available"),
        (json!({ "network": NETWORK, "ip": "10.0.0.1" }), "ip_not_available"),
        (json!({ "network": NETWORK, "ip": "10.1.0.1" }), "ip_not_available"),
        (json!({ "network": NETWORK, "ip_range": "10.1.0.0/16" }), "no_subnet_available"),
    ] {
        assert_eq!(act(&simulator, id, "attach_to_network", &body).await.code(), (422, code), "{body}");
    }
    let body = json!({ "network": NETWORK, "ip_range": "10.0.0.0/16" });
    let attached = changed(&simulator, id, "attach_to_network", &body).await;
    assert_eq!(attached["private_net"][0]["ip"], "10.0.255.254");
}

#[tokio::test]
async fn the_public_interface_is_closed_where_nobody_needs_it() {
    let (simulator, id) = with_one().await;
    let close = async || act(&simulator, id, "disable_public_interface", &Value::Null).await;
    assert_eq!(close().await.code(), (422, "load_balancer_not_attached_to_network"));
    changed(&simulator, id, "attach_to_network", &json!({ "network": NETWORK })).await;
    assert_eq!(close().await.code(), (422, "targets_without_use_private_ip"));
    for server in [1, 2] {
        changed(&simulator, id, "remove_target", &json!({ "type": "server", "server": { "id": server } })).await;
    }
    action(&close().await);
    assert_eq!(show(&simulator, id).await["public_net"]["enabled"], false);
    let public = act(&simulator, id, "add_target", &json!({ "type": "server", "server": { "id": 1 } })).await;
    assert_eq!(public.code(), (422, "load_balancer_public_interface_disabled"));
    let opened = changed(&simulator, id, "enable_public_interface", &Value::Null).await;
    assert_eq!(opened["public_net"]["enabled"], true);
}

#[tokio::test]
async fn algorithm_type_and_names_are_changed() {
    let (simulator, id) = with_one().await;
    let made = changed(&simulator, id, "change_algorithm", &json!({ "type": "least_connections" })).await;
    assert_eq!(made["algorithm"]["type"], "least_connections");
    let made = changed(&simulator, id, "change_type", &json!({ "load_balancer_type": "lb21" })).await;
    assert_eq!(made["load_balancer_type"]["name"], "lb21");
    let ip = made["public_net"]["ipv4"]["ip"].clone();
    let made = changed(&simulator, id, "change_dns_ptr", &json!({ "ip": ip, "dns_ptr": "www.example.com" })).await;
    assert_eq!(made["public_net"]["ipv4"]["dns_ptr"], "www.example.com");
    let foreign = json!({ "ip": "198.51.100.1", "dns_ptr": "www.example.com" });
    assert_eq!(act(&simulator, id, "change_dns_ptr", &foreign).await.code(), (422, "invalid_input"));
}
