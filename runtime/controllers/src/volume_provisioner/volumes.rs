//! Reconciling one PersistentVolume: guarded while it is used, and deleted with its volume when nobody needs it.

use budgets::{VolumeCounts, VolumesSpent};
use cloud_provider::{KnownVolume, Reply, VolumeDeletion};
use k8s_openapi::api::core::v1::PersistentVolume;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use serde_json::json;
use tokio::time::{Instant, timeout};
use tracing::{debug, info, warn};

use super::intent;
use super::plan::{self, DELETION_MEMO, VolumeStep};
use super::request::FINALIZER;
use super::{VOLUME, VolumeProvisioner};
use crate::cloud_call::{CALL, late};
use crate::events::reference;
use crate::migrated;
use crate::object::answer;
use crate::volume_error::{Error, LAG};
use crate::volume_operations::{CsiMethod, VolumeOperation};
use crate::worker::NextSync;

/// So many writes of others are waited out while a PersistentVolume goes.
const WRITERS: u32 = 5;

impl VolumeProvisioner {
    pub(super) async fn sync_volume(&self, name: &str) -> Result<NextSync, Error> {
        let Some(pv) = self.volumes.get(name) else { return Ok(NextSync::Done) };
        // Once its PersistentVolume is gone, a volume would be abandoned by an intent that is still there, also with policy Retain.
        let intent = intent::uid(name).and_then(|it| self.intents.lock().get(it).cloned());
        if let Some(intent) = intent {
            self.forget(&intent).await?;
        }
        let attached_to = self.attached_to(name);
        match plan::volume(&pv, &attached_to, &self.driver()) {
            VolumeStep::Ignore => Ok(NextSync::Done),
            VolumeStep::Guard => self.change_finalizers(&pv, true).await,
            VolumeStep::Free => self.change_finalizers(&pv, false).await,
            VolumeStep::WaitFor(node) => {
                // It is looked at again when the attachment goes.
                debug!(volume = name, node, "a released volume is still attached");
                Ok(NextSync::Done)
            }
            VolumeStep::Stuck => {
                self.tell_stuck(&pv);
                Ok(NextSync::Done)
            }
            VolumeStep::Delete(_) => self.delete_released(name, &attached_to).await,
        }
    }

    /// Says why a PersistentVolume that is deleted does not go.
    fn tell_stuck(&self, pv: &PersistentVolume) {
        let name = pv.name_any();
        let text = format!(
            "PersistentVolume {name} is deleted, and does not go: by its policy Delete its volume would go with it, which is deleted only \
             after a claim has had it and is gone (phase Released). Next step: set spec.persistentVolumeReclaimPolicy to Retain, which \
             lets it go; its volume stays in the cloud, and is deleted there if nobody needs it"
        );
        if self.events.warn_once(&format!("{VOLUME}{name}"), &reference(pv), "VolumeFailedDelete", &text) {
            warn!("{text}");
        }
    }

    /// Deletes a volume if its PersistentVolume, as the API server knows it now and not as a watch has shown it, says so. One that
    /// another PersistentVolume has, too, is not deleted.
    async fn delete_released(&self, name: &str, attached_to: &[String]) -> Result<NextSync, Error> {
        let pv = answer(self.plain_volume_api.get_opt(name)).await;
        let pv = pv.map_err(|source| Error::Write { what: "the question for the PersistentVolume", source })?;
        let Some(pv) = pv.map(|it| migrated::volume(it, &self.cloud.description())) else { return Ok(NextSync::Done) };
        let VolumeStep::Delete(known) = plan::volume(&pv, attached_to, &self.driver()) else {
            return Ok(NextSync::After(LAG));
        };
        let all = self.volumes.all();
        match plan::other(all.iter().map(|it| &**it), name, &known.handle, &self.driver()) {
            Some(other) => Err(Error::Refused(format!(
                "PersistentVolume {other} has the same volume {}, which therefore is not deleted: delete one of the two, with policy Retain",
                known.handle
            ))),
            None => self.delete(&pv, &known).await,
        }
    }

    /// One step towards the absence of a volume.
    async fn delete(&self, pv: &PersistentVolume, known: &KnownVolume) -> Result<NextSync, Error> {
        self.cloud.check().await.map_err(Error::Cloud)?;
        self.take_deletion(&known.name, plan::namespace(pv))?;
        let call = async {
            let call = timeout(CALL, self.cloud.delete(known)).await;
            call.unwrap_or_else(|_| Err(late()).into())
        };
        let operation = VolumeOperation {
            method: CsiMethod::Delete,
            object: &known.name,
            is_migrated: migrated::is_in_tree_volume(pv, &self.cloud.description()),
        };
        let Reply { answer, events, .. } = self.operations.timed(operation, call).await;
        self.events.record(&known.name, &reference(pv), events);
        match answer.map_err(Error::Cloud)? {
            VolumeDeletion::Done => {
                let since = self.counted.lock().get(&known.name).copied();
                let released = self.release(pv).await?;
                if let Some(since) = since {
                    self.metrics.deleted(plan::class(pv), since.elapsed());
                }
                Ok(released)
            }
            VolumeDeletion::Pending(pending) => {
                debug!(volume = known.name, reason = pending.reason, "the volume is not gone yet");
                if pending.memo != known.memo {
                    self.keep_memo(pv, pending.memo).await?;
                }
                Ok(NextSync::After(pending.after))
            }
            VolumeDeletion::InUse(nodes) => {
                Err(Error::Waits(format!("volume {} is attached to {} in the cloud", known.handle, nodes.join(", "))))
            }
        }
    }

