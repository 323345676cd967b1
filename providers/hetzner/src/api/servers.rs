//! Cloud servers.

use aerostat_sdk::Result;
use aerostat_sdk::http::NumberedPage;
use serde::Deserialize;

use super::{API, PAGES, WithName};

/// One server.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Server {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) server_type: WithName,
    pub(crate) location: WithName,
    pub(crate) public_net: ServerPublicNet,
    #[serde(default)]
    pub(crate) private_net: Vec<ServerPrivateNet>,
}

/// Its public addresses.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ServerPublicNet {
    pub(crate) ipv4: Option<ServerAddress>,
    pub(crate) ipv6: Option<ServerAddress>,
}

/// A public address; of IPv6 a network.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ServerAddress {
    pub(crate) ip: String,
}

/// Its place in a private network.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ServerPrivateNet {
    pub(crate) network: u64,
    pub(crate) ip: String,
}

impl Server {
    /// Its address in a network.
    pub(crate) fn private_ip(&self, network: u64) -> Option<&str> {
        self.private_net.iter().find(|it| it.network == network).map(|it| it.ip.as_str())
    }
}

/// The server with this id.
pub(crate) fn find(id: u64) -> Result<Option<Server>> {
    API.get(["servers", &id.to_string()]).find_in("server")
}

/// The server with exactly this name: names are unique in a project.
pub(crate) fn named(name: &str) -> Result<Option<Server>> {
    let found: Vec<Server> = API.get(["servers"]).query("name", name).send()?.json_in("servers")?;
    Ok(found.into_iter().find(|it| it.name == name))
}

/// A page of all servers of the project.
pub(crate) fn page(number: u32, size: u32) -> Result<NumberedPage<Server>> {
    PAGES.page(API.get(["servers"]).query("sort", "id:asc"), "servers", number, size)
}

/// All servers of the project.
pub(crate) fn all() -> Result<Vec<Server>> {
    PAGES.all(&API.get(["servers"]).query("sort", "id:asc"), "servers")
}
