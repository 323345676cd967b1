//! The volume-attacher: it attaches volumes to the machines of nodes, and detaches them, in the place of the external attacher
//! beside a CSI driver. kube-controller-manager says where a volume is needed, and where no longer: it makes VolumeAttachments and deletes them.
//!
//! ```text
//! VolumeAttachments, PersistentVolumes, CSINodes, CSIDrivers ► queue ► ■ turns ► the API server is asked ► ■ plan::attachment
//!     stays      PersistentVolume's finalizer ► finalizer, handle, node id ► attach ► … ready ► status
//!     goes       ■ plan::holds, of all others ► detach ► … done ► the finalizer goes
//! ```
//!
//! While the cloud is at work on many, one list of volumes says which are worth a question (`volume_lists`). Now and then it says which of those that
//! are attached seem to have left their machines, and are looked at (`lost`).
//!
//! The cloud's word that a machine is full counts for every attachment to it (`full`); events on the claim tell of failures (`told`).
//!
//! The vendor's own attacher must not run beside it: what it does is noticed (`hand`), and everything waits then.
//!
//! Nothing is detached but what such an object was begun with, only when that is deleted or names something else by now, and not
//! while another one holds the same volume at the same machine.

mod awaited;
mod drift;
mod full;
mod hand;
mod lost;
mod names;
mod plan;
mod sync;
mod told;
mod turns;
mod unclear;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cloud_provider::{Cloud, CloudVolumes, Identity};
use k8s_openapi::api::core::v1::PersistentVolume;
use k8s_openapi::api::storage::v1::{CSIDriver, CSINode, VolumeAttachment};
use kube::ResourceExt as _;
use kube::api::Api;
use kube::runtime::watcher::Event;
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::account::changed;
use crate::context::{Context, Task};
use crate::liveness::Liveness;
use crate::migrated;
use crate::nodes::Nodes;
use crate::queue::limits::Limits;
use crate::queue::pump::WorkQueue;
use crate::trimmed::Trimmed;
use crate::volume_events::VolumeEvents;
use crate::volume_lists::VolumeLists;
use crate::volume_operations::{CsiMethod, VolumeOperations};
use crate::volume_vendor::{LOOKS, VendorPart, VolumeVendor};
use crate::watch;
use crate::watched::{ObjectChange, WatchWriter, Watched};
use crate::woken::WokenKeys;
use crate::worker::{self, random};

use self::awaited::AwaitedAttachment;
use self::full::FullMachines;
use self::names::NamesNear;
use self::turns::Turns;
use self::unclear::UnclearAttachments;

/// The source of this controller's events.
const COMPONENT: &str = "volume-attacher";
/// The queue's name in metrics.
const QUEUE: &str = "volumeAttacher";
/// Attachments that are worked on side by side.
const WORKERS: usize = 20;
/// Keys of attachments and of PersistentVolumes in the queue, by their names.
const ATTACHMENT: &str = "attachment/";
const VOLUME: &str = "volume/";

/// How this controller works.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How often it looks whether attached volumes are still where they were attached.
    pub look_period: Duration,
    /// How long an attachment whose answer was lost may still arrive at the cloud: longer than a request may be under way. One that a process before has
    /// begun may as long from the start of this one.
    pub arrival: Duration,
    /// How often it looks whether the vendor's own attacher runs.
    pub vendor_period: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { look_period: Duration::from_mins(10), arrival: Duration::from_mins(1), vendor_period: LOOKS }
    }
}

/// The state that the parts of this controller share.
struct VolumeAttacher {
    client: kube::Client,
    plain_attachment_api: Api<VolumeAttachment>,
    plain_volume_api: Api<PersistentVolume>,
    attachments: Watched<VolumeAttachment>,
    volumes: Watched<PersistentVolume>,
    nodes: Nodes,
    csi_nodes: Watched<CSINode>,
    csi_drivers: Watched<CSIDriver>,
    near: Mutex<NamesNear>,
    /// Nodes whose attachments were looked at because of another id: a kubelet writes it, as often as it likes.
    woken: Mutex<WokenKeys>,
    /// Whether all is known that there was at the start. Before that each attachment is in the queue because it is there, and what else is
    /// there adds none.
    is_synced: AtomicBool,
    turns: Mutex<Turns>,
    full: Mutex<FullMachines>,
    unclear: Mutex<UnclearAttachments>,
    /// The list of volumes, for those that the cloud is at work on.
    lists: VolumeLists<AwaitedAttachment>,
    operations: VolumeOperations,
    cloud: Arc<dyn CloudVolumes>,
    identity: Arc<dyn Identity>,
    vendor: Arc<VolumeVendor>,
    /// UIDs of attachments of which this process says that they are attached, until the watch shows it.
    said: Mutex<HashSet<String>>,
    events: VolumeEvents,
    queue: Arc<WorkQueue>,
    options: Options,
}

