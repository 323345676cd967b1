//! The state of a story's Services and of what concerns them in the cloud, in the form of the recordings.

use serde_json::{Map, Value, json};

use crate::beside::by_name;
use crate::clouds::openstack::{Kind, World};

use super::requests::Owners;
use super::story::Story;

const BALANCER: [&str; 12] = [
    "name",
    "description",
    "provider",
    "provisioning_status",
    "vip_address",
    "vip_subnet_id",
    "vip_network_id",
    "vip_port_id",
    "tags",
    "id",
    "flavor_id",
    "availability_zone",
];
const LISTENER: [&str; 13] = [
    "name",
    "description",
    "protocol",
    "protocol_port",
    "connection_limit",
    "timeout_client_data",
    "timeout_member_connect",
    "timeout_member_data",
    "timeout_tcp_inspect",
    "allowed_cidrs",
    "tags",
    "insert_headers",
    "provisioning_status",
];
const POOL: [&str; 6] = ["name", "description", "protocol", "lb_algorithm", "tags", "session_persistence"];
const MEMBER: [&str; 6] = ["name", "address", "protocol_port", "subnet_id", "weight", "monitor_port"];
const MONITOR: [&str; 9] = [
    "name",
    "type",
    "delay",
    "timeout",
    "max_retries",
    "max_retries_down",
    "http_method",
    "url_path",
    "expected_codes",
];
const FLOATING: [&str; 6] =
    ["id", "floating_ip_address", "floating_network_id", "port_id", "fixed_ip_address", "description"];
const RULE: [&str; 6] = ["direction", "ethertype", "protocol", "port_range_min", "port_range_max", "remote_ip_prefix"];

/// Objects of a story in the cloud, with ids in them.
pub(super) fn cloud(owners: &Owners<'_>, world: &World, story: &Story, subject: &str) -> Value {
    // The two of this story were recorded one after the other.
    let is_subject = |owner: &str| story.name != "pending" || owner == subject;
    let is_its = |object: &&Value| owners.of(object).is_some_and(|it| is_of(story, &it) && is_subject(&it));
    let balancers = world.all(Kind::LoadBalancer).filter(is_its).map(|it| balancer(world, it));
    let floating = world.all(Kind::FloatingIp).filter(|it| is_its(it) || is_shown(story, it));
    let groups = world.all(Kind::SecurityGroup).filter(is_its).map(|it| group(world, it));
    let mut all = Map::new();
    put(&mut all, "loadbalancers", by_name(&balancers.collect()));
    put(&mut all, "floatingips", by_name(&floating.map(|it| Value::Object(kept(it, &FLOATING))).collect()));
    put(&mut all, "security_groups", by_name(&groups.collect()));
    Value::Object(all)
}

/// Whether a word that owns something is one of the story's Services.
pub(super) fn is_of(story: &Story, owner: &str) -> bool {
    story.services.values().any(|it| it["metadata"]["name"] == owner)
        || story.name == "theft" && owner == "pay"
        || story.name == "theft-untagged" && owner == "old"
}

/// The annotations, finalizers and status of a Service.
pub(super) fn service(service: &k8s_openapi::api::core::v1::Service) -> Value {
    let status = service.status.clone().unwrap_or_default();
    json!({
        "annotations": service.metadata.annotations.clone().unwrap_or_default(),
        "finalizers": service.metadata.finalizers.clone().unwrap_or_default(),
        "status": { "loadBalancer": status.load_balancer.unwrap_or_default() },
    })
}

/// Whether a floating IP of a person concerns the story.
fn is_shown(story: &Story, floating: &Value) -> bool {
    story.name == "address-reserved" && floating["description"] == "reserved by a person"
}

fn balancer(world: &World, it: &Value) -> Value {
    let id = &it["id"];
    let of = |kind: Kind| world.all(kind).filter(move |it| it["_balancer"] == *id);
    let listeners: Vec<Value> = of(Kind::Listener).map(|it| listener(world, it)).collect();
    let taken: Vec<&Value> = of(Kind::Listener).map(|it| &it["default_pool_id"]).collect();
    let lone = of(Kind::Pool).filter(|it| !taken.contains(&&it["id"])).map(|it| Value::Object(pool(world, it)));
    let mut shown = kept(it, &BALANCER);
    put(&mut shown, "listeners", listeners.into());
    put(&mut shown, "pools_without_listener", lone.collect());
    Value::Object(shown)
}

fn listener(world: &World, it: &Value) -> Value {
    let mut shown = kept(it, &LISTENER);
    // Octavia allows all where nobody says whom.
    if shown.get("allowed_cidrs").is_some_and(Value::is_null) {
        shown.remove("allowed_cidrs");
    }
    if let Some(pool) = it["default_pool_id"].as_str().and_then(|it| world.get(Kind::Pool, it)) {
        shown.insert("default_pool".to_owned(), Value::Object(self::pool(world, pool)));
    }
    Value::Object(shown)
}

fn pool(world: &World, it: &Value) -> Map<String, Value> {
    let of = |kind: Kind| world.all(kind).filter(|part| part["_pool"] == it["id"]);
    let mut shown = kept(it, &POOL);
    let mut members: Vec<_> = of(Kind::Member).map(|it| Value::Object(kept(it, &MEMBER))).collect();
    members.sort_by_key(|it| it["name"].to_string());
    if members.len() > 10 {
        // As the recorder cuts it.
        let more = format!("… {} more", members.len() - 2);
        members.truncate(2);
        members.push(more.into());
    }
    shown.insert("members".to_owned(), members.into());
    if let Some(monitor) = of(Kind::HealthMonitor).next() {
        shown.insert("healthmonitor".to_owned(), Value::Object(kept(monitor, &MONITOR)));
    }
    shown
}

fn group(world: &World, it: &Value) -> Value {
    let id = &it["id"];
    let rules = world.all(Kind::SecurityGroupRule).filter(|it| it["security_group_id"] == *id);
    let incoming = rules.filter(|it| it["direction"] == "ingress");
    let mut rules: Vec<Value> = incoming.map(|it| Value::Object(kept(it, &RULE))).collect();
    rules.sort_by_key(ToString::to_string);
    let has = |port: &&Value| port["security_groups"].as_array().is_some_and(|it| it.contains(id));
    let ports: Vec<&Value> = world.all(Kind::Port).filter(has).map(|it| &it["id"]).collect();
    let mut shown = kept(it, &["id", "name", "description"]);
    put(&mut shown, "rules", rules.into());
    put(&mut shown, "ports", json!(ports));
    Value::Object(shown)
}

/// These fields, as far as they hold something.
fn kept(object: &Value, fields: &[&str]) -> Map<String, Value> {
    let mut kept = Map::new();
    fields.iter().for_each(|field| put(&mut kept, field, object[*field].clone()));
    kept
}

fn put(object: &mut Map<String, Value>, field: &str, value: Value) {
    let is_empty = match &value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(all) => all.is_empty(),
        Value::Object(all) => all.is_empty(),
        _ => false,
    };
    if !is_empty {
        object.insert(field.to_owned(), value);
    }
}
