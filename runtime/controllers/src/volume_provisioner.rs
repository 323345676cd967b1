//! The volume-provisioner: it makes the volumes that PersistentVolumeClaims ask for, and deletes those that nobody needs any more,
//! in the place of a CSI driver's own provisioner.
//!
//! ```text
//! claims, classes, CSINodes, nodes ► queue ► ■ plan::claim
//!     begin      ■ request::intent ► ConfigMap ► create ► … pending: memo into the ConfigMap, later again
//!                                                  ready ► PersistentVolume ► the ConfigMap goes ► event
//!                                                  no room ► abandon ► the claim goes back to the scheduler
//!     abandon    abandon ► … done ► the ConfigMap goes
//! PersistentVolumes, attachments ► queue ► ■ plan::volume ► budget ► delete ► … done ► the PersistentVolume goes
//! ```
//!
//! The intent outlives claim and process: whatever was asked for is either a PersistentVolume's or abandoned.

mod abandon;
mod adopted;
mod class;
mod hand;
mod intent;
mod lists;
mod node_places;
mod orphans;
mod placement;
mod places;
mod placing;
mod plan;
mod request;
mod sync;
mod volumes;
mod watches;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

pub use budgets::Budget;
use budgets::{RequestedChanges, VolumeBudgets, VolumeDeletions};
use cloud_provider::{Cloud, CloudVolumes, Identity};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass, VolumeAttachment};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::sync::watch::Receiver;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::account::changed;
use crate::context::{Context, Task};
use crate::error::chain;
use crate::events::reference;
use crate::inventory::Inventory;
use crate::liveness::Liveness;
use crate::metrics::VolumeMetrics;
use crate::nodes::Nodes;
use crate::queue::limits::Limits;
use crate::queue::pump::WorkQueue;
use crate::trimmed::Trimmed;
use crate::volume_events::VolumeEvents;
use crate::volume_operations::{CsiMethod, VolumeOperations};
use crate::volume_vendor::{LOOKS, VendorPart, VolumeVendor};
use crate::watched::{WatchWriter, Watched};
use crate::woken::FrequentChanges;
use crate::worker::{self, random};

use self::adopted::AdoptedVolumes;
use self::intent::Intent;
use self::orphans::VolumeOrphans;
use self::placement::PlacedVolumes;
use self::plan::VolumeStep;

/// The source of this controller's events.
const COMPONENT: &str = "volume-provisioner";
/// The queue's name in metrics.
const QUEUE: &str = "volumeProvisioner";
/// Claims and volumes that are worked on side by side.
const WORKERS: usize = 20;
/// How long it rests before intents are listed again that could not be.
const LIST_AGAIN: Duration = Duration::from_secs(5);
/// How long it rests before claims that wait for nodes are looked at again: each kubelet writes its CSINode as often as it likes.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// A claim's key in the queue, by its UID, and a volume's, by its name.
const CLAIM: &str = "claim/";
const VOLUME: &str = "volume/";

/// The namespace of the intents, which nobody else writes.
pub const NAMESPACE: &str = "aerostat-volumes";

/// How volumes are made and deleted.
#[derive(Clone, Debug)]
pub struct Options {
    /// `--cluster-name`.
    pub cluster_name: String,
    /// How many volumes are deleted in how long.
    pub budget: Budget,
    /// The same for the volumes of one namespace's claims.
    pub namespace_budget: Budget,
    /// How often it looks whether the vendor's own provisioner runs.
    pub vendor_period: Duration,
    /// How often it looks for volumes that nothing in the cluster has.
    pub orphan_period: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cluster_name: "kubernetes".to_owned(),
            budget: budgets::VOLUMES,
            namespace_budget: budgets::VOLUMES_OF_NAMESPACE,
            vendor_period: LOOKS,
            orphan_period: Duration::from_hours(1),
        }
    }
}

impl Options {
    fn budgets(&self) -> VolumeBudgets {
        VolumeBudgets { all: self.budget, of_namespace: self.namespace_budget }
    }
}

