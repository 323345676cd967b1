//! What is in the cloud for Services that do not exist: it is told of, and deleted only if the operator says so.

use std::collections::HashSet;
use std::sync::Arc;

use cloud_provider::{Deletion, InventoryItem, LoadBalancer, Owner, Proof};
use k8s_openapi::api::core::v1::{Namespace, Service};
use kube::api::{Api, ListParams};
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::cloud_call::{CALL, late};
use crate::events::{CLUSTER, EventKind, cluster};
use crate::object;
use crate::service::desired::name;
use crate::service::inventory::LoadBalancerLists;
use crate::service::inventory::orphans::{Living, Orphans, owner};
use crate::service::inventory::snapshot::Snapshot;
use crate::service::long_pending::LongPending;
use crate::service::shared::SharedState;
use crate::service::status;
use crate::service::syncer::held;
use crate::trimmed::Trimmed;

/// So many steps of one deletion are made. If it is still listed then, it has to become an orphan again.
const STEPS: usize = 20;

/// The part of this controller that reaps.
pub(super) struct Reaper {
    pub(super) shared: Arc<SharedState>,
    pub(super) lists: Arc<LoadBalancerLists>,
    /// The load balancers that lists have shown of Services that do not exist.
    pub(super) orphans: Mutex<Orphans>,
}

impl Reaper {
    /// Looks for orphans in a list, and tells of them, and of what is kept.
    pub(super) fn look(&self, list: &Snapshot) {
        let (options, living) = (self.lists.options, self.living());
        let news = {
            let mut orphans = self.orphans.lock();
            let news = orphans.look(list, &living, options);
            self.shared.metrics.inventory.kept.set(i64::try_from(orphans.kept()).unwrap_or(i64::MAX));
            for (proof, label) in [(Proof::Unique, "unique"), (Proof::ByName, "by-name")] {
                self.shared
                    .metrics
                    .inventory
                    .orphans(label)
                    .set(i64::try_from(orphans.count(proof)).unwrap_or(i64::MAX));
            }
            news
        };
        for it in &news {
            match &it.kept {
                Some(why) => {
                    info!("{}, which was made for {}, is no orphan and is kept: {why}", it.cloud_object, owner(it));
                }
                None => self.tell_of_orphan(it, options.delete_orphans),
            }
        }
        if options.delete_orphans && list.incomplete.is_none() {
            self.lists.look_at_orphans();
        }
    }

    /// Deletes orphans one after the other, for as long as it runs, if the operator says so.
    pub(super) async fn delete_orphans(self: Arc<Self>) {
        if !self.lists.options.delete_orphans {
            return std::future::pending().await;
        }
        loop {
            self.lists.orphans_are_due().await;
            let Some(list) = self.lists.newest() else { continue };
            let due = self.orphans.lock().due(&list, self.lists.options, Instant::now()).cloned();
            if let Some(orphan) = due {
                self.delete_orphaned(&orphan).await;
            }
        }
    }

    async fn delete_orphaned(&self, orphan: &InventoryItem) {
        match self.is_nobodys(orphan).await {
            Ok(true) => {
                self.orphans.lock().delete(orphan, Instant::now());
                self.delete_unowned(orphan).await;
            }
            Ok(false) => info!(object = orphan.cloud_object, "it looked like an orphan, and its Service is there"),
            Err(why) => warn!(object = orphan.cloud_object, "an orphaned load balancer is not deleted: {why}"),
        }
    }

    /// Everybody who may have a load balancer, as the watch and this process know it.
    fn living(&self) -> Living {
        let mut living = living(self.shared.services.all().iter().map(|it| &**it));
        self.shared.states.all(|states| {
            for (_, state) in states.iter() {
                if state.may_exist() && !living.uids.is_empty() {
                    living.uids.insert(state.uid.clone());
                }
                living.memos.extend(state.work.memo.clone());
            }
        });
        living
    }

    fn tell_of_orphan(&self, item: &InventoryItem, deletes: bool) {
        let next = match (item.proof, deletes) {
            (Proof::Unique, true) => "it is deleted if it stays so for an hour".to_owned(),
            (Proof::Unique, false) => {
                "delete it in the cloud, or let the operator set --delete-orphaned-load-balancers".to_owned()
            }
            (Proof::ByName, _) => "only its name says that it is this cluster's, and it may be another's: if it is \
                                   not, delete it in the cloud"
                .to_owned(),
        };
        let message = format!(
            "{} was made for {}, which does not exist, and costs money: {next}",
            item.cloud_object,
            owner(item)
        );
        warn!("{message}");
        self.shared.recorder.record(cluster(), EventKind::Warning, "OrphanedLoadBalancer", &message);
    }

