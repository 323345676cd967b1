//! The volume-expander: it lets volumes grow whose claims ask for more, in the place of the external resizer beside a CSI driver. The
//! kubelet of a node that has the volume does its part afterwards.
//!
//! ```text
//! claims, PersistentVolumes ► queue ► ■ plan::claim ► the API server is asked ► ■ plan::claim
//!     expand     ■ status::begun ► expand ► … pending: memo on the PersistentVolume, later again
//!                                             ready ► ■ status::grown, the PersistentVolume ► the claim's status ► event
//!     refused    ■ status::refused ► later again, or at once for another size
//! ```
//!
//! While the cloud is at work on many, one list of volumes says which are worth a question (`volume_lists`). Nothing shrinks.

mod attempts;
mod awaited;
mod plan;
mod status;
mod sync;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use budgets::RequestedChanges;
use cloud_provider::{Cloud, CloudVolumes, Identity};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::ResourceExt as _;
use kube::api::Api;
use kube::runtime::watcher::Event;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::account::changed;
use crate::context::{Context, Task};
use crate::liveness::Liveness;
use crate::migrated;
use crate::queue::limits::Limits;
use crate::queue::pump::WorkQueue;
use crate::trimmed::Trimmed;
use crate::volume_events::VolumeEvents;
use crate::volume_lists::VolumeLists;
use crate::volume_operations::{CsiMethod, VolumeOperations};
use crate::volume_vendor::{LOOKS, VendorPart, VolumeVendor};
use crate::watch;
use crate::watched::{WatchWriter, Watched};
use crate::woken::FrequentChanges;
use crate::worker::{self, random};

use self::attempts::GrowthAttempts;
use self::awaited::AwaitedSize;
use self::plan::GrowthWake;

/// The source of this controller's events.
const COMPONENT: &str = "volume-expander";
/// The queue's name in metrics. Its keys are claims: `namespace/name`.
const QUEUE: &str = "volumeExpander";
/// Claims that are worked on side by side.
const WORKERS: usize = 10;

/// The state that the parts of this controller share.
struct VolumeExpander {
    client: kube::Client,
    volume_api: Api<PersistentVolume>,
    claims: Watched<PersistentVolumeClaim>,
    volumes: Watched<PersistentVolume>,
    /// Whether all is known that there was at the start. Before that each claim is in the queue because it is there, and volumes add none.
    is_synced: AtomicBool,
    attempts: Mutex<GrowthAttempts>,
    /// The changes of claims, whose authors change them as often as they like.
    changes: FrequentChanges,
    /// The list of volumes, for those that the cloud is at work on.
    lists: VolumeLists<AwaitedSize>,
    operations: VolumeOperations,
    requested: RequestedChanges,
    cloud: Arc<dyn CloudVolumes>,
    identity: Arc<dyn Identity>,
    vendor: Arc<VolumeVendor>,
    events: VolumeEvents,
    queue: Arc<WorkQueue>,
}

/// The controller, unless the cloud has no volumes. When it ends, what is being worked on is finished first.
pub fn new(context: &Context, cloud: &Cloud) -> Option<Task> {
    let cloud_volumes = context.account.guard(cloud.clone()).volumes.clone()?;
    let client = context.client.clone();
    let ((claims, claim_writer), (volumes, volume_writer)) = (Watched::new(), Watched::new());
    let controller = VolumeExpander {
        volume_api: Api::all(client.clone()),
        client,
        claims,
        volumes,
        is_synced: AtomicBool::new(false),
        attempts: Mutex::default(),
        changes: FrequentChanges::default(),
        lists: VolumeLists::new(cloud_volumes.clone()),
        operations: VolumeOperations::new(cloud_volumes.clone(), context.metrics.volumes.clone(), &[CsiMethod::Expand]),
        requested: context.requested.clone(),
        vendor: context.volume_vendor(&cloud_volumes, VendorPart::Resizer, LOOKS),
        cloud: cloud_volumes,
        identity: cloud.identity.clone(),
        events: VolumeEvents::new(context.events.recorder(COMPONENT)),
        queue: Arc::new(WorkQueue::new(context.metrics.queue(QUEUE), Limits::per_key(), random)),
    };
    let liveness = Liveness::default();
    let run = Arc::new(controller).run(claim_writer, volume_writer, liveness.clone(), context.shutdown());
    Some(Task::new(liveness, run))
}