type AttacherWriters =
    (WatchWriter<VolumeAttachment>, WatchWriter<PersistentVolume>, WatchWriter<CSINode>, WatchWriter<CSIDriver>);

/// The controller, unless the cloud has no volumes. When it ends, what is being worked on is finished first.
pub fn new(context: &Context, cloud: &Cloud, options: Options) -> Option<Task> {
    let volumes = context.account.guard(cloud.clone()).volumes.clone()?;
    let client = context.client.clone();
    let (attachments, attachment_writer) = Watched::new();
    let (pvs, volume_writer) = Watched::new();
    let ((csi_nodes, node_writer), (csi_drivers, driver_writer)) = (Watched::new(), Watched::new());
    let controller = VolumeAttacher {
        plain_attachment_api: Api::all(client.clone()),
        plain_volume_api: Api::all(client.clone()),
        client,
        attachments,
        volumes: pvs,
        nodes: context.nodes.clone(),
        csi_nodes,
        csi_drivers,
        near: Mutex::default(),
        woken: Mutex::default(),
        is_synced: AtomicBool::new(false),
        turns: Mutex::default(),
        full: Mutex::default(),
        unclear: Mutex::default(),
        lists: VolumeLists::new(volumes.clone()),
        operations: VolumeOperations::new(
            volumes.clone(),
            context.metrics.volumes.clone(),
            &[CsiMethod::Attach, CsiMethod::Detach],
        ),
        vendor: context.volume_vendor(&volumes, VendorPart::Attacher, options.vendor_period),
        said: Mutex::default(),
        cloud: volumes,
        identity: cloud.identity.clone(),
        events: VolumeEvents::new(context.events.recorder(COMPONENT)),
        queue: Arc::new(WorkQueue::new(context.metrics.queue(QUEUE), Limits::per_key(), random)),
        options,
    };
    let liveness = Liveness::default();
    let writers = (attachment_writer, volume_writer, node_writer, driver_writer);
    let run = Arc::new(controller).run(writers, liveness.clone(), context.shutdown());
    Some(Task::new(liveness, run))
}

impl VolumeAttacher {
    async fn run(
        self: Arc<Self>,
        (attachments, volumes, csi_nodes, csi_drivers): AttacherWriters,
        liveness: Liveness,
        shutdown: impl Future<Output = ()> + Send,
    ) {
        let mut shutdown = std::pin::pin!(shutdown);
        let mut background = JoinSet::new();
        background.spawn(self.vendor.clone().follow());
        background.spawn(self.clone().watch_attachments(attachments));
        background.spawn(self.clone().watch_volumes(volumes));
        background.spawn(self.clone().watch_csi_nodes(csi_nodes));
        background.spawn(self.clone().watch_csi_drivers(csi_drivers));
        let synced = async {
            tokio::join!(
                self.nodes.synced(),
                self.attachments.synced(),
                self.volumes.synced(),
                self.csi_nodes.synced(),
                self.csi_drivers.synced(),
                self.vendor.looked()
            );
        };
        tokio::select! {
            () = synced => {}
            () = &mut shutdown => return,
        }
        self.inherit();
        self.is_synced.store(true, Ordering::Release);
        self.vendor.begins(VendorPart::Attacher);
        background.spawn(self.clone().retry_with_new_credentials());
        background.spawn(self.clone().retry_without_vendor());
        background.spawn(self.clone().read_lists());
        background.spawn(self.clone().follow_operations());
        background.spawn(self.clone().look_after_attached());
        let queue = self.queue.clone();
        worker::run(self, queue, WORKERS, background, &liveness, shutdown).await;
    }

    /// A process before may have sent attachments whose answers nobody knows any more.
    fn inherit(&self) {
        let all = self.attachments.all();
        self.unclear.lock().inherit(all.iter().map(AsRef::as_ref), &self.driver(), Instant::now());
    }