/// The state that the parts of this controller share.
struct VolumeProvisioner {
    claim_api: Api<Trimmed<PersistentVolumeClaim>>,
    client: kube::Client,
    volume_api: Api<Trimmed<PersistentVolume>>,
    plain_volume_api: Api<PersistentVolume>,
    class_api: Api<StorageClass>,
    intent_api: Api<ConfigMap>,
    claims: Watched<PersistentVolumeClaim>,
    volumes: Watched<PersistentVolume>,
    csi_nodes: Watched<CSINode>,
    attachments: Watched<VolumeAttachment>,
    nodes: Nodes,
    /// The machines behind nodes; none where the cloud has no instances.
    inventory: Option<Arc<Inventory>>,
    /// A node has the driver now, or has it no more.
    nodes_changed: Notify,
    /// A PersistentVolume has come that does not say where its volume is.
    unplaced: Notify,
    placed: Mutex<PlacedVolumes>,
    cloud: Arc<dyn CloudVolumes>,
    identity: Arc<dyn Identity>,
    vendor: Arc<VolumeVendor>,
    /// The names of claims, by their UIDs.
    names: Mutex<HashMap<String, String>>,
    intents: Mutex<HashMap<String, Intent>>,
    /// UIDs of claims whose volumes the provider has called invalid, and for which nothing is begun.
    refused: Mutex<HashSet<String>>,
    /// Their changes, and those of nothing else.
    changes: FrequentChanges,
    /// UIDs of claims that wait, and whose volumes are being abandoned, each of which is one change.
    abandoned: Mutex<HashSet<String>>,
    spent: Mutex<VolumeDeletions>,
    /// PersistentVolumes whose deletion is counted, and not done, and those that are not there yet: since when.
    counted: Mutex<HashMap<String, Instant>>,
    /// PersistentVolumes that were saved, and that the watch has not shown yet.
    saved: Mutex<HashSet<String>>,
    /// The handles in PersistentVolumes that may be saved, and that the watch has not shown yet, by the names of those.
    handles: Mutex<HashMap<String, String>>,
    /// Volumes of PersistentVolumes that were not made for their claims: one worker at a time asks about them.
    adopted: tokio::sync::Mutex<AdoptedVolumes>,
    orphans: Mutex<VolumeOrphans>,
    requested: RequestedChanges,
    metrics: VolumeMetrics,
    operations: VolumeOperations,
    events: VolumeEvents,
    queue: Arc<WorkQueue>,
    options: Options,
    /// This process, in the attributes of the volumes that it makes.
    process: String,
}

/// The controller, unless the cloud has no volumes. When it ends, what is being worked on is finished first.
pub fn new(context: &Context, cloud: &Cloud, options: Options) -> Option<Task> {
    let guarded = context.account.guard(cloud.clone());
    let volumes = guarded.volumes.clone()?;
    let client = context.client.clone();
    let ((claims, claim_writer), (pvs, volume_writer)) = (Watched::new(), Watched::new());
    let ((csi_nodes, csi_writer), (attachments, attachment_writer)) = (Watched::new(), Watched::new());
    let process = format!(
        "{}-{:04}-{}",
        Timestamp::now().as_millisecond(),
        (random() * 1e4) as u32,
        volumes.description().driver
    );
    let controller = VolumeProvisioner {
        claim_api: Api::all(client.clone()),
        client: client.clone(),
        volume_api: Api::all(client.clone()),
        plain_volume_api: Api::all(client.clone()),
        class_api: Api::all(client.clone()),
        intent_api: Api::namespaced(client, NAMESPACE),
        claims,
        volumes: pvs,
        csi_nodes,
        attachments,
        nodes: context.nodes.clone(),
        inventory: context.inventory(cloud),
        nodes_changed: Notify::new(),
        unplaced: Notify::new(),
        placed: Mutex::default(),
        vendor: context.volume_vendor(&volumes, VendorPart::Provisioner, options.vendor_period),
        operations: VolumeOperations::new(
            volumes.clone(),
            context.metrics.volumes.clone(),
            &[CsiMethod::Create, CsiMethod::Delete],
        ),
        cloud: volumes,
        identity: cloud.identity.clone(),
        names: Mutex::default(),
        intents: Mutex::default(),
        refused: Mutex::default(),
        changes: FrequentChanges::default(),
        abandoned: Mutex::default(),
        spent: Mutex::default(),
        counted: Mutex::default(),
        saved: Mutex::default(),
        handles: Mutex::default(),
        adopted: tokio::sync::Mutex::default(),
        orphans: Mutex::default(),
        requested: context.requested.clone(),
        metrics: context.metrics.volumes.clone(),
        events: VolumeEvents::new(context.events.recorder(COMPONENT)),
        queue: Arc::new(WorkQueue::new(context.metrics.queue(QUEUE), Limits::per_key(), random)),
        options,
        process,
    };
    let liveness = Liveness::default();
    let writers = (claim_writer, volume_writer, csi_writer, attachment_writer);
    let run = Arc::new(controller).run(writers, liveness.clone(), context.shutdown());
    Some(Task::new(liveness, run))
}

