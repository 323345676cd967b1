//! Reconciling one VolumeAttachment: finalizers first, then the cloud, the status last.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{AttachMode, KnownVolume, PendingVolume, Reply, VolumeAttachment as Attachment, VolumeDetachment};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ObjectReference, PersistentVolume};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::time::timeout;
use tracing::{debug, info, warn};

use super::plan::{self, ATTACH_MEMO, AttachStep, DETACH_MEMO, HANDLE, KnownFacts, NODE_ID, Target};
use super::turns::Place;
use super::{ATTACHMENT, VOLUME, VolumeAttacher};
use crate::cloud_call::{CALL, late};
use crate::error::{BackOff, Pause, chain};
use crate::events::reference;
use crate::object::answer;
use crate::volume_error::{self, Error, LAG};
use crate::volume_events::without_requests;
use crate::worker::{NextSync, Reconcile};

/// When what waits for another attachment is looked at again, if nothing has woken it.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// The most steps about an attachment in one go: two finalizers, and the cloud.
const STEPS: usize = 4;

/// Where the work on an attachment stands.
enum Progress {
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
    async fn sync_attachment(&self, name: &str) -> Result<Progress, Error> {
        let known = self.attachments.get(name).filter(|it| plan::is_due(it, &self.driver()));
        let Some(known) = known else { return Ok(Progress::Over) };
        // As the API server knows it now: a watch may lag behind a memo, and after a restart show an attachment that was freed long ago.
        let live = answer(self.plain_attachment_api.get_opt(name)).await;
        let live = live.map_err(|source| Error::Write { what: "the question for the VolumeAttachment", source })?;
        let Some(live) = live.filter(|it| it.metadata.uid == known.metadata.uid) else {
            return Ok(Progress::Later(LAG));
        };
        let mut attachment = Arc::new(live);
        let mut volume = plan::volume_name(&attachment).and_then(|it| self.volumes.get(it));
        for _ in 0..STEPS {
            match self.step(&attachment, volume.as_ref()).await? {
                Progress::Changed(Changed::Attachment(it)) => attachment = it,
                Progress::Changed(Changed::Volume(it)) => volume = Some(it),
                progress => return Ok(progress),
            }
        }
        Ok(Progress::Later(LAG))
    }

