//! Routing tables of the VPC. Each entry counts in one zone; the machine that it leads to has to let packets of others through.

use aerostat_sdk::http::Request;
use aerostat_sdk::{Change, Method, Result};
use serde::Deserialize;
use serde_json::json;

use super::instances::VpcInstance;
use super::load_balancers::MERGE_PATCH;
use super::{VpcName, at, get, lists};

/// An entry of a routing table.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct VpcTableEntry {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) destination: String,
    pub(crate) zone: VpcName,
    action: String,
    lifecycle_state: String,
    next_hop: VpcNextHop,
    /// Its maker: `user`, or `service`, which makes its own. Versions of before say nothing.
    #[serde(default)]
    origin: Option<String>,
}

/// A machine by its address, or a connection of a VPN, which has none.
#[derive(Clone, Debug, Deserialize)]
struct VpcNextHop {
    address: Option<String>,
}

impl VpcTableEntry {
    /// The address that packets are delivered to; `None` of one that does something else, or that a service has made.
    pub(crate) fn hop(&self) -> Option<&str> {
        let is_made = self.origin.as_deref().is_none_or(|it| it == "user");
        self.next_hop.address.as_deref().filter(|_| is_made && self.action == "deliver")
    }

    /// For a person: what it does.
    pub(crate) fn does(&self) -> String {
        match self.hop() {
            Some(address) => format!("leads to {address}"),
            None => format!("is one that does {}, of {}", self.action, self.origin.as_deref().unwrap_or("nobody")),
        }
    }

    /// Whether the cloud makes, changes or deletes it.
    pub(crate) fn is_changing(&self) -> bool {
        ["pending", "updating", "deleting", "waiting"].contains(&&*self.lifecycle_state)
    }

    /// Why packets do not go there; `None` while they do, or will.
    pub(crate) fn failure(&self) -> Option<String> {
        let has_failed = ["failed", "suspended"].contains(&&*self.lifecycle_state);
        has_failed.then(|| format!("the cloud says that entry {} is {}", self.name, self.lifecycle_state))
    }
}

/// A table of a VPC: where its entries are in the API.
#[derive(Clone, Debug)]
pub(crate) struct VpcTable {
    pub(crate) vpc: String,
    pub(crate) id: String,
}

impl VpcTable {
    fn path<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [&["vpcs", &*self.vpc, "routing_tables", &*self.id, "routes"], more].concat()
    }

    /// All entries, whoever made them.
    ///
    /// # Errors
    ///
    /// Whatever the API answered: a table that was read in part is none.
    pub(crate) fn routes(&self) -> Result<Vec<VpcTableEntry>> {
        lists::all(&get(self.path(&[])), "routes")
    }

    /// The request that makes an entry.
    pub(crate) fn create(&self, name: &str, destination: &str, zone: &str, hop: &str) -> Request {
        let body = json!({
            "name": name, "destination": destination, "zone": { "name": zone }, "action": "deliver", "next_hop": { "address": hop },
        });
        at(Method::Post, self.path(&[])).json(&body)
    }

    /// The request that leads an entry elsewhere.
    pub(crate) fn lead(&self, route: &str, hop: &str) -> Request {
        let body = json!({ "next_hop": { "address": hop } });
        at(Method::Patch, self.path(&[route])).json(&body).header("content-type", MERGE_PATCH)
    }

    /// The request that deletes an entry.
    pub(crate) fn delete(&self, route: &str) -> Request {
        at(Method::Delete, self.path(&[route]))
    }
}

/// Lets the primary interface of an instance take and send packets with others' addresses. Done twice it is done once. `Busy` while the machine
/// or its interface is changing.
///
/// # Errors
///
/// Whatever else the API answered.
pub(crate) fn forward(instance: &VpcInstance) -> Result<Change<()>> {
    let body = json!({ "allow_ip_spoofing": true });
    let path = match (instance.attached(), instance.target()) {
        (Some(own), _) => vec!["virtual_network_interfaces", own],
        (None, Some(interface)) => vec!["instances", &instance.id, "network_interfaces", interface],
        (None, None) => {
            return Err(aerostat_sdk::Error::unavailable(format_args!(
                "instance {} shows no primary network interface",
                instance.id
            )));
        }
    };
    let answer = at(Method::Patch, path).json(&body).header("content-type", MERGE_PATCH).change()?;
    Ok(answer.map(drop))
}
