//! The capabilities of a cloud for the cluster's own account: each is wrapped once, and whoever uses it need not know.

use std::sync::Arc;

use async_trait::async_trait;
use cloud_provider::{
    AttachMode, Cloud, CloudVolume, CloudVolumes, Deletion, DesiredVolume, Freshness, Instance, Instances,
    InventoryDescription, InventoryPage, KnownVolume, LoadBalancer, LoadBalancerInventory, LoadBalancers, Page,
    PersistentVolumes, PodNetwork, Progress, Reply, Result, RouteChange, RouteDescription, RouteOutcome, RoutePage,
    Routes, Topology, TopologyDescription, Volume, VolumeAttachment, VolumeCreation, VolumeDeletion, VolumeDescription,
    VolumeDetachment, VolumeExpansion, VolumePage,
};

use super::Account;

impl Account {
    /// The cloud, each capability of which serves the cluster's own account alone.
    #[must_use]
    pub fn guard(&self, cloud: Cloud) -> Cloud {
        if self.guard.is_none() {
            return cloud;
        }
        let Cloud {
            description,
            identity,
            instances,
            load_balancers,
            routes,
            load_balancer_inventory,
            persistent_volumes,
            volumes,
        } = cloud;
        let account = || self.clone();
        Cloud {
            description,
            identity,
            instances: instances.map(|inner| -> Arc<dyn Instances> { Arc::new(Guarded { account: account(), inner }) }),
            load_balancers: load_balancers
                .map(|inner| -> Arc<dyn LoadBalancers> { Arc::new(Guarded { account: account(), inner }) }),
            routes: routes.map(|inner| -> Arc<dyn Routes> { Arc::new(Guarded { account: account(), inner }) }),
            load_balancer_inventory: load_balancer_inventory
                .map(|inner| -> Arc<dyn LoadBalancerInventory> { Arc::new(Guarded { account: account(), inner }) }),
            persistent_volumes: persistent_volumes
                .map(|inner| -> Arc<dyn PersistentVolumes> { Arc::new(Guarded { account: account(), inner }) }),
            volumes: volumes.map(|inner| -> Arc<dyn CloudVolumes> { Arc::new(Guarded { account: account(), inner }) }),
        }
    }

    /// An answer of the cloud, unless a credential has changed meanwhile and its account is another one: then the answer
    /// may be about that one's machines.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    async fn believed<T>(&self, answer: impl Future<Output = T>) -> Result<T> {
        let version = || self.guard.as_ref().map(|it| it.version());
        let asked = version();
        let answer = answer.await;
        if version() != asked {
            self.check().await?;
        }
        Ok(answer)
    }

    /// A call that may write: nothing leaves before the account is known.
    async fn written<T>(&self, call: impl Future<Output = Reply<Result<T>>>) -> Reply<Result<T>> {
        if let Err(error) = self.check().await {
            return Reply::from(Err(error));
        }
        self.believed(call).await.unwrap_or_else(|error| Reply::from(Err(error)))
    }
}

/// The same error for each of so many questions.
fn errors<T: Clone>(error: cloud_provider::Error, questions: usize) -> Reply<Vec<Result<T>>> {
    Reply::from(vec![Err(error); questions])
}

/// A capability for the cluster's own account. Answers of another account are no answers.
struct Guarded<T: ?Sized> {
    account: Account,
    inner: Arc<T>,
}

#[async_trait]
impl Instances for Guarded<dyn Instances> {
    async fn check(&self) -> Result<()> {
        self.account.check().await
    }

    // Reads need not wait for the account: their answers do.
    async fn get(&self, nodes: &[cloud_provider::Node]) -> Reply<Vec<Result<Option<Instance>>>> {
        let (check, reply) = tokio::join!(self.account.check(), self.account.believed(self.inner.get(nodes)));
        match check.and(reply) {
            Ok(reply) => reply,
            Err(error) => errors(error, nodes.len()),
        }
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<Page>> {
        let reply = self.account.believed(self.inner.list(cursor, limit));
        let (check, reply) = tokio::join!(self.account.check(), reply);
        check.and(reply).unwrap_or_else(|error| Reply::from(Err(error)))
    }

    // The cloud is not asked.
    async fn canonical_ids(&self, provider_ids: &[String]) -> Vec<Result<String>> {
        self.inner.canonical_ids(provider_ids).await
    }
}

#[async_trait]
impl LoadBalancers for Guarded<dyn LoadBalancers> {
    async fn check(&self) -> Result<()> {
        self.account.check().await
    }

    async fn ensure(&self, desired: &LoadBalancer) -> Reply<Result<Progress>> {
        self.account.written(self.inner.ensure(desired)).await
    }

    async fn ensure_listed(&self, desired: &LoadBalancer, freshness: Freshness) -> Reply<Result<Progress>> {
        self.account.written(self.inner.ensure_listed(desired, freshness)).await
    }

