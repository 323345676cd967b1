//! Reconciling one claim: an intent, a volume, a PersistentVolume, in this order.

use std::sync::Arc;

use cloud_provider::{Error as CloudError, PendingVolume, Reply, VolumeCreation};
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use tokio::time::{Instant, timeout};
use tracing::{debug, info, warn};

use super::hand;
use super::intent::{self, Intent};
use super::plan::{self, ClaimStep};
use super::request::{self, ClaimRefusal, SELECTED_NODE};
use super::{CLAIM, NAMESPACE, VOLUME, VolumeProvisioner};
use crate::cloud_call::{CALL, late};
use crate::error::{BackOff, Pause, chain};
use crate::events::{EventKind, reference};
use crate::migrated::MIGRATED_TO;
use crate::object::{self, ObjectPart, answer};
use crate::volume_error::{self, Error, LAG};
use crate::volume_operations::{CsiMethod, VolumeOperation};
use crate::worker::{NextSync, Reconcile};

impl VolumeProvisioner {
    async fn sync_claim(&self, uid: &str) -> Result<NextSync, Error> {
        let claim = self.claim(uid);
        let intent = self.intents.lock().get(uid).cloned();
        let name = intent::name(uid);
        let has_volume = self.volumes.get(&name).is_some() || self.saved.lock().contains(&name);
        match (plan::claim(claim.as_deref(), intent.as_ref(), has_volume, &self.driver()), claim, intent) {
            (ClaimStep::Begin, Some(claim), _) => self.begin(&claim).await,
            (ClaimStep::Create, Some(claim), Some(intent)) => self.create(&claim, intent).await,
            (ClaimStep::Settle, _, Some(intent)) => self.forget(&intent).await.map(|()| NextSync::Done),
            (ClaimStep::Abandon | ClaimStep::Lost, _, Some(intent)) => self.let_go(intent).await,
            _ => Ok(NextSync::Done),
        }
    }

    /// A claim is seen for the first time.
    async fn begin(&self, claim: &Arc<PersistentVolumeClaim>) -> Result<NextSync, Error> {
        let Some(class) = request::class(claim) else {
            return Err(Error::Refused("the claim has no StorageClass".to_owned()));
        };
        let class = match answer(self.class_api.get_opt(class)).await {
            Ok(Some(found)) => found,
            Ok(None) => {
                return Err(Error::Waits(format!(
                    "StorageClass {class} does not exist. Next step: create it, or delete the claim"
                )));
            }
            Err(source) => return Err(Error::Write { what: "the question for the StorageClass", source }),
        };
        // The watch may lag after a restart: a claim gets one volume.
        let name = intent::name(&claim.uid().unwrap_or_default());
        let found = answer(self.plain_volume_api.get_opt(&name)).await;
        if found.map_err(|source| Error::Write { what: "the question for the PersistentVolume", source })?.is_some() {
            return Ok(NextSync::After(LAG));
        }
        let described = self.cloud.description();
        let (csi_nodes, nodes) = (self.csi_nodes.all(), self.nodes.all());
        let has_place = claim.annotations().contains_key(SELECTED_NODE)
            || class.allowed_topologies.as_ref().is_some_and(|it| !it.is_empty());
        if !has_place {
            self.ask_for_places(&csi_nodes, &nodes).await?;
        }
        let places = self.places(&csi_nodes, &nodes);
        match request::intent(claim, &class, &places, &described, &self.options.cluster_name) {
            Ok(intent) => {
                let message = format!(
                    "External provisioner is provisioning volume for claim \"{}/{}\"",
                    claim.namespace().unwrap_or_default(),
                    claim.name_any()
                );
                self.events.tell(reference(claim.as_ref()), EventKind::Normal, "Provisioning", &message);
                self.create(claim, intent).await
            }
            Err(ClaimRefusal::NotOurs) => Ok(NextSync::Done),
            Err(ClaimRefusal::Populated) => {
                let message = "Assuming an external populator will provision the volume";
                self.events.tell(reference(claim.as_ref()), EventKind::Normal, "Provisioning", message);
                Ok(NextSync::Done)
            }
            Err(ClaimRefusal::Refused(why)) => Err(Error::Refused(why)),
            Err(ClaimRefusal::Waits(why)) => Err(Error::Waits(why)),
            Err(ClaimRefusal::Reschedule(why)) => {
                self.give_back(claim, &why).await?;
                Ok(NextSync::Done)
            }
        }
    }

