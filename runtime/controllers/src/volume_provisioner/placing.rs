//! The cloud is asked where the volumes of PersistentVolumes are that do not say it, and each of these says it then, once and for all.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{CloudVolume, Error as CloudError};
use k8s_openapi::api::core::v1::PersistentVolume;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use tokio::time::timeout;
use tracing::{debug, info};

use super::{LOOK_AGAIN, VolumeProvisioner, placement, plan};
use crate::cloud_call::{CALL, late};
use crate::error::{LONGEST_RETRY_AFTER, chain};
use crate::object::answer;
use crate::volume_error::Error;
use crate::volume_lists::REST;

/// How long it rests before those are asked about again of which the cloud has said nothing.
const ASK_AGAIN: Duration = Duration::from_mins(1);
/// So many writes of others are waited out.
const WRITERS: u32 = 5;

impl VolumeProvisioner {
    /// Asks about volumes whenever PersistentVolumes have come that do not say where they are.
    pub(super) async fn place_volumes(self: Arc<Self>) {
        loop {
            self.unplaced.notified().await;
            while let Err(error) = self.place_all().await {
                debug!(error = chain(&error), "volumes without a node affinity are asked about again");
                let pause = match &error {
                    Error::Cloud(CloudError::RetryAfter { after, .. }) => (*after).min(LONGEST_RETRY_AFTER),
                    _ => ASK_AGAIN,
                };
                tokio::time::sleep(pause).await;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Asks about all that were not asked about. The error is the first one; those after it were asked about all the same, unless the cloud wants
    /// a pause.
    async fn place_all(&self) -> Result<(), Error> {
        if self.vendor.check().is_err() {
            // It is looked at again once the vendor's controller is away.
            return Ok(());
        }
        let described = self.cloud.description();
        let all = self.volumes.all();
        let unplaced: Vec<_> = self.placed.lock().unasked(&all, &described).into_iter().cloned().collect();
        let batch = usize::try_from(described.get_batch_size).unwrap_or(1).max(1);
        let mut failed = Ok(());
        for (at, some) in unplaced.chunks(batch).enumerate() {
            if at > 0 {
                tokio::time::sleep(REST).await;
            }
            for asked in self.ask_about(some).await {
                match asked {
                    Err(error @ Error::Cloud(CloudError::RetryAfter { .. })) => return Err(error),
                    Err(error) => failed = failed.and(Err(error)),
                    Ok(()) => {}
                }
            }
        }
        failed
    }

    /// The outcome for each of these.
    async fn ask_about(&self, some: &[PersistentVolume]) -> Vec<Result<(), Error>> {
        let driver = self.driver();
        let handles: Vec<_> = some.iter().filter_map(|it| plan::handle(it, &driver)).map(str::to_owned).collect();
        let Ok(asked) = timeout(CALL, self.cloud.get(&handles)).await else {
            return vec![Err(Error::Cloud(late()))];
        };
        let mut outcomes = Vec::new();
        for (pv, answer) in some.iter().zip(asked.answer) {
            let outcome = match answer {
                Ok(Some(volume)) => self.place(pv, &volume).await,
                Ok(None) => Ok(()),
                Err(CloudError::Invalid(why)) => {
                    debug!(volume = pv.name_any(), why, "nothing says where this volume is");
                    Ok(())
                }
                Err(error) => Err(Error::Cloud(error)),
            };
            if outcome.is_ok() {
                self.placed.lock().asked(pv);
            }
            outcomes.push(outcome);
        }
        outcomes
    }

    /// Writes where a volume is on its PersistentVolume, if that still lacks it as the API server knows it.
    async fn place(&self, known: &PersistentVolume, volume: &CloudVolume) -> Result<(), Error> {
        let (what, name) = ("the node affinity of the PersistentVolume", known.name_any());
        let mut conflicts = 0;
        loop {
            let live = answer(self.plain_volume_api.get_opt(&name)).await;
            let live = live.map_err(|source| Error::Unread { what: "the PersistentVolume", source })?;
            let is_its = |pv: &PersistentVolume| {
                pv.metadata.uid == known.metadata.uid && placement::is_unplaced(pv, &self.cloud.description())
            };
            let Some(patch) = live.filter(is_its).and_then(|it| placement::patch(&it, volume)) else { return Ok(()) };
            match answer(self.plain_volume_api.patch(&name, &PatchParams::default(), &Patch::Merge(patch))).await {
                Ok(_) => {
                    info!(volume = name, "the PersistentVolume says now where its volume is");
                    return Ok(());
                }
                Err(error) if error.is_gone() => return Ok(()),
                Err(error) if error.is_conflict() && conflicts < WRITERS => conflicts += 1,
                Err(source) => return Err(Error::Write { what, source }),
            }
        }
    }
}
