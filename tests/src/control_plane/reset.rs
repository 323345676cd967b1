//! A cluster as it was at the beginning.

use anyhow::{Result, bail};
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    ConfigMap, Event, Node, PersistentVolume, PersistentVolumeClaim, Pod, Secret, Service,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass, VolumeAttachment};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Client, Resource, ResourceExt};
use serde_json::json;

use crate::wait;

/// The objects that the control plane made for itself, and a test must not take away.
const OWN: [&str; 4] = [
    "extension-apiserver-authentication",
    "kube-apiserver-legacy-service-account-token-tracking",
    "kube-root-ca.crt",
    "kubernetes",
];

/// Deletes what tests leave behind: webhooks, Pods, nodes, claims, volumes, their classes, services, leases, ConfigMaps, events, Deployments, disruption
/// budgets, where an API server is, Helm's releases, and the roles of single clouds.
///
/// Only the metadata of objects is read: a test may have written what no type of ours can read.
pub(super) async fn reset(admin: &Client) -> Result<()> {
    everywhere::<MutatingWebhookConfiguration>(admin).await?;
    everywhere::<Pod>(admin).await?;
    everywhere::<VolumeAttachment>(admin).await?;
    everywhere::<PersistentVolumeClaim>(admin).await?;
    everywhere::<PersistentVolume>(admin).await?;
    everywhere::<StorageClass>(admin).await?;
    everywhere::<CSINode>(admin).await?;
    everywhere::<Node>(admin).await?;
    everywhere::<Service>(admin).await?;
    everywhere::<Lease>(admin).await?;
    everywhere::<ConfigMap>(admin).await?;
    everywhere::<Event>(admin).await?;
    everywhere::<Deployment>(admin).await?;
    everywhere::<PodDisruptionBudget>(admin).await?;
    releases(admin).await?;
    // No API server of a test writes its own: what is there is a test's.
    let slices = ApiResource::erase::<EndpointSlice>(&());
    let own: Api<DynamicObject> = Api::namespaced_with(admin.clone(), "default", &slices);
    gone_is_fine(own.delete("kubernetes", &DeleteParams::default()).await)?;
    roles::<ClusterRoleBinding>(admin).await?;
    roles::<ClusterRole>(admin).await?;
    Ok(())
}

/// Deletes all objects of a kind, in all namespaces: those of a namespace that a test has made, too.
async fn everywhere<K: Resource<DynamicType = ()>>(admin: &Client) -> Result<()> {
    let kind = ApiResource::erase::<K>(&());
    let all = Api::all_with(admin.clone(), &kind);
    for object in left(&all).await? {
        let own = match object.namespace() {
            Some(namespace) => Api::namespaced_with(admin.clone(), &namespace, &kind),
            None => all.clone(),
        };
        delete(&own, &object).await?;
    }
    let gone = wait::within(wait::DEADLINE, async || left(&all).await.ok().filter(Vec::is_empty));
    if gone.await.is_none() {
        bail!("cannot delete all {}", kind.plural);
    }
    Ok(())
}

/// Lets Helm forget what it has installed.
async fn releases(admin: &Client) -> Result<()> {
    let kind = ApiResource::erase::<Secret>(&());
    let all: Api<DynamicObject> = Api::all_with(admin.clone(), &kind);
    for object in all.list(&ListParams::default().labels("owner=helm")).await?.items {
        let namespace = object.namespace().unwrap_or_default();
        delete(&Api::namespaced_with(admin.clone(), &namespace, &kind), &object).await?;
    }
    Ok(())
}

/// Takes away what pages of single clouds give to aerostat.
async fn roles<K: Resource<DynamicType = ()>>(admin: &Client) -> Result<()> {
    let api: Api<DynamicObject> = Api::all_with(admin.clone(), &ApiResource::erase::<K>(&()));
    let all = api.list(&ListParams::default()).await?.items;
    for object in all.iter().filter(|it| it.name_any().starts_with("cloud-controller-manager:")) {
        delete(&api, object).await?;
    }
    Ok(())
}

async fn left(api: &Api<DynamicObject>) -> Result<Vec<DynamicObject>> {
    let mut objects = api.list(&ListParams::default()).await?.items;
    objects.retain(|object| {
        let name = object.name_any();
        // The API servers' own leases come again as soon as they are gone.
        !OWN.contains(&name.as_str()) && !name.starts_with("apiserver-")
    });
    Ok(objects)
}

async fn delete(api: &Api<DynamicObject>, object: &DynamicObject) -> Result<()> {
    let name = object.name_any();
    if !object.finalizers().is_empty() {
        let bare = json!({ "metadata": { "finalizers": null } });
        gone_is_fine(api.patch(&name, &PatchParams::default(), &Patch::Merge(bare)).await)?;
    }
    // A Pod on a node would wait for its kubelet.
    gone_is_fine(api.delete(&name, &DeleteParams::default().grace_period(0)).await)
}

fn gone_is_fine<T>(result: kube::Result<T>) -> Result<()> {
    match result {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => Err(error.into()),
    }
}
