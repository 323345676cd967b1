//! Security groups of Neutron, and their rules.

use serde_json::{Value, json};

use crate::simulator::Answer;

use super::objects::{create as create_object, found, over_quota, wanted, write};
use crate::clouds::openstack::errors::{self, Refused};
use crate::clouds::openstack::kind::Kind;
use crate::clouds::openstack::world::{World, text};

/// The fields by which two rules are one.
const SAME: [&str; 9] = [
    "security_group_id",
    "direction",
    "ethertype",
    "protocol",
    "port_range_min",
    "port_range_max",
    "remote_ip_prefix",
    "remote_group_id",
    "remote_address_group_id",
];

/// `POST /security-groups`: with the two rules that let everything out.
pub(super) fn create(world: &mut World, body: &Value) -> Result<Answer, Refused> {
    let asked = wanted(body, Kind::SecurityGroup)?;
    if !world.allows(Kind::SecurityGroup, 1) {
        return Err(over_quota("security_group"));
    }
    let id = uuid::Uuid::new_v4().to_string();
    let group = json!({
        "id": id,
        "name": text(asked, "name"),
        "description": text(asked, "description"),
        "stateful": asked.get("stateful").unwrap_or(&json!(true)),
        "shared": false,
    });
    for family in ["IPv4", "IPv6"] {
        let rule = json!({ "security_group_id": id, "direction": "egress", "ethertype": family });
        let mut rule = complete(&rule);
        rule["description"] = Value::Null;
        create_object(world, Kind::SecurityGroupRule, rule);
    }
    create_object(world, Kind::SecurityGroup, group);
    let made = found(world, Kind::SecurityGroup, &id)?;
    Ok(Answer::created(&json!({ "security_group": super::objects::presented(world, Kind::SecurityGroup, made) })))
}

/// `PUT /security-groups/{id}`.
pub(super) fn update(world: &mut World, id: &str, body: &Value) -> Result<Answer, Refused> {
    let fields = wanted(body, Kind::SecurityGroup)?.as_object().into_iter().flatten();
    let fields: Vec<_> = fields.map(|(key, value)| (key.as_str(), value.clone())).collect();
    write(world, None, (Kind::SecurityGroup, id), &fields)
}

/// `DELETE /security-groups/{id}`: not as long as a port has it.
pub(super) fn delete(world: &mut World, id: &str) -> Result<Answer, Refused> {
    found(world, Kind::SecurityGroup, id)?;
    let has = |port: &Value| port["security_groups"].as_array().is_some_and(|it| it.contains(&json!(id)));
    if world.all(Kind::Port).any(has) {
        return Err(errors::neutron(409, "SecurityGroupInUse", &format!("Security Group {id} in use.")));
    }
    for rule in world.ids(Kind::SecurityGroupRule, |it| text(it, "security_group_id") == id) {
        world.remove(Kind::SecurityGroupRule, &rule);
    }
    world.remove(Kind::SecurityGroup, id);
    Ok(Answer::no_content())
}

/// `POST /security-group-rules`.
pub(super) fn create_rule(world: &mut World, body: &Value) -> Result<Answer, Refused> {
    let rule = complete(wanted(body, Kind::SecurityGroupRule)?);
    found(world, Kind::SecurityGroup, text(&rule, "security_group_id"))?;
    if !world.allows(Kind::SecurityGroupRule, 1) {
        return Err(over_quota("security_group_rule"));
    }
    let same = |it: &&Value| SAME.iter().all(|key| it[*key] == rule[*key]);
    if let Some(same) = world.all(Kind::SecurityGroupRule).find(same) {
        let message = format!("Security group rule already exists. Rule id is {}.", text(same, "id"));
        return Err(errors::neutron(409, "SecurityGroupRuleExists", &message));
    }
    Ok(create_object(world, Kind::SecurityGroupRule, rule))
}

/// `DELETE /security-group-rules/{id}`.
pub(super) fn delete_rule(world: &mut World, id: &str) -> Result<Answer, Refused> {
    found(world, Kind::SecurityGroupRule, id)?;
    world.remove(Kind::SecurityGroupRule, id);
    Ok(Answer::no_content())
}

/// A rule with all its fields.
fn complete(rule: &Value) -> Value {
    let mut complete = json!({
        "description": text(rule, "description"),
        "ethertype": rule.get("ethertype").unwrap_or(&json!("IPv4")),
        "normalized_cidr": rule.get("remote_ip_prefix").unwrap_or(&Value::Null),
        "belongs_to_default_sg": false,
    });
    for key in SAME {
        if key != "ethertype" {
            complete[key] = rule[key].clone();
        }
    }
    complete
}
