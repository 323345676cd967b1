//! The volume-attacher: it attaches volumes to the machines of nodes, and detaches them, in the place of the external attacher
//! beside a CSI driver. kube-controller-manager says where a volume is needed, and where no longer: it makes VolumeAttachments and deletes them.
//!
//! ```text
//! VolumeAttachments, PersistentVolumes, CSINodes ► queue ► ■ plan::attachment ► ■ turns
//!     stays      PersistentVolume's finalizer ► finalizer, handle, node id ► attach ► … ready ► status
//!     goes       the API server is asked ► detach ► … done ► the finalizer goes
//! ```
//!
//! Nothing is detached but what such an object was made for, and only when that is deleted.

mod plan;
mod sync;
mod turns;

use std::sync::Arc;

use cloud_provider::{Cloud, CloudVolumes, Identity};
use k8s_openapi::api::core::v1::PersistentVolume;
use k8s_openapi::api::storage::v1::{CSINode, VolumeAttachment};
use kube::ResourceExt as _;
use kube::api::Api;
use kube::runtime::watcher::Event;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::account::changed;
use crate::context::{Context, Task};
use crate::liveness::Liveness;
use crate::queue::limits::Limits;
use crate::queue::pump::WorkQueue;
use crate::trimmed::Trimmed;
use crate::volume_events::VolumeEvents;
use crate::watch;
use crate::watched::{WatchWriter, Watched};
use crate::worker::{self, random};

use self::turns::Turns;

/// The source of this controller's events.
const COMPONENT: &str = "volume-attacher";
/// The queue's name in metrics.
const QUEUE: &str = "volumeAttacher";
/// Attachments that are worked on side by side.
const WORKERS: usize = 20;
/// Keys of attachments and of PersistentVolumes in the queue, by their names.
const ATTACHMENT: &str = "attachment/";
const VOLUME: &str = "volume/";

/// The state that the parts of this controller share.
struct VolumeAttacher {
    client: kube::Client,
    plain_attachment_api: Api<VolumeAttachment>,
    plain_volume_api: Api<PersistentVolume>,
    attachments: Watched<VolumeAttachment>,
    volumes: Watched<PersistentVolume>,
    csi_nodes: Watched<CSINode>,
    turns: Mutex<Turns>,
    cloud: Arc<dyn CloudVolumes>,
    identity: Arc<dyn Identity>,
    events: VolumeEvents,
    queue: Arc<WorkQueue>,
}

type AttacherWriters = (WatchWriter<VolumeAttachment>, WatchWriter<PersistentVolume>, WatchWriter<CSINode>);

/// The controller, unless the cloud has no volumes. When it ends, what is being worked on is finished first.
pub fn new(context: &Context, cloud: &Cloud) -> Option<Task> {
    let volumes = context.account.guard(cloud.clone()).volumes.clone()?;
    let client = context.client.clone();
    let (attachments, attachment_writer) = Watched::new();
    let ((pvs, volume_writer), (csi_nodes, csi_writer)) = (Watched::new(), Watched::new());
    let controller = VolumeAttacher {
        plain_attachment_api: Api::all(client.clone()),
        plain_volume_api: Api::all(client.clone()),
        client,
        attachments,
        volumes: pvs,
        csi_nodes,
        turns: Mutex::default(),
        cloud: volumes,
        identity: cloud.identity.clone(),
        events: VolumeEvents::new(context.events.recorder(COMPONENT)),
        queue: Arc::new(WorkQueue::new(context.metrics.queue(QUEUE), Limits::per_key(), random)),
    };
    let liveness = Liveness::default();
    let writers = (attachment_writer, volume_writer, csi_writer);
    let run = Arc::new(controller).run(writers, liveness.clone(), context.shutdown());
    Some(Task::new(liveness, run))
}

