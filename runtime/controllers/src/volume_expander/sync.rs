//! Reconciling one claim: its status first, then the cloud, the PersistentVolume, and its status last.

use std::time::Duration;

use cloud_provider::{Error as CloudError, PendingVolume, Reply, VolumeExpansion};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams};
use serde_json::Value;
use tokio::time::{Instant, timeout};
use tracing::{debug, info, warn};

use super::VolumeExpander;
use super::attempts::PATIENCE;
use super::awaited::AwaitedSize;
use super::plan::{self, EXPANSION_MEMO, ExpandStep, GrowthTarget, SIZE_BEFORE};
use super::status;
use crate::cloud_call::{CALL, late};
use crate::error::{BackOff, Pause, chain};
use crate::events::{EventKind, reference};
use crate::migrated;
use crate::object::answer;
use crate::trimmed::Trimmed;
use crate::volume_error::{self, Error, LAG};
use crate::volume_operations::{CsiMethod, VolumeOperation};
use crate::worker::{NextSync, Reconcile};

/// The reason of events about a volume that has not grown.
const FAILED: &str = "VolumeResizeFailed";

/// Where the work on a claim stands.
enum GrowthProgress {
    /// It is over, or another's.
    Over,
    /// The cloud is at work.
    UnderWay(Duration),
    /// It is looked at again then.
    Later(Duration),
}

impl VolumeExpander {
    async fn sync_claim(&self, key: &str) -> Result<GrowthProgress, Error> {
        let Some(known) = self.claims.get(key) else { return Ok(GrowthProgress::Over) };
        let volume = plan::volume_name(&known).and_then(|it| self.volumes.get(it));
        let is_refused = self.attempts.lock().is_refused(key);
        let described = self.cloud.description();
        if plan::claim(&known, volume.as_deref(), is_refused, &described) == ExpandStep::Ignore {
            if !plan::is_due(&known) {
                self.attempts.lock().forget(key);
            }
            return Ok(GrowthProgress::Over);
        }
        self.lists.asked(key);
        // As the API server knows them now: a watch may lag behind a status and a memo.
        let (Some(claim), Some(mut pv)) = (self.live_claim(&known).await?, self.live_volume(&known).await?) else {
            return Ok(GrowthProgress::Later(LAG));
        };
        let mut step = plan::claim(&claim, Some(&pv), is_refused, &described);
        if step == ExpandStep::Forget {
            let Some(written) = self.patch_volume(&pv, status::annotated(&pv, SIZE_BEFORE, None)).await? else {
                return Ok(GrowthProgress::Over);
            };
            pv = written;
            step = plan::claim(&claim, Some(&pv), is_refused, &described);
        }
        match step {
            ExpandStep::Ignore => Ok(GrowthProgress::Over),
            ExpandStep::Forget => Ok(GrowthProgress::Later(LAG)),
            ExpandStep::Refuse(target, why) => {
                self.say_refused(&claim, &target, &why, true).await;
                Err(Error::Refused(why))
            }
            ExpandStep::Expand(target) => self.expand(key, claim, &pv, &target).await,
        }
    }

    /// A claim as the API server knows it; `None` if it is gone, or another one has its name.
    async fn live_claim(&self, known: &PersistentVolumeClaim) -> Result<Option<PersistentVolumeClaim>, Error> {
        let live = answer(self.claim_api(known).get_opt(&known.name_any())).await;
        let live = live.map_err(|source| Error::Unread { what: "the PersistentVolumeClaim", source })?;
        Ok(live.map(|Trimmed(it)| it).filter(|it| it.metadata.uid == known.metadata.uid))
    }

    /// The PersistentVolume of a claim as the API server knows it.
    async fn live_volume(&self, claim: &PersistentVolumeClaim) -> Result<Option<PersistentVolume>, Error> {
        let live = answer(self.volume_api.get_opt(plan::volume_name(claim).unwrap_or_default())).await;
        let live = live.map_err(|source| Error::Unread { what: "the PersistentVolume", source })?;
        Ok(live.map(|it| migrated::volume(it, &self.cloud.description())))
    }

