//! Requests to the API server: a node's networks written, a node marked, a node read.
//!
//! A write names the UID, so that it never happens to another node of that name, and the mark that it was planned with:
//! once a process has marked the nodes that it found without networks, no write of a process before it happens any more,
//! wherever it was held up. It does not name the resourceVersion, which a kubelet changes all the time. Networks that are
//! there are never changed: the API server refuses that.

use std::sync::Arc;

use crate::node_object::KubeNode;
use http::Request;
use http::header::CONTENT_TYPE;
use ipnet::IpNet;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::NodeCondition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use crate::node_fields::{NETWORK_UNAVAILABLE, POD_CIDR_MARK, pod_cidr_mark};
use crate::node_ipam::from_cloud::condition;
use crate::node_ipam::plan::{WriteOutcome, uid};
use crate::object::{self, answer};
use crate::trimmed::Trimmed;

/// Whether a write may leave now, asked before each.
pub type MayWrite = Arc<dyn Fn() -> bool + Send + Sync>;

/// Nodes that are written side by side: upstream's number.
pub(super) const WORKERS: usize = 30;
/// How often a write is tried before its node waits: upstream's number.
pub(super) const TRIES: usize = 3;

/// Writes networks into a node that has none.
pub(super) async fn write(client: &Client, node: &KubeNode, cidrs: &[IpNet]) -> Result<(), object::Error> {
    let name = node.metadata.name.as_deref().unwrap_or_default();
    patch(client, name, &writing(node, cidrs)).await.map(drop)
}

/// Marks a node that has no networks. Returns it as it is then.
pub(super) async fn mark(client: &Client, node: &KubeNode, mark: &str) -> Result<KubeNode, object::Error> {
    let name = node.metadata.name.as_deref().unwrap_or_default();
    patch(client, name, &marking(node, mark)).await
}

/// Says on a node that its network is there. A condition that says so already keeps its transition time.
pub(super) async fn set_available(client: &Client, node: &KubeNode) -> Result<Option<String>, object::Error> {
    let name = node.metadata.name.as_deref().unwrap_or_default();
    let api: Api<Trimmed<KubeNode>> = Api::all(client.clone());
    let patch = Patch::Strategic(availability(node, Timestamp::now()));
    answer(api.patch_status(name, &PatchParams::default(), &patch))
        .await
        .map(|Trimmed(it)| it.metadata.resource_version)
}

fn availability(node: &KubeNode, now: Timestamp) -> Value {
    let since = condition(node).filter(|it| it.status == "False").and_then(|it| it.last_transition_time.clone());
    let now = Time(now);
    let condition = NodeCondition {
        type_: NETWORK_UNAVAILABLE.to_owned(),
        status: "False".to_owned(),
        reason: Some("RouteCreated".to_owned()),
        message: Some("NodeController create implicit route".to_owned()),
        last_heartbeat_time: Some(now.clone()),
        last_transition_time: Some(since.unwrap_or(now)),
    };
    json!({ "metadata": { "uid": uid(node) }, "status": { "conditions": [condition] } })
}

/// The node with this name, as the API server has it now, and not as some cache of it does.
pub(super) async fn read(client: &Client, name: &str) -> Result<Option<KubeNode>, object::Error> {
    let api: Api<Trimmed<KubeNode>> = Api::all(client.clone());
    answer(api.get_opt(name)).await.map(|it| it.map(|Trimmed(node)| node))
}

/// The state of a write that ended with this error.
pub(super) fn written(error: &object::Error) -> WriteOutcome {
    match error {
        // Whatever comes from before the object was looked at, or says what is wrong with it.
        object::Error::Refused(status) if status.code < 500 && status.code != 408 => WriteOutcome::No,
        object::Error::Refused(_) | object::Error::Late(_) | object::Error::Failed(_) => WriteOutcome::Perhaps,
        object::Error::Unwritable(_) => WriteOutcome::No,
    }
}

/// Whether there is no such node any more.
pub(super) fn is_gone(error: &object::Error) -> bool {
    matches!(error, object::Error::Refused(status) if status.code == 404)
}

/// Whether the node may be another than it was thought to be: only a look at it tells.
pub(super) fn is_outdated(error: &object::Error) -> bool {
    matches!(error, object::Error::Refused(status) if matches!(status.code, 404 | 409 | 422))
}

/// Whether the API server has judged the write, so that it may refuse each further one too: because the node is too large, or an
/// admission plugin objects. It has not where it is overloaded or on its way down, or does not know who asks.
pub(super) fn is_judged(error: &object::Error) -> bool {
    matches!(error, object::Error::Refused(status) if !matches!(status.code, 401 | 429 | 502..=504))
}

