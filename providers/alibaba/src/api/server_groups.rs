//! Groups of the machines that a listener of a Classic Load Balancer sends to.

use serde_json::{Value, json};

use super::errors::AcsRefusal;
use super::fields::{items, text};
use super::product::SLB;

/// Machines in the request that makes a group: the most that the API takes.
pub(crate) const FIRST: usize = 20;
/// Machines in another request: as many as the vendor's controller sends.
pub(crate) const BATCH: usize = 40;

/// A group, without its machines.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct SlbGroup {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// A machine in a group, at a port.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct SlbServer {
    pub(crate) instance: String,
    pub(crate) port: u16,
    pub(crate) weight: u32,
    pub(crate) description: String,
}

impl SlbServer {
    fn from_fields(shown: &Value) -> Option<Self> {
        Some(Self {
            instance: text(shown, "ServerId"),
            port: shown["Port"].as_u64()?.try_into().ok()?,
            weight: shown["Weight"].as_u64()?.try_into().ok()?,
            description: text(shown, "Description"),
        })
    }

    fn body(&self) -> Value {
        let Self { instance, port, weight, description } = self;
        json!({ "ServerId": instance, "Port": port, "Weight": weight, "Type": "ecs", "Description": description })
    }
}

/// All groups of a load balancer.
pub(crate) fn all(region: &str, balancer: &str) -> Result<Vec<SlbGroup>, AcsRefusal> {
    let shown = SLB.call("DescribeVServerGroups", region, &[("LoadBalancerId", balancer)])?;
    let group = |it: &Value| SlbGroup { id: text(it, "VServerGroupId"), name: text(it, "VServerGroupName") };
    Ok(items(&shown, "VServerGroups", "VServerGroup").iter().map(group).collect())
}

/// The machines of a group.
pub(crate) fn servers(region: &str, group: &str) -> Result<Vec<SlbServer>, AcsRefusal> {
    let shown = SLB.call("DescribeVServerGroupAttribute", region, &[("VServerGroupId", group)])?;
    Ok(items(&shown, "BackendServers", "BackendServer").iter().filter_map(SlbServer::from_fields).collect())
}

/// Makes a group with these machines, at most [`FIRST`]. Answers its id.
pub(crate) fn create(region: &str, balancer: &str, name: &str, servers: &[SlbServer]) -> Result<String, AcsRefusal> {
    let words = words(servers);
    let mut pairs = vec![("LoadBalancerId", balancer), ("VServerGroupName", name)];
    if !servers.is_empty() {
        pairs.push(("BackendServers", &*words));
    }
    SLB.call("CreateVServerGroup", region, &pairs).map(|made| text(&made, "VServerGroupId"))
}

/// Changes the machines of a group, at most [`BATCH`] of them: this action.
pub(crate) fn change(region: &str, group: &str, action: &str, servers: &[SlbServer]) -> Result<(), AcsRefusal> {
    let words = words(servers);
    SLB.call(action, region, &[("VServerGroupId", group), ("BackendServers", &words)]).map(drop)
}

/// Deletes a group. One that is gone counts as deleted.
pub(crate) fn delete(region: &str, group: &str) -> Result<(), AcsRefusal> {
    match SLB.call("DeleteVServerGroup", region, &[("VServerGroupId", group)]) {
        Err(refusal) if refusal.code == "InvalidVServerGroupId.NotFound" => Ok(()),
        done => done.map(drop),
    }
}

fn words(servers: &[SlbServer]) -> String {
    Value::from(servers.iter().map(SlbServer::body).collect::<Vec<_>>()).to_string()
}
