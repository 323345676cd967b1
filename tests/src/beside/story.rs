//! Parts of a recorded story of which a file is a step: the steps in their order, and the Services that each is about.

use std::path::Path;

use conformance::RecordedExchange;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Map, Value, json};

use super::asked::Asked;
use super::recorded::{VendorFormat, vendor_steps};

/// A step of a part.
#[derive(Clone, Debug)]
pub struct ServiceStep {
    /// Its name: `external/create`.
    pub name: String,
    /// The requests that theirs made.
    pub asked: Asked,
    /// The events that theirs told, as they were recorded.
    pub events: Value,
    /// All Services after it, by name, as they were recorded.
    pub left: Map<String, Value>,
    /// The objects that it set and took away, as they were recorded.
    pub cloud: Value,
    /// The Services that it is about.
    pub services: Vec<String>,
    /// The beginning of the step.
    pub change: ServiceChange,
}

impl ServiceStep {
    /// Does what begins the step, unless that is a restart. Answers the Services that were made.
    ///
    /// # Panics
    ///
    /// Panics if the API server does not take it.
    pub async fn begin(&self, services: &Api<Service>) -> Vec<Service> {
        let mut made = Vec::new();
        for name in &self.services {
            match self.change {
                ServiceChange::Make => {
                    let service = serde_json::from_value(manifest(name, &self.left[name])).expect("it is a Service");
                    let service = services.create(&PostParams::default(), &service).await;
                    made.push(service.expect("the API server takes it"));
                }
                ServiceChange::Annotate => {
                    let annotations = json!({ "metadata": { "annotations": self.left[name]["annotations"] } });
                    let patched = services.patch(name, &PatchParams::default(), &Patch::Merge(annotations)).await;
                    patched.expect("it is there");
                }
                ServiceChange::Delete => {
                    services.delete(name, &DeleteParams::default()).await.expect("it is there");
                }
                ServiceChange::Restart => {}
            }
        }
        made
    }
}

/// The beginning of a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ServiceChange {
    /// The Services are made.
    Make,
    /// They get the recorded annotations.
    Annotate,
    /// Another process begins.
    Restart,
    /// The Services are deleted.
    Delete,
}

/// Steps of a part: the file's name, how it begins, and the Services that it is about.
pub type ServiceSteps = &'static [(&'static str, ServiceChange, &'static [&'static str])];

/// The steps of a part, from files of a folder. Requests are counted under their names, with whether they write; those without one are not.
///
/// # Panics
///
/// Panics if one cannot be read.
#[must_use]
pub fn service_steps(
    format: VendorFormat,
    folder: &Path,
    steps: ServiceSteps,
    counted: impl Fn(&RecordedExchange) -> Option<(String, bool)>,
) -> Vec<ServiceStep> {
    let step = |(file, change, services): &(&str, ServiceChange, &[&str])| {
        let path = folder.join(format!("{file}.json"));
        let read = vendor_steps(format, &path).unwrap_or_else(|error| panic!("{error:#}")).remove(0);
        let raw = whole_recording(&path);
        ServiceStep {
            name: read.name,
            asked: Asked::of(read.exchanges.iter().filter_map(&counted)),
            events: read.events,
            left: objects_of(&raw, "services"),
            cloud: raw["cloud"].clone(),
            services: services.iter().map(|it| (*it).to_owned()).collect(),
            change: *change,
        }
    };
    steps.iter().map(step).collect()
}

/// Recorded objects of a kind, as in `services`, each by its name.
#[must_use]
pub fn objects_of(recording: &Map<String, Value>, kind: &str) -> Map<String, Value> {
    let all = recording[kind].as_array().into_iter().flatten();
    all.map(|it| (it["name"].as_str().unwrap_or_default().to_owned(), it.clone())).collect()
}

/// A Service to be made, as a recording has it.
#[must_use]
pub fn manifest(name: &str, recorded: &Value) -> Value {
    let mut spec = recorded["spec"].clone();
    spec["type"] = json!("LoadBalancer");
    for made_up in ["healthCheckNodePort", "ipFamilies"] {
        spec.as_object_mut().map(|it| it.remove(made_up));
    }
    for port in spec["ports"].as_array_mut().into_iter().flatten() {
        port.as_object_mut().map(|it| it.remove("nodePort"));
    }
    json!({ "metadata": { "name": name, "annotations": recorded["annotations"] }, "spec": spec })
}

/// A whole recording, by its keys.
///
/// # Panics
///
/// Panics if it cannot be read.
#[must_use]
pub fn whole_recording(file: &Path) -> Map<String, Value> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The annotations, finalizers and status of a Service, recorded or as it is.
#[must_use]
pub fn seen_service(service: &Value, conditions: &[&str]) -> Value {
    let metadata = if service["metadata"].is_null() { service } else { &service["metadata"] };
    let all = service["status"]["conditions"].as_array().into_iter().flatten();
    let shown = all.filter(|it| it["type"].as_str().is_some_and(|it| conditions.contains(&it)));
    let shown: Vec<_> = shown.map(|it| format!("{} {} {}", it["type"], it["status"], it["reason"])).collect();
    let texts = |value: &Value| if value.is_null() { json!({}) } else { value.clone() };
    let list = |value: &Value| if value.is_null() { json!([]) } else { value.clone() };
    json!({
        "annotations": texts(&metadata["annotations"]), "finalizers": list(&metadata["finalizers"]),
        "ingress": service["status"]["loadBalancer"]["ingress"], "conditions": shown,
    })
}
