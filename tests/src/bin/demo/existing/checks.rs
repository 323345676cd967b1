//! Whether the demo may play in a cluster: asked before anything is made.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use jiff::Timestamp;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Node};
use kube::api::{Api, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt};
use tokio::time::timeout;

use super::{Found, all_nodes, clean};
use crate::vendor::Shown;
use crate::{names, part};

/// How long the API server may take for an answer.
const ANSWER: Duration = Duration::from_secs(10);
/// How long after its time a Lease counts, whose holder's clock may differ from ours.
const LENIENT: i64 = 60;

/// Rights that the demo needs in a cluster: verb, group, resource, namespace.
const NEEDED: [(&str, &str, &str, &str); 16] = [
    ("create", "", "namespaces", ""),
    ("delete", "", "namespaces", ""),
    ("list", "", "nodes", ""),
    ("create", "", "nodes", ""),
    ("patch", "", "nodes/status", ""),
    ("deletecollection", "", "nodes", ""),
    ("list", "coordination.k8s.io", "leases", "kube-system"),
    ("patch", "coordination.k8s.io", "leases", "kube-node-lease"),
    ("deletecollection", "coordination.k8s.io", "leases", "kube-node-lease"),
    ("create", "rbac.authorization.k8s.io", "clusterroles", ""),
    ("create", "rbac.authorization.k8s.io", "clusterrolebindings", ""),
    ("create", "rbac.authorization.k8s.io", "roles", "default"),
    ("create", "", "serviceaccounts/token", part::NAMESPACE),
    ("create", "", "configmaps", part::NAMESPACE),
    ("create", "", "services", part::NAMESPACE),
    ("delete", "", "events", "default"),
];

/// Looks whether the cluster of a kubeconfig can be used, and is nobody's whom the demo could meet.
pub(crate) async fn check<V: Shown>(kubeconfig: &Path) -> Result<Found> {
    let file = kubeconfig.display();
    ensure!(
        kubeconfig.is_file(),
        "CLUSTER={file}: there is no such file\n  next: name a kubeconfig, as in CLUSTER=$HOME/.kube/config make demo"
    );
    let unusable = || format!("CLUSTER={file} cannot be used\n  next: try kubectl --kubeconfig {file} get nodes");
    let read = Kubeconfig::read_from(kubeconfig).with_context(unusable)?;
    let mut config =
        Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.with_context(unusable)?;
    config.connect_timeout = Some(ANSWER);
    config.default_retry = false;
    let admin = Client::try_from(config.clone()).with_context(unusable)?;
    let (url, answer) = (&config.cluster_url, timeout(ANSWER, admin.apiserver_version()).await);
    let Ok(answer) = answer else { bail!("{url} does not answer within {} s; {}", ANSWER.as_secs(), unusable()) };
    let version = answer.with_context(|| format!("{url} does not answer as an API server; {}", unusable()))?;
    may(&admin).await?;
    is_free(&admin).await?;
    is_nobodys(&admin).await?;
    has_room(&admin, &names::all::<V>()).await?;
    Ok(Found { admin, version: version.git_version, config })
}

