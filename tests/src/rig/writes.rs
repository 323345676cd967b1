//! Writes of a rig's controllers.

use crate::audit_log::Request;
use crate::control_plane::Cluster;

/// The writes of aerostat until now to the objects of one name, without events.
///
/// # Panics
///
/// Panics if the audit log cannot be read.
pub async fn writes(cluster: &Cluster, name: &str) -> Vec<Request> {
    cluster.audit().settle(&cluster.admin).await.expect("the audit log grows");
    let mut writes = cluster.audit().writes().expect("the audit log can be read");
    writes.retain(|it| it.object.name == name);
    writes
}

/// Those of them that the API server took. A controller may write a copy that is older than its last write once more, which ends in a
/// conflict and changes nothing.
///
/// # Panics
///
/// Panics if the audit log cannot be read.
pub async fn taken(cluster: &Cluster, name: &str) -> Vec<Request> {
    let mut taken = writes(cluster, name).await;
    taken.retain(|it| it.response.code == 200);
    taken
}

/// All of them, as `patch services/status 200`.
///
/// # Panics
///
/// Panics if the audit log cannot be read.
pub async fn written(cluster: &Cluster, name: &str) -> Vec<String> {
    let writes = writes(cluster, name).await;
    writes.iter().map(|it| format!("{} {} {}", it.verb, it.resource(), it.response.code)).collect()
}
