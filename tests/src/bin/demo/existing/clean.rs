//! The end of the demo in an existing cluster: whatever it made goes, whether it was played to its end or not.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Event, Namespace, Node, Service};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use tests::wait;

use super::all_nodes;
use crate::names;
use crate::part::{LABEL, NAMESPACE};
use crate::vendor::Shown;

/// How long the cluster may take to let all of it go.
const PATIENCE: Duration = Duration::from_secs(60);

/// The same by hand.
pub(super) const BY_HAND: &str = "  kubectl delete node,clusterrole,clusterrolebinding -l aerostat.dev/demo
  kubectl delete -n default role,rolebinding -l aerostat.dev/demo
  kubectl delete -n kube-node-lease lease -l aerostat.dev/demo
  kubectl patch -n aerostat-demo service web --type=merge -p '{\"metadata\":{\"finalizers\":null}}'
  kubectl delete namespace aerostat-demo";

/// Takes everything away that has the demo's label or lies in its namespace, and waits until it is gone.
pub(crate) async fn clean<V: Shown>(admin: &Client) -> Result<()> {
    let all = async {
        let removed = [
            services(admin).await,
            labelled::<Node>(&all_nodes(admin)).await,
            labelled::<Lease>(&Api::namespaced(admin.clone(), "kube-node-lease")).await,
            labelled::<ClusterRoleBinding>(&Api::all(admin.clone())).await,
            labelled::<ClusterRole>(&Api::all(admin.clone())).await,
            labelled::<RoleBinding>(&Api::namespaced(admin.clone(), "default")).await,
            labelled::<Role>(&Api::namespaced(admin.clone(), "default")).await,
            namespace(admin).await,
            events(admin, &names::all::<V>()).await,
        ];
        removed.into_iter().collect::<Result<Vec<_>>>().map(drop)
    };
    let ended = match tokio::time::timeout(PATIENCE, all).await {
        Ok(ended) => ended,
        Err(_) => Err(anyhow::anyhow!("it is not gone after {} s", PATIENCE.as_secs())),
    };
    ended.with_context(|| format!("not everything that the demo made could be removed\n  next:\n{BY_HAND}\n  cause"))
}

/// Takes the finalizer off the demo's Services, which nobody works on any more.
async fn services(admin: &Client) -> Result<()> {
    let services: Api<Service> = Api::namespaced(admin.clone(), NAMESPACE);
    for service in services.list(&ListParams::default()).await? {
        let name = service.name_any();
        let bare = json!({ "metadata": { "finalizers": null } });
        gone_is_fine(services.patch(&name, &PatchParams::default(), &Patch::Merge(bare)).await)?;
    }
    Ok(())
}

async fn labelled<K>(api: &Api<K>) -> Result<()>
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let ours = ListParams::default().labels(LABEL);
    api.delete_collection(&DeleteParams::default(), &ours).await?;
    let gone = async || api.list_metadata(&ours).await.ok().filter(|it| it.items.is_empty());
    if wait::within(PATIENCE, gone).await.is_none() {
        bail!("something with the label {LABEL} stays");
    }
    Ok(())
}

async fn namespace(admin: &Client) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(admin.clone());
    gone_is_fine(namespaces.delete(NAMESPACE, &DeleteParams::default()).await)?;
    let gone = async || namespaces.get_opt(NAMESPACE).await.ok().filter(Option::is_none);
    if wait::within(PATIENCE, gone).await.is_none() {
        bail!("the namespace {NAMESPACE} stays");
    }
    Ok(())
}

/// Deletes the events about the demo's nodes. What the cluster itself tells of their end later goes after an hour.
async fn events(admin: &Client, nodes: &[String]) -> Result<()> {
    let events: Api<Event> = Api::namespaced(admin.clone(), "default");
    let about_nodes = ListParams::default().fields("involvedObject.kind=Node");
    for event in events.list(&about_nodes).await? {
        if event.involved_object.name.as_ref().is_some_and(|it| nodes.contains(it)) {
            gone_is_fine(events.delete(&event.name_any(), &DeleteParams::default()).await)?;
        }
    }
    Ok(())
}

fn gone_is_fine<T>(result: kube::Result<T>) -> Result<()> {
    match result {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => Err(error.into()),
    }
}