    /// Whether an orphan is this cluster's and the API server, asked now, has Services, but not its own. What is no answer
    /// is an error.
    async fn is_nobodys(&self, item: &InventoryItem) -> Result<bool, String> {
        // Nothing is deleted in another account, whatever was listed in it.
        self.shared.load_balancers.check().await.map_err(|error| error.to_string())?;
        let (Some(uid), Some(cluster_uid)) = (&item.owner.uid, &item.owner.cluster_uid) else { return Ok(false) };
        let shown = |error: object::Error| crate::error::chain(&error);
        let namespaces: Api<Namespace> = Api::all(self.shared.client.clone());
        let own = object::answer(namespaces.get(CLUSTER)).await.map_err(shown)?.metadata.uid;
        if own.as_ref() != Some(cluster_uid) {
            return Err(format!(
                "its mark names the cluster {cluster_uid}, and this one is {}",
                own.unwrap_or_default()
            ));
        }
        let services: Api<Trimmed<Service>> = Api::all(self.shared.client.clone());
        let all = object::answer(services.list(&ListParams::default())).await.map_err(shown)?;
        if all.items.is_empty() {
            return Err("the API server lists no Service at all".to_owned());
        }
        let living = living(all.items.iter().map(|it| &it.0));
        Ok(!living.uids.contains(uid) && item.memo.as_ref().is_some_and(|it| !living.memos.contains(it)))
    }

    /// Deletes it, as the load balancer of a Service of which nothing but its mark is known: the provider proves again.
    async fn delete_unowned(&self, item: &InventoryItem) {
        let message = format!("deleting {}, which was made for {}", item.cloud_object, owner(item));
        info!("{message}");
        self.shared.recorder.record(cluster(), EventKind::Normal, "DeletingOrphanedLoadBalancer", &message);
        let mut unwanted = unowned(item, &self.shared.cluster.name);
        let mut wait = LongPending::new(Instant::now());
        for _ in 0..STEPS {
            let Ok(reply) = tokio::time::timeout(CALL, self.shared.load_balancers.delete(&unwanted)).await else {
                return self.orphan_stays(item, &late().to_string());
            };
            match reply.answer {
                Ok(Deletion::Pending(it)) => {
                    unwanted.memo = it.status.memo.or(unwanted.memo);
                    let waited = wait.says(&it.reason, Instant::now());
                    tokio::time::sleep(held(it.after, waited)).await;
                }
                Ok(Deletion::Done) => {
                    // A provider that is done and warns has left it.
                    if let Some(it) = reply.events.iter().find(|it| it.kind == EventKind::Warning) {
                        return self.orphan_stays(item, &it.message);
                    }
                    self.shared.metrics.inventory.deleted.inc();
                    let message = format!("deleted {}, which was made for {}", item.cloud_object, owner(item));
                    return self.shared.recorder.record(
                        cluster(),
                        EventKind::Normal,
                        "DeletedOrphanedLoadBalancer",
                        &message,
                    );
                }
                Ok(Deletion::Kept(why)) => return self.orphan_stays(item, &why),
                Err(error) => return self.orphan_stays(item, &error.to_string()),
            }
        }
        self.orphan_stays(item, "the cloud is still busy with it");
    }

    fn orphan_stays(&self, item: &InventoryItem, why: &str) {
        let message = format!("{}, which was made for {}, is not deleted: {why}", item.cloud_object, owner(item));
        warn!("{message}");
        self.shared.recorder.record(cluster(), EventKind::Warning, "OrphanedLoadBalancerNotDeleted", &message);
    }
}

/// These Services.
fn living<'a>(services: impl Iterator<Item = &'a Service>) -> Living {
    let mut living = Living { uids: HashSet::new(), memos: HashSet::new() };
    for service in services {
        living.uids.extend(service.metadata.uid.clone());
        living.memos.extend(status::memo(service).map(str::to_owned));
    }
    living
}

/// What `delete` is told of it.
fn unowned(item: &InventoryItem, cluster: &str) -> LoadBalancer {
    let owner = &item.owner;
    let uid = owner.uid.clone().unwrap_or_default();
    LoadBalancer {
        name: name(&uid),
        owner: Owner {
            cluster: cluster.to_owned(),
            namespace: owner.namespace.clone().unwrap_or_default(),
            name: owner.name.clone().unwrap_or_default(),
            uid,
        },
        memo: item.memo.clone(),
        // No address: it would prove something that nobody has said.
        ..LoadBalancer::default()
    }
}
