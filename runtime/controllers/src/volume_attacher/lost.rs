//! Volumes that somebody has taken from their machines: the list of volumes raises a suspicion, and only where the API server still has the
//! attachment as it was, and the cloud says of the volume alone the same, is that said on it. It is attached again then as any other.

use std::sync::Arc;

use cloud_provider::Error as CloudError;
use serde_json::json;
use tokio::time::{Instant, timeout};
use tracing::{debug, warn};

use super::VolumeAttacher;
use super::drift::{self, SaidAttachment};
use super::plan;
use crate::cloud_call::CALL;
use crate::error::chain;
use crate::volume_error::Error;
use crate::volume_lists::{PAGES, REST};
use crate::worker::random;

/// The reason of the event.
const REASON: &str = "VolumeLeftMachine";

impl VolumeAttacher {
    /// Looks from time to time whether attached volumes are where they were attached.
    pub(super) async fn look_after_attached(self: Arc<Self>) {
        loop {
            tokio::time::sleep(self.options.look_period.mul_f64(1.0 + random() / 10.0)).await;
            if let Err(error) = self.look_at_attached().await {
                debug!(
                    error = chain(&error),
                    "the list of volumes cannot be read: nothing is known of those that are attached"
                );
            }
        }
    }

    async fn look_at_attached(&self) -> Result<(), CloudError> {
        let driver = self.driver();
        let is_needless = plan::is_needless(self.csi_drivers.get(&driver).as_deref());
        if self.cloud.description().list_page_size == 0 || is_needless || self.vendor.check().is_err() {
            return Ok(());
        }
        // Before the list is read: it may lack what is attached meanwhile.
        let attached = self.attachments.all().into_iter();
        let all: Vec<_> = attached.filter_map(|it| drift::said(&it, self.volume_of(&it).as_deref(), &driver)).collect();
        if all.is_empty() {
            return Ok(());
        }
        let (mut cursor, mut suspects) = (None, Vec::new());
        for number in 0..PAGES {
            if number > 0 {
                tokio::time::sleep(REST).await;
            }
            let page = self.lists.page(cursor.take()).await?;
            suspects.extend(drift::suspects(&all, &page.volumes).into_iter().cloned());
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        if !drift::is_plausible(suspects.len(), all.len()) {
            warn!(
                suspects = suspects.len(),
                attached = all.len(),
                "the list of volumes has so many of them at other machines than they were attached to that it is not believed"
            );
            return Ok(());
        }
        for (at, said) in suspects.iter().enumerate() {
            if at > 0 {
                tokio::time::sleep(REST).await;
            }
            if let Err(error) = self.look_at(said).await {
                debug!(error = chain(&error), attachment = said.name, "it is looked at again after the next list");
            }
        }
        Ok(())
    }

    /// Asks the API server about the attachment, and then the cloud about the volume alone. Says that it is not attached, if that is so and nobody
    /// has changed the attachment since.
    async fn look_at(&self, said: &SaidAttachment) -> Result<(), Error> {
        let Some(known) = self.attachments.get(&said.name) else { return Ok(()) };
        let Some(live) = self.live(&known).await? else { return Ok(()) };
        if drift::said(&live, self.volume_of(&live).as_deref(), &self.driver()).as_ref() != Some(said) {
            return Ok(());
        }
        let asked = timeout(CALL, self.cloud.get(std::slice::from_ref(&said.handle))).await;
        let answer = asked.ok().and_then(|mut it| it.answer.pop());
        let has_left = matches!(&answer, Some(Ok(Some(volume))) if drift::has_left(volume, said));
        if !has_left {
            return Ok(());
        }
        let metadata = json!({ "uid": live.metadata.uid, "resourceVersion": live.metadata.resource_version });
        self.patch_status(&live, metadata, json!({ "attached": false, "attachmentMetadata": null })).await?;
        self.full.lock().has_left(&said.node_id, Instant::now());
        let text = format!(
            "volume {} is not at machine {} any more, where it was attached, and nothing here has detached it: it is attached again",
            said.handle, said.node_id
        );
        warn!(attachment = said.name, "{text}");
        self.events.warn_once(&said.name, &self.about(&live), REASON, &text);
        Ok(())
    }
}
