//! A recording, read strictly: a word that the runner does not know is an error, because playing without it would
//! compare something else.

mod about;
mod duration;
mod step;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::about::not_about_nodes;
pub(crate) use self::step::{Action, Answer};

/// One recording.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    #[serde(default, rename = "covers")]
    _covers: Vec<u32>,
    #[serde(default, rename = "about")]
    _about: String,
    pub(crate) flags: Vec<String>,
    /// Parts that the cloud did not offer.
    #[serde(default)]
    pub(crate) cloud_without: Vec<String>,
    pub(crate) given: Vec<Given>,
    pub(crate) cloud: Vec<CloudChange>,
    pub(crate) steps: Vec<Step>,
    pub(crate) observed: Observed,
}

/// An object that the recorder created.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    pub(crate) t: f64,
    pub(crate) object: Value,
    /// What the API server said, where it refused the object.
    #[serde(default)]
    pub(crate) answer: Option<Value>,
}

/// What the cloud answers from some second on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CloudChange {
    pub(crate) t: f64,
    /// By node. `null`: not there any more.
    #[serde(default)]
    pub(crate) nodes: BTreeMap<String, Option<CloudNode>>,
    #[serde(default, rename = "note")]
    _note: String,
}

/// What the cloud answers about the machine of one node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CloudNode {
    #[serde(rename = "providerID")]
    pub(crate) provider_id: String,
    #[serde(rename = "type")]
    pub(crate) machine_type: String,
    pub(crate) zone: String,
    pub(crate) region: String,
    pub(crate) addresses: Vec<Address>,
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "duration::read")]
    pub(crate) delay: Duration,
    pub(crate) metadata_error: Option<CloudError>,
    /// Metadata is null: no error, and no machine either.
    pub(crate) null: bool,
    pub(crate) exists: Option<bool>,
    pub(crate) exists_error: Option<Value>,
    pub(crate) shutdown: Option<bool>,
    pub(crate) shutdown_error: Option<Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Address {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) address: String,
}

/// An error of the cloud.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CloudError {
    pub(crate) text: String,
    pub(crate) kind: ErrorKind,
    #[serde(deserialize_with = "duration::read")]
    pub(crate) after: Duration,
    pub(crate) wrap: Value,
    pub(crate) count: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ErrorKind {
    #[default]
    Plain,
    NotFound,
    NotImplemented,
    Elsewhere,
    Retry,
}

/// What happened besides.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    pub(crate) t: f64,
    pub(crate) action: String,
    #[serde(default)]
    pub(crate) body: Value,
    #[serde(default, rename = "note")]
    _note: String,
}

/// What upstream did.
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
    pub(crate) function: String,
    #[serde(default)]
    pub(crate) args: Map<String, Value>,
    #[serde(default)]
    pub(crate) result: String,
}

impl Scenario {
    /// Reads a recording: understood, if it is about nodes, or else why it is left out.
    pub(crate) fn read(path: &Path) -> Result<Recording> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let not_as_known = || format!("{} is not a recording as we know them", path.display());
        let recording: Value = serde_json::from_str(&text).with_context(not_as_known)?;
        match not_about_nodes(&recording) {
            Some(reason) => Ok(Recording::LeftOut(reason)),
            None => Ok(Recording::AboutNodes(Box::new(serde_json::from_value(recording).with_context(not_as_known)?))),
        }
    }

    /// When the recorder saw that the process had started.
    pub(crate) fn up(&self) -> Result<f64> {
        let up = self.steps.iter().find(|step| step.action == "CCM is up");
        Ok(up.with_context(|| format!("{}: no step says \"CCM is up\"", self.name))?.t)
    }
}

/// A file.
#[derive(Debug)]
pub(crate) enum Recording {
    AboutNodes(Box<Scenario>),
    /// Why.
    LeftOut(&'static str),
}

impl Event {
    /// A warning of the node controller about a node.
    pub(crate) fn warning(node: &str, reason: &str, message: String) -> Event {
        Event {
            verb: "create".to_owned(),
            kind: "Warning".to_owned(),
            reason: reason.to_owned(),
            message,
            source: json!({ "component": "cloud-node-controller" }),
            reporting_component: "cloud-node-controller".to_owned(),
            namespace: "default".to_owned(),
            involved_object: json!({
                "kind": "Node", "name": node, "apiVersion": "v1", "uid": "", "resourceVersion": "",
            }),
            body: Value::Null,
        }
    }
}

impl CloudCall {
    /// A question about a node's machine that had no answer.
    pub(crate) fn metadata(node: &str, t: f64) -> CloudCall {
        let args = Map::from_iter([("node".to_owned(), Value::from(node))]);
        CloudCall { t, function: "InstanceMetadata".to_owned(), args, result: String::new() }
    }

    /// The node that it was about.
    pub(crate) fn node(&self) -> &str {
        self.args.get("node").and_then(Value::as_str).unwrap_or_default()
    }
}

impl Request {
    /// A successful patch of a node's status.
    pub(crate) fn status_patch(t: f64, name: &str, patch: Value) -> Request {
        Request {
            t,
            verb: "patch".to_owned(),
            resource: "nodes".to_owned(),
            subresource: "status".to_owned(),
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

    /// As in `nodes/status`.
    pub(crate) fn target(&self) -> String {
        if self.subresource.is_empty() {
            self.resource.clone()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        }
    }
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_word_of_the_cloud_is_an_error() {
        let mood = json!({ "providerID": "fakecloud://1", "mood": "bad" });
        let error = serde_json::from_value::<CloudNode>(mood).unwrap_err().to_string();
        assert!(error.contains("unknown field `mood`"), "{error}");
    }
}
