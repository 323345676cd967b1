//! Objects of Neutron: how each kind is found, made and changed.

use serde_json::{Value, json};

use crate::clouds::openstack::errors::{self, Refused, under};
use crate::clouds::openstack::kind::Kind;
use crate::clouds::openstack::service::Service;
use crate::clouds::openstack::world::{World, shown, text};
use crate::simulator::{Answer, Recorded};

/// An object of whoever asks, or one that is there for all.
pub(super) fn found<'a>(world: &'a World, kind: Kind, id: &str) -> Result<&'a Value, Refused> {
    let seen = |it: &&Value| text(it, "project_id") == world.project || is_for_all(it);
    world.get(kind, id).filter(seen).ok_or_else(|| not_found(kind, id))
}

/// Checks `If-Match` before a change.
pub(super) fn matched(request: &Recorded, object: &Value) -> Result<(), Refused> {
    let header = request.headers.get("if-match").and_then(|it| it.to_str().ok());
    let Some(wanted) = header.and_then(|it| it.strip_prefix("revision_number=")) else { return Ok(()) };
    let current = object["revision_number"].as_u64().unwrap_or_default();
    if wanted.parse() == Ok(current) {
        return Ok(());
    }
    let message = format!("Constrained to {wanted}, but current revision is {current}");
    Err(errors::neutron(412, "RevisionNumberConstraintFailed", &message))
}

/// Writes fields of an object under `If-Match`, and counts its revision if one differs. Answers the object.
pub(super) fn write(
    world: &mut World,
    request: Option<&Recorded>,
    (kind, id): (Kind, &str),
    fields: &[(&str, Value)],
) -> Result<Answer, Refused> {
    let object = found(world, kind, id)?;
    if fields.iter().any(|(key, value)| object[*key] != *value) {
        if let Some(request) = request {
            matched(request, object)?;
        }
        let stamp = world.stamp();
        if let Some(object) = world.get_mut(kind, id) {
            fields.iter().for_each(|(key, value)| object[*key] = value.clone());
            let revision = object["revision_number"].as_u64().unwrap_or_default();
            object["revision_number"] = json!(revision + 1);
            object["updated_at"] = zulu(&stamp);
        }
    }
    Ok(Answer::ok(&json!({ kind.one(): presented(world, kind, found(world, kind, id)?) })))
}

/// Adds an object with what all of them have. Answers it.
pub(super) fn create(world: &mut World, kind: Kind, mut object: Value) -> Answer {
    let stamp = zulu(&world.stamp());
    for (key, value) in [("revision_number", json!(1)), ("created_at", stamp.clone()), ("updated_at", stamp)] {
        object[key] = value;
    }
    if object["tags"].is_null() && kind != Kind::SecurityGroupRule {
        object["tags"] = json!([]);
    }
    let id = world.insert(kind, object);
    let made = world.get(kind, &id).expect("it was made a moment ago");
    Answer::created(&json!({ kind.one(): presented(world, kind, made) }))
}

/// An object as Neutron shows it: a group with its rules.
pub(super) fn presented(world: &World, kind: Kind, object: &Value) -> Value {
    let mut whole = shown(object);
    if kind == Kind::SecurityGroup {
        let rules = world.with(Kind::SecurityGroupRule, "security_group_id", text(object, "id"));
        let inside = rules.enumerate().map(|(number, rule)| {
            let mut rule = shown(rule);
            rule["tags"] = json!([]);
            rule["standard_attr_id"] = json!(number);
            rule
        });
        whole["security_group_rules"] = inside.collect();
    }
    whole
}

/// Whether an object is for every project to see, as external networks are.
pub(super) fn is_for_all(object: &Value) -> bool {
    object["router:external"] == json!(true) || object["shared"] == json!(true) || object["_for_all"] == json!(true)
}

/// Neutron's times end in the zone.
pub(super) fn zulu(stamp: &Value) -> Value {
    json!(format!("{}Z", stamp.as_str().unwrap_or_default()))
}

pub(super) fn no_path() -> Refused {
    errors::neutron(404, "HTTPNotFound", "The resource could not be found.")
}

pub(super) fn not_found(kind: Kind, id: &str) -> Refused {
    let (name, message) = match kind {
        Kind::Port => ("PortNotFound", format!("Port {id} could not be found.")),
        Kind::Subnet => ("SubnetNotFound", format!("Subnet {id} could not be found.")),
        Kind::Network => ("NetworkNotFound", format!("Network {id} could not be found.")),
        Kind::Router => ("RouterNotFound", format!("Router {id} could not be found")),
        Kind::FloatingIp => ("FloatingIPNotFound", format!("Floating IP {id} could not be found")),
        Kind::SecurityGroup => ("SecurityGroupNotFound", format!("Security group {id} does not exist")),
        _ => ("SecurityGroupRuleNotFound", format!("Security group rule {id} does not exist")),
    };
    errors::neutron(404, name, &message)
}

pub(super) fn over_quota(what: &str) -> Refused {
    errors::neutron(409, "OverQuota", &format!("Quota exceeded for resources: ['{what}']."))
}

pub(super) fn wanted(body: &Value, kind: Kind) -> Result<&Value, Refused> {
    under(body, kind.one(), Service::Network)
}