impl VolumeAttacher {
    async fn run(
        self: Arc<Self>,
        (attachments, volumes, csi_nodes): AttacherWriters,
        liveness: Liveness,
        shutdown: impl Future<Output = ()> + Send,
    ) {
        let mut shutdown = std::pin::pin!(shutdown);
        let mut background = JoinSet::new();
        background.spawn(self.clone().watch_attachments(attachments));
        background.spawn(self.clone().watch_volumes(volumes));
        background.spawn(self.clone().watch_csi_nodes(csi_nodes));
        let synced = async {
            tokio::join!(self.attachments.synced(), self.volumes.synced(), self.csi_nodes.synced());
        };
        tokio::select! {
            () = synced => {}
            () = &mut shutdown => return,
        }
        background.spawn(self.clone().retry_with_new_credentials());
        let queue = self.queue.clone();
        worker::run(self, queue, WORKERS, background, &liveness, shutdown).await;
    }

    async fn watch_attachments(self: Arc<Self>, mut writer: WatchWriter<VolumeAttachment>) {
        let apply = |event: Event<VolumeAttachment>| {
            for change in self.attachments.apply(event, &mut writer) {
                let Some(after) = change.after else {
                    if let Some(before) = change.before.filter(|it| it.spec.attacher == self.driver()) {
                        self.has_gone(&before);
                    }
                    continue;
                };
                // What this controller itself writes of it is no reason to look again.
                let told = |it: &VolumeAttachment| {
                    (it.uid(), it.metadata.deletion_timestamp.is_some(), plan::is_attached(it), it.spec.clone())
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
            for change in self.volumes.apply(event, &mut writer) {
                let Some(after) = change.after else { continue };
                let name = after.name_any();
                if change.before.is_none() {
                    self.add_due(|it| plan::volume_name(it) == Some(name.as_str()));
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
                let id = |it: &Option<Arc<CSINode>>| {
                    it.as_ref().and_then(|it| plan::node_id(it, &driver)).map(str::to_owned)
                };
                if let Some(node) = change.after.as_ref().filter(|_| id(&change.before) != id(&change.after)) {
                    let name = node.name_any();
                    self.add_due(|it| it.spec.node_name == name);
                }
            }
        };
        let api: Api<Trimmed<CSINode>> = Api::all(self.client.clone());
        match watch::follow(api, "CSINodes", "the API server", watch::LASTS, apply).await {}
    }

    /// Tries everything once more whenever a credential has changed.
    async fn retry_with_new_credentials(self: Arc<Self>) {
        let mut versions = self.identity.versions();
        loop {
            changed(&mut versions).await;
            self.add_due(|_| true);
        }
    }

    /// An attachment is gone: those that may have waited for that are looked at.
    fn has_gone(&self, gone: &VolumeAttachment) {
        self.let_others(&gone.name_any());
        let volume = plan::volume_name(gone);
        if let Some(volume) = volume {
            self.queue.add(&format!("{VOLUME}{volume}"));
        }
        let is_near = |it: &VolumeAttachment| {
            it.spec.node_name == gone.spec.node_name || (volume.is_some() && plan::volume_name(it) == volume)
        };
        let near: Vec<_> = self.due().into_iter().filter(|it| is_near(it)).collect();
        // There was no room, or the volume was elsewhere.
        near.iter().for_each(|it| self.add(it));
    }

    /// What was held by an attachment is others' now.
    fn let_others(&self, attachment: &str) {
        let waiting = self.turns.lock().leave(attachment);
        waiting.iter().for_each(|it| self.queue.add(&format!("{ATTACHMENT}{it}")));
    }

    fn add(&self, attachment: &VolumeAttachment) {
        self.queue.add(&format!("{ATTACHMENT}{}", attachment.name_any()));
    }

    fn add_due(&self, which: impl Fn(&VolumeAttachment) -> bool) {
        self.due().iter().filter(|it| which(it)).for_each(|it| self.add(it));
    }

    /// The attachments that are not as they should be.
    fn due(&self) -> Vec<Arc<VolumeAttachment>> {
        let driver = self.driver();
        self.attachments.all().into_iter().filter(|it| plan::is_due(it, &driver)).collect()
    }

    fn driver(&self) -> String {
        self.cloud.description().driver.clone()
    }
}
