//! The state of a cluster and its account in one form, whether it was recorded or is here: with names in the place of what is made up.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;
use serde_json::{Map, Value, json};

use crate::beside::{StoryWords, seen_labelled, seen_node};
use crate::clouds::alibaba::{Table, World, usual_listener};
use crate::vendor::{AlibabaCloud, Vendor as _};

/// The tag of the vendor's with a Service's default name.
const NAME: &str = "kubernetes.do.not.delete";
/// The load balancer of a person in the recordings.
pub(super) const BY_HAND: &str = "by-hand";

/// Fields of a Classic Load Balancer.
const CLASSIC: [&str; 15] = [
    "LoadBalancerName",
    "Address",
    "AddressType",
    "AddressIPVersion",
    "NetworkType",
    "VpcId",
    "VSwitchId",
    "Bandwidth",
    "InternetChargeType",
    "LoadBalancerSpec",
    "InstanceChargeType",
    "DeleteProtection",
    "ModificationProtectionStatus",
    "ModificationProtectionReason",
    "ResourceGroupId",
];
/// Fields of a Network Load Balancer.
const NETWORK: [&str; 9] = [
    "LoadBalancerName",
    "DNSName",
    "AddressType",
    "AddressIpVersion",
    "VpcId",
    "LoadBalancerStatus",
    "SecurityGroupIds",
    "CrossZoneEnabled",
    "ResourceGroupId",
];
/// Fields of a listener that say which it is, or what follows from another.
const PLACE: [&str; 7] =
    ["LoadBalancerId", "ListenerId", "ListenerPort", "ListenerProtocol", "Port", "Protocol", "RegionId"];
/// Fields of a group of a Network Load Balancer.
const GROUP: [&str; 8] = [
    "VpcId",
    "Protocol",
    "ServerGroupType",
    "AddressIPVersion",
    "Scheduler",
    "ConnectionDrainEnabled",
    "PreserveClientIpEnabled",
    "ServerGroupStatus",
];
/// Fields of a rule of a security group.
const RULE: [&str; 6] = ["Priority", "Policy", "Description", "IpProtocol", "PortRange", "SourceCidrIp"];
/// The words of a recording: UIDs have names there already.
pub(super) fn recorded_words() -> StoryWords {
    StoryWords::default().then("a<uid-of-", "LB(").then(" without dashes, 31>", ")").then("i-bp000000000000000", "i-bp")
}

/// Those of Services that are here, or were.
pub(super) fn words_of<'a>(services: impl IntoIterator<Item = &'a Service>) -> StoryWords {
    let default = |it: &Service| AlibabaCloud::default_name(&it.uid().unwrap_or_default());
    services.into_iter().fold(StoryWords::default(), |words, it| {
        let name = format!("LB({})", it.name_any());
        words.then(&default(it), &name)
    })
}

/// The same with the ids and addresses of load balancers, and the ids of security groups.
fn with_cloud(words: StoryWords, cloud: &Value) -> StoryWords {
    let mut words = words;
    for (list, ids) in [
        ("clbs", &[("ADDRESS", "Address"), ("ID", "LoadBalancerId")][..]),
        ("nlbs", &[("ADDRESS", "DNSName"), ("ID", "LoadBalancerId")]),
        ("security_groups", &[("SECURITY", "SecurityGroupId")]),
    ] {
        for object in cloud[list].as_array().into_iter().flatten() {
            for (kind, id) in ids {
                if let (Some(of), Some(text)) = (owner(object), object[*id].as_str()) {
                    words = words.then(text, &format!("{kind}({of})"));
                }
            }
        }
    }
    words
}

/// Everything that was left, recorded or here, before names stand in it.
pub(super) struct LeftObjects {
    pub(super) words: StoryWords,
    /// By name, as the API server has them; `null` for one that is gone.
    pub(super) services: Map<String, Value>,
    /// The same of nodes.
    pub(super) nodes: Map<String, Value>,
    /// In the form of the recordings.
    pub(super) cloud: Option<Value>,
}

impl LeftObjects {
    /// In one form. Of the cloud, load balancers of the Services that `is_shown` names.
    pub(super) fn seen(self, is_shown: impl Fn(&str) -> bool) -> Value {
        let cloud = self.cloud.map(|it| self.words.value(&it));
        let mut words = self.words;
        match &cloud {
            Some(cloud) => words = with_cloud(words, cloud),
            None => words = words.with_ingress(&self.services),
        }
        let services = self.services.iter().map(|(name, it)| (name.clone(), seen_labelled(it)));
        let nodes = self.nodes.iter().map(|(name, it)| (name.clone(), seen_node(it)));
        let mut seen = json!({ "services": services.collect::<Map<_, _>>(), "nodes": nodes.collect::<Map<_, _>>() });
        if let Some(cloud) = &cloud {
            seen["cloud"] = shaped(&words.value(cloud), is_shown);
        }
        words.value(&seen)
    }
}

