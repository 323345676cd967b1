//! One list of volumes in the place of a question about each attachment that the cloud is at work on.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::Error as CloudError;
use tracing::debug;

use super::plan::VolumeTarget;
use super::{ATTACHMENT, VolumeAttacher};
use crate::error::{LONGEST_RETRY_AFTER, chain};
use crate::volume_list::{self, PAGES, REST};

impl VolumeAttacher {
    /// The cloud is at work on an attachment, and would be asked about it after this time. Returns when it is.
    pub(super) fn await_it(&self, attachment: &str, target: VolumeTarget, goes: bool, after: Duration) -> Duration {
        if self.cloud.description().list_page_size == 0 {
            return after;
        }
        let Some(longest) = self.pending.lock().put(attachment, target, goes) else { return after };
        self.is_awaited.notify_one();
        after.max(longest)
    }

    /// Reads the list as long as attachments wait for it.
    pub(super) async fn read_lists(self: Arc<Self>) {
        loop {
            self.is_awaited.notified().await;
            while self.pending.lock().is_any_listed() {
                tokio::time::sleep(REST).await;
                if let Err(error) = self.read_list().await {
                    debug!(error = chain(&error), "the list of volumes cannot be read: each attachment is asked about");
                    if let CloudError::RetryAfter { after, .. } = error {
                        tokio::time::sleep(after.min(LONGEST_RETRY_AFTER)).await;
                    }
                }
            }
        }
    }

    /// Reads the whole list, and has a look at what it shows as done.
    async fn read_list(&self) -> Result<(), CloudError> {
        let (mut cursor, mut pages) = (None, 0);
        loop {
            let page = volume_list::page(&*self.cloud, cursor.take()).await?;
            pages += 1;
            let done = self.pending.lock().done(&page.volumes);
            done.iter().for_each(|it| self.queue.add(&format!("{ATTACHMENT}{it}")));
            cursor = page.next;
            if cursor.is_none() || pages == PAGES {
                self.pending.lock().read(pages);
                return Ok(());
            }
            tokio::time::sleep(REST).await;
        }
    }
}
