//! The simulated cloud with a private network, whose routes contenders make.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use tests::clouds::hetzner::{Behaviour, LIMITS, Network, Options, Route, Server, Simulator, Taking};
use tests::guests;

use crate::account::{Account, Config};
use crate::cloud::{LATENCY, name};

/// How long the network is locked by each of its changes. Nobody has published what it is; the vendor asks every 500 ms.
pub(crate) const CHANGE: Duration = Duration::from_millis(200);

/// The id of the network.
pub(crate) const NETWORK: u64 = 4711;

/// The first of the servers' ids.
const SERVERS: u64 = 1_000;

/// A simulated Hetzner that allows what the real one allows, with a network and these servers in it. Its answers are not checked: that would
/// be measured too.
pub(crate) async fn simulator(servers: usize) -> Result<Simulator> {
    let behaviour = Behaviour { actions: Taking::Time(CHANGE), ..Behaviour::default() };
    let options = Options { latency: LATENCY, limits: Some(LIMITS), behaviour, checked: false, ..Options::default() };
    let cloud = Simulator::start(options).await?;
    cloud.networks().insert(Network::new(NETWORK, "nodes"));
    for number in 0..servers {
        add_server(&cloud, number);
    }
    Ok(cloud)
}

/// Adds the server of a node.
pub(crate) fn add_server(cloud: &Simulator, number: usize) {
    cloud.servers().insert(Server::new(id(number), &name(number)).private(NETWORK, address(number)));
}

/// Takes the server of a node away.
pub(crate) fn remove_server(cloud: &Simulator, number: usize) {
    cloud.servers().remove(id(number));
}

/// The pod network of a node.
pub(crate) fn pods(number: usize) -> String {
    format!("10.244.{number}.0/24")
}

/// The route of a node's pod network.
pub(crate) fn route(number: usize) -> Route {
    Route::new(&pods(number), &address(number).to_string())
}

fn id(number: usize) -> u64 {
    SERVERS + number as u64
}

/// The address of a node in the network.
fn address(number: usize) -> Ipv4Addr {
    let [.., high, low] = (number + 256).to_be_bytes();
    Ipv4Addr::new(10, 0, high, low)
}

impl Account for Simulator {
    fn token(&self) -> &str {
        &self.token
    }

    fn page(&self) -> &'static str {
        "hetzner/README.md"
    }

    fn arguments(&self) -> Result<Vec<String>> {
        Ok(vec![
            "--cloud-provider=hcloud".to_owned(),
            format!("--base-url={}/v1", self.base_url()),
            format!("--ca-file={}", self.ca_file().display()),
            format!("--network={NETWORK}"),
        ])
    }

    fn config(&self, folder: &Path) -> Result<Config> {
        Ok(Config {
            provider: json!({
                "module": { "file": { "path": guests::HETZNER, "sha256": guests::sha256(guests::HETZNER) } },
                "settings": { "network": NETWORK.to_string() },
            }),
            endpoints: vec![json!({
                "name": "hcloud",
                "baseUrl": format!("{}/v1", self.base_url()),
                "credential": "token",
                "tls": { "caFile": self.ca_file() },
                "allow": [
                    { "methods": ["GET"], "paths": ["/servers", "/servers/*", "/actions"] },
                    { "methods": ["GET"], "paths": ["/networks", "/networks/*"] },
                    { "methods": ["POST"], "paths": ["/networks/*/actions/add_route"], "effect": "update" },
                    { "methods": ["POST"], "paths": ["/networks/*/actions/delete_route"], "effect": "detach" },
                ],
            })],
            credential: self.bearer(folder)?,
        })
    }
}
