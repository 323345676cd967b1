//! One list of volumes in the place of a question about each object that the cloud is at work on.

mod pending;

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{CloudVolumes, Error as CloudError, VolumePage};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::timeout;
use tracing::debug;

use self::pending::PendingObjects;
pub(crate) use self::pending::{Awaited, REST};
use crate::cloud_call::{CALL, late};
use crate::error::{LONGEST_RETRY_AFTER, chain};

/// The most pages of one list.
pub(crate) const PAGES: usize = 1_000;

/// The objects of one controller that the cloud is at work on, and the list that is read for them.
pub(crate) struct VolumeLists<T> {
    cloud: Arc<dyn CloudVolumes>,
    pending: Mutex<PendingObjects<T>>,
    /// An object waits for the list.
    is_awaited: Notify,
}

impl<T: Awaited> VolumeLists<T> {
    pub(crate) fn new(cloud: Arc<dyn CloudVolumes>) -> Self {
        Self { cloud, pending: Mutex::new(PendingObjects::default()), is_awaited: Notify::new() }
    }

    /// An object is asked about now.
    pub(crate) fn asked(&self, object: &str) {
        self.pending.lock().asked(object);
    }

    /// The cloud is not at work on an object any more.
    pub(crate) fn remove(&self, object: &str) {
        self.pending.lock().remove(object);
    }

    /// The cloud is at work on an object, and would be asked about it after this time. Returns when it is.
    pub(crate) fn await_it(&self, object: &str, awaited: T, after: Duration) -> Duration {
        if self.cloud.description().list_page_size == 0 {
            return after;
        }
        let Some(longest) = self.pending.lock().put(object, awaited) else { return after };
        self.is_awaited.notify_one();
        after.max(longest)
    }

    /// Reads the list as long as objects wait for it, and names those that it shows as done.
    pub(crate) async fn follow(&self, is_done: impl Fn(&str) + Send + Sync) {
        loop {
            self.is_awaited.notified().await;
            while self.is_any_listed() {
                self.rest().await;
                if let Err(error) = self.read(&is_done).await {
                    debug!(error = chain(&error), "the list of volumes cannot be read: each of them is asked about");
                    if let CloudError::RetryAfter { after, .. } = error {
                        tokio::time::sleep(after.min(LONGEST_RETRY_AFTER)).await;
                    }
                }
            }
        }
    }

    fn is_any_listed(&self) -> bool {
        self.pending.lock().is_any_listed()
    }

    /// Reads the whole list.
    async fn read(&self, is_done: &(impl Fn(&str) + Send + Sync)) -> Result<(), CloudError> {
        let (mut cursor, mut pages) = (None, 0);
        loop {
            let page = self.page(cursor.take()).await?;
            pages += 1;
            let done = self.pending.lock().done(&page.volumes);
            done.iter().for_each(|it| is_done(it));
            cursor = page.next;
            if cursor.is_none() || pages == PAGES {
                self.pending.lock().read(pages);
                return Ok(());
            }
            self.rest().await;
        }
    }

    /// Rests before the next page.
    async fn rest(&self) {
        let rest = self.pending.lock().rest();
        tokio::time::sleep(rest).await;
    }

    /// One page of the list of volumes.
    pub(crate) async fn page(&self, cursor: Option<String>) -> Result<VolumePage, CloudError> {
        page(&*self.cloud, cursor).await
    }
}

/// One page of a cloud's list of volumes.
pub(crate) async fn page(cloud: &dyn CloudVolumes, cursor: Option<String>) -> Result<VolumePage, CloudError> {
    let asked = cloud.list(cursor, cloud.description().list_page_size);
    timeout(CALL, asked).await.unwrap_or_else(|_| Err(late()).into()).answer
}