    async fn watch_attachments(self: Arc<Self>, mut writer: WatchWriter<VolumeAttachment>) {
        let apply = |event: Event<VolumeAttachment>| {
            for change in self.attachments.apply(event, &mut writer) {
                self.near.lock().change(change.before.as_deref(), change.after.as_deref());
                self.look_for_a_hand(&change);
                let Some(after) = change.after else {
                    let Some(before) = change.before else { continue };
                    match before.spec.attacher == self.driver() {
                        true => self.has_gone(&before),
                        // It has named its PersistentVolume, too, which may have waited for that alone.
                        false => self.look_at_volume(&before),
                    }
                    continue;
                };
                // A write of this controller itself is no reason to look again.
                let told = |shown: &VolumeAttachment| {
                    let goes = shown.metadata.deletion_timestamp.is_some();
                    (shown.uid(), goes, plan::is_attached(shown), shown.spec.clone())
                };
                let is_news = change.before.is_none_or(|it| told(&it) != told(&after));
                if is_news && plan::is_due(&after, &self.driver()) {
                    self.add(&after);
                }
            }
        };
        let api: Api<Trimmed<VolumeAttachment>> = Api::all(self.client.clone());
        match watch::follow(api, "VolumeAttachments", "the API server", watch::LASTS, apply).await {}
    }

    async fn watch_volumes(self: Arc<Self>, mut writer: WatchWriter<PersistentVolume>) {
        let apply = |event: Event<PersistentVolume>| {
            for change in self.volumes.apply(migrated::shown(event, &self.cloud.description()), &mut writer) {
                let Some(after) = change.after else { continue };
                let name = after.name_any();
                if change.before.is_none() {
                    self.add_named(|near| near.of_volume(&name), true);
                }
                if plan::is_let_go(&after, false, &self.driver()) {
                    self.queue.add(&format!("{VOLUME}{name}"));
                }
            }
        };
        let api: Api<Trimmed<PersistentVolume>> = Api::all(self.client.clone());
        match watch::follow(api, "PersistentVolumes", "the API server", watch::LASTS, apply).await {}
    }

    async fn watch_csi_nodes(self: Arc<Self>, mut writer: WatchWriter<CSINode>) {
        let apply = |event: Event<CSINode>| {
            for change in self.csi_nodes.apply(event, &mut writer) {
                let driver = self.driver();
                let id = |node: &Option<Arc<CSINode>>| {
                    node.as_ref().and_then(|it| plan::node_id(it, &driver)).map(str::to_owned)
                };
                let now = id(&change.after);
                if let Some(node) = change.after.as_ref().filter(|_| now.is_some() && now != id(&change.before)) {
                    let name = node.name_any();
                    let is_due =
                        self.is_synced.load(Ordering::Acquire) && self.woken.lock().wake(&name, Instant::now());
                    self.add_named(|near| near.of_node(&name), is_due);
                }
            }
        };
        let api: Api<Trimmed<CSINode>> = Api::all(self.client.clone());
        match watch::follow(api, "CSINodes", "the API server", watch::LASTS, apply).await {}
    }

    async fn watch_csi_drivers(self: Arc<Self>, mut writer: WatchWriter<CSIDriver>) {
        let apply = |event: Event<CSIDriver>| {
            let changes = self.csi_drivers.apply(event, &mut writer);
            let is_needless = |driver: &Option<Arc<CSIDriver>>| {
                plan::is_needless(driver.as_deref().filter(|it| it.name_any() == self.driver()))
            };
            let is_due_now = changes.iter().any(|it| is_needless(&it.before) && !is_needless(&it.after));
            if is_due_now && self.is_synced.load(Ordering::Acquire) {
                self.add_due();
            }
        };
        let api: Api<Trimmed<CSIDriver>> = Api::all(self.client.clone());
        match watch::follow(api, "CSIDrivers", "the API server", watch::LASTS, apply).await {}
    }

    /// Tries everything once more whenever a credential has changed.
    async fn retry_with_new_credentials(self: Arc<Self>) {
        let mut versions = self.identity.versions();
        loop {
            changed(&mut versions).await;
            self.full.lock().clear();
            self.add_due();
        }
    }

    /// Tries everything once more whenever the vendor's controller has gone.
    async fn retry_without_vendor(self: Arc<Self>) {
        loop {
            self.vendor.away().await;
            self.add_due();
        }
    }

