//! A volume that was begun for a claim, and for which nobody waits: it is abandoned, or stays where it may hold data.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Error as CloudError, Reply, VolumeDeletion};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::ResourceExt as _;
use kube::api::Api;
use tokio::time::{Instant, timeout};
use tracing::{info, warn};

use super::intent::Intent;
use super::plan::{self, ClaimStep};
use super::{VolumeProvisioner, adopted};
use crate::cloud_call::{CALL, late};
use crate::migrated::MIGRATED_TO;
use crate::object::answer;
use crate::volume_error::{Error, LAG};
use crate::volume_operations::{CsiMethod, VolumeOperation};
use crate::worker::NextSync;

/// So many questions about adopted volumes are asked in one go, and when it goes on.
const LOOKS_AT_ONCE: usize = 10;
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Whether another PersistentVolume has a volume that is to be abandoned.
enum AnotherLook {
    /// None has.
    None,
    /// The cloud was not asked about all of them yet.
    Unfinished,
    /// This PersistentVolume has it.
    Has { handle: String, volume: String },
}

impl VolumeProvisioner {
    /// A volume for which nobody seems to wait. A watch may lag, above all after a restart, so that the API server is asked.
    pub(super) async fn let_go(&self, intent: Intent) -> Result<NextSync, Error> {
        let what = "the question whether the volume has a PersistentVolume, or a claim waits for it";
        let failed = |source| Error::Write { what, source };
        let owner = &intent.desired.owner;
        let volume = answer(self.plain_volume_api.get_opt(&intent.desired.name)).await.map_err(failed)?;
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), &owner.namespace);
        let claim = answer(claims.get_opt(&owner.name)).await.map_err(failed)?;
        let claim = claim.filter(|it| it.metadata.uid.as_deref() == Some(intent.uid()));
        match plan::claim(claim.as_ref(), Some(&intent), volume.is_some(), &self.driver()) {
            ClaimStep::Abandon => {
                if let Some(handle) = plan::retained(&intent)
                    && self.is_there(handle).await?
                {
                    return self.keep_retained(&intent, handle).await;
                }
                self.abandon(claim.map(Arc::new), intent).await
            }
            ClaimStep::Settle => self.forget(&intent).await.map(|()| NextSync::Done),
            ClaimStep::Lost => Err(Error::Refused(format!(
                "the claim is bound to PersistentVolume {}, which is not there: its volume stays in the cloud. Write the \
                 PersistentVolume again, or delete the claim",
                intent.desired.name
            ))),
            ClaimStep::Begin | ClaimStep::Create | ClaimStep::Ignore => Ok(NextSync::After(LAG)),
        }
    }

    /// Looks whether another PersistentVolume has the volume that is to be abandoned.
    async fn look_for_another(&self, intent: &Intent) -> Result<AnotherLook, Error> {
        let (driver, all, name) = (self.driver(), self.volumes.all(), &intent.desired.name);
        let known = self.handles.lock().get(name).cloned();
        for handle in known.into_iter().chain(intent.made.clone()) {
            if let Some(volume) = plan::other(all.iter().map(|it| &**it), name, &handle, &driver) {
                return Ok(AnotherLook::Has { handle, volume });
            }
        }
        let adopted = adopted::adopted(all.iter().map(|it| &**it), &driver);
        if adopted.is_empty() {
            return Ok(AnotherLook::None);
        }
        // Another worker asks about the same ones.
        let Ok(mut volumes) = self.adopted.try_lock() else { return Ok(AnotherLook::Unfinished) };
        let unknown = volumes.unknown(&adopted);
        let batch = usize::try_from(self.cloud.description().get_batch_size).unwrap_or(1).max(1);
        for handles in unknown.chunks(batch).take(LOOKS_AT_ONCE) {
            let asked = timeout(CALL, self.cloud.get(handles)).await.map_err(|_| Error::Cloud(late()))?;
            for (handle, answer) in handles.iter().zip(asked.answer) {
                match answer {
                    Ok(found) => volumes.learn(handle, Ok(found)),
                    Err(CloudError::Invalid(why)) => volumes.learn(handle, Err(why)),
                    Err(error) => return Err(Error::Cloud(error)),
                }
            }
        }
        if let Some(handle) = volumes.of(&intent.desired, &adopted) {
            return Ok(AnotherLook::Has { handle: handle.to_owned(), volume: adopted[handle].clone() });
        }
        if unknown.iter().any(|it| !volumes.is_known(it)) {
            return Ok(AnotherLook::Unfinished);
        }
        volumes.forget_absent();
        Ok(AnotherLook::None)
    }

    /// A volume that was begun for a claim stays where another PersistentVolume has it.
    async fn keep_adopted(&self, intent: &Intent, handle: &str, volume: &str) -> Result<NextSync, Error> {
        let text = format!(
            "volume {handle} was begun for this claim, which does not wait for it any more, and PersistentVolume {volume} has it: it is not \
             deleted. Next step: none where it is to stay, and else delete PersistentVolume {volume} with the policy Delete"
        );
        warn!("{text}");
        self.events.warn_once(&intent.desired.name, &intent.claim(), "VolumeKept", &text);
        self.forget_abandoned(intent).await
    }

    /// Whether the cloud has a volume.
    async fn is_there(&self, handle: &str) -> Result<bool, Error> {
        let asked = timeout(CALL, self.cloud.get(&[handle.to_owned()])).await;
        let answer = asked.ok().and_then(|mut it| it.answer.pop()).unwrap_or_else(|| Err(late()));
        answer.map(|it| it.is_some()).map_err(Error::Cloud)
    }

    /// A volume of another policy than `Delete` stays where its PersistentVolume and its claim have gone, and is a person's to delete.
    async fn keep_retained(&self, intent: &Intent, handle: &str) -> Result<NextSync, Error> {
        let text = format!(
            "volume {handle} was made for PersistentVolume {}, which is not there, nor does its claim wait for it: its policy is not Delete, \
             so that it stays. Next step: delete it in the cloud, or write a PersistentVolume with its handle",
            intent.desired.name
        );
        warn!("{text}");
        self.events.warn_once(&intent.desired.name, &intent.claim(), "VolumeKept", &text);
        self.forget(intent).await.map(|()| NextSync::After(LAG))
    }

    /// One step away from a volume for which nobody waits.
    async fn abandon(&self, claim: Option<Arc<PersistentVolumeClaim>>, intent: Intent) -> Result<NextSync, Error> {
        self.cloud.check().await.map_err(Error::Cloud)?;
        match self.look_for_another(&intent).await? {
            AnotherLook::Has { handle, volume } => return self.keep_adopted(&intent, &handle, &volume).await,
            AnotherLook::Unfinished => return Ok(NextSync::After(LOOK_AGAIN)),
            AnotherLook::None => {}
        }
        if !intent.is_given_up() {
            self.take_deletion(&intent.desired.name, &intent.desired.owner.namespace)?;
        } else if self.abandoned.lock().insert(intent.uid().to_owned()) {
            // Its claim waits, and has nothing in it.
            self.requested.add_deletion_found(Instant::now());
        }
        let call = async {
            let call = timeout(CALL, self.cloud.abandon(&intent.desired)).await;
            call.unwrap_or_else(|_| Err(late()).into())
        };
        let operation = VolumeOperation {
            method: CsiMethod::Delete,
            object: &intent.desired.name,
            is_migrated: claim.as_ref().is_some_and(|it| it.annotations().contains_key(MIGRATED_TO)),
        };
        let Reply { answer, events, .. } = self.operations.timed(operation, call).await;
        self.events.record(&intent.desired.name, &intent.claim(), events);
        match answer.map_err(Error::Cloud)? {
            VolumeDeletion::Done => {
                info!(claim = intent.desired.owner.name, volume = intent.desired.name, "nothing is left of the volume");
                if claim.is_some() && intent.is_moved {
                    return self.move_on(intent, "an attempt before found none").await;
                }
                match claim.filter(|_| intent.is_returned) {
                    Some(claim) => self.give_back_abandoned(&claim, &intent).await,
                    None => self.forget_abandoned(&intent).await,
                }
            }
            VolumeDeletion::Pending(pending) => self.postpone(intent, pending).await,
            VolumeDeletion::InUse(nodes) => Err(Error::Waits(format!(
                "volume {}, which is given up, is attached to {}: it is deleted once they have let go of it",
                intent.desired.name,
                nodes.join(", ")
            ))),
        }
    }

    /// There is no room for a volume in its best place, and nothing of it is there: it is made in the next one. Once all were tried it rests.
    pub(super) async fn move_on(&self, mut intent: Intent, why: &str) -> Result<NextSync, Error> {
        let goes_on = intent.move_on();
        self.keep_change(&intent).await?;
        self.abandoned.lock().remove(intent.uid());
        self.remember(&intent);
        match goes_on {
            true => Ok(NextSync::After(Duration::ZERO)),
            false => Err(Error::Waits(format!("no room in any of the volume's places: {why}"))),
        }
    }

    pub(super) async fn give_back_abandoned(
        &self,
        claim: &Arc<PersistentVolumeClaim>,
        intent: &Intent,
    ) -> Result<NextSync, Error> {
        let node = intent.selected_node.clone().unwrap_or_default();
        self.give_back(claim, &format!("no room in the place of node {node}")).await?;
        self.forget_abandoned(intent).await
    }

    /// Nothing is left of the volume. The claim may have changed meanwhile, and is looked at as one that is seen for the first time.
    async fn forget_abandoned(&self, intent: &Intent) -> Result<NextSync, Error> {
        self.handles.lock().remove(&intent.desired.name);
        self.counted.lock().remove(&intent.desired.name);
        self.forget(intent).await.map(|()| NextSync::After(LAG))
    }
}
