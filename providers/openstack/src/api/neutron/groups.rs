//! Security groups and their rules.

use aerostat_sdk::{Change, Result};
use openstack_api::fields::{FromFields, number, object, objects, text, word};
use openstack_api::{NEUTRON, errors};
use serde_json::{Value, json};

/// A security group.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NeutronGroup {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// A rule of a security group.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GroupRule {
    pub(crate) id: String,
    pub(crate) traffic: RuleTraffic,
}

/// The traffic that a rule lets in or out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RuleTraffic {
    /// "ingress" or "egress".
    pub(crate) direction: String,
    /// "IPv4" or "IPv6".
    pub(crate) ethertype: String,
    /// "tcp" and the like.
    pub(crate) protocol: Option<String>,
    pub(crate) port_range_min: Option<u16>,
    pub(crate) port_range_max: Option<u16>,
    pub(crate) remote_ip_prefix: Option<String>,
}

impl FromFields for NeutronGroup {
    fn from_fields(shown: &Value) -> Option<Self> {
        Some(Self { id: word(shown, "id")?, name: text(shown, "name") })
    }
}

impl FromFields for GroupRule {
    fn from_fields(shown: &Value) -> Option<Self> {
        let traffic = RuleTraffic {
            direction: text(shown, "direction"),
            ethertype: text(shown, "ethertype"),
            protocol: word(shown, "protocol"),
            port_range_min: number(shown, "port_range_min"),
            port_range_max: number(shown, "port_range_max"),
            remote_ip_prefix: word(shown, "remote_ip_prefix"),
        };
        Some(Self { id: word(shown, "id")?, traffic })
    }
}

/// The security groups with this name.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn named(name: &str) -> Result<Vec<NeutronGroup>> {
    objects(
        &NEUTRON.get(["security-groups"]).query("name", name).query("fields", "id").query("fields", "name"),
        "security_groups",
    )
}

/// All security groups of the project.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn all() -> Result<Vec<NeutronGroup>> {
    objects(&NEUTRON.get(["security-groups"]).query("fields", "id").query("fields", "name"), "security_groups")
}

/// Makes a security group.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn make(name: &str, description: &str) -> Result<NeutronGroup> {
    let body = json!({ "security_group": { "description": description, "name": name } });
    object(&NEUTRON.post(["security-groups"]).json(&body).send()?, "security_group")
}

/// Deletes a security group.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn delete(id: &str) -> Result<Change<()>> {
    let response = NEUTRON.delete(["security-groups", id]).answer()?;
    if errors::neutron_type(&response) == "SecurityGroupInUse" {
        return Ok(Change::Busy(response.complaint()));
    }
    if response.status() == 404 {
        return Ok(Change::Done(()));
    }
    response.accepted().map(|_| Change::Done(()))
}

/// The rules of a security group.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn rules(group: &str) -> Result<Vec<GroupRule>> {
    objects(&NEUTRON.get(["security-group-rules"]).query("security_group_id", group), "security_group_rules")
}

/// Makes a rule; one that is there already is no error.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn make_rule(group: &str, traffic: &RuleTraffic) -> Result<()> {
    let body = json!({ "security_group_rule": {
        "direction": traffic.direction,
        "ethertype": traffic.ethertype,
        "port_range_max": traffic.port_range_max,
        "port_range_min": traffic.port_range_min,
        "protocol": traffic.protocol,
        "remote_ip_prefix": traffic.remote_ip_prefix,
        "security_group_id": group,
    } });
    let response = NEUTRON.post(["security-group-rules"]).json(&body).answer()?;
    if errors::neutron_type(&response) == "SecurityGroupRuleExists" {
        return Ok(());
    }
    response.accepted().map(drop)
}

/// Deletes a rule.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn delete_rule(id: &str) -> Result<()> {
    NEUTRON.delete(["security-group-rules", id]).send_or_gone()
}
