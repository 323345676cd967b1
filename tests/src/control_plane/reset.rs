//! A cluster as it was at the beginning.

use std::fmt::Debug;

use anyhow::{Result, bail};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Node, PersistentVolume, Service};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::wait;

/// What the control plane made for itself, and a test must not take away.
const OWN: [&str; 4] = [
    "extension-apiserver-authentication",
    "kube-apiserver-legacy-service-account-token-tracking",
    "kube-root-ca.crt",
    "kubernetes",
];

/// Deletes what tests leave behind: webhooks, nodes, volumes, services, leases, ConfigMaps, events.
pub(super) async fn reset(admin: &Client) -> Result<()> {
    empty(&Api::<MutatingWebhookConfiguration>::all(admin.clone())).await?;
    empty(&Api::<PersistentVolume>::all(admin.clone())).await?;
    empty(&Api::<Node>::all(admin.clone())).await?;
    everywhere::<Service>(admin).await?;
    everywhere::<Lease>(admin).await?;
    everywhere::<ConfigMap>(admin).await?;
    everywhere::<Event>(admin).await?;
    Ok(())
}

async fn everywhere<K>(admin: &Client) -> Result<()>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    for namespace in ["default", "kube-system", "kube-node-lease"] {
        empty(&Api::<K>::namespaced(admin.clone(), namespace)).await?;
    }
    Ok(())
}

async fn empty<K>(api: &Api<K>) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    for object in left(api).await? {
        delete(api, &object).await?;
    }
    let gone = wait::within(wait::DEADLINE, async || left(api).await.ok().filter(Vec::is_empty));
    if gone.await.is_none() {
        bail!("cannot delete all {}", K::plural(&()));
    }
    Ok(())
}

async fn left<K>(api: &Api<K>) -> Result<Vec<K>>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let mut objects = api.list(&ListParams::default()).await?.items;
    objects.retain(|object| {
        let name = object.name_any();
        // The API servers' own leases come again as soon as they are gone.
        !OWN.contains(&name.as_str()) && !name.starts_with("apiserver-")
    });
    Ok(objects)
}

async fn delete<K>(api: &Api<K>, object: &K) -> Result<()>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let name = object.name_any();
    if !object.finalizers().is_empty() {
        let bare = json!({ "metadata": { "finalizers": null } });
        gone_is_fine(api.patch(&name, &PatchParams::default(), &Patch::Merge(bare)).await)?;
    }
    gone_is_fine(api.delete(&name, &DeleteParams::default()).await)
}

fn gone_is_fine<T>(result: kube::Result<T>) -> Result<()> {
    match result {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => Err(error.into()),
    }
}
