//! The state of Services, of Nodes and of AWS, in a form that is the same each time: names stand in the place of what is made up when
//! the story is played, and what has no order is sorted.

use std::collections::BTreeSet;
use std::sync::PoisonError;

use k8s_openapi::api::core::v1::{Event, Node, Service, Taint};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use regex::Regex;
use serde_json::{Map, Value, json};

use crate::moto::Call;

use super::replay;
use super::stage::Stage;

/// Before the keys of our own tags.
const OURS: &str = "aerostat.dev/";

impl Stage {
    /// Everything that a manager leaves.
    ///
    /// # Panics
    ///
    /// Panics if the API server or the counterpart refuses to tell.
    pub async fn seen(&self) -> Value {
        let all = ListParams::default();
        let nodes = Api::<Node>::all(self.cluster.admin.clone()).list(&all).await.expect("nodes are listed");
        let services = self.services().list(&all).await.expect("Services are listed");
        let events = self.events().await;
        let state = self.cloud.moto().order("state", &json!({}));
        let known = Known::new(self, &state);
        let nodes: Map<_, _> = nodes.items.iter().map(|it| (it.name_any(), node(it))).collect();
        let services = services.items.iter().filter(|it| it.name_any() != "kubernetes");
        let services: Map<_, _> = services.map(|it| (it.name_any(), service(it, &events))).collect();
        let seen = json!({ "nodes": nodes, "services": services, "cloud": cloud(&state) });
        known.replace(&seen)
    }
}

impl Stage {
    async fn events(&self) -> Vec<Event> {
        let events = Api::<Event>::all(self.cluster.admin.clone());
        events.list(&ListParams::default()).await.expect("events are listed").items
    }

    /// The warnings of a manager, in a line each.
    ///
    /// # Panics
    ///
    /// Panics if the API server refuses to tell.
    pub async fn warnings(&self) -> Vec<String> {
        let of = |event: &Event| {
            format!(
                "{}: {}",
                event.involved_object.name.as_deref().unwrap_or(""),
                event.message.as_deref().unwrap_or("")
            )
        };
        self.events().await.iter().filter(|it| warns(it)).map(of).collect()
    }

    /// Makes in AWS what a recording shows in `cloud`, with the names of the Services that there are.
    ///
    /// # Panics
    ///
    /// Panics if AWS refuses it.
    pub async fn replay(&self, cloud: &Value) {
        for round in replay::rounds(cloud) {
            let known = Known::new(self, &self.cloud.moto().order("state", &json!({})));
            let restored = round.into_iter().map(|it| Call { parameters: known.restore(&it.parameters), ..it });
            self.cloud.moto().done(restored).await;
        }
    }
}

/// Values that are made up each time, and the names in their place.
struct Known(Vec<(String, String)>);

impl Known {
    fn new(stage: &Stage, state: &Value) -> Self {
        let balancers = stage.balancers.lock().unwrap_or_else(PoisonError::into_inner);
        let balancers: Vec<_> = balancers.iter().map(|(id, name)| (id.clone(), format!("<{name}>"))).collect();
        let mut all = balancers.clone();
        all.extend([
            (stage.places.vpc.clone(), "<vpc>".to_owned()),
            (stage.places.table.clone(), "<table>".to_owned()),
        ]);
        let zones = stage.places.subnets.iter().zip('a'..);
        all.extend(zones.map(|(id, zone)| (id.clone(), format!("<subnet {zone}>"))));
        let certificates = stage.places.certificates.iter().zip(1..);
        all.extend(certificates.map(|(arn, number)| (arn.clone(), format!("<certificate {number}>"))));
        all.push((stage.places.twin.clone(), "<subnet twin>".to_owned()));
        let addresses = stage.places.addresses.iter().zip(1..);
        all.extend(addresses.map(|(id, number)| (id.clone(), format!("<allocation {number}>"))));
        for group in elements(state, "security") {
            let (id, name) = (text(group, "id"), text(group, "name"));
            // The hash at the end of the name is made of the Service's UID.
            let plain = hash().replace(&name, "-<hash>").into_owned();
            let shown = balancers.iter().fold(plain.clone(), |shown, (id, name)| shown.replace(id, name));
            all.push((id, format!("<group {shown}>")));
            if plain != name {
                all.push((name, plain));
            }
        }
        for kind in ["network", "targets"] {
            let shown = |name: String| balancers.iter().fold(name, |shown, (id, name)| shown.replace(id, name));
            all.extend(
                elements(state, kind).map(|it| (text(it, "id"), format!("<{kind} {}>", shown(text(it, "name"))))),
            );
        }
        for (id, instance) in state["instances"].as_object().into_iter().flatten() {
            for (key, what) in [("private", "address"), ("public", "public address"), ("name", "public name")] {
                if let Some(value) = instance[key].as_str() {
                    all.push((format!("\"{value}\""), format!("\"<{what} of {id}>\"")));
                }
            }
        }
        // A longer one may hold a shorter one.
        all.sort_by_key(|it| std::cmp::Reverse(it.0.len()));
        Self(all)
    }

    /// The values that were made up, in the place of names.
    fn restore(&self, named: &Value) -> Value {
        let mut known: Vec<_> = self.0.iter().collect();
        known.sort_by_key(|it| std::cmp::Reverse(it.1.len()));
        let text = known.into_iter().fold(named.to_string(), |text, (found, name)| text.replace(name, found));
        serde_json::from_str(&text).expect("ids change no form")
    }

