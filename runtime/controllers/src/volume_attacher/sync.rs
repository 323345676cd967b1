//! Reconciling one VolumeAttachment: finalizers first, then the cloud, the status last.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{
    AttachMode, Error as CloudError, PendingVolume, Reply, VolumeAttachment as Attachment, VolumeDetachment,
};
use k8s_openapi::api::core::v1::PersistentVolume;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tracing::{debug, info, warn};

use super::awaited::AwaitedAttachment;
use super::full::full;
use super::plan::{self, ATTACH_MEMO, AttachStep, DETACH_MEMO, HANDLE, KnownFacts, NODE_ID, TakenPlace, VolumeTarget};
use super::told::reason_of;
use super::turns::{PATIENCE, TurnPlace};
use super::{ATTACHMENT, VOLUME, VolumeAttacher};
use crate::cloud_call::{CALL, late};
use crate::error::{BackOff, Pause, chain};
use crate::migrated;
use crate::node_fields;
use crate::object::answer;
use crate::volume_error::{self, Error, LAG};
use crate::volume_operations::{CsiAnswer, CsiMethod, VolumeOperation};
use crate::worker::{NextSync, Reconcile};

/// When what waits for another attachment is looked at again, if nothing has woken it.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// The most steps about an attachment in one go: two finalizers, and the cloud.
const STEPS: usize = 4;

/// Where the work on an attachment stands.
enum AttachProgress {
    /// It is over.
    Over,
    /// The cloud is at work: others wait.
    UnderWay(Duration),
    /// It waits for another attachment.
    Waiting,
    /// It is looked at again then, and holds nobody up.
    Later(Duration),
    /// This object of the cluster has changed, which is all that was to be done before the next step.
    Changed(Changed),
}

enum Changed {
    Attachment(Arc<VolumeAttachment>),
    Volume(Arc<PersistentVolume>),
}

impl VolumeAttacher {
    async fn sync_attachment(&self, name: &str) -> Result<AttachProgress, Error> {
        let known = self.attachments.get(name).filter(|it| plan::is_due(it, &self.driver()));
        let Some(known) = known else { return Ok(AttachProgress::Over) };
        let goes = known.metadata.deletion_timestamp.is_some();
        if !self.turns.lock().may_enter(name, goes, Instant::now()) {
            return Ok(AttachProgress::Waiting);
        }
        self.lists.asked(name);
        // As the API server knows it now: a watch may lag behind a memo, and after a restart show an attachment that was freed long ago.
        let Some(live) = self.live(&known).await? else { return Ok(AttachProgress::Later(LAG)) };
        let (mut attachment, mut volume) = (Arc::new(live), self.volume_of(&known));
        for _ in 0..STEPS {
            match self.step(&attachment, volume.as_ref()).await? {
                AttachProgress::Changed(Changed::Attachment(it)) => attachment = it,
                AttachProgress::Changed(Changed::Volume(it)) => volume = Some(it),
                progress => return Ok(progress),
            }
        }
        Ok(AttachProgress::Later(LAG))
    }

    /// An attachment as the API server knows it; `None` if it is gone, or another one has its name.
    pub(super) async fn live(&self, known: &VolumeAttachment) -> Result<Option<VolumeAttachment>, Error> {
        let live = answer(self.plain_attachment_api.get_opt(&known.name_any())).await;
        let live = live.map_err(|source| Error::Unread { what: "the VolumeAttachment", source })?;
        Ok(live.filter(|it| it.metadata.uid == known.metadata.uid))
    }

