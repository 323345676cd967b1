//! Load balancers, with their listeners, pools and members.

use aerostat_sdk::http::Request;
use aerostat_sdk::{Method, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{VpcId, at, get, lists};

/// The content type of a change.
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";

/// A load balancer. It has no field for its VPC: that is the one of its subnets.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct VpcBalancer {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) hostname: String,
    pub(crate) is_public: bool,
    pub(crate) operating_status: String,
    pub(crate) provisioning_status: String,
    #[serde(default)]
    pub(crate) subnets: Vec<VpcId>,
    /// References without what they listen to.
    #[serde(default)]
    pub(crate) listeners: Vec<VpcId>,
    /// References without their members.
    #[serde(default)]
    pub(crate) pools: Vec<VpcPoolReference>,
    #[serde(default)]
    pub(crate) security_groups: Vec<VpcGroupReference>,
    profile: Option<VpcBalancerProfile>,
    udp_supported: Option<bool>,
    #[serde(default)]
    public_ips: Vec<VpcMemberTarget>,
}

/// A security group that a load balancer has.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct VpcGroupReference {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// The kind of a load balancer, in the words of the cloud.
#[derive(Clone, Debug, Deserialize)]
struct VpcBalancerProfile {
    #[serde(default)]
    family: String,
}

/// A listener: a port that clients dial, or the first of several.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct VpcListener {
    pub(crate) id: String,
    pub(crate) port: u16,
    pub(crate) protocol: String,
    pub(crate) default_pool: Option<VpcPoolReference>,
    pub(crate) idle_connection_timeout: Option<u32>,
    pub(crate) connection_limit: Option<u32>,
    port_max: Option<u16>,
}

/// A pool as others refer to it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct VpcPoolReference {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// A pool: nodes that traffic of one port goes to.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct VpcPool {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) health_monitor: VpcMonitor,
    pub(crate) algorithm: String,
    pub(crate) protocol: String,
    #[serde(default)]
    pub(crate) proxy_protocol: String,
    #[serde(default)]
    pub(crate) members: Vec<VpcId>,
}

/// The check of a pool's members.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct VpcMonitor {
    pub(crate) delay: u32,
    pub(crate) max_retries: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) port: Option<u16>,
    pub(crate) timeout: u32,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url_path: Option<String>,
}

/// A member of a pool.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub(crate) struct VpcMember {
    pub(crate) port: u16,
    pub(crate) target: VpcMemberTarget,
}

/// The target of a member. One that somebody made by hand may have no address.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub(crate) struct VpcMemberTarget {
    #[serde(default)]
    pub(crate) address: String,
}

impl VpcPool {
    /// The value of a field that is one word.
    pub(crate) fn word(&self, field: &str) -> &str {
        match field {
            "algorithm" => &self.algorithm,
            "protocol" => &self.protocol,
            _ => &self.proxy_protocol,
        }
    }
}

impl VpcListener {
    /// The last port that it takes.
    pub(crate) fn last(&self) -> u16 {
        self.port_max.unwrap_or(self.port)
    }
}

impl VpcBalancer {
    /// Whether its profile says that it is a network load balancer.
    pub(crate) fn is_network(&self) -> bool {
        self.profile.as_ref().is_some_and(|it| it.family == "network")
    }

    /// Whether its profile takes UDP. One that does not say so is asked to: the cloud refuses it, if anybody does.
    pub(crate) fn takes_udp(&self) -> bool {
        self.udp_supported != Some(false)
    }

    /// The public addresses that it keeps: those of an application load balancer change.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &str> {
        self.public_addresses().filter(|_| self.is_network())
    }

    /// The public addresses that it has now.
    pub(crate) fn public_addresses(&self) -> impl Iterator<Item = &str> {
        self.public_ips.iter().map(|it| &*it.address)
    }

    /// For a person: its id, and its name.
    pub(crate) fn title(&self) -> String {
        format!("load balancer {} ({})", self.id, self.name)
    }
}

/// All load balancers of the region: there is no filter.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn all() -> Result<Vec<VpcBalancer>> {
    lists::all(&get(["load_balancers"]), "load_balancers")
}

/// A page of them, and the token of the next one.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn page(start: Option<&str>, limit: u32) -> Result<(Vec<VpcBalancer>, Option<String>)> {
    lists::page(get(["load_balancers"]), "load_balancers", start, limit)
}

/// The load balancer with this id.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn find(id: &str) -> Result<Option<VpcBalancer>> {
    get(["load_balancers", id]).find()
}

/// Its listeners.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn listeners(id: &str) -> Result<Vec<VpcListener>> {
    get(["load_balancers", id, "listeners"]).send()?.json_in("listeners")
}

/// Its pools.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn pools(id: &str) -> Result<Vec<VpcPool>> {
    get(["load_balancers", id, "pools"]).send()?.json_in("pools")
}

/// The members of a pool.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn members(id: &str, pool: &str) -> Result<Vec<VpcMember>> {
    get(["load_balancers", id, "pools", pool, "members"]).send()?.json_in("members")
}

/// The request that makes one, with everything in it.
pub(crate) fn create(body: &impl Serialize) -> Request {
    at(Method::Post, ["load_balancers"]).json(body)
}

/// The request that deletes one.
pub(crate) fn delete(id: &str) -> Request {
    at(Method::Delete, ["load_balancers", id])
}

/// The request that gives it another name.
pub(crate) fn rename(id: &str, name: &str) -> Request {
    at(Method::Patch, ["load_balancers", id]).json(&json!({ "name": name })).header("content-type", MERGE_PATCH)
}

/// The request that makes a listener or a pool of it: `part` is their name in paths.
pub(crate) fn add(id: &str, part: &str, body: &impl Serialize) -> Request {
    at(Method::Post, ["load_balancers", id, part]).json(body)
}

/// The request that changes a listener or a pool of it.
pub(crate) fn change(id: &str, part: &str, own: &str, body: &impl Serialize) -> Request {
    at(Method::Patch, ["load_balancers", id, part, own]).json(body).header("content-type", MERGE_PATCH)
}

/// The request that takes a listener or a pool away from it.
pub(crate) fn remove(id: &str, part: &str, own: &str) -> Request {
    at(Method::Delete, ["load_balancers", id, part, own])
}

/// The request that gives a pool other members, all of them.
pub(crate) fn replace_members(id: &str, pool: &str, body: &impl Serialize) -> Request {
    at(Method::Put, ["load_balancers", id, "pools", pool, "members"]).json(body)
}
