//! A rolling update: one Pod after the other, and somebody leads.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::Api;
use tests::pod::{Installation, Site};

use crate::joining::pods_are_ready;
use crate::seen::{is_ready, leader, name, pods, until};

/// Upgrades the release of helm. All Pods are new then, and at each moment one was ready.
pub(crate) async fn rolls(site: &Site, installation: &Installation<'_>) {
    let before: BTreeSet<_> = pods(site).await.iter().map(name).collect();
    installation.upgrade("podAnnotations.example=one").unwrap();
    let deployments: Api<Deployment> = Api::namespaced(site.admin.clone(), "kube-system");
    until(site, "the update is complete", async || {
        let there = pods(site).await;
        assert!(there.iter().any(is_ready), "none is ready: {there:#?}");
        let deployment = deployments.get("aerostat").await.unwrap();
        let (generation, status) = (deployment.metadata.generation, deployment.status.unwrap());
        let is_done = status.observed_generation == generation
            && status.updated_replicas == Some(2)
            && status.ready_replicas == Some(2)
            && status.replicas == Some(2);
        is_done.then_some(())
    })
    .await;
    let after: BTreeSet<_> = pods_are_ready(site, 2).await.iter().map(name).collect();
    assert!(before.is_disjoint(&after), "{before:?} {after:?}");
    until(site, "somebody leads", async || leader(site).await).await;
}