    async fn step(
        &self,
        attachment: &Arc<VolumeAttachment>,
        volume: Option<&Arc<PersistentVolume>>,
    ) -> Result<AttachProgress, Error> {
        let driver = self.driver();
        let node = &attachment.spec.node_name;
        let (csi_node, nodes) = (self.csi_nodes.get(node), self.nodes.all());
        let node_id = csi_node.as_deref().and_then(|it| plan::node_id(it, &driver));
        let machines =
            nodes.iter().filter_map(|it| Some((it.metadata.name.as_deref()?, node_fields::provider_id(it)?)));
        let near = KnownFacts {
            volume: volume.map(AsRef::as_ref),
            node_id,
            machine_of: node_id.and_then(|it| plan::machine_of(it, node, machines)),
            is_needless: plan::is_needless(self.csi_drivers.get(&driver).as_deref()),
        };
        match plan::attachment(attachment, near, &driver) {
            AttachStep::Ignore => Ok(AttachProgress::Over),
            AttachStep::GuardVolume => match volume {
                Some(volume) => self.guard_volume(volume, true).await,
                None => Ok(AttachProgress::Over),
            },
            AttachStep::GuardAttachment(target) => self.guard_attachment(attachment, &target).await,
            AttachStep::Attach(target, mode) => self.attach(attachment, target, &mode).await,
            AttachStep::Leave(target) => self.leave_machine(attachment, target).await,
            AttachStep::Detach(target) => self.detach(attachment, target).await,
            AttachStep::Free => self.free(attachment).await,
            AttachStep::Wait(why) => Err(Error::Waits(why)),
            AttachStep::Refuse(why) => Err(Error::Refused(why)),
        }
    }

