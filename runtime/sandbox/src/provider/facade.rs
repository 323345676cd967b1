//! The provider as controllers call it: each call goes to the version that serves when it begins.

use std::sync::Arc;

use async_trait::async_trait;
use cloud_provider::{
    AttachMode, Cloud, CloudVolume, CloudVolumes, CurrentDescription, Deletion, DesiredVolume, Freshness, Identity,
    Instance, Instances, InventoryDescription, InventoryPage, KnownVolume, LoadBalancer, LoadBalancerInventory,
    LoadBalancers, Node, Page, PersistentVolumes, PodNetwork, Progress, Reply, Result, RouteChange, RouteDescription,
    RouteOutcome, RoutePage, Routes, Topology, TopologyDescription, Volume, VolumeAttachment, VolumeCreation,
    VolumeDeletion, VolumeDescription, VolumeDetachment, VolumeExpansion, VolumePage,
};
use tokio::sync::watch;
use tokio::time::Instant;

use super::versions::{Version, Versions};

/// Why a capability is there: another version is not loaded without it.
const ALL: &str = "every version has the capabilities of the first";

/// A provider, whichever version of it serves.
#[derive(Clone)]
struct Facade(Arc<Versions>);

/// The provider as a cloud. Its capabilities are those of the version that was loaded first.
pub(super) fn cloud(versions: &Arc<Versions>) -> Cloud {
    let facade = Arc::new(Facade(versions.clone()));
    let has = |capability| versions.capabilities.contains(&capability);
    Cloud {
        description: CurrentDescription::from(versions.descriptions()),
        identity: facade.clone(),
        instances: has("instances").then(|| facade.clone() as Arc<dyn Instances>),
        load_balancers: has("load-balancers").then(|| facade.clone() as Arc<dyn LoadBalancers>),
        routes: has("routes").then(|| facade.clone() as Arc<dyn Routes>),
        load_balancer_inventory: has("load-balancer-inventory")
            .then(|| facade.clone() as Arc<dyn LoadBalancerInventory>),
        persistent_volumes: has("persistent-volumes").then(|| facade.clone() as Arc<dyn PersistentVolumes>),
        volumes: has("volumes").then(|| facade.clone() as Arc<dyn CloudVolumes>),
    }
}

impl Facade {
    fn serving(&self) -> Arc<Version> {
        self.0.serving()
    }
}

impl Version {
    fn instances(&self) -> &dyn Instances {
        self.cloud.instances.as_deref().expect(ALL)
    }

    fn load_balancers(&self) -> &dyn LoadBalancers {
        self.cloud.load_balancers.as_deref().expect(ALL)
    }

    fn routes(&self) -> &dyn Routes {
        self.cloud.routes.as_deref().expect(ALL)
    }

    fn inventory(&self) -> &dyn LoadBalancerInventory {
        self.cloud.load_balancer_inventory.as_deref().expect(ALL)
    }

    fn topologies(&self) -> &dyn PersistentVolumes {
        self.cloud.persistent_volumes.as_deref().expect(ALL)
    }

    fn volumes(&self) -> &dyn CloudVolumes {
        self.cloud.volumes.as_deref().expect(ALL)
    }
}

#[async_trait]
impl Identity for Facade {
    async fn identity(&self) -> Result<Option<String>> {
        let version = self.serving();
        version.cloud.identity.identity().await
    }

    fn versions(&self) -> watch::Receiver<u64> {
        self.0.shared.egress.versions()
    }

    fn approve(&self, version: u64) {
        self.0.shared.egress.approve(version);
    }

    fn replaced(&self) -> Option<Instant> {
        self.0.since()
    }
}

#[async_trait]
impl Instances for Facade {
    async fn get(&self, nodes: &[Node]) -> Reply<Vec<Result<Option<Instance>>>> {
        let version = self.serving();
        version.instances().get(nodes).await
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<Page>> {
        let (version, cursor) = match self.0.of_list(cursor, Instant::now()) {
            Ok(it) => it,
            Err(error) => return Err(error).into(),
        };
        let mut reply = version.instances().list(cursor, limit).await;
        if let Ok(page) = &mut reply.answer {
            version.mark(&mut page.next);
        }
        reply
    }

    async fn canonical_ids(&self, provider_ids: &[String]) -> Vec<Result<String>> {
        let version = self.serving();
        version.instances().canonical_ids(provider_ids).await
    }
}

#[async_trait]
impl LoadBalancers for Facade {
    async fn ensure(&self, desired: &LoadBalancer) -> Reply<Result<Progress>> {
        let version = self.serving();
        version.load_balancers().ensure(desired).await
    }