impl VolumeExpander {
    async fn run(
        self: Arc<Self>,
        claims: WatchWriter<PersistentVolumeClaim>,
        volumes: WatchWriter<PersistentVolume>,
        liveness: Liveness,
        shutdown: impl Future<Output = ()> + Send,
    ) {
        let mut shutdown = std::pin::pin!(shutdown);
        let mut background = JoinSet::new();
        background.spawn(self.vendor.clone().follow());
        background.spawn(self.clone().watch_claims(claims));
        background.spawn(self.clone().watch_volumes(volumes));
        tokio::select! {
            _ = async { tokio::join!(self.claims.synced(), self.volumes.synced(), self.vendor.looked()) } => {}
            () = &mut shutdown => return,
        }
        self.is_synced.store(true, Ordering::Release);
        background.spawn(self.clone().retry_with_new_credentials());
        background.spawn(self.clone().retry_without_vendor());
        background.spawn(self.clone().retry_with_changes());
        background.spawn(self.clone().read_lists());
        background.spawn(self.clone().follow_operations());
        let queue = self.queue.clone();
        worker::run(self, queue, WORKERS, background, &liveness, shutdown).await;
    }

    async fn watch_claims(self: Arc<Self>, mut writer: WatchWriter<PersistentVolumeClaim>) {
        let apply = |event: Event<PersistentVolumeClaim>| {
            for change in self.claims.apply(event, &mut writer) {
                let Some(after) = change.after else {
                    if let Some(before) = change.before {
                        self.settle(&key(&before));
                    }
                    continue;
                };
                let (before, key) = (change.before, key(&after));
                if before.as_ref().is_some_and(|it| it.metadata.uid != after.metadata.uid) {
                    self.settle(&key);
                }
                let is_refused = self.attempts.lock().is_refused(&key);
                match plan::wake(before.as_deref(), &after, is_refused) {
                    GrowthWake::Never => {}
                    GrowthWake::IfIdle => self.queue.add_if_idle(&key),
                    GrowthWake::AtOnce if before.is_some() && !self.changes.wake(&key) => {}
                    GrowthWake::AtOnce => self.queue.add(&key),
                }
            }
        };
        let api: Api<Trimmed<PersistentVolumeClaim>> = Api::all(self.client.clone());
        match watch::follow(api, "PersistentVolumeClaims", "the API server", watch::LASTS, apply).await {}
    }

    async fn watch_volumes(self: Arc<Self>, mut writer: WatchWriter<PersistentVolume>) {
        let apply = |event: Event<PersistentVolume>| {
            for change in self.volumes.apply(migrated::shown(event, &self.cloud.description()), &mut writer) {
                let Some(after) = change.after else { continue };
                let Some(claim) = plan::claim_of(&after, &self.driver()) else { continue };
                let is_marked = after.annotations().contains_key(plan::SIZE_BEFORE);
                match change.before {
                    // A claim may have waited for it.
                    None if is_marked || self.is_synced.load(Ordering::Acquire) => self.queue.add(&claim),
                    Some(before) if is_marked && plan::bytes_of(&before) != plan::bytes_of(&after) => {
                        self.queue.add_if_idle(&claim);
                    }
                    _ => {}
                }
            }
        };
        let api: Api<Trimmed<PersistentVolume>> = Api::all(self.client.clone());
        match watch::follow(api, "PersistentVolumes", "the API server", watch::LASTS, apply).await {}
    }

    /// Tries everything once more whenever a credential has changed.
    async fn retry_with_new_credentials(self: Arc<Self>) {
        let mut versions = self.identity.versions();
        loop {
            changed(&mut versions).await;
            self.attempts.lock().wake();
            self.claims.all().iter().filter(|it| plan::is_due(it)).for_each(|it| self.queue.add(&key(it)));
        }
    }

    /// Tries everything once more whenever the vendor's controller has gone.
    async fn retry_without_vendor(self: Arc<Self>) {
        loop {
            self.vendor.away().await;
            self.claims.all().iter().filter(|it| plan::is_due(it)).for_each(|it| self.queue.add(&key(it)));
        }
    }

    /// Looks again at claims that have changed more than once in a short time.
    async fn retry_with_changes(self: Arc<Self>) {
        let look = |key: &str| {
            let is_refused = self.attempts.lock().is_refused(key);
            match self.claims.get(key).is_some_and(|it| !is_refused && plan::is_at_work(&it)) {
                true => self.queue.add_if_idle(key),
                false => self.queue.add(key),
            }
        };
        self.changes.follow(look).await;
    }

    /// Reads the list of volumes as long as claims wait for it.
    async fn read_lists(self: Arc<Self>) {
        self.lists.follow(|it| self.queue.add(it)).await;
    }

    async fn follow_operations(self: Arc<Self>) {
        self.operations.follow().await;
    }

    /// Nothing is left to be done about a claim.
    fn settle(&self, claim: &str) {
        self.attempts.lock().forget(claim);
        self.operations.forget(claim);
        self.lists.remove(claim);
    }

    fn driver(&self) -> String {
        self.cloud.description().driver.clone()
    }
}

/// The key of a claim: `namespace/name`.
fn key(claim: &PersistentVolumeClaim) -> String {
    format!("{}/{}", claim.namespace().unwrap_or_default(), claim.name_any())
}
