//! The object as it should be becomes the smallest patch, guarded by the version that was read.

use std::error::Error as StdError;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use kube::core::Status;
use serde_json::{Map, Value, json, to_value};
use tracing::debug;

use crate::trimmed::{Read, Trimmed};

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
    /// Whether the object has changed since it was read.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused(status) if status.code == 409 && status.reason == "Conflict")
    }

    /// Whether the API server, or an admission policy or webhook, refuses what was to be written: tried again as it is, it
    /// is refused again.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(status) if matches!(status.code, 400 | 403 | 413 | 422))
    }

    /// Whether the object is not there any more.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self, Self::Refused(status) if status.code == 404)
    }
}

/// Why an object was not written.
#[derive(Debug)]
pub(crate) enum UpdateRefusal<W> {
    /// As it is now, it is not to be written.
    Plan(W),
    Api(Error),
}

impl<W> From<Error> for UpdateRefusal<W> {
    fn from(error: Error) -> Self {
        Self::Api(error)
    }
}

/// The error of a client whose request got no answer in this time.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the API server did not answer within {0:?}")]
pub struct LateAnswer(pub Duration);

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Refused(status),
            kube::Error::Service(cause) => match cause.downcast::<LateAnswer>() {
                Ok(late) => Self::Late(late.0),
                Err(cause) => Self::Failed(kube::Error::Service(cause)),
            },
            error => Self::Failed(error),
        }
    }
}

/// Which half of an object a patch is about: each has its own address and its own permission.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ObjectPart {
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
pub(crate) async fn update<K>(
    api: &Api<Trimmed<K>>,
    current: &K,
    desired: &K,
    part: ObjectPart,
) -> Result<Option<K>, Error>
where
    K: Read,
{
    let Some(patch) = difference_in(current, desired, part).map_err(Error::Unwritable)? else { return Ok(None) };
    let (name, params, patch) = (current.name_any(), PatchParams::default(), Patch::Merge(patch));
    let answer = answer(async {
        match part {
            ObjectPart::Object => api.patch(&name, &params, &patch).await,
            ObjectPart::Status | ObjectPart::StatusAndMetadata => api.patch_status(&name, &params, &patch).await,
        }
    });
    answer.await.map(|Trimmed(written)| Some(written))
}

