//! Why an attachment is not as it should be: in its status, and in events about what a person looks at.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use tracing::warn;

use super::{VolumeAttacher, plan};
use crate::error::chain;
use crate::events::reference;
use crate::volume_error::Error;

impl VolumeAttacher {
    /// Shows why it is not attached, or not detached: kube-controller-manager tells it to the pod. Whether it is attached is not said
    /// with it, since the watch may lag behind that.
    pub(super) async fn say_error(&self, name: &str, error: &Error) {
        let Some(attachment) = self.attachments.get(name) else { return };
        let text = chain(error);
        self.events.warn_once(name, &self.about(&attachment), reason_of(&attachment), &error.event_text());
        let Some(status) = plan::error_status(&attachment, &text, matches!(error, Error::Full(_)), Timestamp::now())
        else {
            return;
        };
        if let Err(error) = self.write_status(&attachment, status).await {
            warn!(
                error = chain(&error),
                attachment = name,
                "the error cannot be shown in the VolumeAttachment's status"
            );
        }
    }

    /// The object that a person looks at: the claim of the volume, else the volume, else the attachment.
    pub(super) fn about(&self, attachment: &VolumeAttachment) -> ObjectReference {
        let volume = self.volume_of(attachment);
        let claim = volume.as_ref().and_then(|it| it.spec.as_ref()?.claim_ref.clone());
        match (claim, volume.filter(|it| it.metadata.name.is_some())) {
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

/// The reason of events about an attachment that is not as it should be.
pub(super) fn reason_of(attachment: &VolumeAttachment) -> &'static str {
    match attachment.metadata.deletion_timestamp.is_some() {
        true => "VolumeFailedDetach",
        false => "VolumeFailedAttach",
    }
}
