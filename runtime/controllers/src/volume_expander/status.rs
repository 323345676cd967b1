//! What is written on a claim and its PersistentVolume while the volume grows: strategic merge patches for the claim's status, in which
//! conditions of others stay, and a merge patch for the PersistentVolume. No client, no clock, no log.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use serde_json::{Map, Value, json};

use super::plan::{
    AT_WORK, EXPANSION_MEMO, GrowthTarget, INFEASIBLE, NODE_CONDITION, NODE_NEXT, SIZE_BEFORE, STORAGE, bytes_of,
    resize_status,
};
use crate::quantity;
use crate::volume_error::kept;
use crate::volume_events::without_requests;

/// Conditions of a claim that grows.
const RESIZING: &str = "Resizing";
const ERROR: &str = "ControllerResizeError";
const NODE_ERROR: &str = "NodeResizeError";
/// The claim's word to kubelets that no filesystem has to grow.
const NO_NODE: &str = "volume.kubernetes.io/node-expansion-not-required";
/// The message of [`NODE_CONDITION`], as the external resizer has it.
const RESTART: &str = "Waiting for user to (re-)start a pod to finish file system resize of volume on node.";

/// The claim's volume begins to grow to a size: what was said of another one goes.
pub(super) fn begun(claim: &PersistentVolumeClaim, target: &GrowthTarget, now: Timestamp) -> Value {
    let conditions = [condition(RESIZING, None, now), gone(NODE_CONDITION), gone(ERROR), gone(NODE_ERROR)];
    let status = json!({
        "allocatedResources": { STORAGE: target.size },
        "allocatedResourceStatuses": { STORAGE: AT_WORK },
        "conditions": conditions,
    });
    guarded(claim, status, Value::Null)
}

/// The volume has grown, and its node is to act.
pub(super) fn node_is_next(claim: &PersistentVolumeClaim, now: Timestamp) -> Value {
    let conditions = [condition(NODE_CONDITION, Some(RESTART), now), gone(ERROR)];
    let status = json!({ "allocatedResourceStatuses": { STORAGE: NODE_NEXT }, "conditions": conditions });
    guarded(claim, status, Value::Null)
}

/// The volume has grown to so many bytes, and nothing is left to be done.
pub(super) fn finished(claim: &PersistentVolumeClaim, bytes: u64) -> Value {
    let conditions = [RESIZING, NODE_CONDITION, ERROR, NODE_ERROR].map(gone);
    let status = json!({
        "capacity": { STORAGE: quantity::binary(bytes) },
        "allocatedResourceStatuses": { STORAGE: null },
        "conditions": conditions,
    });
    guarded(claim, status, json!("true"))
}

/// The cloud has refused a size; `is_infeasible`: for ever. `None` if the claim says so already, but for the numbers of requests in it.
pub(super) fn refused(
    claim: &PersistentVolumeClaim,
    target: &GrowthTarget,
    text: &str,
    is_infeasible: bool,
    now: Timestamp,
) -> Option<Value> {
    let text = format!("failed to expand pvc with {text}");
    let (text, status) = (kept(&text), claim.status.as_ref());
    let said = status.iter().flat_map(|it| it.conditions.iter().flatten()).find(|it| it.type_ == ERROR);
    let is_said = said.and_then(|it| it.message.as_deref()).map(without_requests) == Some(without_requests(text));
    let is_marked = target.is_begun && status.and_then(resize_status) == Some(INFEASIBLE);
    if is_said && (is_marked || !is_infeasible) {
        return None;
    }
    let mut status = json!({ "conditions": [condition(ERROR, Some(text), now)] });
    if is_infeasible {
        status["allocatedResources"] = json!({ STORAGE: target.size });
        status["allocatedResourceStatuses"] = json!({ STORAGE: INFEASIBLE });
    }
    // Also where the claim has changed meanwhile: what it asks for now is looked at by itself.
    Some(json!({ "metadata": { "uid": claim.metadata.uid }, "status": status }))
}

/// The PersistentVolume of a volume that has so many bytes now, if it does not say so already. It says no fewer than before.
pub(super) fn grown(
    pv: &PersistentVolume,
    claim: &PersistentVolumeClaim,
    bytes: u64,
    node_must_grow: bool,
) -> Option<Value> {
    let had = claim.status.as_ref().and_then(|it| it.capacity.as_ref()?.get(STORAGE));
    let mut annotations = Map::new();
    if pv.annotations().contains_key(EXPANSION_MEMO) {
        annotations.insert(EXPANSION_MEMO.to_owned(), Value::Null);
    }
    if let Some(had) = had.filter(|_| node_must_grow && !pv.annotations().contains_key(SIZE_BEFORE)) {
        annotations.insert(SIZE_BEFORE.to_owned(), json!(had));
    }
    let is_larger = bytes > bytes_of(pv);
    if annotations.is_empty() && !is_larger {
        return None;
    }
    let mut patch = json!({ "metadata": {
        "uid": pv.metadata.uid, "resourceVersion": pv.metadata.resource_version, "annotations": annotations,
    } });
    if is_larger {
        patch["spec"] = json!({ "capacity": { STORAGE: quantity::binary(bytes) } });
    }
    Some(patch)
}

/// The PersistentVolume with another value of an annotation; `None`: without it.
pub(super) fn annotated(pv: &PersistentVolume, key: &str, value: Option<&str>) -> Value {
    json!({ "metadata": { "uid": pv.metadata.uid, "annotations": { key: value } } })
}

/// A patch of the claim's status, if nobody has changed the claim meanwhile.
fn guarded(claim: &PersistentVolumeClaim, status: Value, no_node: Value) -> Value {
    let metadata = json!({
        "uid": claim.metadata.uid, "resourceVersion": claim.metadata.resource_version, "annotations": { NO_NODE: no_node },
    });
    json!({ "metadata": metadata, "status": status })
}

fn condition(kind: &str, message: Option<&str>, now: Timestamp) -> Value {
    let mut condition = json!({ "type": kind, "status": "True", "lastTransitionTime": Time(now) });
    if let Some(message) = message {
        condition["message"] = json!(message);
    }
    condition
}

fn gone(kind: &str) -> Value {
    json!({ "$patch": "delete", "type": kind })
}

#[cfg(test)]
mod tests;
