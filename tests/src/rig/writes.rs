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

/// The same, as `patch services/status 200`.
///
/// # Panics
///
/// Panics if the audit log cannot be read.
pub async fn written(cluster: &Cluster, name: &str) -> Vec<String> {
    let writes = writes(cluster, name).await;
    writes.iter().map(|it| format!("{} {} {}", it.verb, it.resource(), it.response.code)).collect()
}