type Writers = (
    WatchWriter<PersistentVolumeClaim>,
    WatchWriter<PersistentVolume>,
    WatchWriter<CSINode>,
    WatchWriter<VolumeAttachment>,
);

impl VolumeProvisioner {
    async fn run(
        self: Arc<Self>,
        (claims, volumes, csi_nodes, attachments): Writers,
        liveness: Liveness,
        shutdown: impl Future<Output = ()> + Send,
    ) {
        let mut shutdown = std::pin::pin!(shutdown);
        tokio::select! {
            () = self.read_intents() => {}
            () = &mut shutdown => return,
        }
        let mut background = JoinSet::new();
        background.spawn(self.vendor.clone().follow());
        background.spawn(self.clone().watch_claims(claims));
        background.spawn(self.clone().watch_volumes(volumes));
        background.spawn(self.clone().watch_csi_nodes(csi_nodes));
        background.spawn(self.clone().watch_attachments(attachments));
        let synced = async {
            tokio::join!(
                self.nodes.synced(),
                self.claims.synced(),
                self.volumes.synced(),
                self.csi_nodes.synced(),
                self.attachments.synced(),
                self.vendor.looked()
            );
        };
        tokio::select! {
            () = synced => {}
            () = &mut shutdown => return,
        }
        self.vendor.begins(VendorPart::Provisioner);
        // Those whose claims are gone are named by no watch.
        self.all_again();
        background.spawn(self.clone().retry_with_new_credentials());
        background.spawn(self.clone().retry_with_approvals());
        background.spawn(self.clone().retry_without_vendor());
        background.spawn(self.clone().look_for_orphans());
        background.spawn(self.clone().follow_operations());
        background.spawn(self.clone().place_volumes());
        background.spawn(self.clone().retry_with_nodes());
        background.spawn(self.clone().retry_with_changes());
        let queue = self.queue.clone();
        worker::run(self, queue, WORKERS, background, &liveness, shutdown).await;
    }

    /// Reads what a process before has begun. Nothing is begun before that.
    async fn read_intents(&self) {
        let driver = self.cloud.description().driver.clone();
        let params = ListParams::default().labels(intent::LABEL);
        let listed = loop {
            match crate::object::answer(self.intent_api.list(&params)).await {
                Ok(listed) => break listed,
                Err(error) => {
                    let error = chain(&error);
                    warn!(error, namespace = NAMESPACE, "the intents to make volumes cannot be listed; trying again");
                    tokio::time::sleep(LIST_AGAIN).await;
                }
            }
        };
        let mut intents = self.intents.lock();
        for kept in &listed {
            match Intent::kept(kept, &driver) {
                Some(intent) => drop(intents.insert(intent.uid().to_owned(), intent)),
                None => warn!(
                    config_map = kept.name_any(),
                    "this ConfigMap is no intent to make a volume of driver {driver}, and is left alone"
                ),
            }
        }
        if !intents.is_empty() {
            info!(intents = intents.len(), "a process before has begun to make volumes: they are made, or abandoned");
        }
    }