    /// One step towards the volume. The intent is kept before the first call.
    async fn create(&self, claim: &Arc<PersistentVolumeClaim>, mut intent: Intent) -> Result<NextSync, Error> {
        self.cloud.check().await.map_err(Error::Cloud)?;
        if intent.is_inherited {
            // The watch may lag: what is made must not be looked at as what is being made.
            let found = answer(self.plain_volume_api.get_opt(&intent.desired.name)).await;
            let found =
                found.map_err(|source| Error::Write { what: "the question for the PersistentVolume", source })?;
            if found.is_some() {
                return self.forget(&intent).await.map(|()| NextSync::Done);
            }
            intent.is_inherited = false;
        }
        if !intent.is_kept {
            intent = self.keep(intent).await?;
            self.requested.add_new(Instant::now());
        }
        let is_first = !intent.is_called;
        let words = intent.begin_call();
        self.remember(&intent);
        self.refused.lock().remove(intent.uid());
        let call = async {
            let call = timeout(CALL, self.cloud.create(&words, is_first)).await;
            call.unwrap_or_else(|_| Err(late()).into())
        };
        let operation = VolumeOperation {
            method: CsiMethod::Create,
            object: &intent.desired.name,
            is_migrated: claim.annotations().contains_key(MIGRATED_TO),
        };
        let Reply { answer, events, .. } = self.operations.timed(operation, call).await;
        self.events.record(&intent.desired.name, &reference(claim.as_ref()), events);
        let created = match answer {
            Err(error @ CloudError::Invalid(_)) => return self.refuse(claim, intent, is_first, error).await,
            answer => answer.map_err(Error::Cloud)?,
        };
        match created {
            VolumeCreation::Ready(made) => {
                self.take_handle(&intent.desired.name, &made.handle)?;
                if intent.is_retained() && intent.made.as_ref() != Some(&made.handle) {
                    intent.made = Some(made.handle.clone());
                    match self.keep_change(&intent).await {
                        // Without its ConfigMap no later process knows of the intent.
                        Err(Error::Write { source, .. }) if source.is_gone() => {}
                        kept => kept?,
                    }
                    self.remember(&intent);
                }
                self.save(&intent.persistent_volume(&made, &self.process)).await?;
                self.saved.lock().insert(intent.desired.name.clone());
                if self.volumes.get(&intent.desired.name).is_some() {
                    self.saved.lock().remove(&intent.desired.name);
                }
                self.metrics.made(intent.class(), intent.begun.elapsed());
                info!(
                    claim = intent.desired.owner.name,
                    volume = intent.desired.name,
                    handle = made.handle,
                    "the volume is there"
                );
                let message = format!("Successfully provisioned volume {}", intent.desired.name);
                self.events.tell(reference(claim.as_ref()), EventKind::Normal, "ProvisioningSucceeded", &message);
                self.forget(&intent).await.map(|()| NextSync::Done)
            }
            VolumeCreation::Pending(pending) => self.postpone(intent, pending).await,
            VolumeCreation::NoRoom(why) if intent.selected_node.is_some() => {
                let why = format!("no room in the place of the selected node: {why}");
                self.events.warn_once(&intent.desired.name, &reference(claim.as_ref()), "ProvisioningFailed", &why);
                intent.is_returned = true;
                if is_first {
                    // No other call may have sent anything.
                    return self.give_back_abandoned(claim, &intent).await;
                }
                self.take_back(intent).await
            }
            VolumeCreation::NoRoom(why) if intent.desired.places.len() > 1 => {
                debug!(volume = intent.desired.name, why, "no room in the volume's best place");
                if is_first {
                    return self.move_on(intent, &why).await;
                }
                intent.is_moved = true;
                self.take_back(intent).await
            }
            VolumeCreation::NoRoom(why) => Err(Error::Waits(format!("no room in the volume's place: {why}"))),
        }
    }

    /// The provider calls invalid what claim and class ask for. A person makes one of them right, so that it begins with what they say then.
    async fn refuse(
        &self,
        claim: &Arc<PersistentVolumeClaim>,
        mut intent: Intent,
        is_first: bool,
        error: CloudError,
    ) -> Result<NextSync, Error> {
        self.refused.lock().insert(intent.uid().to_owned());
        let error = Error::Cloud(error);
        if is_first {
            // No other call may have sent anything.
            self.forget(&intent).await?;
            return Err(error);
        }
        let text = chain(&error);
        self.events.warn_once(&intent.desired.name, &reference(claim.as_ref()), "ProvisioningFailed", &text);
        intent.is_refused = true;
        self.take_back(intent).await
    }

    /// Gives a volume up for which a claim waits.
    async fn take_back(&self, intent: Intent) -> Result<NextSync, Error> {
        self.keep_change(&intent).await?;
        self.remember(&intent);
        self.let_go(intent).await
    }