/// The JSON patch (RFC 6902) that writes networks.
fn writing(node: &KubeNode, cidrs: &[IpNet]) -> Value {
    let cidrs: Vec<_> = cidrs.iter().map(ToString::to_string).collect();
    let mut operations = vec![is_the_same(node), mark_is_the_same(node)];
    if pod_cidr_mark(node).is_some() {
        operations.push(json!({ "op": "remove", "path": path() }));
    }
    operations.push(json!({ "op": "add", "path": "/spec/podCIDR", "value": cidrs.first() }));
    operations.push(json!({ "op": "add", "path": "/spec/podCIDRs", "value": cidrs }));
    operations.into()
}

/// The JSON patch that marks a node.
fn marking(node: &KubeNode, mark: &str) -> Value {
    let mut operations = vec![is_the_same(node), mark_is_the_same(node)];
    if node.metadata.annotations.is_none() {
        operations.push(json!({ "op": "add", "path": "/metadata/annotations", "value": {} }));
    }
    operations.push(json!({ "op": "add", "path": path(), "value": mark }));
    // Somebody has given it networks meanwhile.
    operations.push(json!({ "op": "test", "path": "/spec/podCIDR", "value": null }));
    operations.into()
}

fn is_the_same(node: &KubeNode) -> Value {
    json!({ "op": "test", "path": "/metadata/uid", "value": uid(node) })
}

/// The mark is the one that was seen. What is not there is `null`; a node without any annotation has no place for it.
fn mark_is_the_same(node: &KubeNode) -> Value {
    match &node.metadata.annotations {
        Some(_) => json!({ "op": "test", "path": path(), "value": pod_cidr_mark(node) }),
        None => json!({ "op": "test", "path": "/metadata/annotations", "value": null }),
    }
}

/// Where the mark is: in a path of a patch, `/` is written `~1`.
fn path() -> String {
    format!("/metadata/annotations/{}", POD_CIDR_MARK.replace('~', "~0").replace('/', "~1"))
}

async fn patch(client: &Client, name: &str, operations: &Value) -> Result<KubeNode, object::Error> {
    let body = serde_json::to_vec(operations).map_err(object::Error::Unwritable)?;
    let request = Request::patch(format!("/api/v1/nodes/{name}"))
        .header(CONTENT_TYPE, "application/json-patch+json")
        .body(body)
        .map_err(|error| object::Error::Failed(kube::Error::HttpError(error)))?;
    let Trimmed(node) = answer(client.request::<Trimmed<KubeNode>>(request)).await?;
    Ok(node)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kube::core::Status;

    use super::*;

    fn node(annotations: Value) -> KubeNode {
        let metadata = json!({ "name": "a", "uid": "u", "annotations": annotations });
        serde_json::from_value(json!({ "metadata": metadata })).unwrap()
    }

    #[test]
    fn a_write_holds_the_uid_and_the_mark_that_it_was_planned_with() {
        let cidrs = ["10.0.0.0/24".parse().unwrap(), "fd00::/64".parse().unwrap()];
        let both = json!(["10.0.0.0/24", "fd00::/64"]);
        let (uid, mark) = (json!({ "op": "test", "path": "/metadata/uid", "value": "u" }), path());
        let networks = [
            json!({ "op": "add", "path": "/spec/podCIDR", "value": "10.0.0.0/24" }),
            json!({ "op": "add", "path": "/spec/podCIDRs", "value": both }),
        ];
        let [first, all] = networks;
        assert_eq!(
            writing(&node(Value::Null), &cidrs),
            json!([uid, { "op": "test", "path": "/metadata/annotations", "value": null }, first, all])
        );
        assert_eq!(
            writing(&node(json!({ "other": "1" })), &cidrs),
            json!([uid, { "op": "test", "path": mark, "value": null }, first, all])
        );
        assert_eq!(
            writing(&node(json!({ POD_CIDR_MARK: "m" })), &cidrs),
            json!([uid, { "op": "test", "path": mark, "value": "m" }, { "op": "remove", "path": mark }, first, all])
        );
    }

    #[test]
    fn only_a_clear_refusal_is_a_no() {
        let refused = |code| object::Error::Refused(Box::new(Status { code, ..Status::default() }));
        for code in [400, 403, 404, 409, 422, 429] {
            assert_eq!(written(&refused(code)), WriteOutcome::No, "{code}");
        }
        for code in [408, 500, 503, 504] {
            assert_eq!(written(&refused(code)), WriteOutcome::Perhaps, "{code}");
        }
        assert_eq!(written(&object::Error::Late(Duration::from_secs(30))), WriteOutcome::Perhaps);
        let broken = kube::Error::Service("connection reset by peer".into());
        assert_eq!(written(&object::Error::Failed(broken)), WriteOutcome::Perhaps);
    }
}
