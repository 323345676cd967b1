//! The watches: what of claims, PersistentVolumes, CSINodes and attachments puts a key into the queue.

use std::mem::discriminant;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::{CSINode, VolumeAttachment};
use kube::ResourceExt as _;
use kube::api::Api;
use kube::runtime::watcher::Event;

use super::plan::{self, VolumeStep};
use super::{CLAIM, VOLUME, VolumeProvisioner, placement, request};
use crate::migrated;
use crate::trimmed::Trimmed;
use crate::watch;
use crate::watched::WatchWriter;

impl VolumeProvisioner {
    pub(super) async fn watch_claims(self: Arc<Self>, mut writer: WatchWriter<PersistentVolumeClaim>) {
        let apply = |event: Event<PersistentVolumeClaim>| {
            for change in self.claims.apply(event, &mut writer) {
                let uid = |claim: &Option<Arc<PersistentVolumeClaim>>| claim.as_ref().and_then(|it| it.uid());
                let (before, now) = (uid(&change.before), uid(&change.after));
                // A worker may be about to begin.
                let waited = change.before.is_some_and(|it| request::is_ours(&it, &self.driver()));
                if let Some(gone) = before.filter(|it| now.as_ref() != Some(it)) {
                    self.names.lock().remove(&gone);
                    self.refused.lock().remove(&gone);
                    if waited || self.is_begun(&gone) {
                        self.queue.add(&format!("{CLAIM}{gone}"));
                    }
                }
                let (Some(claim), Some(uid)) = (change.after, now) else { continue };
                let (key, waits) = (format!("{CLAIM}{uid}"), request::is_ours(&claim, &self.driver()));
                let (is_begun, is_refused) = (self.is_begun(&uid), self.refused.lock().contains(&uid));
                self.names
                    .lock()
                    .insert(uid, format!("{}/{}", claim.namespace().unwrap_or_default(), claim.name_any()));
                match (is_begun, waits) {
                    // Its volume is as it was when it was begun: what its author changes is worth no call.
                    (true, true) => self.queue.add_if_idle(&key),
                    (false, false) if !waited => {}
                    // Each attempt is a call, and its author changes it as often as he likes.
                    (false, true) if is_refused && !self.changes.wake(&key) => {}
                    _ => self.queue.add(&key),
                }
            }
        };
        match watch::follow(self.claim_api.clone(), "PersistentVolumeClaims", "the API server", watch::LASTS, apply)
            .await {}
    }

    pub(super) async fn watch_volumes(self: Arc<Self>, mut writer: WatchWriter<PersistentVolume>) {
        let apply = |event: Event<PersistentVolume>| {
            for change in self.volumes.apply(migrated::shown(event, &self.cloud.description()), &mut writer) {
                let Some(after) = change.after else {
                    if let Some(before) = change.before {
                        self.counted.lock().remove(&before.name_any());
                        self.operations.forget(&before.name_any());
                        self.placed.lock().gone(&before);
                        self.handles.lock().remove(&before.name_any());
                    }
                    continue;
                };
                if change.before.is_none() {
                    self.look_for_a_hand(&after);
                }
                let is_unplaced = |it: &PersistentVolume| placement::is_unplaced(it, &self.cloud.description());
                if is_unplaced(&after) && !change.before.as_deref().is_some_and(is_unplaced) {
                    self.unplaced.notify_one();
                }
                self.saved.lock().remove(&after.name_any());
                self.handles.lock().remove(&after.name_any());
                let step = |it: &PersistentVolume| plan::volume(it, &[], &self.driver());
                let (key, next) = (format!("{VOLUME}{}", after.name_any()), step(&after));
                match change.before.map(|it| step(&it)) {
                    _ if next == VolumeStep::Ignore => {}
                    // As the host's own memo: nothing that the cloud would have to be asked about before it is time.
                    Some(before) if discriminant(&before) == discriminant(&next) => self.queue.add_if_idle(&key),
                    _ => self.queue.add(&key),
                }
            }
        };
        match watch::follow(self.volume_api.clone(), "PersistentVolumes", "the API server", watch::LASTS, apply).await {}
    }

    pub(super) async fn watch_csi_nodes(self: Arc<Self>, mut writer: WatchWriter<CSINode>) {
        let apply = |event: Event<CSINode>| {
            let changes = self.csi_nodes.apply(event, &mut writer);
            let driver = self.driver();
            let entry = |node: &Option<Arc<CSINode>>| {
                node.as_ref().and_then(|it| it.spec.drivers.iter().find(|it| it.name == driver).cloned())
            };
            if changes.iter().any(|it| entry(&it.before) != entry(&it.after)) {
                self.nodes_changed.notify_one();
            }
        };
        let api: Api<Trimmed<CSINode>> = Api::all(self.client.clone());
        match watch::follow(api, "CSINodes", "the API server", watch::LASTS, apply).await {}
    }

    pub(super) async fn watch_attachments(self: Arc<Self>, mut writer: WatchWriter<VolumeAttachment>) {
        let apply = |event: Event<VolumeAttachment>| {
            for change in self.attachments.apply(event, &mut writer) {
                let gone = change.before.filter(|_| change.after.is_none());
                if let Some(volume) = gone.and_then(|it| it.spec.source.persistent_volume_name.clone()) {
                    self.queue.add(&format!("{VOLUME}{volume}"));
                }
            }
        };
        let api: Api<Trimmed<VolumeAttachment>> = Api::all(self.client.clone());
        match watch::follow(api, "VolumeAttachments", "the API server", watch::LASTS, apply).await {}
    }
}
