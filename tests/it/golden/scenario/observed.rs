//! Upstream's part of a recording: requests, events and the last objects.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

/// The observations of upstream.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Observed {
    pub(crate) duration: f64,
    #[serde(default = "yes")]
    pub(crate) process_alive: bool,
    #[serde(default)]
    pub(crate) requests: Vec<Request>,
    #[serde(default)]
    pub(crate) events: Vec<Event>,
    #[serde(default, rename = "final")]
    pub(crate) end: BTreeMap<String, Value>,
    #[serde(default, rename = "cloud_calls")]
    pub(crate) cloud_calls: Vec<CloudCall>,
    /// Upstream's own words, which are not ours.
    #[serde(default, rename = "log_lines")]
    _log_lines: Vec<String>,
    #[serde(default, rename = "summary")]
    _summary: Value,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request {
    pub(crate) t: f64,
    pub(crate) verb: String,
    pub(crate) resource: String,
    #[serde(default)]
    pub(crate) subresource: String,
    #[serde(default)]
    pub(crate) name: String,
    pub(crate) code: u16,
    #[serde(default)]
    pub(crate) injected: bool,
    #[serde(default)]
    pub(crate) patch: Value,
    #[serde(default)]
    pub(crate) diff: Map<String, Value>,
}

/// An event request: a `create` with all of these, or a `patch` with a body.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Event {
    pub(crate) t: f64,
    pub(crate) verb: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) source: Value,
    pub(crate) reporting_component: String,
    pub(crate) namespace: String,
    pub(crate) involved_object: Value,
    pub(crate) body: Value,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct CloudCall {
    pub(crate) t: f64,
    /// In seconds; 0 for a call that had not ended when the recording did.
    #[serde(default, deserialize_with = "or_zero")]
    pub(crate) took: f64,
    pub(crate) function: String,
    #[serde(default)]
    pub(crate) args: Map<String, Value>,
    #[serde(default)]
    pub(crate) result: String,
}

impl Event {
    /// A new event about an object, as a controller sends it.
    pub(crate) fn new(t: f64, object: (&str, &str), by: &str, event: (&str, &str, String)) -> Event {
        let ((kind, name), (severity, reason, message)) = (object, event);
        Event {
            t,
            verb: "create".to_owned(),
            kind: severity.to_owned(),
            reason: reason.to_owned(),
            message,
            source: json!({ "component": by }),
            reporting_component: by.to_owned(),
            namespace: "default".to_owned(),
            involved_object: json!({
                "kind": kind, "name": name, "apiVersion": "v1", "uid": "", "resourceVersion": "",
            }),
            body: Value::Null,
        }
    }

    /// The object that it is about, as in `Node n1`; empty for an event that is only counted.
    pub(crate) fn object(&self) -> String {
        let word = |key: &str| self.involved_object[key].as_str().unwrap_or_default();
        format!("{} {}", word("kind"), word("name")).trim().to_owned()
    }
}

impl CloudCall {
    /// A question about a node's machine that had no answer.
    pub(crate) fn metadata(node: &str, t: f64) -> CloudCall {
        let args = Map::from_iter([("node".to_owned(), Value::from(node))]);
        CloudCall { t, took: 0.0, function: "InstanceMetadata".to_owned(), args, result: String::new() }
    }

    /// The node that it was about; empty for none.
    pub(crate) fn node(&self) -> &str {
        self.word("node")
    }

    /// The Service that it was about, as in `default/web`; empty for none.
    pub(crate) fn service(&self) -> &str {
        self.word("service")
    }

    /// The object that it was about, as in `Node n1`.
    pub(crate) fn object(&self) -> String {
        match self.service().rsplit_once('/') {
            Some((_, service)) => format!("Service {service}"),
            None => format!("Node {}", self.node()),
        }
    }

    /// The names of the nodes that a load balancer was given, sorted.
    pub(crate) fn hosts(&self) -> Vec<String> {
        let names = self.args.get("nodes").and_then(Value::as_array).into_iter().flatten();
        let mut names: Vec<_> = names.filter_map(Value::as_str).map(str::to_owned).collect();
        names.sort();
        names
    }

    fn word(&self, key: &str) -> &str {
        self.args.get(key).and_then(Value::as_str).unwrap_or_default()
    }
}

impl Request {
    /// A successful patch, as in `nodes/status n1`.
    pub(crate) fn patch(t: f64, target: &str, name: &str, patch: Value) -> Request {
        let (resource, subresource) = target.split_once('/').unwrap_or((target, ""));
        Request {
            t,
            verb: "patch".to_owned(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            name: name.to_owned(),
            code: 200,
            injected: false,
            patch,
            diff: Map::new(),
        }
    }

    /// Whether it changed the object.
    pub(crate) fn has_changed(&self) -> bool {
        self.is_write() && (200..300).contains(&self.code) && !self.injected
    }

    pub(crate) fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }

    /// The object that it is about, as in `Node n1`.
    pub(crate) fn object(&self) -> String {
        let kind = match self.resource.as_str() {
            "nodes" => "Node",
            "services" => "Service",
            other => other,
        };
        format!("{kind} {}", self.name)
    }

    /// As in `nodes/status`.
    pub(crate) fn target(&self) -> String {
        if self.subresource.is_empty() {
            self.resource.clone()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        }
    }
}

/// A number, or null for zero.
fn or_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_had_not_ended_took_no_time() {
        let took = |value: Value| {
            let mut call = json!({ "t": 1.5, "function": "EnsureLoadBalancer", "took": value });
            if call["took"] == "absent" {
                call.as_object_mut().unwrap().remove("took");
            }
            serde_json::from_value::<CloudCall>(call).map(|it| it.took).map_err(|it| it.to_string())
        };
        assert_eq!(took(json!(0.25)), Ok(0.25));
        assert_eq!(took(json!(null)), Ok(0.0));
        assert_eq!(took(json!("absent")), Ok(0.0));
        assert!(took(json!("long")).is_err());
    }
}
