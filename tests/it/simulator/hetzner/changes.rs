//! Actions that change load balancers.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value, json};
use tests::clouds::hetzner::{Assets, Certificate, Network, Options, Server, Simulator, Target};

use super::{NETWORK, act, change, create, desired, server, service, show, simulator, with};
use crate::table::{Row, play, row, then};

/// A row whose simulator has three servers, and the load balancer `$id` already.
fn with_one(name: &'static str) -> Row<Assets> {
    row(name, simulator(Options::instant(), 3)).asks([create("$id", desired("web"))])
}

fn ip(ip: &str) -> Value {
    json!({ "type": "ip", "ip": { "ip": ip } })
}

fn private(id: u64) -> Value {
    with(server(id), "use_private_ip", json!(true))
}

/// Looks at the targets of a load balancer.
fn check_targets(simulator: &Simulator, id: &Value, targets: &[Target]) {
    assert_eq!(simulator.load_balancers().get(id.as_u64().unwrap()).unwrap().targets, targets);
}

#[tokio::test]
async fn services_of_a_load_balancer_at_hetzner() {
    let port = |port: u16| json!({ "listen_port": port });
    let update = json!({ "listen_port": 443, "proxyprotocol": true, "health_check": { "retries": 5 } });
    let updated = json!({
        "proxyprotocol": true, "destination_port": 30443, "health_check": { "retries": 5, "interval": 15 },
    });
    let https = |port: u16, http: Value| {
        let https = with(service(port, 30443), "protocol", json!("https"));
        act("add_service", with(https, "http", http))
    };
    let redirect = || json!({ "certificates": [7], "redirect_http": true });
    let used = "source_port_already_used";
    play([
        with_one("services are added, changed and taken away").asks([
            change("add_service", service(443, 30443)),
            show(json!({ "services": { "#": 2 } })),
            change("update_service", update),
            show(json!({ "services": [{}, updated] })),
            change("delete_service", port(80)),
            show(json!({ "services": [{ "listen_port": 443 }] })),
            act("add_service", service(443, 1)).code(409, used),
            act("delete_service", port(80)).code(404, "not_found"),
            act("update_service", port(80)).code(404, "not_found"),
        ]),
        with_one("a redirect takes port 80").asks([
            then(|it: &Simulator, _| it.certificates().insert(Certificate::new(7, "www"))),
            https(443, redirect()).code(409, used),
            change("delete_service", port(80)),
            https(443, redirect()).is(201, json!({ "action": { "status": "running" } })),
            act("add_service", service(80, 1)).code(409, used),
            https(8443, redirect()).code(409, used),
            https(8443, json!({ "certificates": [8] })).code(422, "invalid_input"),
        ]),
    ])
    .await;
}

#[tokio::test]
async fn targets_of_a_load_balancer_at_hetzner() {
    let gone = json!({ "error": {
        "code": "invalid_input", "details": { "fields": [{ "messages": ["server with ID '1' not found"] }] },
    } });
    play([
        with_one("targets are added and removed").asks([
            change("add_target", server(3)),
            act("add_target", server(3)).code(409, "target_already_defined"),
            change("remove_target", server(1)),
            show(json!({ "targets": { "#": 2 } })),
            act("remove_target", server(1)).code(404, "not_found"),
            then(|it: &Simulator, _| it.servers().insert(Server::new(9, "inside").ipv4(None))),
            act("add_target", server(9)).code(422, "missing_ipv4"),
        ]),
        with_one("an address is a target if it is the owner's").asks([
            act("add_target", ip("198.19.128.7")).code(422, "ip_not_owned"),
            act("add_target", ip("198.18.0.1")).code(422, "cloud_resource_ip_not_allowed"),
            then(|it: &Simulator, _| it.account().own(IpAddr::V4(Ipv4Addr::new(198, 19, 128, 7)))),
            change("add_target", ip("198.19.128.7")),
            show(json!({ "targets": [{}, {}, { "ip": { "ip": "198.19.128.7" } }] })),
            change("remove_target", ip("198.19.128.7")),
            show(json!({ "targets": { "#": 2 } })),
        ]),
        with_one("a server that is gone is no target").asks([
            then(|it: &Simulator, _| it.servers().remove(1)),
            show(json!({ "targets": { "#": 1 } })),
            then(|simulator: &Simulator, known| {
                simulator.behave(|it| it.targets_stay = true);
                check_targets(simulator, &known["$id"], &[Target::server(1), Target::server(2)]);
            }),
            act("remove_target", server(1)).is(422, gone),
            then(|it: &Simulator, known| check_targets(it, &known["$id"], &[Target::server(2)])),
        ]),
    ])
    .await;
}