/// Whether the person who runs the demo may do what it does.
async fn may(admin: &Client) -> Result<()> {
    let reviews: Api<SelfSubjectAccessReview> = Api::all(admin.clone());
    let mut missing = Vec::new();
    for (verb, group, resource, namespace) in NEEDED {
        let (name, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let attributes = ResourceAttributes {
            verb: Some(verb.to_owned()),
            group: Some(group.to_owned()),
            resource: Some(name.to_owned()),
            subresource: Some(subresource.to_owned()).filter(|it| !it.is_empty()),
            namespace: Some(namespace.to_owned()).filter(|it| !it.is_empty()),
            ..ResourceAttributes::default()
        };
        let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
        let review = SelfSubjectAccessReview { spec, ..Default::default() };
        let answer = reviews.create(&PostParams::default(), &review).await.context(
            "the API server does not know who asks\n  next: use a kubeconfig whose credentials are still good",
        )?;
        if !answer.status.is_some_and(|it| it.allowed) {
            missing.push(if namespace.is_empty() {
                format!("{verb} {resource}")
            } else {
                format!("{verb} {resource} in {namespace}")
            });
        }
    }
    ensure!(
        missing.is_empty(),
        "the API server does not let this user {}\n  next: use the kubeconfig of a cluster administrator",
        missing.join(", ")
    );
    Ok(())
}

/// Whether no other demo runs there, nor was killed there.
async fn is_free(admin: &Client) -> Result<()> {
    let there = Api::<Namespace>::all(admin.clone()).get_opt(part::NAMESPACE).await?;
    ensure!(
        there.is_none(),
        "the namespace {} is there: a demo runs in this cluster, or one was killed\n  next: if none runs,\n{}",
        part::NAMESPACE,
        clean::BY_HAND
    );
    Ok(())
}

/// Whether no cloud manager works there: it would take the demo's nodes for its own, and delete them.
async fn is_nobodys(admin: &Client) -> Result<()> {
    let next = "next: use a cluster without one, as kind, minikube and kubeadm make it";
    let leases: Api<Lease> = Api::namespaced(admin.clone(), "kube-system");
    for lease in leases.list(&ListParams::default()).await? {
        let name = lease.name_any();
        if let (true, Some(holder)) = (name.contains("cloud-controller-manager"), held(&lease)) {
            bail!(
                "a cloud manager works in this cluster: {holder} holds the Lease kube-system/{name}, and would take the \
                 demo's nodes for its own. Nothing was changed\n  {next}"
            );
        }
    }
    for node in all_nodes(admin).list(&ListParams::default()).await? {
        if let Some(id) = managed(&node) {
            bail!(
                "node {} belongs to a cloud: its provider id is {id}. Its manager would take the demo's nodes for its own. \
                 Nothing was changed\n  {next}",
                node.name_any()
            );
        }
    }
    Ok(())
}

/// The holder of a Lease, if it is held.
fn held(lease: &Lease) -> Option<String> {
    let spec = lease.spec.as_ref()?;
    let holder = spec.holder_identity.clone().filter(|it| !it.is_empty())?;
    let until = spec.renew_time.as_ref()?.0.as_second() + i64::from(spec.lease_duration_seconds?) + LENIENT;
    (until > Timestamp::now().as_second()).then_some(holder)
}

/// The provider id of a node that a cloud manager may look after. kind's kubelets give one to themselves.
fn managed(node: &Node) -> Option<&str> {
    let id = node.spec.as_ref()?.provider_id.as_deref()?;
    (!id.is_empty() && !id.starts_with("kind://")).then_some(id)
}

/// Whether no node has a name that the demo uses.
async fn has_room(admin: &Client, names: &[String]) -> Result<()> {
    for node in all_nodes(admin).list(&ListParams::default()).await? {
        let name = node.name_any();
        ensure!(
            !names.contains(&name),
            "there is a node {name}, and the demo makes one of that name. Nothing was changed\n  next: use another cluster"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_lease_that_is_held_has_a_holder() {
        let lease = |holder: &str, ago: i64| {
            let renewed = Timestamp::now().as_second() - ago;
            let renewed = format!("{:.6}", Timestamp::from_second(renewed).unwrap());
            let spec = json!({ "holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed });
            held(&serde_json::from_value(json!({ "metadata": {}, "spec": spec })).unwrap())
        };
        assert_eq!(lease("a", 1).as_deref(), Some("a"));
        assert_eq!(lease("a", 100), None);
        assert_eq!(lease("", 1), None, "given back");
    }

    #[test]
    fn a_provider_id_is_a_clouds_but_for_that_of_kind() {
        let node = |id: &str| serde_json::from_value::<Node>(json!({ "spec": { "providerID": id } })).unwrap();
        assert!(managed(&node("aws:///eu-west-1a/i-1")).is_some());
        assert!(managed(&node("k3s://one")).is_some());
        assert!(managed(&node("kind://docker/kind/kind-worker")).is_none());
        assert!(managed(&node("")).is_none());
    }
}