    fn replace(&self, seen: &Value) -> Value {
        let mut text = seen.to_string();
        for (found, name) in &self.0 {
            text = text.replace(found, name);
        }
        let ids = Regex::new(r"([/-])[0-9a-f]{16}\b").expect("it is a pattern");
        let text = ids.replace_all(&text, "$1<id>");
        let mut value = serde_json::from_str(&text).expect("names change no form");
        sort_names(&mut value);
        value
    }
}

/// A group's hash, at the end of its name.
fn hash() -> Regex {
    Regex::new("-[0-9a-f]{10}$").expect("it is a pattern")
}

/// Sorts every list of texts, once it holds names.
fn sort_names(value: &mut Value) {
    match value {
        Value::Array(list) if list.iter().all(Value::is_string) => list.sort_by_key(ToString::to_string),
        Value::Array(list) => list.iter_mut().for_each(sort_names),
        Value::Object(fields) => fields.values_mut().for_each(sort_names),
        _ => {}
    }
}

fn node(node: &Node) -> Value {
    let spec = node.spec.clone().unwrap_or_default();
    let taints = spec.taints.unwrap_or_default();
    let taint = |it: &Taint| format!("{}={}:{}", it.key, it.value.as_deref().unwrap_or_default(), it.effect);
    let taints: Vec<_> = taints.iter().map(taint).collect();
    let status = node.status.clone().unwrap_or_default();
    let conditions = status.conditions.unwrap_or_default().into_iter().filter(|it| it.type_ == "NetworkUnavailable");
    let conditions: Vec<_> = conditions.map(|it| json!({ "status": it.status, "reason": it.reason })).collect();
    let addresses = status.addresses.unwrap_or_default();
    // In their order.
    let addresses: Vec<_> =
        addresses.into_iter().map(|it| json!({ "type": it.type_, "address": it.address })).collect();
    json!({
        "providerID": spec.provider_id,
        "labels": node.labels(),
        "taints": taints,
        "addresses": addresses,
        "network": conditions,
    })
}

/// Whether a manager warns by it. The API server warns about cluster IPs.
fn warns(event: &Event) -> bool {
    event.type_.as_deref() == Some("Warning") && event.reason.as_ref().is_some_and(|it| it.contains("LoadBalancer"))
}

/// With the reasons of the warnings about it.
fn service(service: &Service, events: &[Event]) -> Value {
    let warnings = events.iter().filter(|it| warns(it) && it.involved_object.uid == service.uid());
    let warnings: BTreeSet<_> = warnings.filter_map(|it| it.reason.as_deref()).collect();
    let status = service.status.clone().unwrap_or_default();
    let conditions = status.conditions.unwrap_or_default();
    let conditions: Map<_, _> = conditions.into_iter().map(|it| (it.type_, json!(it.status))).collect();
    json!({
        "status": status.load_balancer,
        "conditions": conditions,
        "finalizers": service.finalizers(),
        "warnings": warnings,
        "annotations": service.annotations(),
    })
}

/// The state of AWS, by name.
fn cloud(state: &Value) -> Value {
    // Whether it is provisioned yet says the time alone.
    let network = |it: &Value| without(&with(it, "listeners", |all| by(all, "port", without_marks)), "state");
    let classic = |it: &Value| with(it, "listeners", |all| all.iter().map(ToString::to_string).collect());
    json!({
        "network": named(state, "network", network),
        "targets": named(state, "targets", Value::clone),
        "classic": named(state, "classic", classic),
        "security": named(state, "security", |it| with(it, "rules", |all| all.iter().map(rule).collect())),
        "routes": elements(state, "routes").map(ToString::to_string).collect::<Vec<_>>(),
        "forwards": forwards(state),
    })
}

/// The instances that forward what is not for them.
fn forwards(state: &Value) -> Vec<&String> {
    let all = state["instances"].as_object().into_iter().flatten();
    let forwards = |checks: &Value| checks.as_bool() == Some(false) || checks.as_str() == Some("false");
    all.filter(|it| forwards(&it.1["checks"])).map(|it| it.0).collect()
}

/// `tcp 80-80 from 0.0.0.0/0: text`.
fn rule(rule: &Value) -> Value {
    let field = |name: &str| rule[name].as_str().unwrap_or("");
    let port = |index: usize| rule["ports"][index].as_i64().map_or_else(|| "*".to_owned(), |it| it.to_string());
    json!(format!("{} {}-{} from {}: {}", field("protocol"), port(0), port(1), field("peer"), field("description")))
}

fn with(object: &Value, field: &str, change: impl Fn(&[Value]) -> Value) -> Value {
    let mut object = object.clone();
    object[field] = change(object[field].as_array().map_or(&[], Vec::as_slice));
    object
}

fn without(object: &Value, field: &str) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove(field);
    }
    object
}

fn by(all: &[Value], key: &str, change: impl Fn(&Value) -> Value) -> Value {
    all.iter().map(|it| (it[key].to_string(), change(it))).collect::<Map<_, _>>().into()
}

fn named(state: &Value, kind: &str, change: impl Fn(&Value) -> Value) -> Value {
    elements(state, kind).map(|it| (text(it, "name"), without_marks(&change(it)))).collect::<Map<_, _>>().into()
}

fn elements<'a>(state: &'a Value, kind: &str) -> impl Iterator<Item = &'a Value> {
    state[kind].as_array().into_iter().flatten()
}

fn text(object: &Value, field: &str) -> String {
    object[field].as_str().unwrap_or_default().to_owned()
}

/// Without our own tags.
fn without_marks(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(tags) = object["tags"].as_object_mut() {
        tags.retain(|key, _| !key.starts_with(OURS));
    }
    object
}
