//! The objects of a cluster and its project in the form of the recordings: with names in the place of what is made up.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;
use serde_json::{Map, Value, json};

use crate::clouds::gcp::{Collection, World};
use crate::vendor::{GoogleCloud, Vendor as _};

/// Collections of which a step may change something.
const SHOWN: [Collection; 8] = [
    Collection::ForwardingRules,
    Collection::Addresses,
    Collection::TargetPools,
    Collection::BackendServices,
    Collection::InstanceGroups,
    Collection::HttpHealthChecks,
    Collection::HealthChecks,
    Collection::Firewalls,
];

/// Fields that the API sets by itself, of which one simulator shows more than another.
const OWN: [&str; 11] = [
    "kind",
    "id",
    "selfLink",
    "creationTimestamp",
    "fingerprint",
    "labelFingerprint",
    "region",
    "zone",
    "size",
    "users",
    "logConfig",
];

/// Values that are made up, and the names in their place.
#[derive(Clone, Debug, Default)]
pub(super) struct GcpNames {
    /// Texts, the longest first.
    texts: Vec<(String, String)>,
    /// Ports of health checks.
    ports: BTreeMap<u64, String>,
}

impl GcpNames {
    /// Those of these Services.
    pub(super) fn of<'a>(services: impl IntoIterator<Item = &'a Service>) -> Self {
        let mut names = Self::default();
        for service in services {
            let name = service.name_any();
            if let Some(uid) = service.uid() {
                names.texts.push((GoogleCloud::default_name(&uid), format!("LB({name})")));
            }
            if let Some(ip) = address(&serde_json::to_value(service).unwrap_or_default()) {
                names.texts.push((ip, format!("IP({name})")));
            }
            let port = service.spec.as_ref().and_then(|it| it.health_check_node_port);
            if let Some(port) = port.and_then(|it| u64::try_from(it).ok()).filter(|it| *it > 0) {
                names.ports.insert(port, format!("HC({name})"));
            }
        }
        names.texts.push(("https://www.googleapis.com/compute/v1/".to_owned(), "URL/".to_owned()));
        names.sorted()
    }

    /// Those of recorded Services: their addresses alone.
    pub(super) fn recorded(services: &Map<String, Value>) -> Self {
        let texts = services.iter().filter_map(|(name, it)| Some((address(it)?, format!("IP({name})"))));
        Self { texts: texts.collect(), ports: BTreeMap::new() }.sorted()
    }

    fn sorted(mut self) -> Self {
        self.texts.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        self
    }

    /// With names in the place of what is made up.
    pub(super) fn text(&self, text: &str) -> String {
        let port = text.parse().ok().and_then(|it| self.ports.get(&it));
        port.cloned()
            .unwrap_or_else(|| self.texts.iter().fold(text.to_owned(), |text, (it, name)| text.replace(it, name)))
    }

    /// The same in all of a value. Lists have no order.
    pub(super) fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => json!(self.text(text)),
            Value::Number(number) => {
                number.as_u64().and_then(|it| self.ports.get(&it)).map_or_else(|| value.clone(), |it| json!(it))
            }
            Value::Array(all) => {
                let mut all: Vec<Value> = all.iter().map(|it| self.value(it)).collect();
                all.sort_by_cached_key(Value::to_string);
                all.into()
            }
            Value::Object(fields) => fields.iter().map(|(name, it)| (self.text(name), self.value(it))).collect(),
            Value::Bool(_) | Value::Null => value.clone(),
        }
    }
}

/// The address that a Service shows.
pub(super) fn address(service: &Value) -> Option<String> {
    service["status"]["loadBalancer"]["ingress"][0]["ip"].as_str().map(str::to_owned)
}

