//! Pods, nodes and the Lease, as the API server has them.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use tests::machine::RealMachine;
use tests::pod::Site;
use tests::wait;

/// How long a step may take until it has happened, on a machine that compiles at the same time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// Waits until there is an answer.
pub(crate) async fn until<T>(site: &Site, what: &str, probe: impl AsyncFnMut() -> Option<T>) -> T {
    match wait::within(PATIENCE, probe).await {
        Some(answer) => answer,
        None => {
            let pods = pods(site).await;
            let states: Vec<_> = pods.iter().map(|it| (name(it), place(it), is_ready(it), restarts(it))).collect();
            panic!("{what}: not within {PATIENCE:?}; Pods: {states:?}")
        }
    }
}

/// The Pods of the Deployment that are not on their way out.
pub(crate) async fn pods(site: &Site) -> Vec<Pod> {
    let pods: Api<Pod> = Api::namespaced(site.admin.clone(), "kube-system");
    let all = pods.list(&ListParams::default().labels("app.kubernetes.io/name=aerostat")).await.unwrap();
    all.items.into_iter().filter(|it| it.metadata.deletion_timestamp.is_none()).collect()
}

/// Whether a Pod is ready.
pub(crate) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|it| it.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|it| it.type_ == "Ready" && it.status == "True")
}

/// The name of the node that a Pod is on.
pub(crate) fn place(pod: &Pod) -> String {
    pod.spec.as_ref().and_then(|it| it.node_name.clone()).unwrap_or_default()
}

/// How often the Pod's container was started again.
pub(crate) fn restarts(pod: &Pod) -> i32 {
    let statuses = pod.status.as_ref().and_then(|it| it.container_statuses.as_deref()).unwrap_or_default();
    statuses.iter().map(|it| it.restart_count).sum()
}

/// A node.
pub(crate) async fn node(site: &Site, name: &str) -> Node {
    Api::<Node>::all(site.admin.clone()).get(name).await.unwrap()
}

/// The holder of the Lease: the name of its node, and the whole identity. `None`: nobody.
pub(crate) async fn leader(site: &Site) -> Option<(String, String)> {
    let leases: Api<Lease> = Api::namespaced(site.admin.clone(), "kube-system");
    let lease = leases.get_opt("cloud-controller-manager").await.unwrap()?;
    let holder = lease.spec?.holder_identity.filter(|it| !it.is_empty())?;
    // Host name and a number of its own.
    let host = holder.split('_').next()?.to_owned();
    Some((host, holder))
}

/// The machine of a node.
pub(crate) fn machine<'a>(site: &'a Site, node: &str) -> &'a RealMachine {
    let number = (0..site.machines.len()).find(|&it| Site::node(it) == node);
    &site.machines[number.unwrap_or_else(|| panic!("{node} is no machine"))]
}

/// The name of a Pod.
pub(crate) fn name(pod: &Pod) -> String {
    pod.name_any()
}