    /// Whether another attacher has begun an attachment or finished it.
    fn look_for_a_hand(&self, change: &ObjectChange<VolumeAttachment>) {
        let Some(after) = &change.after else {
            if let Some(gone) = change.before.as_ref().and_then(|it| it.metadata.uid.as_ref()) {
                self.said.lock().remove(gone);
            }
            return;
        };
        let is_said = hand::becomes_attached(change.before.as_deref(), after)
            && after.metadata.uid.as_ref().is_some_and(|it| self.said.lock().remove(it));
        if let Some(what) = hand::of_vendor(change.before.as_deref(), after, is_said, &self.driver()) {
            self.vendor.saw(VendorPart::Attacher, &self.about(after), &what);
        }
    }

    /// Reads the list of volumes as long as attachments wait for it.
    async fn read_lists(self: Arc<Self>) {
        self.lists.follow(|it| self.queue.add(&format!("{ATTACHMENT}{it}"))).await;
    }

    async fn follow_operations(self: Arc<Self>) {
        self.operations.follow().await;
    }

    /// An attachment is gone, or has left its machine: those that may have waited for that are looked at.
    fn has_gone(&self, gone: &VolumeAttachment) {
        self.let_others(&gone.name_any());
        let driver = self.driver();
        let handle_of = |it: &VolumeAttachment| plan::handle(it, self.volume_of(it).as_deref(), &driver);
        let (volume, handle) = (plan::volume_name(gone), handle_of(gone));
        self.look_at_volume(gone);
        // There was no room at the node, or the volume was elsewhere. Two PersistentVolumes may be of one volume.
        let is_near = |other: &VolumeAttachment| {
            other.spec.node_name == gone.spec.node_name
                || (volume.is_some() && plan::volume_name(other) == volume)
                || (handle.is_some() && handle_of(other) == handle)
        };
        let is_waiting =
            |it: &VolumeAttachment| it.metadata.uid != gone.metadata.uid && plan::is_due(it, &driver) && is_near(it);
        self.attachments.all().iter().filter(|it| is_waiting(it)).for_each(|it| self.add(it));
    }

    /// The PersistentVolume that an attachment has named may be let go.
    fn look_at_volume(&self, gone: &VolumeAttachment) {
        if let Some(volume) = plan::volume_name(gone) {
            self.queue.add(&format!("{VOLUME}{volume}"));
        }
    }

    /// Whatever an attachment has held is others' now.
    fn let_others(&self, attachment: &str) {
        self.lists.remove(attachment);
        self.operations.forget(attachment);
        let waiting = self.turns.lock().leave(attachment);
        waiting.iter().for_each(|it| self.queue.add(&format!("{ATTACHMENT}{it}")));
    }

    fn add(&self, attachment: &VolumeAttachment) {
        self.queue.add(&format!("{ATTACHMENT}{}", attachment.name_any()));
    }

    /// Adds those of these names that are not as they should be: at once, or once their own pauses end.
    fn add_named(&self, names: impl FnOnce(&NamesNear) -> Vec<String>, at_once: bool) {
        if !self.is_synced.load(Ordering::Acquire) {
            return;
        }
        let (names, driver) = (names(&self.near.lock()), self.driver());
        let found = names.iter().filter_map(|it| self.attachments.get(it));
        for attachment in found.filter(|it| plan::is_due(it, &driver)) {
            match at_once {
                true => self.add(&attachment),
                false => self.queue.add_unless_paused(&format!("{ATTACHMENT}{}", attachment.name_any())),
            }
        }
    }

    /// Adds all that are not as they should be.
    fn add_due(&self) {
        let driver = self.driver();
        self.attachments.all().iter().filter(|it| plan::is_due(it, &driver)).for_each(|it| self.add(it));
    }

    /// The PersistentVolume that an attachment names, or that stands in it where a pod names a volume of an in-tree plugin itself.
    fn volume_of(&self, attachment: &VolumeAttachment) -> Option<Arc<PersistentVolume>> {
        let source = &attachment.spec.source;
        match (plan::volume_name(attachment), &source.inline_volume_spec) {
            (Some(name), _) => self.volumes.get(name),
            (None, Some(spec)) => migrated::inline(spec, &self.cloud.description()).map(Arc::new),
            (None, None) => None,
        }
    }

    fn driver(&self) -> String {
        self.cloud.description().driver.clone()
    }
}
