//! The object as it should be becomes the smallest patch, guarded by the version that was looked at.

use std::error::Error as StdError;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, Patch, PatchParams};
use kube::core::Status;
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tracing::debug;

/// How long the API server may take for one request.
pub(crate) const REQUEST: Duration = Duration::from_secs(30);
/// How often a write is tried while others change the object.
const CONFLICTS: u32 = 20;
/// The shortest pause between two of these tries; the longest is twice that.
const CONFLICT_PAUSE: Duration = Duration::from_millis(50);

/// Why the API server did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// It said no.
    #[error("{}", .0.message)]
    Refused(Box<Status>),
    /// It took too long; the write may have happened.
    #[error("the API server did not answer within {} s", .0.as_secs())]
    Late(Duration),
    /// It was not reached, or its answer was not understood; the write may have happened.
    #[error("{}", cause(.0))]
    Failed(kube::Error),
    /// An object has no JSON.
    #[error("cannot write the object as JSON: {0}")]
    Unwritable(serde_json::Error),
}

impl Error {
    /// Whether the object has changed since it was looked at.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused(status) if status.code == 409 && status.reason == "Conflict")
    }

    /// Whether the object is not there any more.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self, Self::Refused(status) if status.code == 404)
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Refused(status),
            error => Self::Failed(error),
        }
    }
}

/// Which half of an object a patch is about: each has its own address and its own permission.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Part {
    /// Everything but the status.
    Object,
    /// The status.
    Status,
    /// The status and the metadata, in one write through the status: where the spec is out of reach.
    StatusAndMetadata,
}

/// Makes `current` into `desired`, as far as the part goes. Returns what the API server made of it, or `None`, without
/// a request, if nothing differs.
///
/// The patch holds what differs, and the resourceVersion of `current`: if the object has changed since, nothing is
/// written and the error is a conflict.
pub(crate) async fn update<K>(api: &Api<K>, current: &K, desired: &K, part: Part) -> Result<Option<K>, Error>
where
    K: Resource + Clone + Debug + DeserializeOwned + Serialize,
{
    let current_json = serde_json::to_value(current).map_err(Error::Unwritable)?;
    let desired_json = serde_json::to_value(desired).map_err(Error::Unwritable)?;
    let Some(patch) = guarded(&current_json, &desired_json, part) else { return Ok(None) };
    let (name, params, patch) = (current.name_any(), PatchParams::default(), Patch::Merge(patch));
    let answer = within(async {
        match part {
            Part::Object => api.patch(&name, &params, &patch).await,
            Part::Status | Part::StatusAndMetadata => api.patch_status(&name, &params, &patch).await,
        }
    });
    answer.await.map(Some)
}

