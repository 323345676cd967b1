//! Services with what theirs left for them in the cloud, for a binary that has never seen them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Map, Value, json};

use crate::beside::{StoryWords, merge_patch, whole_manifest};
use crate::clouds::alibaba::{ROUTE_TABLE, World, machine_id};
use crate::vendor::{AlibabaCloud, Vendor as _};

use super::seen::{recorded_words, tags};
use super::stage::AliStage;
use super::story::{AliChange, CLASSIC, NETWORK};

/// Steps whose state is another with aerostat: groups of theirs hold the nodes with pods, and those that are ready.
const OTHER: [&str; 2] = ["clb-local", "clb-node-not-ready"];
/// The step behind which other nodes are there.
const LAST: &str = "pass-after-instance-gone";

/// A Service as theirs left it after a step, with its load balancer.
#[derive(Clone, Debug, PartialEq)]
pub struct Inheritance {
    /// The step's name.
    pub step: String,
    name: String,
    service: Value,
    balancer: Value,
    groups: Vec<Value>,
    security: Vec<Value>,
}

/// All states in which theirs left a Service, each once: a round holds one of each Service. The last round, and no other, is that behind the
/// last step, with other nodes.
#[must_use]
pub fn inheritances() -> Vec<Vec<Inheritance>> {
    let mut services: BTreeMap<String, Value> = BTreeMap::new();
    let mut states: BTreeMap<String, Vec<Inheritance>> = BTreeMap::new();
    let mut last = Vec::new();
    for step in CLASSIC.iter().chain(&NETWORK).flat_map(|it| it.read()) {
        services.extend(step.services.clone());
        if let (AliChange::Patch(patch), Some(service)) = (step.change, services.get_mut(step.subject)) {
            merge_patch(service, &serde_json::from_str(patch).expect("it is JSON"));
        }
        let Some(cloud) = step.cloud.filter(|_| !OTHER.contains(&&*step.name)) else { continue };
        for (name, service) in services.iter().filter(|(_, it)| !it["status"]["loadBalancer"]["ingress"].is_null()) {
            let of = |list: &str| -> Vec<Value> {
                let all = cloud[list].as_array().into_iter().flatten();
                all.filter(|it| it["Tags"].to_string().contains(&format!("<uid-of-{name} "))).map(sorted).collect()
            };
            for balancer in [of("clbs"), of("nlbs")].concat() {
                let state = Inheritance {
                    step: step.name.clone(),
                    name: name.clone(),
                    service: service.clone(),
                    balancer,
                    groups: of("server_groups"),
                    security: of("security_groups"),
                };
                if step.name == LAST {
                    last.push(state);
                    continue;
                }
                let before = states.entry(name.clone()).or_default();
                if before.last().is_none_or(|it| Inheritance { step: state.step.clone(), ..it.clone() } != state) {
                    before.push(state);
                }
            }
        }
    }
    let count = states.values().map(Vec::len).max().unwrap_or_default();
    let round = |number: usize| states.values().filter_map(|it| it.get(number).cloned()).collect();
    (0..count).map(round).chain([last]).collect()
}

/// With machines in their order: theirs adds them as they come.
fn sorted(object: &Value) -> Value {
    let mut object = object.clone();
    let groups = object.get_mut("VServerGroups").and_then(Value::as_array_mut).into_iter().flatten();
    groups.filter_map(|it| it.get_mut("BackendServers")).for_each(in_order);
    object.get_mut("Servers").into_iter().for_each(in_order);
    object
}

fn in_order(servers: &mut Value) {
    servers.as_array_mut().into_iter().for_each(|it| it.sort_by_cached_key(Value::to_string));
}

impl Inheritance {
    /// Makes the Service with its finalizer and status, and puts what it has into the account. Answers its name.
    ///
    /// # Panics
    ///
    /// Panics if the API server does not take it.
    pub async fn put(&self, stage: &AliStage) -> String {
        let mut service = whole_manifest(&self.name, &self.service);
        service["metadata"]["finalizers"] = self.service["metadata"]["finalizers"].clone();
        service["metadata"]["labels"] =
            StoryWords::default().then("<hash>", "hash").value(&self.service["metadata"]["labels"]);
        let service = serde_json::from_value(service).expect("it is a Service");
        stage.services().create(&PostParams::default(), &service).await.expect("the API server takes it");
        let status = Patch::Merge(json!({ "status": self.service["status"] }));
        let shown = stage.services().patch_status(&self.name, &PatchParams::default(), &status).await;
        let shown = shown.expect("the API server takes it");
        let words = words(&shown);
        stage.cloud.with(|world| self.restore(world, &words));
        stage.learn(shown);
        self.name.clone()
    }

