//! Events about Services: which were told since, by reason. How often is each manager's own affair, and so are its words.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, ListParams};
use serde_json::{Map, Value, json};

use crate::control_plane::Cluster;

use super::comparison::Compared;

/// The controllers of the test's own control plane tell of Services, too.
const OTHERS: [&str; 3] = ["ipallocator-repair-controller", "portallocator-repair-controller", "endpoint-controller"];

/// How often events were told, by Service, reason and type.
#[derive(Clone, Debug, Default)]
pub struct SeenEvents(BTreeMap<(String, String, String), i32>);

impl SeenEvents {
    /// Those about Services of namespace `default` until now.
    ///
    /// # Panics
    ///
    /// Panics if the API server does not answer.
    pub async fn until_now(cluster: &Cluster) -> Self {
        let events: Api<Event> = Api::default_namespaced(cluster.admin.clone());
        let mut told = BTreeMap::new();
        for event in events.list(&ListParams::default()).await.expect("the API server answers").items {
            let from = event.source.as_ref().and_then(|it| it.component.clone());
            let from = from.or(event.reporting_component.clone()).unwrap_or_default();
            if event.involved_object.kind.as_deref() != Some("Service") || OTHERS.contains(&&*from) {
                continue;
            }
            let about = event.involved_object.name.clone().unwrap_or_default();
            let key = (about, event.reason.unwrap_or_default(), event.type_.unwrap_or_default());
            let times = event.count.or_else(|| event.series.and_then(|it| it.count)).unwrap_or(1);
            *told.entry(key).or_default() += times.max(1);
        }
        Self(told)
    }

    /// The reasons of events that were told since, with their types, by Service.
    #[must_use]
    pub fn since(&self, before: &Self) -> Value {
        let mut new = Map::new();
        for (key @ (about, reason, kind), times) in &self.0 {
            if before.0.get(key).is_none_or(|it| it < times) {
                let all = new.entry(about.clone()).or_insert_with(|| json!({}));
                all[reason.as_str()] = json!(kind);
            }
        }
        new.into()
    }
}

/// A comparison with the Warnings about Services of namespace `default`, a line each, where something differs: they say why.
///
/// # Panics
///
/// Panics if the API server does not answer.
pub async fn with_warnings(mut compared: Compared, cluster: &Cluster) -> Compared {
    if compared.wrong.is_empty() {
        return compared;
    }
    let events: Api<Event> = Api::default_namespaced(cluster.admin.clone());
    for event in events.list(&ListParams::default()).await.expect("the API server answers").items {
        let about = event.involved_object;
        if event.type_.as_deref() == Some("Warning") && about.kind.as_deref() == Some("Service") {
            let [name, reason, text] = [about.name, event.reason, event.message].map(Option::unwrap_or_default);
            compared.wrong.push(format!("told of {name}: {reason}: {text}"));
        }
    }
    compared
}

/// The same of a recorded step.
#[must_use]
pub fn recorded_events(events: &Value) -> Value {
    let mut all = Map::new();
    for event in events.as_array().into_iter().flatten() {
        let about = event["on"].as_str().or(event["about"].as_str());
        let Some(about) = about.and_then(|it| it.strip_prefix("Service/")) else { continue };
        let of = all.entry(about.to_owned()).or_insert_with(|| json!({}));
        of[event["reason"].as_str().unwrap_or_default()] = event["type"].clone();
    }
    all.into()
}