    /// Takes the selected node off the claim, so that the scheduler chooses again.
    pub(super) async fn give_back(&self, claim: &Arc<PersistentVolumeClaim>, why: &str) -> Result<(), Error> {
        let mut desired = (**claim).clone();
        desired.metadata.annotations.get_or_insert_default().remove(SELECTED_NODE);
        let api = Api::namespaced(self.client.clone(), &claim.namespace().unwrap_or_default());
        match object::update(&api, &**claim, &desired, ObjectPart::Object).await {
            Ok(_) => {
                info!(claim = claim.name_any(), why, "the claim goes back to the scheduler");
                Ok(())
            }
            Err(error) if error.is_gone() => Ok(()),
            Err(source) => Err(Error::Write { what: "the claim, which goes back to the scheduler", source }),
        }
    }

    /// Keeps the memo, and comes back.
    pub(super) async fn postpone(&self, mut intent: Intent, pending: PendingVolume) -> Result<NextSync, Error> {
        let PendingVolume { memo, after, reason } = pending;
        debug!(volume = intent.desired.name, reason, "the volume is not there yet, or not gone yet");
        if intent.desired.memo != memo {
            intent.renew_memo(memo);
            self.keep_change(&intent).await?;
            self.remember(&intent);
        }
        Ok(NextSync::After(after))
    }

    /// Keeps an intent that was not kept yet. One of the same claim that is there already counts.
    async fn keep(&self, mut intent: Intent) -> Result<Intent, Error> {
        let config_map = written(&intent)?;
        match answer(self.intent_api.create(&PostParams::default(), &config_map)).await {
            Ok(_) => {
                intent.is_kept = true;
                Ok(intent)
            }
            Err(object::Error::Refused(status)) if status.reason == "AlreadyExists" => {
                let found = answer(self.intent_api.get(&intent.config_map_name())).await;
                let found = found.map_err(|source| Error::Write { what: "the intent", source })?;
                let kept = Intent::kept(&found, &self.driver());
                kept.ok_or_else(|| {
                    Error::Refused(format!(
                        "the ConfigMap {}/{} is in the place of the intent to make this volume, and is none: delete it",
                        NAMESPACE,
                        intent.config_map_name()
                    ))
                })
            }
            Err(source) => Err(Error::Write { what: "the intent to make the volume", source }),
        }
    }

    /// Writes a change of an intent that is kept.
    pub(super) async fn keep_change(&self, intent: &Intent) -> Result<(), Error> {
        let config_map = written(intent)?;
        let patch = Patch::Merge(serde_json::json!({ "data": config_map.data }));
        match answer(self.intent_api.patch(&intent.config_map_name(), &PatchParams::default(), &patch)).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_gone() => self.write_again(intent, &config_map).await,
            Err(source) => Err(Error::Write { what: "the change of the intent to make the volume", source }),
        }
    }

    /// The ConfigMap of an intent was deleted: it is written again, unless the intent is settled by now, as the API server says.
    async fn write_again(&self, intent: &Intent, config_map: &ConfigMap) -> Result<(), Error> {
        let name = &intent.desired.name;
        let found = answer(self.plain_volume_api.get_opt(name)).await;
        if found.map_err(|source| Error::Write { what: "the question for the PersistentVolume", source })?.is_some() {
            return Ok(());
        }
        match answer(self.intent_api.create(&PostParams::default(), config_map)).await {
            Ok(_) => {
                warn!(
                    volume = name,
                    "the ConfigMap with the intent to make this volume was deleted, and is written again"
                );
                Ok(())
            }
            Err(source) => Err(Error::Write { what: "the intent to make the volume, which was deleted", source }),
        }
    }

    /// The intent is settled: it goes.
    pub(super) async fn forget(&self, intent: &Intent) -> Result<(), Error> {
        let deleted = answer(self.intent_api.delete(&intent.config_map_name(), &DeleteParams::default())).await;
        match deleted {
            Ok(_) => {}
            Err(error) if error.is_gone() => {}
            Err(source) => return Err(Error::Write { what: "the end of the intent to make the volume", source }),
        }
        self.intents.lock().remove(intent.uid());
        self.abandoned.lock().remove(intent.uid());
        self.operations.forget(&intent.desired.name);
        Ok(())
    }

    pub(super) fn remember(&self, intent: &Intent) {
        self.intents.lock().insert(intent.uid().to_owned(), intent.clone());
    }

    /// Takes a volume for a PersistentVolume before that is saved. Two that have one volume would let two pods write to one filesystem.
    fn take_handle(&self, name: &str, handle: &str) -> Result<(), Error> {
        let mut handles = self.handles.lock();
        let taken = handles.iter().find(|(other, taken)| *other != name && *taken == handle);
        let other = taken.map(|(other, _)| other.clone());
        let all = self.volumes.all();
        match other.or_else(|| plan::other(all.iter().map(|it| &**it), name, handle, &self.driver())) {
            Some(other) => Err(Error::Refused(format!(
                "the provider says that volume {handle} was made for this claim, and PersistentVolume {other} has it: no claim gets the \
                 volume of another. Next step: look at it in the cloud; where it is this claim's, take PersistentVolume {other} away with \
                 the policy Retain, and else tell the provider's vendor"
            ))),
            None => {
                handles.insert(name.to_owned(), handle.to_owned());
                Ok(())
            }
        }
    }

    /// Saves the PersistentVolume of a claim. One that is there already is the claim's, or an error.
    async fn save(&self, volume: &k8s_openapi::api::core::v1::PersistentVolume) -> Result<(), Error> {
        let what = "the PersistentVolume";
        match answer(self.plain_volume_api.create(&PostParams::default(), volume)).await {
            Ok(_) => Ok(()),
            Err(object::Error::Refused(status)) if status.reason == "AlreadyExists" => {
                let found = answer(self.plain_volume_api.get(&volume.name_any())).await;
                let found = found.map_err(|source| Error::Write { what, source })?;
                // The claim had none when this one was begun, and the watch may not have shown it.
                if let Some(uid) = hand::of_vendor(&found, &self.process, &self.driver()) {
                    self.saw_a_hand(&found, uid);
                }
                let handle = |saved: &k8s_openapi::api::core::v1::PersistentVolume| {
                    saved.spec.as_ref().and_then(|it| it.csi.as_ref()).map(|it| it.volume_handle.clone())
                };
                match handle(&found) == handle(volume) {
                    true => Ok(()),
                    false => Err(Error::Refused(format!(
                        "there is a PersistentVolume {} of another volume than {}, which was made: delete one of the two",
                        volume.name_any(),
                        handle(volume).unwrap_or_default()
                    ))),
                }
            }
            Err(source) => Err(Error::Write { what, source }),
        }
    }
}