    /// Tries everything once more whenever a credential has changed.
    async fn retry_with_new_credentials(self: Arc<Self>) {
        let mut versions = self.identity.versions();
        loop {
            changed(&mut versions).await;
            self.all_again();
        }
    }

    /// Tries what is withheld once more whenever a person has approved.
    async fn retry_with_approvals(self: Arc<Self>) {
        let mut approvals: Receiver<u64> = self.requested.approvals();
        loop {
            changed(&mut approvals).await;
            self.all_again();
        }
    }

    /// Tries everything once more whenever the vendor's controller has gone.
    async fn retry_without_vendor(self: Arc<Self>) {
        loop {
            self.vendor.away().await;
            self.all_again();
        }
    }

    async fn follow_operations(self: Arc<Self>) {
        self.operations.follow().await;
    }

    /// Whether another provisioner has made a volume that is new.
    fn look_for_a_hand(&self, volume: &PersistentVolume) {
        if let Some(uid) = hand::of_vendor(volume, &self.process, &self.driver())
            && hand::has_waited(self.claim(uid).as_deref())
        {
            self.saw_a_hand(volume, uid);
        }
    }

    /// Another provisioner has made the volume of the claim with this UID.
    fn saw_a_hand(&self, volume: &PersistentVolume, uid: &str) {
        if !hand::is_explained(self.intents.lock().get(uid)) {
            let what = format!("PersistentVolume {} was made by another hand", volume.name_any());
            self.vendor.saw(VendorPart::Provisioner, &reference(volume), &what);
        }
    }

    /// Looks again at claims for which nothing is begun, whenever nodes have got the driver or lost it.
    async fn retry_with_nodes(self: Arc<Self>) {
        loop {
            self.nodes_changed.notified().await;
            self.waiting_again();
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Looks again at claims that were refused, and have changed more than once in a short time.
    async fn retry_with_changes(self: Arc<Self>) {
        self.changes.follow(|it| self.queue.add(it)).await;
    }

    fn all_again(&self) {
        // Another credential, or another provider, may take them.
        self.refused.lock().clear();
        self.placed.lock().clear();
        self.unplaced.notify_one();
        let intents: Vec<_> = self.intents.lock().keys().cloned().collect();
        intents.iter().for_each(|it| self.queue.add(&format!("{CLAIM}{it}")));
        self.waiting_again();
        for volume in self.volumes.all() {
            if plan::volume(&volume, &[], &self.driver()) != VolumeStep::Ignore {
                self.queue.add(&format!("{VOLUME}{}", volume.name_any()));
            }
        }
    }

    /// Looks at all claims again that have no volume, and for which none is begun or refused.
    fn waiting_again(&self) {
        let driver = self.driver();
        let waiting =
            self.claims.all().into_iter().filter(|it| request::is_ours(it, &driver)).filter_map(|it| it.uid());
        for uid in waiting.filter(|it| !self.is_begun(it) && !self.refused.lock().contains(it)) {
            self.queue.add(&format!("{CLAIM}{uid}"));
        }
    }

    /// Whether there is an intent for the claim with this UID.
    fn is_begun(&self, uid: &str) -> bool {
        self.intents.lock().contains_key(uid)
    }

    fn driver(&self) -> String {
        self.cloud.description().driver.clone()
    }

    /// The claim with this UID, as it is now.
    fn claim(&self, uid: &str) -> Option<Arc<PersistentVolumeClaim>> {
        let name = self.names.lock().get(uid).cloned()?;
        self.claims.get(&name).filter(|it| it.metadata.uid.as_deref() == Some(uid))
    }

    /// The nodes whose attachments name a volume.
    fn attached_to(&self, volume: &str) -> Vec<String> {
        let attachments = self.attachments.all();
        let of_it = attachments.iter().filter(|it| it.spec.source.persistent_volume_name.as_deref() == Some(volume));
        of_it.map(|it| it.spec.node_name.clone()).collect()
    }
}