    async fn step(
        &self,
        attachment: &Arc<VolumeAttachment>,
        volume: Option<&Arc<PersistentVolume>>,
    ) -> Result<Progress, Error> {
        let driver = self.driver();
        let csi_node = self.csi_nodes.get(&attachment.spec.node_name);
        let near = KnownFacts {
            volume: volume.map(AsRef::as_ref),
            node_id: csi_node.as_deref().and_then(|it| plan::node_id(it, &driver)),
            is_shared: self.is_shared(attachment, volume, &driver),
        };
        match plan::attachment(attachment, near, &driver) {
            AttachStep::Ignore => Ok(Progress::Over),
            AttachStep::GuardVolume => match volume {
                Some(volume) => self.guard_volume(volume, true).await,
                None => Ok(Progress::Over),
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

    /// Whether another attachment, which stays, holds the same volume at the same node.
    fn is_shared(&self, one: &VolumeAttachment, volume: Option<&Arc<PersistentVolume>>, driver: &str) -> bool {
        if one.metadata.deletion_timestamp.is_none() {
            return false;
        }
        let Some(handle) = plan::handle(one, volume.map(AsRef::as_ref), driver) else { return false };
        self.attachments.all().iter().any(|other| {
            let volume = plan::volume_name(other).and_then(|it| self.volumes.get(it));
            other.metadata.uid != one.metadata.uid
                && other.spec.attacher == driver
                && other.spec.node_name == one.spec.node_name
                && other.metadata.deletion_timestamp.is_none()
                && plan::handle(other, volume.as_deref(), driver).is_some_and(|it| it == handle)
        })
    }

    async fn attach(
        &self,
        attachment: &Arc<VolumeAttachment>,
        target: Target,
        mode: &AttachMode,
    ) -> Result<Progress, Error> {
        self.cloud.check().await.map_err(Error::Cloud)?;
        if !self.enter(attachment, &target, false) {
            return Ok(Progress::Waiting);
        }
        let Target { volume, node_id } = target;
        let call = timeout(CALL, self.cloud.attach(&volume, &node_id, mode)).await;
        let Reply { answer, events, .. } = call.unwrap_or_else(|_| Err(late()).into());
        self.events.record(&attachment.name_any(), &self.about(attachment), events);
        match answer.map_err(Error::Cloud)? {
            Attachment::Ready(context) => {
                info!(volume = volume.handle, node_id, "the volume is attached");
                self.say_attached(attachment, context).await
            }
            Attachment::Pending(pending) => self.postpone(attachment, &volume, ATTACH_MEMO, pending).await,
            Attachment::Occupied(other) => Err(Error::Waits(format!(
                "volume {} is attached to {other}: it comes once that has let go of it",
                volume.handle
            ))),
            Attachment::Full(why) => Err(Error::Waits(format!("machine {node_id} takes no more volumes: {why}"))),
        }
    }

    /// One step away from the machine, and the finalizer goes.
    async fn detach(&self, attachment: &Arc<VolumeAttachment>, target: Target) -> Result<Progress, Error> {
        match self.step_away(attachment, target).await? {
            None => self.free(attachment).await,
            Some(progress) => Ok(progress),
        }
    }

    /// One step away from a machine that the node was: its attachment goes on with the one that it is.
    async fn leave_machine(&self, attachment: &Arc<VolumeAttachment>, target: Target) -> Result<Progress, Error> {
        if let Some(progress) = self.step_away(attachment, target).await? {
            return Ok(progress);
        }
        self.annotate(attachment, json!({ NODE_ID: null, ATTACH_MEMO: null, DETACH_MEMO: null })).await
    }

    /// One step away from a machine; `None` once the volume is not there.
    async fn step_away(&self, attachment: &Arc<VolumeAttachment>, target: Target) -> Result<Option<Progress>, Error> {
        self.cloud.check().await.map_err(Error::Cloud)?;
        if !self.enter(attachment, &target, true) {
            return Ok(Some(Progress::Waiting));
        }
        let Target { volume, node_id } = target;
        let call = timeout(CALL, self.cloud.detach(&volume, &node_id)).await;
        let Reply { answer, events, .. } = call.unwrap_or_else(|_| Err(late()).into());
        self.events.record(&attachment.name_any(), &self.about(attachment), events);
        match answer.map_err(Error::Cloud)? {
            VolumeDetachment::Done => {
                info!(volume = volume.handle, node_id, "the volume is detached");
                Ok(None)
            }
            VolumeDetachment::Pending(pending) => {
                self.postpone(attachment, &volume, DETACH_MEMO, pending).await.map(Some)
            }
        }
    }

    /// Keeps the memo, and comes back.
    async fn postpone(
        &self,
        attachment: &Arc<VolumeAttachment>,
        volume: &KnownVolume,
        key: &str,
        pending: PendingVolume,
    ) -> Result<Progress, Error> {
        let PendingVolume { memo, after, reason } = pending;
        debug!(volume = volume.handle, reason, "the volume is under way");
        if memo != volume.memo {
            self.annotate(attachment, json!({ key: memo })).await?;
        }
        Ok(Progress::UnderWay(after))
    }

    async fn guard_attachment(&self, attachment: &Arc<VolumeAttachment>, target: &Target) -> Result<Progress, Error> {
        let own = plan::finalizer(&self.driver());
        let others = attachment.finalizers().iter().filter(|it| **it != own);
        let finalizers: Vec<_> = others.chain([&own]).collect();
        let annotations = json!({ NODE_ID: target.node_id, HANDLE: target.volume.handle });
        self.patch(attachment, json!({ "finalizers": finalizers, "annotations": annotations }), true).await
    }

    async fn annotate(&self, attachment: &Arc<VolumeAttachment>, annotations: Value) -> Result<Progress, Error> {
        self.patch(attachment, json!({ "annotations": annotations }), false).await
    }

    /// Changes the metadata of an attachment; `is_guarded`: only if nobody has changed it meanwhile.
    async fn patch(
        &self,
        attachment: &VolumeAttachment,
        mut metadata: Value,
        is_guarded: bool,
    ) -> Result<Progress, Error> {
        metadata["uid"] = json!(attachment.metadata.uid);
        if is_guarded {
            metadata["resourceVersion"] = json!(attachment.metadata.resource_version);
        }
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        match answer(self.plain_attachment_api.patch(&attachment.name_any(), &PatchParams::default(), &patch)).await {
            Ok(written) => Ok(Progress::Changed(Changed::Attachment(Arc::new(written)))),
            Err(error) if error.is_gone() => Ok(Progress::Over),
            Err(source) => Err(Error::Write { what: "the VolumeAttachment", source }),
        }
    }

    /// Nothing is attached by it: its finalizer goes, and where others hold it, its status says so.
    async fn free(&self, attachment: &VolumeAttachment) -> Result<Progress, Error> {
        let own = plan::finalizer(&self.driver());
        let others: Vec<_> = attachment.finalizers().iter().filter(|it| **it != own).collect();
        let has_others = !others.is_empty();
        self.patch(attachment, json!({ "finalizers": others }), true).await?;
        if has_others {
            let status = json!({ "attached": false, "attachmentMetadata": null, "detachError": null });
            self.write_status(attachment, status).await?;
        }
        Ok(Progress::Over)
    }

    async fn say_attached(
        &self,
        attachment: &VolumeAttachment,
        context: Vec<(String, String)>,
    ) -> Result<Progress, Error> {
        let before = attachment.status.iter().flat_map(|it| it.attachment_metadata.iter().flatten());
        let mut metadata: BTreeMap<_, _> = before.map(|(key, _)| (key.clone(), None)).collect();
        metadata.extend(context.into_iter().map(|(key, value)| (key, Some(value))));
        let status = json!({ "attached": true, "attachmentMetadata": metadata, "attachError": null });
        self.write_status(attachment, status).await?;
        Ok(Progress::Over)
    }

    /// Shows why it is not attached, or not detached: kube-controller-manager tells it to the pod.
    async fn say_error(&self, name: &str, error: &Error) {
        let Some(attachment) = self.attachments.get(name) else { return };
        let text = chain(error);
        let (goes, status) = (attachment.metadata.deletion_timestamp.is_some(), attachment.status.as_ref());
        let said = match goes {
            true => status.and_then(|it| it.detach_error.as_ref()),
            false => status.and_then(|it| it.attach_error.as_ref()),
        };
        let reason = if goes { "VolumeFailedDetach" } else { "VolumeFailedAttach" };
        self.events.warn_once(name, &self.about(&attachment), reason, &text);
        let message = plan::message(&text);
        if said.and_then(|it| it.message.as_deref()).map(without_requests) == Some(without_requests(message)) {
            return;
        }
        let key = if goes { "detachError" } else { "attachError" };
        let attached = status.is_some_and(|it| it.attached);
        let error = json!({ "message": message, "time": Timestamp::now().to_string() });
        if let Err(error) = self.write_status(&attachment, json!({ "attached": attached, key: error })).await {
            warn!(
                error = chain(&error),
                attachment = name,
                "the error cannot be shown in the VolumeAttachment's status"
            );
        }
    }

    async fn write_status(&self, attachment: &VolumeAttachment, status: Value) -> Result<(), Error> {
        let patch = Patch::Merge(json!({ "metadata": { "uid": attachment.metadata.uid }, "status": status }));
        let (name, params) = (attachment.name_any(), PatchParams::default());
        match answer(self.plain_attachment_api.patch_status(&name, &params, &patch)).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_gone() => Ok(()),
            Err(source) => Err(Error::Write { what: "the status of the VolumeAttachment", source }),
        }
    }

    /// Adds the finalizer to a PersistentVolume or takes it off, if nobody has changed it meanwhile: finalizers of others stay.
    async fn guard_volume(&self, volume: &PersistentVolume, guard: bool) -> Result<Progress, Error> {
        let own = plan::finalizer(&self.driver());
        let others = volume.finalizers().iter().filter(|it| **it != own);
        let finalizers: Vec<_> = others.chain(guard.then_some(&own)).collect();
        let metadata = json!({
            "resourceVersion": volume.metadata.resource_version, "uid": volume.metadata.uid, "finalizers": finalizers,
        });
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        match answer(self.plain_volume_api.patch(&volume.name_any(), &PatchParams::default(), &patch)).await {
            Ok(written) => Ok(Progress::Changed(Changed::Volume(Arc::new(written)))),
            Err(error) if error.is_gone() => Ok(Progress::Later(LAG)),
            Err(source) => Err(Error::Write { what: "the finalizer of the PersistentVolume", source }),
        }
    }

    /// A PersistentVolume that is being deleted goes once no attachment names it.
    async fn sync_volume(&self, name: &str) -> Result<Progress, Error> {
        let Some(volume) = self.volumes.get(name) else { return Ok(Progress::Over) };
        let is_named = self.attachments.all().iter().any(|it| plan::volume_name(it) == Some(name));
        if plan::is_let_go(&volume, is_named, &self.driver()) {
            self.guard_volume(&volume, false).await?;
        }
        Ok(Progress::Over)
    }

    /// Whether it is this attachment's turn on its volume and its machine.
    fn enter(&self, attachment: &VolumeAttachment, target: &Target, goes: bool) -> bool {
        let machine = self.cloud.description().one_at_a_time_per_node.then(|| Place::Machine(target.node_id.clone()));
        let places = [Place::Volume(target.volume.handle.clone())].into_iter().chain(machine).collect();
        self.turns.lock().enter(&attachment.name_any(), places, goes)
    }

    /// The object that a person looks at: the claim of the volume, else the volume, else the attachment.
    fn about(&self, attachment: &VolumeAttachment) -> ObjectReference {
        let volume = plan::volume_name(attachment).and_then(|it| self.volumes.get(it));
        let claim = volume.as_ref().and_then(|it| it.spec.as_ref()?.claim_ref.clone());
        match (claim, volume) {
            (Some(claim), _) => ObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("PersistentVolumeClaim".to_owned()),
                resource_version: None,
                ..claim
            },
            (None, Some(volume)) => reference(volume.as_ref()),
            (None, None) => reference(attachment),
        }
    }
}

impl Reconcile for VolumeAttacher {
    type Error = Error;

