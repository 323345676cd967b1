//! The simulated Hetzner, checked against the vendor's description.

mod access;
mod actions;
mod certificates;
mod changes;
mod creation;
mod limits;
mod networks;
mod robot;
mod servers;

use std::net::Ipv4Addr;

use serde_json::{Value, json};
use tests::clouds::hetzner::{Network, Options, Server, Simulator};

use crate::client::{Answer, bare, get, send};

/// The network that servers of [`simulator`] are in.
const NETWORK: u64 = 4711;

/// A simulator with a network, and with servers 1 to `servers` in it, named `worker-<id>`.
async fn simulator(options: Options, servers: u64) -> Simulator {
    let simulator = Simulator::start(options).await.unwrap();
    for account in [simulator.account(), simulator.other_account()] {
        account.networks().insert(Network::new(NETWORK, "net"));
    }
    for id in 1..=servers {
        let ip = Ipv4Addr::new(10, 0, 0, u8::try_from(id + 1).unwrap());
        simulator.servers().insert(Server::new(id, &format!("worker-{id}")).private(NETWORK, ip));
    }
    simulator
}

/// A service as a request says it.
fn service(listen_port: u16, destination_port: u16) -> Value {
    json!({
        "listen_port": listen_port,
        "destination_port": destination_port,
        "protocol": "tcp",
        "proxyprotocol": false,
        "health_check": {
            "protocol": "tcp", "port": destination_port, "interval": 15, "timeout": 10, "retries": 3,
        },
    })
}

/// The body of a creation in `fsn1`: port 80, and the servers 1 and 2 at their public addresses.
fn desired(name: &str) -> Value {
    json!({
        "name": name,
        "load_balancer_type": "lb11",
        "location": "fsn1",
        "services": [service(80, 30080)],
        "targets": [{ "type": "server", "server": { "id": 1 } }, { "type": "server", "server": { "id": 2 } }],
    })
}

/// Creates a load balancer. Returns its id.
async fn create(simulator: &Simulator, desired: &Value) -> u64 {
    let answer = send(simulator, "POST", "/v1/load_balancers", desired).await.unwrap();
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body["load_balancer"]["id"].as_u64().unwrap()
}

/// A load balancer as it is shown now.
async fn show(simulator: &Simulator, id: u64) -> Value {
    let answer = get(simulator, &format!("/v1/load_balancers/{id}")).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["load_balancer"].clone()
}

/// Asks for an action of a load balancer. Null is no body.
async fn act(simulator: &Simulator, id: u64, command: &str, body: &Value) -> Answer {
    let path = format!("/v1/load_balancers/{id}/actions/{command}");
    if body.is_null() {
        return bare(simulator, "POST", &path).await.unwrap();
    }
    send(simulator, "POST", &path, body).await.unwrap()
}

/// Asks for an action of the network with a route.
async fn route(simulator: &Simulator, command: &str, destination: &str, gateway: &str) -> Answer {
    let path = format!("/v1/networks/{NETWORK}/actions/{command}");
    send(simulator, "POST", &path, &json!({ "destination": destination, "gateway": gateway })).await.unwrap()
}

/// The id of the action in an answer.
fn action(answer: &Answer) -> u64 {
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert_eq!(answer.body["action"]["status"], "running");
    answer.body["action"]["id"].as_u64().unwrap()
}