    fn restore(&self, world: &mut World, words: &StoryWords) {
        let balancer = words.value(&self.balancer);
        let list = |of: &Value, name: &str| of[name].as_array().cloned().unwrap_or_default();
        let text = |of: &Value, name: &str| of[name].as_str().unwrap_or_default().to_owned();
        let body = without(&balancer, &["LoadBalancerId", "Listeners", "VServerGroups"]);
        let mut ids: BTreeMap<String, String> = BTreeMap::new();
        if balancer["VServerGroups"].is_array() {
            let id = world.put_balancer(body);
            for group in list(&balancer, "VServerGroups") {
                let servers = list(&group, "BackendServers");
                let servers = servers.iter().map(|it| without(it, &["ServerIp"])).collect();
                ids.insert(
                    text(&group, "VServerGroupId"),
                    world.put_group(&id, &text(&group, "VServerGroupName"), servers),
                );
            }
            list(&balancer, "Listeners").iter().for_each(|it| world.put_listener(listener(it, &id, &ids)));
            return;
        }
        let mut body = body;
        let security = self.security.iter().map(|it| words.value(it));
        let security = security.map(|group| {
            let mut body = without(&group, &["SecurityGroupId", "Permissions"]);
            body["Rules"] = group["Permissions"].clone();
            world.put_security_group(body)
        });
        body["SecurityGroupIds"] = security.collect();
        let id = world.put_network_balancer(body);
        for group in self.groups.iter().map(|it| words.value(it)) {
            let usual = json!({ "Status": "Available", "ServerIp": "" });
            let mut body = texts(&without(&group, &["ServerGroupId", "RelatedLoadBalancerIds"]));
            for server in body["Servers"].as_array_mut().into_iter().flatten() {
                usual.as_object().into_iter().flatten().for_each(|(name, it)| server[name] = it.clone());
            }
            ids.insert(text(&group, "ServerGroupId"), world.put_network_group(body));
        }
        for it in list(&balancer, "Listeners") {
            world.put_network_listener(listener(&it, &id, &ids));
        }
    }
}

/// The words of recordings, and what stands for them here.
fn words(service: &Service) -> StoryWords {
    let name = AlibabaCloud::default_name(&service.uid().unwrap_or_default());
    recorded_words().then(&format!("LB({})", service.name_any()), &name)
}

/// Without these fields, and with tags as they are kept here.
fn without(object: &Value, fields: &[&str]) -> Value {
    let mut rest = object.clone();
    if let Some(all) = rest.as_object_mut() {
        all.retain(|name, _| !fields.contains(&name.as_str()));
    }
    if object["Tags"].is_array() {
        let spelled = |(key, value): (String, Value)| json!({ "TagKey": key, "TagValue": value });
        rest["Tags"] = tags(object).into_iter().map(spelled).collect();
    }
    rest
}

/// A listener in texts, as requests write them.
fn listener(recorded: &Value, balancer: &str, ids: &BTreeMap<String, String>) -> Value {
    const NAMES: [(&str, &str); 3] =
        [("Port", "ListenerPort"), ("Protocol", "ListenerProtocol"), ("HealthCheckSwitch", "HealthCheck")];
    let fields = recorded.as_object().into_iter().flatten().filter(|(name, _)| *name != "ListenerId");
    let fields = fields.map(|(name, it)| {
        let name = NAMES.iter().find(|(from, _)| from == name).map_or(name.as_str(), |(_, to)| to);
        let value = texts(it);
        let value = value.as_str().and_then(|it| ids.get(it)).map_or(value.clone(), |id| json!(id));
        (name.to_owned(), value)
    });
    let mut listener: Map<String, Value> = fields.collect();
    listener.insert("LoadBalancerId".to_owned(), json!(balancer));
    listener.into()
}

/// With numbers and truths as texts.
fn texts(value: &Value) -> Value {
    match value {
        Value::Number(_) | Value::Bool(_) => json!(value.to_string()),
        Value::Array(all) => all.iter().map(texts).collect(),
        Value::Object(fields) => fields.iter().map(|(name, it)| (name.clone(), texts(it))).collect(),
        Value::String(_) | Value::Null => value.clone(),
    }
}

impl AliStage {
    /// Lets the machines of these numbers forward packets, and puts the routes to them that theirs has made: they tell nothing of anybody.
    pub(super) fn put_routes(&self, numbers: &[u64]) {
        self.cloud.with(|world| {
            for number in numbers {
                let hop = machine_id(*number);
                world.put_route(ROUTE_TABLE, &format!("10.244.{number}.0/24"), ("Instance", &hop), "", "Available");
                if let Some(it) = world.interfaces.get_mut(&format!("eni-{number}")) {
                    it["SourceDestCheck"] = json!(false);
                }
            }
        });
    }
}