    async fn sync(&self, key: &str) -> Result<NextSync, Error> {
        let (name, result) = match (key.strip_prefix(ATTACHMENT), key.strip_prefix(VOLUME)) {
            (Some(name), _) => (name, self.sync_attachment(name).await),
            (_, Some(name)) => return self.sync_volume(name).await.map(|_| NextSync::Done),
            _ => return Ok(NextSync::Done),
        };
        let is_at_work = matches!(&result, Ok(Progress::UnderWay(_) | Progress::Waiting));
        if !is_at_work {
            self.let_others(name);
        }
        if let Err(error) = &result
            && error.is_shown()
        {
            self.say_error(name, error).await;
        }
        result.map(|it| match it {
            Progress::Over | Progress::Changed(_) => NextSync::Done,
            Progress::UnderWay(after) | Progress::Later(after) => NextSync::After(after),
            Progress::Waiting => NextSync::After(LOOK_AGAIN),
        })
    }

    fn show(&self, key: &str, error: &Error, _: u32) {
        let text = chain(error);
        warn!(next = error.next(), "error syncing '{key}': {text}, requeuing");
    }

    fn pause(&self, error: &Error, failures: u32) -> Pause {
        error.pause(failures)
    }

    fn back_off(&self) -> BackOff {
        volume_error::BACK_OFF
    }
}