    /// One step of the volume towards its size. The claim's status says so before the first call.
    async fn expand(
        &self,
        key: &str,
        mut claim: PersistentVolumeClaim,
        pv: &PersistentVolume,
        target: &GrowthTarget,
    ) -> Result<GrowthProgress, Error> {
        if let Some(side) = target.failed
            && let Some(rest) = self.attempts.lock().rest(key, side, Instant::now())
        {
            return Ok(GrowthProgress::Later(rest));
        }
        self.cloud.check().await.map_err(Error::Cloud)?;
        if !target.is_begun {
            let Some(begun) = self.patch_claim(&claim, status::begun(&claim, target, Timestamp::now())).await? else {
                return Ok(GrowthProgress::Over);
            };
            claim = begun;
            self.requested.add_new(Instant::now());
            let message = format!("External resizer is resizing volume {}", target.volume.name);
            self.events.tell(reference(&claim), EventKind::Normal, "Resizing", &message);
        }
        let call = async {
            let call = timeout(CALL, self.cloud.expand(&target.volume, target.bytes)).await;
            call.unwrap_or_else(|_| Err(late()).into())
        };
        let operation = VolumeOperation {
            method: CsiMethod::Expand,
            object: key,
            is_migrated: migrated::is_in_tree_volume(pv, &self.cloud.description()),
        };
        let Reply { answer, events, .. } = self.operations.timed(operation, call).await;
        self.events.record(key, &reference(&claim), events);
        match answer {
            Ok(VolumeExpansion::Ready { bytes, node_must_grow }) => {
                self.grown(&claim, pv, target, bytes, node_must_grow).await?;
                self.attempts.lock().grown(key, target.failed, Instant::now());
                Ok(GrowthProgress::Over)
            }
            Ok(VolumeExpansion::Pending(pending)) => self.postpone(key, &claim, pv, target, pending).await,
            Ok(VolumeExpansion::InUse(node_ids)) => Err(Error::Waits(format!(
                "volume {} grows only where it is attached to no machine, and is attached to {}: take the pods away that use it",
                target.volume.handle,
                node_ids.join(", ")
            ))),
            Err(error) => {
                self.attempts.lock().failed(key, &error, Instant::now());
                let is_infeasible = matches!(error, CloudError::Invalid(_));
                let error = Error::Cloud(error);
                if is_infeasible || self.attempts.lock().is_refused(key) {
                    self.say_refused(&claim, target, &chain(&error), is_infeasible).await;
                }
                Err(error)
            }
        }
    }

    /// The volume is as large as it is to be.
    async fn grown(
        &self,
        claim: &PersistentVolumeClaim,
        pv: &PersistentVolume,
        target: &GrowthTarget,
        bytes: u64,
        node_must_grow: bool,
    ) -> Result<(), Error> {
        info!(claim = claim.name_any(), volume = target.volume.handle, bytes, "the volume has grown");
        if let Some(patch) = status::grown(pv, claim, bytes, node_must_grow) {
            self.patch_volume(pv, patch).await?;
        }
        let (patch, reason, message) = if node_must_grow {
            let patch = status::node_is_next(claim, Timestamp::now());
            (patch, "FileSystemResizeRequired", "Require file system resize of volume on node")
        } else {
            (status::finished(claim, bytes), "VolumeResizeSuccessful", "Resize volume succeeded")
        };
        if self.patch_claim(claim, patch).await?.is_some() {
            self.events.tell(reference(claim), EventKind::Normal, reason, message);
        }
        Ok(())
    }