/// Makes an object what `plan` makes of it. If others change it meanwhile, `plan` is asked again about the object as
/// `latest` knows it by then. Returns the object as it is afterwards, or `None` if it is gone, or another one has its name.
///
/// `jitter` is a number between 0 and 1, another one each time.
pub(crate) async fn update_latest<K, E>(
    api: &Api<Trimmed<K>>,
    mut object: Arc<K>,
    part: ObjectPart,
    mut plan: impl FnMut(&K) -> Result<K, E>,
    latest: impl Fn() -> Option<Arc<K>>,
    jitter: fn() -> f64,
) -> Result<Option<Arc<K>>, E>
where
    K: Read,
    E: From<Error>,
{
    let mut tries = 1;
    loop {
        match update(api, &object, &plan(&object)?, part).await {
            Ok(Some(written)) => return Ok(Some(Arc::new(written))),
            Ok(None) => return Ok(Some(object)),
            Err(error) if error.is_conflict() && tries < CONFLICTS => {
                debug!(object = object.name_any(), "the object has changed meanwhile; trying again");
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

/// The answer of the API server. The client's own time-out ends a request that gets none, with a [`LateAnswer`]: it begins
/// when the request is sent, and does not count how long the request waited for a rate limit.
pub(crate) async fn answer<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, Error> {
    request.await.map_err(Error::from)
}

/// The merge patch from one object to the other, with the version that it is good for.
fn difference_in<K: Read>(current: &K, desired: &K, part: ObjectPart) -> serde_json::Result<Option<Value>> {
    let Some(mut patch) = difference(&tree(current, part)?, &tree(desired, part)?) else { return Ok(None) };
    patch["metadata"]["resourceVersion"] = current.meta().resource_version.clone().into();
    Ok(Some(patch))
}

fn tree<K: Read>(object: &K, part: ObjectPart) -> serde_json::Result<Value> {
    Ok(match part {
        ObjectPart::Object => json!({ "metadata": to_value(object.meta())?, "spec": to_value(object.spec())? }),
        ObjectPart::Status => json!({ "status": to_value(object.status())? }),
        ObjectPart::StatusAndMetadata => {
            json!({ "metadata": to_value(object.meta())?, "status": to_value(object.status())? })
        }
    })
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
    use crate::node_object::KubeNode;

    use super::*;

    fn check(part: ObjectPart, change: Value, expected: Option<Value>) {
        let current = json!({
            "metadata": { "name": "n1", "resourceVersion": "7", "labels": { "a": "1", "b": "2" } },
            "spec": { "taints": [{ "key": "x", "effect": "NoExecute" }, { "key": "y", "effect": "NoExecute" }] },
            "status": { "addresses": [{ "type": "InternalIP", "address": "10.0.0.1" }] },
        });
        check_from(current, part, change, expected);
    }

    fn check_from(current: Value, part: ObjectPart, change: Value, expected: Option<Value>) {
        let mut desired = current.clone();
        json_patch(&mut desired, &change);
        let [current, desired] = [current, desired].map(|it| serde_json::from_value::<KubeNode>(it).unwrap());
        assert_eq!(difference_in(&current, &desired, part).unwrap(), expected);
    }

    /// The API server's merge patch.
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

    #[tokio::test(start_paused = true)]
    async fn a_wait_for_the_rate_limit_is_no_late_answer() {
        let answer = answer(async {
            // As the client waits before it sends a request.
            tokio::time::sleep(Duration::from_secs(40)).await;
            Ok("answer")
        });
        assert_eq!(answer.await.unwrap(), "answer");
        let late = kube::Error::Service(Box::new(LateAnswer(Duration::from_secs(30))));
        assert_eq!(Error::from(late).to_string(), "the API server did not answer within 30 s");
    }

    #[test]
    fn nothing_is_sent_when_nothing_differs() {
        check(ObjectPart::Object, json!({}), None);
        check(ObjectPart::Status, json!({}), None);
    }

    #[test]
    fn only_what_differs_is_sent_with_the_version_it_is_good_for() {
        check(
            ObjectPart::Object,
            json!({ "metadata": { "labels": { "a": "9", "b": null, "c": "3" } } }),
            Some(json!({ "metadata": { "labels": { "a": "9", "b": null, "c": "3" }, "resourceVersion": "7" } })),
        );
        check(
            ObjectPart::Object,
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
            ObjectPart::Object,
            json!({ "spec": { "taints": [{ "key": "y", "effect": "NoExecute" }] } }),
            Some(json!({
                "metadata": { "resourceVersion": "7" },
                "spec": { "taints": [{ "key": "y", "effect": "NoExecute" }] },
            })),
        );
    }

    #[test]
    fn each_part_stays_out_of_the_other() {
        let both = json!({ "spec": { "providerID": "cloud://1" }, "status": { "addresses": [] } });
        check(
            ObjectPart::Object,
            both.clone(),
            Some(json!({ "metadata": { "resourceVersion": "7" }, "spec": { "providerID": "cloud://1" } })),
        );
        check(
            ObjectPart::Status,
            both,
            Some(json!({ "metadata": { "resourceVersion": "7" }, "status": { "addresses": [] } })),
        );
        check(
            ObjectPart::StatusAndMetadata,
            json!({ "metadata": { "labels": { "a": "9" } }, "spec": { "unschedulable": true }, "status": { "conditions": [] } }),
            Some(json!({
                "metadata": { "labels": { "a": "9" }, "resourceVersion": "7" },
                "status": { "conditions": [] },
            })),
        );
        check(ObjectPart::StatusAndMetadata, json!({ "spec": { "unschedulable": true } }), None);
        check(ObjectPart::Object, json!({ "status": { "conditions": [] } }), None);
        check(ObjectPart::Status, json!({ "spec": { "unschedulable": true } }), None);
    }

    #[test]
    fn an_object_without_a_status_gets_one() {
        let current = json!({ "metadata": { "resourceVersion": "1" } });
        let change = json!({ "status": { "conditions": [] } });
        let expected = json!({ "metadata": { "resourceVersion": "1" }, "status": { "conditions": [] } });
        check_from(current, ObjectPart::Status, change, Some(expected));
    }
}