    /// The volume is gone: its PersistentVolume goes.
    async fn release(&self, pv: &PersistentVolume) -> Result<NextSync, Error> {
        let name = pv.name_any();
        let preconditions = Preconditions { uid: pv.uid(), resource_version: None };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match answer(self.plain_volume_api.delete(&name, &params)).await {
            Ok(deleted) => {
                info!(volume = name, "the volume is deleted");
                match deleted.left() {
                    Some(pv) => self.free_deleted(pv).await,
                    None => Ok(NextSync::Done),
                }
            }
            Err(error) if error.is_gone() || error.is_conflict() => Ok(NextSync::Done),
            Err(source) => Err(Error::Write { what: "the end of the PersistentVolume", source }),
        }
    }

    /// Takes the finalizer off a PersistentVolume that is deleted and waits for its finalizers, also where another controller takes its own
    /// off meanwhile: tried again as a whole, the cloud would be asked to delete the volume once more.
    async fn free_deleted(&self, mut pv: PersistentVolume) -> Result<NextSync, Error> {
        for _ in 0..WRITERS {
            match self.change_finalizers(&pv, false).await {
                Err(Error::Write { source, .. }) if source.is_conflict() => {}
                ended => return ended,
            }
            let latest = answer(self.plain_volume_api.get_opt(&pv.name_any())).await;
            let latest =
                latest.map_err(|source| Error::Write { what: "the question for the PersistentVolume", source })?;
            match latest.filter(|it| it.uid() == pv.uid()) {
                Some(latest) => pv = latest,
                None => return Ok(NextSync::Done),
            }
        }
        self.change_finalizers(&pv, false).await
    }

    /// Adds the finalizer or takes it off, if nobody has changed the volume meanwhile: finalizers of others stay.
    async fn change_finalizers(&self, pv: &PersistentVolume, guard: bool) -> Result<NextSync, Error> {
        let others = pv.finalizers().iter().map(String::as_str).filter(|it| *it != FINALIZER);
        let finalizers: Vec<_> = others.chain(guard.then_some(FINALIZER)).collect();
        let metadata = json!({ "resourceVersion": pv.metadata.resource_version, "uid": pv.metadata.uid, "finalizers": finalizers });
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let params = PatchParams::default();
        match answer(self.plain_volume_api.patch(&pv.name_any(), &params, &patch)).await {
            Ok(_) => Ok(NextSync::Done),
            Err(error) if error.is_gone() => Ok(NextSync::Done),
            Err(source) => Err(Error::Write { what: "the finalizer of the PersistentVolume", source }),
        }
    }

    async fn keep_memo(&self, pv: &PersistentVolume, memo: Option<String>) -> Result<(), Error> {
        let patch = json!({ "metadata": { "uid": pv.metadata.uid, "annotations": { DELETION_MEMO: memo } } });
        let (name, params, patch) = (pv.name_any(), PatchParams::default(), Patch::Merge(patch));
        match answer(self.plain_volume_api.patch(&name, &params, &patch)).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_gone() => Ok(()),
            Err(source) => Err(Error::Write { what: "the memo of the PersistentVolume", source }),
        }
    }

    /// Counts the deletion of a volume of a claim in this namespace, once until it is done. The error says how many may be deleted in a window.
    pub(super) fn take_deletion(&self, volume: &str, namespace: &str) -> Result<(), Error> {
        let (driver, now) = (self.driver(), Instant::now());
        if self.counted.lock().contains_key(volume) {
            return Ok(());
        }
        let budgets = self.options.budgets();
        let is_approved = self.requested.within(budgets.all.window, now).is_approved;
        let all = self.volumes.all();
        let of_driver = || all.iter().filter(|it| plan::handle(it, &driver).is_some());
        let of_namespace = of_driver().filter(|it| plan::namespace(it) == namespace).count();
        let volumes = VolumeCounts { all: of_driver().count(), of_namespace };
        let mut spent = self.spent.lock();
        match spent.take(&budgets, namespace, volumes, now) {
            Err(budget) if !is_approved => {
                let (volumes, window) = match budget {
                    VolumesSpent::All(most) => (format!("{most} volumes"), budgets.all.window),
                    VolumesSpent::OfNamespace(most) => {
                        (format!("{most} volumes of namespace {namespace}"), budgets.of_namespace.window)
                    }
                };
                let minutes = window.as_secs().div_ceil(60);
                return Err(Error::Withheld(format!(
                    "{volumes} were deleted within {minutes} min, and no more are for now: put the annotation {}: \"true\" on \
                     the Lease to have it done now",
                    cloud_provider::APPROVAL
                )));
            }
            Err(_) => spent.count(namespace, volumes, now),
            Ok(()) => {}
        }
        self.counted.lock().insert(volume.to_owned(), now);
        self.requested.add_deletion_found(now);
        Ok(())
    }
}
