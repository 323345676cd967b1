//! Admission of a PersistentVolume that is being created.

use std::sync::Arc;

use cloud_provider::{Cloud, Error as CloudError, PersistentVolumes, Topology, Volume};
use k8s_openapi::api::core::v1::PersistentVolume;
use kube::ResourceExt;
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::Error;
use super::plan::{self, Ask, LabelMoment, Patch};
use super::questions;
use crate::account::Account;
use crate::error::chain;
use crate::nodes::Nodes;
use crate::trimmed::Trimmed;

/// The longest name of an object, in bytes.
const NAME: usize = 253;

/// Decides about PersistentVolumes while they are created. It writes nothing itself.
pub struct Admission {
    cloud: Arc<dyn PersistentVolumes>,
    nodes: Nodes,
}

/// A PersistentVolume as the body of a webhook's request holds it, without what nobody reads.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Proposed(Trimmed<PersistentVolume>);

impl From<Proposed> for PersistentVolume {
    fn from(Proposed(Trimmed(pv)): Proposed) -> Self {
        pv
    }
}

/// The changes of a volume that may be created.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Admitted {
    /// The operations of a JSON patch (RFC 6902); none: it stays as it is.
    pub patch: Vec<Value>,
    /// For whoever creates it.
    pub warnings: Vec<String>,
}

/// Why a volume may not be created, in one line.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct RefusedVolume {
    message: String,
    /// Whether the provider crashed over the volume, or used up its CPU budget or its memory.
    pub has_crashed: bool,
}

impl Admission {
    /// `None` if the cloud cannot say where volumes are. No answer of another account than `account` counts.
    #[must_use]
    pub fn new(cloud: &Cloud, account: &Account, nodes: Nodes) -> Option<Self> {
        let cloud = account.guard(cloud.clone()).persistent_volumes?;
        Some(Self { cloud, nodes })
    }

    /// Whether the cloud has to be asked about a volume.
    #[must_use]
    pub fn asks_the_cloud(&self, pv: &PersistentVolume) -> bool {
        matches!(plan::ask(pv, &self.cloud.description()), Ask::Cloud(_))
    }

    /// Admits a volume, or refuses it.
    ///
    /// # Errors
    ///
    /// If the cloud does not say where it is, or if its own labels cannot be read.
    pub async fn admit(&self, pv: &PersistentVolume) -> Result<Admitted, RefusedVolume> {
        let topology = self.topology(pv).await.map_err(|error| RefusedVolume {
            message: chain(&error),
            has_crashed: matches!(error, Error::Cloud { source: CloudError::Crashed { .. }, .. }),
        })?;
        let Some(topology) = topology else { return Ok(Admitted::default()) };
        let Some(patch) = plan::patched(pv, &topology, LabelMoment::Creation) else { return Ok(Admitted::default()) };
        let nodes = self.nodes.all();
        let labels = nodes.iter().filter_map(|it| it.metadata.labels.as_ref());
        let unmet = plan::without_nodes(&topology, labels);
        let warnings = unmet.into_iter().map(|(key, values)| without_nodes(key, &values)).collect();
        Ok(Admitted { patch: operations(pv, patch), warnings })
    }

    async fn topology(&self, pv: &PersistentVolume) -> Result<Option<Topology>, Error> {
        // One that gets its name from the API server has none yet.
        let name = Some(pv.name_any()).filter(|it| !it.is_empty());
        let mut name = name.or_else(|| pv.metadata.generate_name.clone()).unwrap_or_default();
        // An API server lets no longer one pass, but whoever reaches the port can write any.
        name.truncate(name.floor_char_boundary(NAME));
        match plan::ask(pv, &self.cloud.description()) {
            Ask::Nothing => Ok(None),
            Ask::FromLabels(topology) => Ok(Some(topology)),
            Ask::Invalid(objection) => Err(Error::Volume { volume: name, objection }),
            Ask::Cloud(volume) => {
                let volume = Volume { name: name.clone(), ..volume };
                let (mut answers, _) = questions::ask(&*self.cloud, &[volume]).await;
                // As many answers as questions.
                let answer = answers.pop().unwrap_or(Ok(None));
                answer.map_err(|source| Error::Cloud { volume: name, source })
            }
        }
    }
}

/// The warning about a volume where no node is.
pub(super) fn without_nodes(key: &str, values: &str) -> String {
    format!(
        "no node has the label {key} with the value {values}, which is where the volume is: no pod with it can be scheduled \
         until there is one"
    )
}

/// A patch as operations of RFC 6902.
fn operations(pv: &PersistentVolume, Patch { labels, node_affinity }: Patch) -> Vec<Value> {
    let add = |path: &str, value: Value| json!({ "op": "add", "path": path, "value": value });
    let mut operations: Vec<_> = match &pv.metadata.labels {
        None if labels.is_empty() => Vec::new(),
        None => vec![add("/metadata/labels", json!(labels))],
        // What exists is replaced by an addition.
        Some(_) => {
            labels.iter().map(|(key, value)| add(&format!("/metadata/labels/{}", escaped(key)), json!(value))).collect()
        }
    };
    operations.extend(node_affinity.map(|it| add("/spec/nodeAffinity", json!(it))));
    operations
}

/// A key as a part of a JSON pointer (RFC 6901).
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pv(labels: Value) -> PersistentVolume {
        serde_json::from_value(json!({ "metadata": { "name": "pv-1", "labels": labels }, "spec": {} })).unwrap()
    }

    fn check(pv: &PersistentVolume, labels: Value, node_affinity: Value, expected: Value) {
        let [labels, node_affinity] = [labels, node_affinity];
        let patch = Patch {
            labels: serde_json::from_value(labels).unwrap(),
            node_affinity: serde_json::from_value(node_affinity).unwrap(),
        };
        assert_eq!(json!(operations(pv, patch)), expected);
    }

    #[test]
    fn a_patch_adds_what_differs() {
        let affinity = json!({ "required": { "nodeSelectorTerms": [{ "matchFields": [] }] } });
        check(
            &pv(Value::Null),
            json!({ "a/b": "1" }),
            affinity.clone(),
            json!([
                { "op": "add", "path": "/metadata/labels", "value": { "a/b": "1" } },
                { "op": "add", "path": "/spec/nodeAffinity", "value": affinity },
            ]),
        );
        check(
            &pv(json!({ "a/b": "0", "c": "2" })),
            json!({ "a/b": "1", "x~y": "2" }),
            Value::Null,
            json!([
                { "op": "add", "path": "/metadata/labels/a~1b", "value": "1" },
                { "op": "add", "path": "/metadata/labels/x~0y", "value": "2" },
            ]),
        );
        check(&pv(Value::Null), json!({}), Value::Null, json!([]));
    }
}
