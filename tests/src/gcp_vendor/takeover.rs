//! A recorded project with the Services as Google's own manager left them, for a binary that has never seen them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Service};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Map, Value, json};

use crate::beside::manifest;
use crate::clouds::gcp::{Collection, Place, Scope, World};
use crate::vendor::{GoogleCloud, Vendor as _};

use super::stage::GcpStage;

/// Names in recordings, and what stands for them here.
#[derive(Debug, Default)]
struct Restored {
    texts: Vec<(String, String)>,
    ports: BTreeMap<String, u64>,
}

impl Restored {
    fn add(&mut self, service: &Service) {
        let name = service.name_any();
        let uid = service.uid().unwrap_or_default();
        self.texts.push((format!("LB({name})"), GoogleCloud::default_name(&uid)));
        let port = service.spec.as_ref().and_then(|it| it.health_check_node_port).and_then(|it| u64::try_from(it).ok());
        if let Some(port) = port.filter(|it| *it > 0) {
            self.ports.insert(format!("HC({name})"), port);
        }
    }

    fn add_node(&mut self, node: &Node) {
        self.texts.push((format!("UID({})", node.name_any()), node.uid().unwrap_or_default()));
    }

    fn text(&self, text: &str) -> String {
        let text = text.replace("URL/", "https://www.googleapis.com/compute/v1/");
        self.texts.iter().fold(text, |text, (name, it)| text.replace(name, it))
    }

    /// In the place of its names. The port of a check is a number, that of a firewall a text.
    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match self.ports.get(text) {
                Some(port) => json!(port.to_string()),
                None => json!(self.text(text)),
            },
            Value::Array(all) => all.iter().map(|it| self.value(it)).collect(),
            Value::Object(fields) => {
                let of = |(name, it): (&String, &Value)| {
                    let port = it.as_str().filter(|_| name == "port").and_then(|it| self.ports.get(it));
                    (name.clone(), port.map_or_else(|| self.value(it), |port| json!(port)))
                };
                fields.iter().map(of).collect()
            }
            Value::Number(_) | Value::Bool(_) | Value::Null => value.clone(),
        }
    }

    /// Puts the recorded objects of some collections into a project.
    fn put(&self, world: &mut World, state: &Map<String, Value>, of: &[Collection]) {
        for (path, object) in state {
            let Some(collection) = Collection::of(path).filter(|it| of.contains(it)) else { continue };
            let path = self.text(path);
            let (place, _) = path.rsplit_once('/').and_then(|(it, _)| it.rsplit_once('/')).unwrap_or_default();
            let parts: Vec<&str> = place.split('/').collect();
            let scope = match parts[..] {
                [_, _, "regions", name] => Scope::Region(name.to_owned()),
                [_, _, "zones", name] => Scope::Zone(name.to_owned()),
                _ => Scope::Global,
            };
            world.insert(&Place::new(parts[1], scope), collection, self.value(object));
        }
    }
}

/// Makes recorded Services with finalizers and status, as far as theirs served them, and puts the recorded project around them and around the
/// nodes that there are. Answers the names of the Services.
///
/// # Panics
///
/// Panics if the API server does not take one.
pub async fn inherit(stage: &GcpStage, state: &Map<String, Value>, left: &Map<String, Value>) -> Vec<String> {
    let mut restored = Restored::default();
    let mut names = Vec::new();
    let nodes: Api<Node> = Api::all(stage.cluster.admin.clone());
    let nodes = nodes.list(&ListParams::default()).await.expect("the API server answers");
    nodes.iter().for_each(|it| restored.add_node(it));
    for (name, recorded) in left {
        // Theirs served it.
        if recorded["status"]["loadBalancer"]["ingress"].is_null() {
            continue;
        }
        let mut service = manifest(name, recorded);
        service["metadata"]["finalizers"] = recorded["finalizers"].clone();
        let service = serde_json::from_value(service).expect("it is a Service");
        let made = stage.services().create(&PostParams::default(), &service).await.expect("the API server takes it");
        let status = json!({ "status": { "loadBalancer": recorded["status"]["loadBalancer"] } });
        let status = Patch::Merge(status);
        let shown = stage.services().patch_status(name, &PatchParams::default(), &status).await;
        restored.add(&made);
        stage.learn(shown.expect("the API server takes it"));
        names.push(name.clone());
    }
    let of = [
        Collection::ForwardingRules,
        Collection::TargetPools,
        Collection::BackendServices,
        Collection::InstanceGroups,
        Collection::HttpHealthChecks,
        Collection::HealthChecks,
        Collection::Firewalls,
        Collection::Routes,
    ];
    stage.cloud.with(|world| restored.put(world, state, &of));
    names
}