fn written(intent: &Intent) -> Result<ConfigMap, Error> {
    intent.config_map().map_err(|error| Error::Refused(format!("the intent cannot be written: {error}")))
}

impl Reconcile for VolumeProvisioner {
    type Error = Error;

    async fn sync(&self, key: &str) -> Result<NextSync, Error> {
        self.vendor.check()?;
        match (key.strip_prefix(CLAIM), key.strip_prefix(VOLUME)) {
            (Some(uid), _) => self.sync_claim(uid).await,
            (_, Some(name)) => self.sync_volume(name).await,
            _ => Ok(NextSync::Done),
        }
    }

    // In the log, and on the claim or the volume.
    fn show(&self, key: &str, error: &Error, _: u32) {
        let text = chain(error);
        if matches!(error, Error::Vendor(_)) {
            // It is told once, and not of each claim.
            debug!("'{key}' waits: {text}");
            return;
        }
        if let Some(uid) = key.strip_prefix(CLAIM) {
            // A claim names classes that are not there as well, each of which would be one more series.
            let class = self.intents.lock().get(uid).map(|it| it.class().to_owned());
            self.metrics.not_made(&class.unwrap_or_default());
        }
        warn!(next = error.next(), "error syncing '{key}': {text}, requeuing");
        if !error.is_shown() {
            return;
        }
        let (about, reason) = if let Some(uid) = key.strip_prefix(CLAIM) {
            let intent = self.intents.lock().get(uid).map(Intent::claim);
            (self.claim(uid).map(|it| reference(it.as_ref())).or(intent), "ProvisioningFailed")
        } else {
            let volume = key.strip_prefix(VOLUME).and_then(|it| self.volumes.get(it));
            volume.iter().for_each(|it| self.metrics.not_deleted(plan::class(it)));
            (volume.map(|it| reference(it.as_ref())), "VolumeFailedDelete")
        };
        let is_withheld = matches!(error, Error::Withheld(_));
        let reason = if is_withheld { "VolumeDeletionWithheld" } else { reason };
        let is_told = about.is_some_and(|it| self.events.warn_once(key, &it, reason, &text));
        if is_told && is_withheld {
            self.metrics.withheld.inc();
        }
    }

    fn pause(&self, error: &Error, failures: u32) -> Pause {
        error.pause(failures)
    }

    fn back_off(&self) -> BackOff {
        volume_error::BACK_OFF
    }
}