    async fn delete(&self, unwanted: &LoadBalancer) -> Reply<Result<Deletion>> {
        self.account.written(self.inner.delete(unwanted)).await
    }
}

#[async_trait]
impl Routes for Guarded<dyn Routes> {
    fn description(&self) -> Arc<RouteDescription> {
        self.inner.description()
    }

    async fn check(&self) -> Result<()> {
        self.account.check().await
    }

    async fn next_hops(&self, networks: &[PodNetwork]) -> Reply<Vec<Result<String>>> {
        let reply = self.account.believed(self.inner.next_hops(networks));
        let (check, reply) = tokio::join!(self.account.check(), reply);
        check.and(reply).unwrap_or_else(|error| errors(error, networks.len()))
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<RoutePage>> {
        let reply = self.account.believed(self.inner.list(cursor, limit));
        let (check, reply) = tokio::join!(self.account.check(), reply);
        check.and(reply).unwrap_or_else(|error| Reply::from(Err(error)))
    }

    async fn apply(&self, changes: &[RouteChange]) -> Reply<Vec<Result<RouteOutcome>>> {
        if let Err(error) = self.account.check().await {
            return errors(error, changes.len());
        }
        let reply = self.account.believed(self.inner.apply(changes)).await;
        reply.unwrap_or_else(|error| errors(error, changes.len()))
    }
}

#[async_trait]
impl LoadBalancerInventory for Guarded<dyn LoadBalancerInventory> {
    fn description(&self) -> InventoryDescription {
        self.inner.description()
    }

    async fn check(&self) -> Result<()> {
        self.account.check().await
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<InventoryPage>> {
        let reply = self.account.believed(self.inner.list(cursor, limit));
        let (check, reply) = tokio::join!(self.account.check(), reply);
        check.and(reply).unwrap_or_else(|error| Reply::from(Err(error)))
    }
}

#[async_trait]
impl PersistentVolumes for Guarded<dyn PersistentVolumes> {
    fn description(&self) -> Arc<TopologyDescription> {
        self.inner.description()
    }

    async fn get_topology(&self, volumes: &[Volume]) -> Reply<Vec<Result<Option<Topology>>>> {
        let reply = self.account.believed(self.inner.get_topology(volumes));
        let (check, reply) = tokio::join!(self.account.check(), reply);
        check.and(reply).unwrap_or_else(|error| errors(error, volumes.len()))
    }
}

#[async_trait]
impl CloudVolumes for Guarded<dyn CloudVolumes> {
    fn description(&self) -> Arc<VolumeDescription> {
        self.inner.description()
    }

    async fn check(&self) -> Result<()> {
        self.account.check().await
    }

    async fn create(&self, desired: &DesiredVolume, is_first: bool) -> Reply<Result<VolumeCreation>> {
        self.account.written(self.inner.create(desired, is_first)).await
    }

    async fn abandon(&self, unwanted: &DesiredVolume) -> Reply<Result<VolumeDeletion>> {
        self.account.written(self.inner.abandon(unwanted)).await
    }

    async fn delete(&self, unwanted: &KnownVolume) -> Reply<Result<VolumeDeletion>> {
        self.account.written(self.inner.delete(unwanted)).await
    }

    async fn attach(&self, volume: &KnownVolume, node_id: &str, mode: &AttachMode) -> Reply<Result<VolumeAttachment>> {
        self.account.written(self.inner.attach(volume, node_id, mode)).await
    }

    async fn detach(&self, volume: &KnownVolume, node_id: &str) -> Reply<Result<VolumeDetachment>> {
        self.account.written(self.inner.detach(volume, node_id)).await
    }

    async fn expand(&self, volume: &KnownVolume, bytes: u64) -> Reply<Result<VolumeExpansion>> {
        self.account.written(self.inner.expand(volume, bytes)).await
    }

    async fn get(&self, handles: &[String]) -> Reply<Vec<Result<Option<CloudVolume>>>> {
        let reply = self.account.believed(self.inner.get(handles));
        let (check, reply) = tokio::join!(self.account.check(), reply);
        check.and(reply).unwrap_or_else(|error| errors(error, handles.len()))
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<VolumePage>> {
        let reply = self.account.believed(self.inner.list(cursor, limit));
        let (check, reply) = tokio::join!(self.account.check(), reply);
        check.and(reply).unwrap_or_else(|error| Reply::from(Err(error)))
    }
}

#[cfg(test)]
mod tests {
    use cloud_provider::{Error, Owner};
    use scripted_cloud::ScriptedCloud;

    use super::*;
    use crate::account::tests::{account, cloud as bank};

    /// The capabilities of a cloud that has nothing, for an account.
    fn guarded(account: &Account) -> (Arc<dyn Instances>, Arc<dyn LoadBalancers>, Arc<ScriptedCloud>) {
        let nothing = Arc::new(ScriptedCloud::default());
        let cloud = Cloud {
            instances: Some(nothing.clone()),
            load_balancers: Some(nothing.clone()),
            ..Cloud::new(Arc::default(), bank("a"))
        };
        let guarded = account.guard(cloud);
        (guarded.instances.unwrap(), guarded.load_balancers.unwrap(), nothing)
    }