    /// Whether another attachment, which stays, holds the volume at the machine that it is to be taken from.
    async fn is_shared(&self, one: &VolumeAttachment, target: &VolumeTarget) -> Result<bool, Error> {
        let driver = self.driver();
        let taken = TakenPlace { target, node: &one.spec.node_name };
        for other in self.attachments.all() {
            if other.metadata.uid == one.metadata.uid || other.spec.attacher != driver {
                continue;
            }
            let (volume, csi_node) = (self.volume_of(&other), self.csi_nodes.get(&other.spec.node_name));
            let near = KnownFacts {
                volume: volume.as_deref(),
                node_id: csi_node.as_deref().and_then(|it| plan::node_id(it, &driver)),
                ..KnownFacts::default()
            };
            if plan::may_hold(&other, near, taken, &driver)
                && self.live(&other).await?.is_some_and(|it| plan::holds(&it, near, taken, &driver))
            {
                info!(
                    volume = target.volume.handle,
                    node_id = target.node_id,
                    other = other.name_any(),
                    "the volume stays: another VolumeAttachment holds it there"
                );
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn attach(
        &self,
        attachment: &Arc<VolumeAttachment>,
        target: VolumeTarget,
        mode: &AttachMode,
    ) -> Result<AttachProgress, Error> {
        self.cloud.check().await.map_err(Error::Cloud)?;
        let (VolumeTarget { volume, node_id }, asked) = (&target, Instant::now());
        self.check_room(attachment, &target, asked)?;
        if !self.enter(attachment, &target, false) {
            return Ok(AttachProgress::Waiting);
        }
        match self.asked(attachment, Some(&target), self.cloud.attach(volume, node_id, mode)).await? {
            Attachment::Ready(context) => {
                self.unclear.lock().arrived(attachment.metadata.uid.as_deref(), &target);
                info!(volume = volume.handle, node_id, "the volume is attached");
                self.say_attached(attachment, context).await
            }
            Attachment::Pending(pending) => self.postpone(attachment, target, false, pending).await,
            Attachment::Occupied(other) => Err(Error::Waits(format!(
                "volume {} is attached to {other}: it comes once that has let go of it",
                volume.handle
            ))),
            Attachment::Full(why) => {
                self.full.lock().add(node_id, &why, asked);
                Err(full(node_id, &why))
            }
        }
    }

    /// The cloud's answer to a call about an attachment, which attaches to this target or else detaches. Where it is not known whether the cloud does what it was asked for, the
    /// attachment keeps its places: what others began there would meet it.
    async fn asked<T: CsiAnswer>(
        &self,
        attachment: &VolumeAttachment,
        attaches: Option<&VolumeTarget>,
        call: impl Future<Output = Reply<Result<T, CloudError>>>,
    ) -> Result<T, Error> {
        let late = |_| Reply { answer: Err(late()), events: Vec::new(), wrote: true };
        let name = attachment.name_any();
        let described = self.cloud.description();
        let operation = VolumeOperation {
            method: if attaches.is_some() { CsiMethod::Attach } else { CsiMethod::Detach },
            object: &name,
            is_migrated: self.volume_of(attachment).is_some_and(|it| migrated::is_in_tree_volume(&it, &described)),
        };
        let call = async { timeout(CALL, call).await.unwrap_or_else(late) };
        let Reply { answer, events, wrote } = self.operations.timed(operation, call).await;
        self.events.record(&name, &self.about(attachment), events);
        if wrote && matches!(answer, Err(CloudError::Unavailable(_) | CloudError::Crashed { .. })) {
            self.turns.lock().keep(&name);
            if let Some(target) = attaches {
                self.unclear.lock().lost(target, self.options.arrival, Instant::now());
            }
        }
        answer.map_err(Error::Cloud)
    }

    /// One step away from the machine, and the finalizer goes.
    async fn detach(&self, attachment: &Arc<VolumeAttachment>, target: VolumeTarget) -> Result<AttachProgress, Error> {
        match self.step_away(attachment, target).await? {
            None => self.free(attachment).await,
            Some(progress) => Ok(progress),
        }
    }

    /// One step away from the volume and the machine that it was begun with: it goes on with those that it names now.
    async fn leave_machine(
        &self,
        attachment: &Arc<VolumeAttachment>,
        target: VolumeTarget,
    ) -> Result<AttachProgress, Error> {
        if let Some(progress) = self.step_away(attachment, target).await? {
            return Ok(progress);
        }
        let left = json!({ NODE_ID: null, ATTACH_MEMO: null, DETACH_MEMO: null });
        let progress = self.patch(attachment, json!({ "annotations": left }), false).await?;
        // There is room at that machine, and the volume is nowhere.
        self.has_gone(attachment);
        Ok(progress)
    }

    /// One step away from a machine; `None` once the volume is not there, or is there for another attachment.
    async fn step_away(
        &self,
        attachment: &Arc<VolumeAttachment>,
        target: VolumeTarget,
    ) -> Result<Option<AttachProgress>, Error> {
        self.cloud.check().await.map_err(Error::Cloud)?;
        if !self.enter(attachment, &target, true) {
            return Ok(Some(AttachProgress::Waiting));
        }
        // Now that nobody else is at work on the volume.
        if self.is_shared(attachment, &target).await? {
            return Ok(None);
        }
        let VolumeTarget { volume, node_id } = &target;
        let asked = Instant::now();
        match self.asked(attachment, None, self.cloud.detach(volume, node_id)).await? {
            VolumeDetachment::Done => {
                self.full.lock().has_left(node_id, Instant::now());
                let uid = attachment.metadata.uid.as_deref();
                let rest = self.unclear.lock().rest(uid, &target, self.options.arrival, asked);
                if let Some(rest) = rest {
                    let handle = &volume.handle;
                    debug!(
                        volume = handle,
                        node_id, "an attachment whose answer was lost may still arrive: it is looked at again"
                    );
                    return Ok(Some(AttachProgress::Later(rest)));
                }
                info!(volume = volume.handle, node_id, "the volume is detached");
                Ok(None)
            }
            VolumeDetachment::Pending(pending) => self.postpone(attachment, target, true, pending).await.map(Some),
        }
    }

    /// Keeps the memo, and comes back.
    async fn postpone(
        &self,
        attachment: &Arc<VolumeAttachment>,
        target: VolumeTarget,
        goes: bool,
        pending: PendingVolume,
    ) -> Result<AttachProgress, Error> {
        let PendingVolume { memo, after, reason } = pending;
        let (name, volume, key) = (attachment.name_any(), &target.volume, if goes { DETACH_MEMO } else { ATTACH_MEMO });
        debug!(volume = volume.handle, reason, "the volume is under way");
        // Also where the memo cannot be written.
        self.turns.lock().keep(&name);
        if memo != volume.memo {
            self.patch(attachment, json!({ "annotations": { key: memo } }), false).await?;
        }
        if self.turns.lock().is_late(&name, Instant::now()) {
            let text = format!(
                "the cloud has been at work on volume {} for more than {} minutes: {reason}. It is asked again, and others at the \
                 machine wait for it no more",
                volume.handle,
                PATIENCE.as_secs() / 60
            );
            self.events.warn_once(&name, &self.about(attachment), reason_of(attachment), &text);
        }
        Ok(AttachProgress::UnderWay(self.lists.await_it(&name, AwaitedAttachment { target, goes }, after)))
    }

    async fn guard_attachment(
        &self,
        attachment: &Arc<VolumeAttachment>,
        target: &VolumeTarget,
    ) -> Result<AttachProgress, Error> {
        let own = plan::finalizer(&self.driver());
        let others = attachment.finalizers().iter().filter(|it| **it != own);
        let finalizers: Vec<_> = others.chain([&own]).collect();
        let annotations = json!({ NODE_ID: target.node_id, HANDLE: target.volume.handle });
        self.patch(attachment, json!({ "finalizers": finalizers, "annotations": annotations }), true).await
    }

    /// Changes the metadata of an attachment; `is_guarded`: only if nobody has changed it meanwhile.
    async fn patch(
        &self,
        attachment: &VolumeAttachment,
        mut metadata: Value,
        is_guarded: bool,
    ) -> Result<AttachProgress, Error> {
        metadata["uid"] = json!(attachment.metadata.uid);
        if is_guarded {
            metadata["resourceVersion"] = json!(attachment.metadata.resource_version);
        }
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        match answer(self.plain_attachment_api.patch(&attachment.name_any(), &PatchParams::default(), &patch)).await {
            Ok(written) => Ok(AttachProgress::Changed(Changed::Attachment(Arc::new(written)))),
            Err(error) if error.is_gone() => Ok(AttachProgress::Over),
            Err(source) => Err(Error::Write { what: "the VolumeAttachment", source }),
        }
    }

    /// Nothing is attached by it: its finalizer goes, and where others hold it, its status says so.
    async fn free(&self, attachment: &VolumeAttachment) -> Result<AttachProgress, Error> {
        let own = plan::finalizer(&self.driver());
        let others: Vec<_> = attachment.finalizers().iter().filter(|it| **it != own).collect();
        let has_others = !others.is_empty();
        self.patch(attachment, json!({ "finalizers": others }), true).await?;
        if has_others {
            let status = json!({ "attached": false, "attachmentMetadata": null, "detachError": null });
            self.write_status(attachment, status).await?;
        }
        Ok(AttachProgress::Over)
    }

    async fn say_attached(
        &self,
        attachment: &VolumeAttachment,
        context: Vec<(String, String)>,
    ) -> Result<AttachProgress, Error> {
        let before = attachment.status.iter().flat_map(|it| it.attachment_metadata.iter().flatten());
        let mut metadata: BTreeMap<_, _> = before.map(|(key, _)| (key.clone(), None)).collect();
        metadata.extend(context.into_iter().map(|(key, value)| (key, Some(value))));
        // The watch may show it before the answer comes.
        if let Some(uid) = &attachment.metadata.uid {
            self.said.lock().insert(uid.clone());
        }
        let status = json!({ "attached": true, "attachmentMetadata": metadata, "attachError": null });
        self.write_status(attachment, status).await?;
        Ok(AttachProgress::Over)
    }

    pub(super) async fn write_status(&self, attachment: &VolumeAttachment, status: Value) -> Result<(), Error> {
        self.patch_status(attachment, json!({ "uid": attachment.metadata.uid }), status).await
    }

    /// Changes the status of an attachment, if it is the one that `metadata` says.
    pub(super) async fn patch_status(
        &self,
        attachment: &VolumeAttachment,
        metadata: Value,
        status: Value,
    ) -> Result<(), Error> {
        let patch = Patch::Merge(json!({ "metadata": metadata, "status": status }));
        let (name, params) = (attachment.name_any(), PatchParams::default());
        match answer(self.plain_attachment_api.patch_status(&name, &params, &patch)).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_gone() => Ok(()),
            Err(source) => Err(Error::Write { what: "the status of the VolumeAttachment", source }),
        }
    }

    /// Adds the finalizer to a PersistentVolume or takes it off, if nobody has changed it meanwhile: finalizers of others stay.
    async fn guard_volume(&self, volume: &PersistentVolume, guard: bool) -> Result<AttachProgress, Error> {
        let own = plan::finalizer(&self.driver());
        let others = volume.finalizers().iter().filter(|it| **it != own);
        let finalizers: Vec<_> = others.chain(guard.then_some(&own)).collect();
        let metadata = json!({
            "resourceVersion": volume.metadata.resource_version, "uid": volume.metadata.uid, "finalizers": finalizers,
        });
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        match answer(self.plain_volume_api.patch(&volume.name_any(), &PatchParams::default(), &patch)).await {
            Ok(written) => {
                let volume = migrated::volume(written, &self.cloud.description());
                Ok(AttachProgress::Changed(Changed::Volume(Arc::new(volume))))
            }
            Err(error) if error.is_gone() => Ok(AttachProgress::Later(LAG)),
            Err(source) => Err(Error::Write { what: "the finalizer of the PersistentVolume", source }),
        }
    }

    /// A PersistentVolume that is being deleted goes once no attachment names it.
    async fn sync_volume(&self, name: &str) -> Result<AttachProgress, Error> {
        let Some(volume) = self.volumes.get(name) else { return Ok(AttachProgress::Over) };
        // All of a list are known at once, while those by name follow one after the other.
        let is_named = self.attachments.all().iter().any(|it| plan::volume_name(it) == Some(name));
        if plan::is_let_go(&volume, is_named, &self.driver()) {
            self.guard_volume(&volume, false).await?;
        }
        Ok(AttachProgress::Over)
    }

    /// Whether the cloud is asked to attach. One that it may be at work on is asked about anyhow: it may have its room already.
    ///
    /// # Errors
    ///
    /// If the machine takes no more.
    fn check_room(&self, attachment: &VolumeAttachment, target: &VolumeTarget, now: Instant) -> Result<(), Error> {
        let (uid, node_id) = (attachment.metadata.uid.as_deref(), &target.node_id);
        let is_new = target.volume.memo.is_none()
            && !self.turns.lock().is_at_work(&attachment.name_any())
            && self.unclear.lock().rest(uid, target, self.options.arrival, now).is_none();
        match self.full.lock().why(node_id, now) {
            Some(why) if is_new => Err(full(node_id, why)),
            _ => Ok(()),
        }
    }

    /// Whether it is this attachment's turn on its volume and its machine.
    fn enter(&self, attachment: &VolumeAttachment, target: &VolumeTarget, goes: bool) -> bool {
        let machine =
            self.cloud.description().one_at_a_time_per_node.then(|| TurnPlace::Machine(target.node_id.clone()));
        let places = [TurnPlace::Volume(target.volume.handle.clone())].into_iter().chain(machine).collect();
        self.turns.lock().enter(&attachment.name_any(), places, goes, Instant::now())
    }
}

impl Reconcile for VolumeAttacher {
    type Error = Error;

    async fn sync(&self, key: &str) -> Result<NextSync, Error> {
        self.vendor.check()?;
        let (name, result) = match (key.strip_prefix(ATTACHMENT), key.strip_prefix(VOLUME)) {
            (Some(name), _) => (name, self.sync_attachment(name).await),
            (_, Some(name)) => return self.sync_volume(name).await.map(|_| NextSync::Done),
            _ => return Ok(NextSync::Done),
        };
        let is_at_work = match &result {
            Ok(progress) => matches!(progress, AttachProgress::UnderWay(_) | AttachProgress::Waiting),
            Err(_) => self.turns.lock().is_kept(name),
        };
        if !is_at_work {
            self.let_others(name);
        }
        if let Err(error) = &result
            && error.is_shown()
        {
            self.say_error(name, error).await;
        }
        result.map(|progress| match progress {
            AttachProgress::Over | AttachProgress::Changed(_) => NextSync::Done,
            AttachProgress::UnderWay(after) => NextSync::UnderWay(after),
            AttachProgress::Later(after) => NextSync::After(after),
            AttachProgress::Waiting => NextSync::After(LOOK_AGAIN),
        })
    }

    fn show(&self, key: &str, error: &Error, _: u32) {
        let text = chain(error);
        match error {
            // It is told once, and not of each attachment.
            Error::Vendor(_) => debug!("'{key}' waits: {text}"),
            _ => warn!(next = error.next(), "error syncing '{key}': {text}, requeuing"),
        }
    }

    fn pause(&self, error: &Error, failures: u32) -> Pause {
        error.pause(failures)
    }

    fn back_off(&self) -> BackOff {
        volume_error::BACK_OFF
    }
}