/// The account in the form of the recordings.
pub(super) fn live(world: &World) -> Value {
    let bodies = |table: &Table| table.all().map(|(_, it)| it.clone()).collect::<Vec<_>>();
    let of = |table: &Table, id: &str| table.of("LoadBalancerId", id).map(|(_, it)| it.clone()).collect::<Vec<_>>();
    let classic = world.balancers.all().map(|(id, it)| {
        let mut it = it.clone();
        it["Listeners"] = of(&world.listeners, id).into();
        it["VServerGroups"] = of(&world.groups, id).into();
        it
    });
    let network = world.network_balancers.all().map(|(id, it)| {
        let mut it = it.clone();
        it["Listeners"] = of(&world.network_listeners, id).into();
        it
    });
    let checks = world.interfaces.all().map(|(id, it)| (id.to_owned(), it["SourceDestCheck"].clone()));
    json!({
        "clbs": classic.collect::<Vec<_>>(), "nlbs": network.collect::<Vec<_>>(),
        "server_groups": bodies(&world.network_groups), "security_groups": bodies(&world.security),
        "routes": bodies(&world.routes), "source_dest_check": checks.collect::<Map<_, _>>(),
    })
}

fn shaped(cloud: &Value, is_shown: impl Fn(&str) -> bool) -> Value {
    let list = |name: &str| cloud[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let shown = |object: &Value| owner(object).is_none_or(|of| is_shown(&of)) && object["LoadBalancerName"] != BY_HAND;
    let groups: BTreeMap<String, String> = list("server_groups").iter().map(|it| named(it, "ServerGroup")).collect();
    let by_owner = |all: &[Value], shape: &dyn Fn(&Value) -> Value| -> Map<String, Value> {
        let name = |it: &Value| owner(it).unwrap_or_else(|| text(it, "LoadBalancerName").to_owned());
        all.iter().filter(|it| shown(it)).map(|it| (name(it), shape(it))).collect()
    };
    let own_groups = list("server_groups").iter().filter(|it| shown(it));
    let own_groups = own_groups.map(|it| (text(it, "ServerGroupName").to_owned(), network_group(it)));
    let routes = list("routes").iter().map(|it| (text(it, "DestinationCidrBlock").to_owned(), route(it)));
    json!({
        "classic": by_owner(list("clbs"), &classic), "network": by_owner(list("nlbs"), &|it| network(it, &groups)),
        "groups": own_groups.collect::<Map<_, _>>(), "security": by_owner(list("security_groups"), &security),
        "routes": routes.collect::<Map<_, _>>(), "source_dest_check": cloud["source_dest_check"],
    })
}

/// The id and the name of a group.
fn named(group: &Value, kind: &str) -> (String, String) {
    (text(group, &format!("{kind}Id")).to_owned(), text(group, &format!("{kind}Name")).to_owned())
}

fn classic(balancer: &Value) -> Value {
    let groups: Vec<&Value> = balancer["VServerGroups"].as_array().into_iter().flatten().collect();
    let names: BTreeMap<String, String> = groups.iter().map(|it| named(it, "VServerGroup")).collect();
    let listener = |listener: &Value| {
        let protocol = first(listener, ["ListenerProtocol", "Protocol"]);
        let mut shown = usual_listener(&protocol);
        for (name, value) in listening(listener) {
            let name = if name == "HealthCheckSwitch" { "HealthCheck".to_owned() } else { name };
            shown[name] = value;
        }
        (format!("{}/{protocol}", first(listener, ["ListenerPort", "Port"])), behind(shown, "VServerGroupId", &names))
    };
    let listeners = balancer["Listeners"].as_array().into_iter().flatten().map(listener);
    let servers = groups.iter().map(|it| (text(it, "VServerGroupName").to_owned(), servers(it)));
    let mut shown = kept(balancer, &CLASSIC);
    shown.insert("tags".to_owned(), tags(balancer).into());
    shown.insert("listeners".to_owned(), listeners.collect());
    shown.insert("groups".to_owned(), servers.collect());
    shown.into()
}

fn network(balancer: &Value, groups: &BTreeMap<String, String>) -> Value {
    let listener = |listener: &Value| {
        let place = format!(
            "{}/{}",
            first(listener, ["ListenerPort", "Port"]),
            first(listener, ["ListenerProtocol", "Protocol"])
        );
        (place, behind(listening(listener).into(), "ServerGroupId", groups))
    };
    let listeners = balancer["Listeners"].as_array().into_iter().flatten().map(listener);
    let zones = balancer["ZoneMappings"].as_array().into_iter().flatten();
    let zones = zones.map(|it| format!("{}:{}", text(it, "ZoneId"), text(it, "VSwitchId")));
    let mut shown = kept(balancer, &NETWORK);
    // Answers write it in two ways.
    shown.insert("AddressType".to_owned(), text(balancer, "AddressType").to_lowercase().into());
    shown.insert("zones".to_owned(), zones.collect());
    shown.insert("deletion".to_owned(), scalar(&balancer["DeletionProtectionConfig"]["Enabled"]));
    shown.insert("modification".to_owned(), balancer["ModificationProtectionConfig"].clone());
    shown.insert("tags".to_owned(), tags(balancer).into());
    shown.insert("listeners".to_owned(), listeners.collect());
    shown.into()
}

fn network_group(group: &Value) -> Value {
    let mut shown = kept(group, &GROUP);
    let check = group["HealthCheck"].as_object().into_iter().flatten();
    shown.insert("check".to_owned(), check.map(|(name, it)| (name.clone(), scalar(it))).collect());
    shown.insert("tags".to_owned(), tags(group).into());
    shown.insert("servers".to_owned(), servers(group));
    shown.into()
}

fn security(group: &Value) -> Value {
    let rules = group["Permissions"].as_array().or(group["Rules"].as_array()).into_iter().flatten();
    let rules = rules.map(|it| (text(it, "SourceCidrIp").to_owned(), Value::Object(kept(it, &RULE))));
    let mut shown = kept(group, &["SecurityGroupName", "Description", "SecurityGroupType", "VpcId"]);
    shown.insert("tags".to_owned(), tags(group).into());
    shown.insert("rules".to_owned(), rules.collect());
    shown.into()
}

fn route(entry: &Value) -> Value {
    let hop = match &entry["NextHopId"] {
        Value::Null => &entry["NextHops"]["NextHop"][0]["NextHopId"],
        hop => hop,
    };
    let mut shown = kept(entry, &["Description"]);
    shown.insert("hop".to_owned(), hop.clone());
    shown.into()
}

/// The machines of a group, with what is said of each.
fn servers(group: &Value) -> Value {
    let all = ["BackendServers", "Servers"].into_iter().find_map(|it| group[it].as_array()).into_iter().flatten();
    let one = |server: &Value| {
        let place = format!("{}:{}", text(server, "ServerId"), shown_scalar(&server["Port"]));
        let kind = first(server, ["Type", "ServerType"]);
        (place, json!(format!("{kind} weight {} {}", shown_scalar(&server["Weight"]), text(server, "Description"))))
    };
    all.map(one).collect()
}

/// The fields of a listener that say how it works.
fn listening(listener: &Value) -> Map<String, Value> {
    let fields = listener.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, it)| !PLACE.contains(&name.as_str()) && !it.is_null());
    fields.map(|(name, it)| (name.clone(), scalar(it))).collect()
}

