//! A recorded resource group with the Services as the vendor's own manager left them, for a binary that has never seen them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Map, Value, json};

use crate::beside::manifest;
use crate::clouds::azure::{Kind, World, id};

use super::entries::DERIVED;
use super::seen;
use super::stage::AzureStage;

/// Kinds that are put there as recorded. Machines and networks are there before.
const RESTORED: [Kind; 8] = [
    Kind::PublicIp,
    Kind::LoadBalancer,
    Kind::SecurityGroup,
    Kind::Interface,
    Kind::ScaleSet,
    Kind::ScaleSetMachine,
    Kind::ScaleSetInterface,
    Kind::PrivateLinkService,
];

/// Names in recordings, and what stands for them here.
#[derive(Debug, Default)]
struct RestoredWords {
    texts: Vec<(String, String)>,
    ports: BTreeMap<String, u64>,
}

impl RestoredWords {
    fn add(&mut self, service: &Service) {
        self.texts.push((format!("LB({})", service.name_any()), seen::base(service)));
        self.ports.extend(seen::ports(service).into_iter().map(|(number, name)| (name, number)));
    }

    fn text(&self, text: &str) -> String {
        let text = text.replace("RG/", &id(""));
        let text = self.texts.iter().fold(text, |text, (name, it)| text.replace(name, it));
        self.ports.iter().fold(text, |text, (name, it)| text.replace(name, &it.to_string()))
    }

    /// In the place of its names. A port that stands alone is a number, but among the ports of a security rule.
    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.ports.get(text).map_or_else(|| json!(self.text(text)), |it| json!(it)),
            Value::Array(all) => all.iter().map(|it| self.value(it)).collect(),
            Value::Object(fields) => fields.iter().map(|(name, it)| (name.clone(), self.value(it))).collect(),
            Value::Number(_) | Value::Bool(_) | Value::Null => value.clone(),
        }
    }

    /// Puts the recorded objects into a resource group.
    fn put(&self, world: &mut World, state: &Map<String, Value>) {
        for (name, object) in state {
            let id = self.text(name);
            let Some(kind) = RESTORED.into_iter().find(|it| object["type"] == it.full_type()) else { continue };
            let mut body = self.value(object);
            without_derived(&mut body);
            world.insert(kind, &id, body);
        }
    }
}

/// Takes out what follows from other objects. The rules of a load balancer and the configurations of interfaces are lists of their own.
fn without_derived(body: &mut Value) {
    for list in ["frontendIPConfigurations", "backendAddressPools", "probes"] {
        let parts = body["properties"].get_mut(list).and_then(Value::as_array_mut);
        for part in parts.into_iter().flatten() {
            if let Some(properties) = part["properties"].as_object_mut() {
                properties.retain(|name, _| !DERIVED.contains(&name.as_str()));
            }
        }
    }
    let kept = ["loadBalancingRules", "outboundRules", "inboundNatRules", "ipConfigurations", "defaultSecurityRules"];
    if let Some(properties) = body["properties"].as_object_mut() {
        properties.retain(|name, _| kept.contains(&name.as_str()) || !DERIVED.contains(&name.as_str()));
    }
}

/// Makes recorded Services with finalizers and status, as far as theirs served them, and puts the recorded group around them. Answers
/// their names.
///
/// # Panics
///
/// Panics if the API server does not take one.
pub async fn inherit(stage: &AzureStage, state: &Map<String, Value>, left: &Map<String, Value>) -> Vec<String> {
    let mut words = RestoredWords::default();
    let mut names = Vec::new();
    for (name, recorded) in left {
        // Theirs served it.
        if recorded["status"]["loadBalancer"]["ingress"].is_null() {
            continue;
        }
        let mut service = manifest(name, recorded);
        service["metadata"]["finalizers"] = recorded["finalizers"].clone();
        let service = serde_json::from_value(service).expect("it is a Service");
        let made = stage.services().create(&PostParams::default(), &service).await.expect("the API server takes it");
        let status = Patch::Merge(json!({ "status": { "loadBalancer": recorded["status"]["loadBalancer"] } }));
        let shown = stage.services().patch_status(name, &PatchParams::default(), &status).await;
        words.add(&made);
        stage.learn(shown.expect("the API server takes it"));
        names.push(name.clone());
    }
    stage.cloud.with(|world| words.put(world, state));
    names
}