#[tokio::test]
async fn networks_of_a_load_balancer_at_hetzner() {
    let attach = |network: u64| act("attach_to_network", json!({ "network": network }));
    let at = |name: &str, value: &str| act("attach_to_network", json!({ "network": NETWORK, name: value }));
    let begun = || json!({ "action": { "status": "running" } });
    let detach = || act("detach_from_network", json!({ "network": NETWORK }));
    let in_network = |ip: &str| show(json!({ "private_net": [{ "network": NETWORK, "ip": ip }] }));
    // The third was reached in the network.
    let left = json!({ "private_net": [], "targets": [{ "server": { "id": 1 } }, { "server": { "id": 2 } }] });
    let close = || act("disable_public_interface", Value::Null);
    let is_open = |yes: bool| show(json!({ "public_net": { "enabled": yes } }));
    play([
        with_one("a load balancer is in one network at most").asks([
            at("ip", "10.0.0.9").is(201, begun()),
            in_network("10.0.0.9"),
            then(|it: &Simulator, _| it.networks().insert(Network::new(4712, "another"))),
            attach(4712).code(409, "load_balancer_already_attached"),
            change("add_target", private(3)),
            then(|simulator: &Simulator, _| {
                let elsewhere = Server::new(4, "elsewhere").private(4712, Ipv4Addr::new(10, 0, 0, 5));
                simulator.servers().insert(elsewhere);
            }),
            act("add_target", private(4)).code(422, "server_not_attached_to_network"),
            detach().is(201, begun()),
            show(left),
            detach().code(404, "not_found"),
        ]),
        with_one("an address in a network has to be free").asks([
            at("ip", "10.0.0.2").code(422, "ip_not_available"),
            at("ip", "10.0.0.1").code(422, "ip_not_available"),
            at("ip", "10.1.0.1").code(422, "ip_not_available"),
            at("ip_range", "10.1.0.0/16").code(422, "no_subnet_available"),
            at("ip_range", "10.0.0.0/16").is(201, begun()),
            in_network("10.0.255.254"),
        ]),
        with_one("the public interface is closed where nobody needs it").asks([
            close().code(422, "load_balancer_not_attached_to_network"),
            attach(NETWORK).is(201, begun()),
            show(json!({})),
            close().code(422, "targets_without_use_private_ip"),
            change("remove_target", server(1)),
            show(json!({})),
            change("remove_target", server(2)),
            show(json!({})),
            close().is(201, begun()),
            is_open(false),
            act("add_target", server(1)).code(422, "load_balancer_public_interface_disabled"),
            change("enable_public_interface", Value::Null),
            is_open(true),
        ]),
    ])
    .await;
}

#[tokio::test]
async fn attributes_of_a_load_balancer_at_hetzner() {
    let named = |ip: &str| json!({ "ip": ip, "dns_ptr": "www.example.com" });
    play([with_one("algorithm, type and names are changed").asks([
        change("change_algorithm", json!({ "type": "least_connections" })),
        show(json!({ "algorithm": { "type": "least_connections" } })),
        change("change_type", json!({ "load_balancer_type": "lb21" })),
        show(json!({ "load_balancer_type": { "name": "lb21" }, "public_net": { "ipv4": { "ip": "$ip" } } })),
        change("change_dns_ptr", named("$ip")),
        show(json!({ "public_net": { "ipv4": { "dns_ptr": "www.example.com" } } })),
        act("change_dns_ptr", named("198.51.100.1")).code(422, "invalid_input"),
    ])])
    .await;
}
