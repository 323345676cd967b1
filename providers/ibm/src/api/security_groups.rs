//! Security groups of the VPC: their rules, and what they guard.

use aerostat_sdk::http::Request;
use aerostat_sdk::{Method, Result};
use serde::{Deserialize, Serialize};

use super::{at, get, lists};

/// Every address.
pub(crate) const EVERYWHERE: &str = "0.0.0.0/0";

/// A security group with its rules.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct VpcSecurityGroup {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) rules: Vec<LiveVpcRule>,
}

/// A rule that is there, with what a rule may have beside.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct LiveVpcRule {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) name: String,
    /// The addresses of its own side that it is for: all of them, unless somebody chose some.
    #[serde(default)]
    local: VpcRemote,
    #[serde(flatten)]
    rule: VpcRule,
}

/// A rule: what it lets in or out, from or to one network.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct VpcRule {
    pub(crate) direction: String,
    pub(crate) protocol: String,
    pub(crate) remote: VpcRemote,
    /// `None`: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) port_min: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    port_max: Option<u16>,
}

/// A rule that is made with a name.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct NamedVpcRule {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) rule: VpcRule,
}

/// The other side of a rule: a network or a single address. One that is another group is neither.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct VpcRemote {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) cidr_block: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    address: String,
}

impl LiveVpcRule {
    /// Whether it does as this one: one that is for a part of its own side does less.
    pub(crate) fn is(&self, rule: &VpcRule) -> bool {
        let is_for_all = self.local == VpcRemote::default() || self.local.cidr_block == EVERYWHERE;
        is_for_all && self.rule == *rule
    }
}

impl VpcRule {
    /// One without ports.
    pub(crate) fn new(direction: &str, protocol: &str, network: &str) -> Self {
        let remote = VpcRemote { cidr_block: network.to_owned(), ..VpcRemote::default() };
        Self { direction: direction.to_owned(), protocol: protocol.to_owned(), remote, port_min: None, port_max: None }
    }

    /// One that lets packets out to one port of an address.
    pub(crate) fn to_port(protocol: &str, address: &str, port: u16) -> Self {
        let remote = VpcRemote { address: address.to_owned(), ..VpcRemote::default() };
        Self { remote, port_min: Some(port), port_max: Some(port), ..Self::new("outbound", protocol, "") }
    }
}

/// All security groups of the VPC.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn all(vpc: &str) -> Result<Vec<VpcSecurityGroup>> {
    lists::all(&get(["security_groups"]).query("vpc.id", vpc), "security_groups")
}

/// The security group of the VPC with this name: names are unique there.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn named(vpc: &str, name: &str) -> Result<Option<VpcSecurityGroup>> {
    Ok(all(vpc)?.into_iter().find(|it| it.name == name))
}

/// The security group with this id.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn find(id: &str) -> Result<Option<VpcSecurityGroup>> {
    get(["security_groups", id]).find()
}

/// The request that makes one with all of its rules.
pub(crate) fn create(body: &impl Serialize) -> Request {
    at(Method::Post, ["security_groups"]).json(body)
}

/// The request that deletes one, which nothing may have any more.
pub(crate) fn delete(id: &str) -> Request {
    at(Method::Delete, ["security_groups", id])
}

/// The request that adds a rule.
pub(crate) fn add_rule(id: &str, rule: &impl Serialize) -> Request {
    at(Method::Post, ["security_groups", id, "rules"]).json(rule)
}

/// The request that takes a rule away.
pub(crate) fn remove_rule(id: &str, rule: &str) -> Request {
    at(Method::Delete, ["security_groups", id, "rules", rule])
}

/// The request that gives a load balancer the group.
pub(crate) fn attach(id: &str, balancer: &str) -> Request {
    at(Method::Put, ["security_groups", id, "targets", balancer])
}

/// The request that takes the group from a load balancer, which keeps another.
pub(crate) fn detach(id: &str, balancer: &str) -> Request {
    at(Method::Delete, ["security_groups", id, "targets", balancer])
}
