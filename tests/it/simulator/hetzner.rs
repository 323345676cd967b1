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
use tests::clouds::hetzner::{Behaviour, Network, Options, Server, Simulator};
use tests::simulator::Cloud;

use crate::table::{Step, get, post};

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

/// A simulator that behaves like this, with two servers.
async fn behaving(behaviour: Behaviour) -> Simulator {
    simulator(Options { behaviour, ..Options::default() }, 2).await
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

/// A server as a target.
fn server(id: u64) -> Value {
    json!({ "type": "server", "server": { "id": id } })
}

/// The body of a creation in `fsn1`: port 80, and the servers 1 and 2 at their public addresses.
fn desired(name: &str) -> Value {
    json!({
        "name": name,
        "load_balancer_type": "lb11",
        "location": "fsn1",
        "services": [service(80, 30080)],
        "targets": [server(1), server(2)],
    })
}

/// Another value for a member.
fn with(mut object: Value, name: &str, value: Value) -> Value {
    object[name] = value;
    object
}

/// Asks for a load balancer.
fn want<C: Cloud>(desired: Value) -> Step<C> {
    post("/v1/load_balancers", desired)
}

/// Creates a load balancer, and remembers its id under this name.
fn create<C: Cloud>(id: &str, desired: Value) -> Step<C> {
    want(desired).is(201, json!({ "load_balancer": { "id": id } }))
}

/// A load balancer as it is shown now.
fn show<C: Cloud>(expected: Value) -> Step<C> {
    get("/v1/load_balancers/$id").is(200, json!({ "load_balancer": expected }))
}

/// Asks for an action of the load balancer `$id`. Null is no body.
fn act<C: Cloud>(command: &str, body: Value) -> Step<C> {
    post(format!("/v1/load_balancers/$id/actions/{command}"), body)
}

/// Asks for an action that begins.
fn change<C: Cloud>(command: &str, body: Value) -> Step<C> {
    act(command, body).is(201, json!({ "action": { "status": "running" } }))
}

/// Asks for an action of the network with a route.
fn route<C: Cloud>(command: &str, destination: &str, gateway: &str) -> Step<C> {
    let body = json!({ "destination": destination, "gateway": gateway });
    post(format!("/v1/networks/{NETWORK}/actions/{command}"), body)
        .is(201, json!({ "action": { "status": "running" } }))
}
