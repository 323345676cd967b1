//! The cloud as a provider: each call is answered by its script.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use cloud_provider::{
    AttachMode, CloudVolume, CloudVolumes, Deletion, DesiredVolume, Freshness, Identity, Instance, Instances,
    InventoryDescription, InventoryPage, KnownVolume, LoadBalancer, LoadBalancerInventory, LoadBalancers, Node, Page,
    PersistentVolumes, PodNetwork, Progress, Reply, Result, RouteChange, RouteDescription, RouteOutcome, RoutePage,
    Routes, Topology, TopologyDescription, Volume, VolumeAttachment, VolumeCreation, VolumeDeletion, VolumeDescription,
    VolumeDetachment, VolumeExpansion, VolumePage,
};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::{Answers, ScriptedCloud};

#[async_trait]
impl Identity for ScriptedCloud {
    async fn identity(&self) -> Result<Option<String>> {
        self.identity.call(()).await
    }

    fn versions(&self) -> watch::Receiver<u64> {
        self.versions.subscribe()
    }

    fn approve(&self, version: u64) {
        self.approved.store(version, Ordering::Relaxed);
    }

    fn replaced(&self) -> Option<Instant> {
        *self.replaced.lock()
    }
}

#[async_trait]
impl Instances for ScriptedCloud {
    async fn check(&self) -> Result<()> {
        self.check.call(()).await
    }

    async fn get(&self, nodes: &[Node]) -> Answers<Option<Instance>> {
        self.get.call(nodes.to_vec()).await
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<Page>> {
        self.list.call((cursor, limit)).await
    }

    async fn canonical_ids(&self, provider_ids: &[String]) -> Vec<Result<String>> {
        self.canonical_ids.call(provider_ids.to_vec()).await
    }
}

#[async_trait]
impl LoadBalancers for ScriptedCloud {
    async fn check(&self) -> Result<()> {
        self.check.call(()).await
    }

    async fn ensure(&self, desired: &LoadBalancer) -> Reply<Result<Progress>> {
        self.ensure.call(desired.clone()).await
    }

    async fn ensure_listed(&self, desired: &LoadBalancer, _: Freshness) -> Reply<Result<Progress>> {
        self.listed.lock().push(desired.clone());
        self.ensure.call(desired.clone()).await
    }

    async fn delete(&self, unwanted: &LoadBalancer) -> Reply<Result<Deletion>> {
        self.delete.call(unwanted.clone()).await
    }
}

#[async_trait]
impl LoadBalancerInventory for ScriptedCloud {
    fn description(&self) -> InventoryDescription {
        *self.inventory.lock()
    }

    async fn check(&self) -> Result<()> {
        self.check.call(()).await
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<InventoryPage>> {
        self.list_load_balancers.call((cursor, limit)).await
    }
}

#[async_trait]
impl Routes for ScriptedCloud {
    fn description(&self) -> Arc<RouteDescription> {
        Arc::new(self.routes.lock().clone())
    }

    async fn check(&self) -> Result<()> {
        self.check.call(()).await
    }

    async fn next_hops(&self, networks: &[PodNetwork]) -> Answers<String> {
        self.next_hops.call(networks.to_vec()).await
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<RoutePage>> {
        self.list_routes.call((cursor, limit)).await
    }

    async fn apply(&self, changes: &[RouteChange]) -> Answers<RouteOutcome> {
        self.apply.call(changes.to_vec()).await
    }
}

#[async_trait]
impl PersistentVolumes for ScriptedCloud {
    fn description(&self) -> Arc<TopologyDescription> {
        Arc::new(self.volumes.lock().clone())
    }

    async fn get_topology(&self, volumes: &[Volume]) -> Answers<Option<Topology>> {
        self.get_topology.call(volumes.to_vec()).await
    }
}

#[async_trait]
impl CloudVolumes for ScriptedCloud {
    fn description(&self) -> Arc<VolumeDescription> {
        Arc::new(self.claimed_volumes.lock().clone())
    }

    async fn check(&self) -> Result<()> {
        self.check.call(()).await
    }

    async fn create(&self, desired: &DesiredVolume, is_first: bool) -> Reply<Result<VolumeCreation>> {
        self.create_volume.call((desired.clone(), is_first)).await
    }

    async fn abandon(&self, unwanted: &DesiredVolume) -> Reply<Result<VolumeDeletion>> {
        self.abandon_volume.call(unwanted.clone()).await
    }

    async fn delete(&self, unwanted: &KnownVolume) -> Reply<Result<VolumeDeletion>> {
        self.delete_volume.call(unwanted.clone()).await
    }

    async fn attach(&self, volume: &KnownVolume, node_id: &str, _: &AttachMode) -> Reply<Result<VolumeAttachment>> {
        self.attach_volume.call((volume.clone(), node_id.to_owned())).await
    }

    async fn detach(&self, volume: &KnownVolume, node_id: &str) -> Reply<Result<VolumeDetachment>> {
        self.detach_volume.call((volume.clone(), node_id.to_owned())).await
    }

    async fn expand(&self, volume: &KnownVolume, bytes: u64) -> Reply<Result<VolumeExpansion>> {
        self.expand_volume.call((volume.clone(), bytes)).await
    }

    async fn get(&self, handles: &[String]) -> Answers<Option<CloudVolume>> {
        self.get_volumes.call(handles.to_vec()).await
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<VolumePage>> {
        self.list_volumes.call((cursor, limit)).await
    }
}