    /// Keeps the memo, and comes back.
    async fn postpone(
        &self,
        key: &str,
        claim: &PersistentVolumeClaim,
        pv: &PersistentVolume,
        target: &GrowthTarget,
        pending: PendingVolume,
    ) -> Result<GrowthProgress, Error> {
        let PendingVolume { memo, after, reason } = pending;
        let handle = &target.volume.handle;
        debug!(volume = handle, reason, "the volume grows");
        if memo != target.volume.memo {
            self.patch_volume(pv, status::annotated(pv, EXPANSION_MEMO, memo.as_deref())).await?;
        }
        if self.attempts.lock().is_late(key, Instant::now()) {
            let minutes = PATIENCE.as_secs() / 60;
            let text = format!(
                "the cloud has been at work on volume {handle} for more than {minutes} minutes: {reason}. It is asked again"
            );
            self.events.warn_once(key, &reference(claim), FAILED, &text);
        }
        let awaited = AwaitedSize { handle: handle.clone(), bytes: target.bytes };
        Ok(GrowthProgress::UnderWay(self.lists.await_it(key, awaited, after)))
    }

    /// Shows in the claim's status that its size is refused.
    async fn say_refused(&self, claim: &PersistentVolumeClaim, target: &GrowthTarget, text: &str, is_infeasible: bool) {
        let Some(patch) = status::refused(claim, target, text, is_infeasible, Timestamp::now()) else { return };
        if let Err(error) = self.patch_claim(claim, patch).await {
            warn!(error = chain(&error), claim = claim.name_any(), "the refusal cannot be shown in the claim's status");
        }
    }

    /// Changes the status of a claim; `None` if it is gone.
    async fn patch_claim(
        &self,
        claim: &PersistentVolumeClaim,
        patch: Value,
    ) -> Result<Option<PersistentVolumeClaim>, Error> {
        let (name, params) = (claim.name_any(), PatchParams::default());
        match answer(self.claim_api(claim).patch_status(&name, &params, &Patch::Strategic(patch))).await {
            Ok(Trimmed(written)) => Ok(Some(written)),
            Err(error) if error.is_gone() => Ok(None),
            Err(source) => Err(Error::Write { what: "the status of the PersistentVolumeClaim", source }),
        }
    }

    /// Changes a PersistentVolume; `None` if it is gone.
    async fn patch_volume(&self, pv: &PersistentVolume, patch: Value) -> Result<Option<PersistentVolume>, Error> {
        match answer(self.volume_api.patch(&pv.name_any(), &PatchParams::default(), &Patch::Merge(patch))).await {
            Ok(written) => Ok(Some(migrated::volume(written, &self.cloud.description()))),
            Err(error) if error.is_gone() => Ok(None),
            Err(source) => Err(Error::Write { what: "the PersistentVolume", source }),
        }
    }

    fn claim_api(&self, claim: &PersistentVolumeClaim) -> Api<Trimmed<PersistentVolumeClaim>> {
        Api::namespaced(self.client.clone(), &claim.namespace().unwrap_or_default())
    }
}

impl Reconcile for VolumeExpander {
    type Error = Error;

    async fn sync(&self, key: &str) -> Result<NextSync, Error> {
        self.vendor.check()?;
        let result = self.sync_claim(key).await;
        if !matches!(result, Ok(GrowthProgress::UnderWay(_))) {
            self.lists.remove(key);
        }
        result.map(|progress| match progress {
            GrowthProgress::Over => NextSync::Done,
            GrowthProgress::UnderWay(after) => NextSync::UnderWay(after),
            GrowthProgress::Later(after) => NextSync::After(after),
        })
    }

    // In the log, and on the claim.
    fn show(&self, key: &str, error: &Error, _: u32) {
        let text = chain(error);
        if matches!(error, Error::Vendor(_)) {
            // It is told once, and not of each claim.
            debug!("'{key}' waits: {text}");
            return;
        }
        warn!(next = error.next(), "error syncing '{key}': {text}, requeuing");
        if let Some(claim) = self.claims.get(key).filter(|_| error.is_shown()) {
            self.events.warn_once(key, &reference(claim.as_ref()), FAILED, &text);
        }
    }

    fn pause(&self, error: &Error, failures: u32) -> Pause {
        error.pause(failures)
    }

    fn back_off(&self) -> BackOff {
        volume_error::BACK_OFF
    }
}