/// Makes an object what `plan` makes of it. If others change it meanwhile, `plan` is asked again about the object as
/// `latest` knows it by then. Returns the object as it is afterwards, or `None` if it is gone, or another one has its name.
///
/// `trim` leaves out of an answer what is not kept; `jitter` is a number between 0 and 1, another one each time.
pub(crate) async fn update_latest<K, E>(
    api: &Api<K>,
    mut object: Arc<K>,
    part: Part,
    mut plan: impl FnMut(&K) -> Result<K, E>,
    latest: impl Fn() -> Option<Arc<K>>,
    trim: fn(&mut K),
    jitter: fn() -> f64,
) -> Result<Option<Arc<K>>, E>
where
    K: Resource + Clone + Debug + DeserializeOwned + Serialize,
    E: From<Error>,
{
    let mut tries = 1;
    loop {
        match update(api, &object, &plan(&object)?, part).await {
            Ok(Some(mut written)) => {
                trim(&mut written);
                return Ok(Some(Arc::new(written)));
            }
            Ok(None) => return Ok(Some(object)),
            Err(error) if error.is_conflict() && tries < CONFLICTS => {
                debug!(object = object.name_any(), "the object has changed meanwhile; looking at it again");
                tries += 1;
                tokio::time::sleep(CONFLICT_PAUSE.mul_f64(1.0 + jitter())).await;
                match latest() {
                    Some(fresh) if fresh.meta().uid == object.meta().uid => object = fresh,
                    _ => return Ok(None),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The answer of the API server, if it comes in time.
pub(crate) async fn within<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, Error> {
    match tokio::time::timeout(REQUEST, request).await {
        Ok(answer) => answer.map_err(Error::from),
        Err(_) => Err(Error::Late(REQUEST)),
    }
}

/// The merge patch from one object to the other, with the version that it is good for.
fn guarded(current: &Value, desired: &Value, part: Part) -> Option<Value> {
    let mut patch = match part {
        Part::Object => {
            let mut patch = difference(current, desired)?;
            patch.as_object_mut()?.remove("status");
            patch
        }
        Part::Status => json!({ "status": difference(&current["status"], &desired["status"])? }),
        Part::StatusAndMetadata => {
            let mut patch = difference(current, desired)?;
            patch.as_object_mut()?.retain(|key, _| key == "metadata" || key == "status");
            patch
        }
    };
    if patch.as_object()?.is_empty() {
        return None;
    }
    patch["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"].clone();
    Some(patch)
}

/// The JSON merge patch (RFC 7386) from one value to the other: lists as a whole, `null` for what is gone.
fn difference(current: &Value, desired: &Value) -> Option<Value> {
    match (current, desired) {
        (Value::Object(current), Value::Object(desired)) => {
            let mut patch = Map::new();
            for key in current.keys().filter(|it| !desired.contains_key(*it)) {
                patch.insert(key.clone(), Value::Null);
            }
            for (key, value) in desired {
                let change = match current.get(key) {
                    Some(current) => difference(current, value),
                    None => Some(value.clone()),
                };
                if let Some(change) = change {
                    patch.insert(key.clone(), change);
                }
            }
            (!patch.is_empty()).then_some(Value::Object(patch))
        }
        _ => (current != desired).then(|| desired.clone()),
    }
}

/// The innermost cause that is known: the outer ones only say that there was a request.
fn cause(error: &kube::Error) -> String {
    let mut innermost: &dyn StdError = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    format!("the request to the API server failed: {innermost}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(part: Part, desired: Value, expected: Option<Value>) {
        let current = json!({
            "metadata": { "name": "n1", "resourceVersion": "7", "labels": { "a": "1", "b": "2" } },
            "spec": { "taints": [{ "key": "x" }, { "key": "y" }] },
            "status": { "addresses": [{ "type": "InternalIP", "address": "10.0.0.1" }], "phase": "Running" },
        });
        let mut merged = current.clone();
        json_patch(&mut merged, &desired);
        assert_eq!(guarded(&current, &merged, part), expected);
    }

    /// What the API server does with a merge patch.
    fn json_patch(target: &mut Value, patch: &Value) {
        let Value::Object(patch) = patch else {
            *target = patch.clone();
            return;
        };
        for (key, value) in patch {
            match value {
                Value::Null => drop(target.as_object_mut().unwrap().remove(key)),
                value => json_patch(&mut target[key], value),
            }
        }
    }

    #[test]
    fn nothing_is_sent_when_nothing_differs() {
        check(Part::Object, json!({}), None);
        check(Part::Status, json!({}), None);
    }

    #[test]
    fn only_what_differs_is_sent_with_the_version_it_is_good_for() {
        check(
            Part::Object,
            json!({ "metadata": { "labels": { "a": "9", "b": null, "c": "3" } } }),
            Some(json!({ "metadata": { "labels": { "a": "9", "b": null, "c": "3" }, "resourceVersion": "7" } })),
        );
        check(
            Part::Object,
            json!({ "spec": { "taints": null, "providerID": "cloud://1" } }),
            Some(json!({
                "metadata": { "resourceVersion": "7" },
                "spec": { "taints": null, "providerID": "cloud://1" },
            })),
        );
    }

    #[test]
    fn lists_are_replaced_as_a_whole() {
        check(
            Part::Object,
            json!({ "spec": { "taints": [{ "key": "y" }] } }),
            Some(json!({ "metadata": { "resourceVersion": "7" }, "spec": { "taints": [{ "key": "y" }] } })),
        );
    }

    #[test]
    fn each_part_stays_out_of_the_other() {
        let both = json!({ "spec": { "providerID": "cloud://1" }, "status": { "addresses": [] } });
        check(
            Part::Object,
            both.clone(),
            Some(json!({ "metadata": { "resourceVersion": "7" }, "spec": { "providerID": "cloud://1" } })),
        );
        check(
            Part::Status,
            both,
            Some(json!({ "metadata": { "resourceVersion": "7" }, "status": { "addresses": [] } })),
        );
        check(
            Part::StatusAndMetadata,
            json!({ "metadata": { "labels": { "a": "9" } }, "spec": { "x": 1 }, "status": { "phase": "Failed" } }),
            Some(json!({
                "metadata": { "labels": { "a": "9" }, "resourceVersion": "7" },
                "status": { "phase": "Failed" },
            })),
        );
        check(Part::StatusAndMetadata, json!({ "spec": { "unschedulable": true } }), None);
        check(Part::Object, json!({ "status": { "phase": "Failed" } }), None);
        check(Part::Status, json!({ "spec": { "unschedulable": true } }), None);
    }

    #[test]
    fn an_object_without_a_status_gets_one() {
        let (current, desired) = (json!({ "metadata": { "resourceVersion": "1" } }), json!({ "status": { "a": 1 } }));
        let expected = json!({ "metadata": { "resourceVersion": "1" }, "status": { "a": 1 } });
        assert_eq!(guarded(&current, &desired, Part::Status), Some(expected));
    }
}