    #[tokio::test]
    async fn another_account_gets_no_load_balancers() {
        let cloud = bank("a");
        let account = account(&cloud);
        let (_, load_balancers, nothing) = guarded(&account);
        let service = service();
        assert_eq!(load_balancers.check().await, Ok(()));
        assert_eq!(load_balancers.ensure(&service).await.answer, Ok(Progress::NotManaged));
        assert_eq!(load_balancers.delete(&service).await.answer, Ok(Deletion::Done));
        assert_eq!(nothing.calls(), ["ensure web", "delete web"]);
        cloud.version().send_replace(2);
        cloud.names(Ok(Some("b".to_owned())));
        assert!(matches!(load_balancers.check().await, Err(Error::Denied(_))));
        assert!(matches!(load_balancers.ensure(&service).await.answer, Err(Error::Denied(_))));
        assert!(matches!(load_balancers.delete(&service).await.answer, Err(Error::Denied(_))));
        assert_eq!(nothing.calls().len(), 2, "the cloud was not called");
    }

    /// Cases: csi 63
    #[tokio::test]
    async fn another_account_gets_no_volumes() {
        let bank = bank("a");
        let account = account(&bank);
        let nothing = Arc::new(ScriptedCloud::default());
        let cloud = Cloud { volumes: Some(nothing.clone()), ..Cloud::new(Arc::default(), bank.clone()) };
        let volumes = account.guard(cloud).volumes.unwrap();
        let desired = DesiredVolume { name: "pvc-1".to_owned(), ..DesiredVolume::default() };
        let known = KnownVolume { handle: "vol-1".to_owned(), ..KnownVolume::default() };
        assert_eq!(volumes.abandon(&desired).await.answer, Ok(VolumeDeletion::Done));
        assert_eq!(nothing.take_calls(), ["abandon pvc-1"]);
        bank.version().send_replace(2);
        bank.names(Ok(Some("b".to_owned())));
        assert!(matches!(volumes.create(&desired, true).await.answer, Err(Error::Denied(_))));
        assert!(matches!(volumes.abandon(&desired).await.answer, Err(Error::Denied(_))));
        assert!(matches!(volumes.delete(&known).await.answer, Err(Error::Denied(_))));
        assert!(matches!(volumes.attach(&known, "m-1", &AttachMode::default()).await.answer, Err(Error::Denied(_))));
        assert!(matches!(volumes.detach(&known, "m-1").await.answer, Err(Error::Denied(_))));
        assert!(matches!(volumes.expand(&known, 1).await.answer, Err(Error::Denied(_))));
        assert_eq!(nothing.calls(), [""; 0], "the cloud was not called");
        assert!(matches!(volumes.get(&["vol-1".to_owned()]).await.answer[..], [Err(Error::Denied(_))]));
        assert!(matches!(volumes.list(None, 10).await.answer, Err(Error::Denied(_))));
    }

    #[tokio::test]
    async fn an_answer_is_not_believed_if_the_account_changed_meanwhile() {
        let cloud = bank("a");
        let account = account(&cloud);
        let (_, load_balancers, nothing) = guarded(&account);
        let changing = cloud.clone();
        nothing.delete.answers(move |_| {
            changing.version().send_replace(2);
            changing.names(Ok(Some("b".to_owned())));
            Reply::from(Ok(Deletion::Done))
        });
        let answer = load_balancers.delete(&service()).await.answer;
        assert!(matches!(answer, Err(Error::Denied(_))), "{answer:?}");
    }

    #[tokio::test]
    async fn another_account_knows_no_machines() {
        let (right, wrong) = (bank("a"), bank("a"));
        let (instances, ..) = guarded(&account(&right));
        assert_eq!(instances.list(None, 10).await.answer, Ok(Page::default()));
        let doubted = account(&wrong);
        assert_eq!(doubted.check().await, Ok(()));
        wrong.version().send_replace(2);
        wrong.names(Ok(Some("b".to_owned())));
        let (instances, ..) = guarded(&doubted);
        assert!(matches!(instances.list(None, 10).await.answer, Err(Error::Denied(_))));
        let nodes = [cloud_provider::Node::default(), cloud_provider::Node::default()];
        let answers = instances.get(&nodes).await.answer;
        assert!(answers.len() == 2 && answers.iter().all(|it| matches!(it, Err(Error::Denied(_)))), "{answers:?}");
    }

    fn service() -> LoadBalancer {
        let [cluster, namespace, name, uid] = ["kubernetes", "default", "web", "0e2f6f1c"].map(str::to_owned);
        LoadBalancer {
            name: "a0e2f6f1c".to_owned(),
            owner: Owner { cluster, namespace, name, uid },
            ..LoadBalancer::default()
        }
    }
}
