//! Events about a Service: which were told in a step, by reason. How often is each manager's own affair, and so are its words.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Event;
use kube::Client;
use kube::api::{Api, ListParams};
use serde_json::{Map, Value};

/// The components in a cloud controller manager's events about Services and about nodes that go.
const COMPONENTS: [&str; 2] = ["service-controller", "cloud-node-lifecycle-controller"];

/// How often each event was told: by reason, type and message.
pub(super) type EventCounts = BTreeMap<(String, String, String), i32>;

/// The events about the Service with this name until now.
pub(super) async fn told(client: &Client, service: &str) -> EventCounts {
    let events: Api<Event> = Api::default_namespaced(client.clone());
    let about = ListParams::default().fields(&format!("involvedObject.name={service}"));
    let mut told = EventCounts::new();
    let all = events.list(&about).await.expect("the API server answers").items;
    // The cluster's own controllers tell of Services, too.
    let is_ours = |event: &Event| {
        let source = event.source.as_ref().and_then(|it| it.component.as_deref());
        source.is_some_and(|it| COMPONENTS.contains(&it))
    };
    for event in all.into_iter().filter(is_ours) {
        let key =
            (event.reason.unwrap_or_default(), event.type_.unwrap_or_default(), event.message.unwrap_or_default());
        let times = event.count.or_else(|| event.series.and_then(|it| it.count)).unwrap_or(1);
        *told.entry(key).or_default() += times.max(1);
    }
    told
}

/// The reasons of events that were told since, with their types.
pub(super) fn since(before: &EventCounts, now: &EventCounts) -> Value {
    let is_new = |(key, times): &(&(String, String, String), &i32)| before.get(*key).is_none_or(|it| it < *times);
    let new = now.iter().filter(is_new).map(|((reason, kind, _), _)| (reason.clone(), Value::from(kind.as_str())));
    Value::Object(new.collect())
}

/// Whether a Warning was told since.
pub(super) fn warns(before: &EventCounts, now: &EventCounts) -> bool {
    since(before, now).as_object().is_some_and(|it| it.values().any(|it| it == "Warning"))
}

/// The same of a recorded step.
pub(super) fn recorded(events: &Value) -> Value {
    let mut reasons = Map::new();
    for event in events.as_array().into_iter().flatten() {
        reasons.insert(event["reason"].as_str().unwrap_or_default().to_owned(), event["type"].clone());
    }
    Value::Object(reasons)
}
