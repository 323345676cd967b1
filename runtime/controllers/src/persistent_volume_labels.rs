//! The persistentvolume-label-controller: it says on PersistentVolumes where their volumes are, so that pods are scheduled
//! there.
//!
//! ```text
//! the API server creates one ► Admission ► ■ plan::ask ► the cloud ► ■ plan::patched ► the answer's patch
//! watch ► queue ► ■ plan::ask ► Questions: one call for several ► the cloud ► ■ plan::patched ► one patch
//! ```
//!
//! The webhook changes volumes while they are created; the controller sees to those that came past it. Both only add to what
//! a volume says, and neither ever deletes one.

mod admission;
mod error;
mod plan;
mod questions;
mod source;
mod sync;

use std::sync::Arc;

use crate::watched::WatchWriter;
use cloud_provider::{Cloud, PersistentVolumes, TopologyDescription};
use k8s_openapi::api::core::v1::PersistentVolume;
use kube::ResourceExt;
use kube::api::Api;
use kube::runtime::watcher::Event;
use parking_lot::Mutex;
use tokio::sync::watch::Receiver;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::account::changed;
use crate::context::{Context, Task};
use crate::events::Recorder;
use crate::liveness::Liveness;
use crate::nodes::Nodes;
use crate::provider_events::ProviderEvents;
use crate::queue::limits::Limits;
use crate::queue::pump::WorkQueue;
use crate::trimmed::Trimmed;
use crate::watch;
use crate::watched::Watched;
use crate::worker::{self, random};

use self::questions::Questions;

pub use self::admission::{Admission, Admitted, Proposed, RefusedVolume};

/// The source of this controller's events, as upstream's was.
const COMPONENT: &str = "persistentvolume-label-controller";
/// The queue's name in metrics, as upstream's was.
const QUEUE: &str = "pvLabels";
/// Volumes that are worked on side by side: as many as one question may gather.
const WORKERS: usize = questions::GATHERED;

/// The state that the parts of this controller share.
struct LabelController {
    api: Api<Trimmed<PersistentVolume>>,
    volumes: Watched<PersistentVolume>,
    nodes: Nodes,
    cloud: Arc<dyn PersistentVolumes>,
    questions: Questions,
    /// The versions of the credentials.
    versions: Receiver<u64>,
    recorder: Recorder,
    events: Mutex<ProviderEvents>,
    queue: Arc<WorkQueue>,
}

/// The controller, unless the cloud cannot say where volumes are. When it ends, volumes that are being worked on are
/// finished first.
pub fn new(context: &Context, cloud: &Cloud) -> Option<Task> {
    let cloud = context.account.guard(cloud.clone());
    let volumes = cloud.persistent_volumes.clone()?;
    let (watched, writer) = Watched::new();
    let (questions, ask) = Questions::new(volumes.clone());
    let controller = LabelController {
        api: Api::all(context.client.clone()),
        volumes: watched,
        nodes: context.nodes.clone(),
        cloud: volumes,
        questions,
        versions: cloud.identity.versions(),
        recorder: context.events.recorder(COMPONENT),
        events: Mutex::default(),
        queue: Arc::new(WorkQueue::new(context.metrics.queue(QUEUE), Limits::shared(Instant::now()), random)),
    };
    let liveness = Liveness::default();
    let run = Arc::new(controller).run(writer, ask, liveness.clone(), context.shutdown());
    Some(Task::new(liveness, run))
}

impl LabelController {
    async fn run(
        self: Arc<Self>,
        writer: WatchWriter<PersistentVolume>,
        ask: impl Future<Output = ()> + Send + 'static,
        liveness: Liveness,
        shutdown: impl Future<Output = ()> + Send,
    ) {
        let mut background = JoinSet::new();
        background.spawn(self.clone().watch(writer));
        background.spawn(ask);
        let mut shutdown = std::pin::pin!(shutdown);
        tokio::select! {
            () = async { tokio::join!(self.nodes.synced(), self.volumes.synced()); } => {}
            () = &mut shutdown => return,
        }
        background.spawn(self.clone().retry_with_new_credentials());
        let queue = self.queue.clone();
        worker::run(self, queue, WORKERS, background, &liveness, shutdown).await;
    }

    async fn watch(self: Arc<Self>, mut writer: WatchWriter<PersistentVolume>) {
        let apply = |event| self.apply(event, &mut writer);
        let volumes = self.api.clone();
        match watch::follow(volumes, "PersistentVolumes", "the API server", watch::LASTS, apply).await {}
    }

    fn apply(&self, event: Event<PersistentVolume>, writer: &mut WatchWriter<PersistentVolume>) {
        for change in self.volumes.apply(event, writer) {
            let Some(after) = change.after else { continue };
            if plan::is_worth_a_look(change.before.as_deref(), &after, &self.limits()) {
                self.queue.add(&after.name_any());
            }
        }
    }

    /// Asks about all volumes once more whenever a credential has changed: what was refused with the old one may be allowed
    /// with the new one.
    async fn retry_with_new_credentials(self: Arc<Self>) {
        let mut versions = self.versions.clone();
        loop {
            changed(&mut versions).await;
            let limits = self.limits();
            let waiting = self.volumes.all().into_iter().filter(|it| plan::is_worth_a_look(None, it, &limits));
            waiting.for_each(|it| self.queue.add(&it.name_any()));
        }
    }

    fn limits(&self) -> Arc<TopologyDescription> {
        self.cloud.description()
    }

    fn get(&self, name: &str) -> Option<Arc<PersistentVolume>> {
        self.volumes.get(name)
    }
}