/// With the name of a listener's group in the place of its id.
fn behind(mut listener: Value, field: &str, names: &BTreeMap<String, String>) -> Value {
    if let Some(name) = listener[field].as_str().and_then(|it| names.get(it)) {
        listener[field] = json!(name);
    }
    listener
}

/// The Service that the vendor's tag of an object names, as `LB(web)`.
fn owner(object: &Value) -> Option<String> {
    let name = tags(object).remove(NAME)?;
    let name = name.as_str()?;
    Some(name.strip_prefix("LB(").and_then(|it| it.strip_suffix(')')).unwrap_or(name).to_owned())
}

/// Tags, which are spelled in two ways.
pub(super) fn tags(object: &Value) -> Map<String, Value> {
    let all = object["Tags"].as_array().into_iter().flatten();
    all.map(|it| (first(it, ["TagKey", "Key"]), json!(first(it, ["TagValue", "Value"])))).collect()
}

fn first(object: &Value, names: [&str; 2]) -> String {
    let value = names.into_iter().map(|it| &object[it]).find(|it| !it.is_null());
    value.map(shown_scalar).unwrap_or_default()
}

fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}

/// These fields, as far as they hold something.
fn kept(object: &Value, fields: &[&str]) -> Map<String, Value> {
    let held = fields.iter().map(|name| (name, &object[*name]));
    let held = held.filter(|(_, it)| !it.is_null() && it.as_str() != Some(""));
    held.map(|(name, it)| ((*name).to_owned(), scalar(it))).collect()
}

/// Numbers and truths as texts: simulators differ in that.
fn scalar(value: &Value) -> Value {
    match value {
        Value::Number(_) | Value::Bool(_) => json!(value.to_string()),
        Value::Array(all) => all.iter().map(scalar).collect(),
        other => other.clone(),
    }
}

fn shown_scalar(value: &Value) -> String {
    match scalar(value) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