    async fn ensure_listed(&self, desired: &LoadBalancer, freshness: Freshness) -> Reply<Result<Progress>> {
        let version = self.serving();
        version.load_balancers().ensure_listed(desired, freshness).await
    }

    async fn delete(&self, unwanted: &LoadBalancer) -> Reply<Result<Deletion>> {
        let version = self.serving();
        version.load_balancers().delete(unwanted).await
    }
}

#[async_trait]
impl LoadBalancerInventory for Facade {
    fn description(&self) -> InventoryDescription {
        self.serving().inventory().description()
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<InventoryPage>> {
        let (version, cursor) = match self.0.of_list(cursor, Instant::now()) {
            Ok(it) => it,
            Err(error) => return Err(error).into(),
        };
        let mut reply = version.inventory().list(cursor, limit).await;
        if let Ok(page) = &mut reply.answer {
            version.mark(&mut page.next);
        }
        reply
    }
}

#[async_trait]
impl Routes for Facade {
    fn description(&self) -> Arc<RouteDescription> {
        self.serving().routes().description()
    }

    async fn next_hops(&self, networks: &[PodNetwork]) -> Reply<Vec<Result<String>>> {
        let version = self.serving();
        version.routes().next_hops(networks).await
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<RoutePage>> {
        let (version, cursor) = match self.0.of_list(cursor, Instant::now()) {
            Ok(it) => it,
            Err(error) => return Err(error).into(),
        };
        let mut reply = version.routes().list(cursor, limit).await;
        if let Ok(page) = &mut reply.answer {
            version.mark(&mut page.next);
        }
        reply
    }

    async fn apply(&self, changes: &[RouteChange]) -> Reply<Vec<Result<RouteOutcome>>> {
        let version = self.serving();
        version.routes().apply(changes).await
    }
}

#[async_trait]
impl PersistentVolumes for Facade {
    fn description(&self) -> Arc<TopologyDescription> {
        self.serving().topologies().description()
    }

    async fn get_topology(&self, volumes: &[Volume]) -> Reply<Vec<Result<Option<Topology>>>> {
        let version = self.serving();
        version.topologies().get_topology(volumes).await
    }
}

#[async_trait]
impl CloudVolumes for Facade {
    fn description(&self) -> Arc<VolumeDescription> {
        self.serving().volumes().description()
    }

    async fn create(&self, desired: &DesiredVolume, is_first: bool) -> Reply<Result<VolumeCreation>> {
        let version = self.serving();
        version.volumes().create(desired, is_first).await
    }

    async fn abandon(&self, unwanted: &DesiredVolume) -> Reply<Result<VolumeDeletion>> {
        let version = self.serving();
        version.volumes().abandon(unwanted).await
    }

    async fn delete(&self, unwanted: &KnownVolume) -> Reply<Result<VolumeDeletion>> {
        let version = self.serving();
        version.volumes().delete(unwanted).await
    }

    async fn attach(&self, volume: &KnownVolume, node_id: &str, mode: &AttachMode) -> Reply<Result<VolumeAttachment>> {
        let version = self.serving();
        version.volumes().attach(volume, node_id, mode).await
    }

    async fn detach(&self, volume: &KnownVolume, node_id: &str) -> Reply<Result<VolumeDetachment>> {
        let version = self.serving();
        version.volumes().detach(volume, node_id).await
    }

    async fn expand(&self, volume: &KnownVolume, bytes: u64) -> Reply<Result<VolumeExpansion>> {
        let version = self.serving();
        version.volumes().expand(volume, bytes).await
    }

    async fn get(&self, handles: &[String]) -> Reply<Vec<Result<Option<CloudVolume>>>> {
        let version = self.serving();
        version.volumes().get(handles).await
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<VolumePage>> {
        let (version, cursor) = match self.0.of_list(cursor, Instant::now()) {
            Ok(it) => it,
            Err(error) => return Err(error).into(),
        };
        let mut reply = version.volumes().list(cursor, limit).await;
        if let Ok(page) = &mut reply.answer {
            version.mark(&mut page.next);
        }
        reply
    }
}
