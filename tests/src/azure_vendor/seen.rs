//! The objects of a cluster and its resource group in the form of the recordings: with names in the place of what is made up.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;
use serde_json::{Map, Value, json};

use crate::clouds::azure::{Assets, id};
use crate::vendor::{AzureCloud, Vendor as _};

use super::entries::state;

/// Entries that nobody changes, of which one simulator shows more than another.
const MACHINES: [&str; 2] = ["/networkInterfaces/node-1-nic", "/networkInterfaces/node-2-nic"];

/// Values that are made up, and the names in their place.
#[derive(Clone, Debug, Default)]
pub(super) struct AzureWords {
    /// Texts, the longest first.
    texts: Vec<(String, String)>,
    /// Node ports, and those of health checks.
    ports: BTreeMap<u64, String>,
}

/// The beginning of names of a Service's parts.
pub(super) fn base(service: &Service) -> String {
    AzureCloud::default_name(&service.uid().unwrap_or_default())
}

/// The node ports of a Service, and that of its health check, with the names that stand for them.
pub(super) fn ports(service: &Service) -> Vec<(u64, String)> {
    let name = service.name_any();
    let spec = service.spec.as_ref();
    let number = |it: i32| u64::try_from(it).ok().filter(|it| *it > 0);
    let mut all = Vec::new();
    for port in spec.and_then(|it| it.ports.as_ref()).into_iter().flatten() {
        let protocol = port.protocol.as_deref().unwrap_or("TCP");
        let port_number = port.node_port.and_then(number);
        all.extend(port_number.map(|it| (it, format!("NODEPORT({name}/{}/{protocol})", port.port))));
    }
    let check = spec.and_then(|it| it.health_check_node_port).and_then(number);
    all.extend(check.map(|it| (it, format!("HC({name})"))));
    all
}

impl AzureWords {
    /// Those of these Services.
    pub(super) fn of<'a>(services: impl IntoIterator<Item = &'a Service>) -> Self {
        let mut words = Self::default();
        for service in services {
            let name = service.name_any();
            words.texts.push((base(service), format!("LB({name})")));
            for ip in addresses(&serde_json::to_value(service).unwrap_or_default()) {
                words.texts.push((ip, format!("IP({name})")));
            }
            words.ports.extend(ports(service));
        }
        words.texts.push((id(""), "RG/".to_owned()));
        words.sorted()
    }

    /// Those of recorded Services: their addresses alone.
    pub(super) fn recorded(services: &Map<String, Value>) -> Self {
        let of = |(name, it): (&String, &Value)| {
            addresses(it).into_iter().map(|ip| (ip, format!("IP({name})"))).collect::<Vec<_>>()
        };
        Self { texts: services.iter().flat_map(of).collect(), ports: BTreeMap::new() }.sorted()
    }

    fn sorted(mut self) -> Self {
        self.texts.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        self
    }

    /// With names in the place of what is made up. The name of a check's probe ends with its port.
    pub(super) fn text(&self, text: &str) -> String {
        if let Some(port) = text.parse().ok().and_then(|it| self.ports.get(&it)) {
            return port.clone();
        }
        let mut text = self.texts.iter().fold(text.to_owned(), |text, (it, name)| whole(&text, it, name));
        let end = text.rsplit_once("-TCP-").and_then(|(_, it)| it.parse().ok()).filter(|it| *it > 29_999);
        if let Some((number, name)) = end.and_then(|it| Some((it, self.ports.get(&it)?))) {
            text.truncate(text.len() - number.to_string().len());
            text.push_str(name);
        }
        text
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

/// Puts a name in the place of a text. Of addresses only whole ones are meant: 20.50.0.1 is not the beginning of 20.50.0.11.
fn whole(text: &str, what: &str, name: &str) -> String {
    let is_address = what.parse::<std::net::IpAddr>().is_ok();
    if is_address && text != what { text.to_owned() } else { text.replace(what, name) }
}

/// The addresses that a Service shows.
fn addresses(service: &Value) -> Vec<String> {
    let all = service["status"]["loadBalancer"]["ingress"].as_array().into_iter().flatten();
    all.filter_map(|it| it["ip"].as_str()).map(str::to_owned).collect()
}

/// All entries by id.
pub(super) fn objects(account: &Assets) -> BTreeMap<String, Value> {
    let mut all = state(account);
    all.retain(|id, _| is_shown(id));
    all
}

fn is_shown(id: &str) -> bool {
    // The other writer's are none of the recording's.
    !MACHINES.iter().any(|it| id.ends_with(it)) && !id.contains("/by-hand-")
}

/// Entries that were set and that were taken away between, by id.
pub(super) fn changed(before: &BTreeMap<String, Value>, after: &BTreeMap<String, Value>) -> Value {
    let set = after.iter().filter(|(id, it)| before.get(*id) != Some(it));
    let set: Map<String, Value> = set.map(|(id, it)| (id.clone(), it.clone())).collect();
    let unset: Vec<&String> = before.keys().filter(|it| !after.contains_key(*it)).collect();
    json!({ "set": set, "unset": unset })
}

/// The same of a recorded step, without what was there before already: the first step of a part begins with nothing.
pub(super) fn recorded_changes(cloud: &Value, before: &BTreeMap<String, Value>) -> Value {
    let words = AzureWords { texts: vec![(id(""), "RG/".to_owned())], ports: BTreeMap::new() };
    let there: BTreeMap<String, Value> = before.iter().map(|(id, it)| (words.text(id), words.value(it))).collect();
    let set = cloud["set"].as_object().into_iter().flatten();
    let is_new = |(id, it): &(&String, &Value)| {
        let is_there = there.get(*id).is_some_and(|there| *there == words.value(it));
        is_shown(id) && !is_there
    };
    let set: Map<String, Value> = set.filter(is_new).map(|(id, it)| (id.clone(), it.clone())).collect();
    json!({ "set": set, "unset": cloud["unset"] })
}