/// An object as it is compared.
fn shown(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        // A group has the network of its machines.
        let is_group = fields.contains_key("_members");
        let is_own = |name: &str| OWN.contains(&name) || is_group && ["network", "subnetwork"].contains(&name);
        fields.retain(|name, value| !is_own(name) && !value.is_null() && *value != json!(""));
    }
    if let Some(check) = object["httpHealthCheck"].as_object_mut() {
        check.remove("proxyHeader");
    }
    if object["httpHealthCheck"].is_null() {
        object.as_object_mut().map(|it| it.remove("httpHealthCheck"));
    }
    object
}

/// Whether an object is the address that a person has.
pub(super) fn is_of_a_person(path: &str) -> bool {
    path.ends_with("/mine")
}

/// All objects by path.
pub(super) fn objects(world: &World) -> BTreeMap<String, Value> {
    let all = SHOWN.into_iter().flat_map(|it| world.all(it));
    all.map(|(path, it)| (path.to_owned(), shown(it))).collect()
}

/// Objects that were set and taken away between, by path.
pub(super) fn changed(before: &BTreeMap<String, Value>, after: &BTreeMap<String, Value>) -> Value {
    let set: Map<String, Value> = after
        .iter()
        .filter(|(path, it)| before.get(*path) != Some(it))
        .map(|(path, it)| (path.clone(), it.clone()))
        .collect();
    let unset: Vec<&String> = before.keys().filter(|it| !after.contains_key(*it)).collect();
    json!({ "set": set, "unset": unset })
}

/// The same of a recorded step, without what a person did.
pub(super) fn recorded_changes(cloud: &Value) -> Value {
    let set = cloud["set"].as_object().into_iter().flatten();
    let is_shown = |path: &&String| Collection::of(path).is_some_and(|it| SHOWN.contains(&it)) && !is_of_a_person(path);
    let set: Map<String, Value> =
        set.filter(|(path, _)| is_shown(path)).map(|(path, it)| (path.clone(), shown(it))).collect();
    json!({ "set": set, "unset": cloud["unset"] })
}

/// The beginnings of the labels that a cloud provider gives.
const LABELS: [&str; 4] = [
    "beta.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/",
];

/// A Node as far as a cloud provider writes it.
pub(super) fn node(node: &Value) -> Value {
    let metadata = if node["metadata"].is_null() { node } else { &node["metadata"] };
    let labels = metadata["labels"].as_object().into_iter().flatten();
    let labels: Map<String, Value> = labels
        .filter(|(key, _)| LABELS.iter().any(|it| key.starts_with(it)))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let addresses = node["status"]["addresses"].as_array().into_iter().flatten();
    let addresses: Vec<String> =
        addresses.map(|it| [&it["type"], &it["address"]].map(|it| it.as_str().unwrap_or_default()).join(" ")).collect();
    let taints = node["spec"]["taints"].as_array().into_iter().flatten().map(|it| it["key"].clone());
    let own = taints.filter(|it| it.as_str().is_some_and(|it| it.starts_with("node.cloudprovider.kubernetes.io/")));
    json!({
        "labels": labels, "addresses": addresses, "taints": own.collect::<Vec<_>>(),
        "providerID": node["spec"]["providerID"],
    })
}

/// The annotations, finalizers and status of a Service.
pub(super) fn service(service: &Value) -> Value {
    let metadata = if service["metadata"].is_null() { service } else { &service["metadata"] };
    let conditions = service["status"]["conditions"].as_array().into_iter().flatten();
    let conditions = conditions.filter(|it| it["type"] == "LoadBalancerPortsError");
    let conditions: Vec<_> = conditions.map(|it| format!("{} {} {}", it["type"], it["status"], it["reason"])).collect();
    let texts = |value: &Value| if value.is_null() { json!({}) } else { value.clone() };
    let list = |value: &Value| if value.is_null() { json!([]) } else { value.clone() };
    json!({
        "annotations": texts(&metadata["annotations"]), "finalizers": list(&metadata["finalizers"]),
        "ingress": service["status"]["loadBalancer"]["ingress"], "conditions": conditions,
    })
}
