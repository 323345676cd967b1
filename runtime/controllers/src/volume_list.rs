//! The list of a cloud's volumes, page by page.

use std::time::Duration;

use cloud_provider::{CloudVolumes, Error as CloudError, VolumePage};
use tokio::time::timeout;

use crate::cloud_call::{CALL, late};

/// How long it rests between two pages of the list.
pub(crate) const REST: Duration = Duration::from_secs(3);
/// The most pages of one list.
pub(crate) const PAGES: usize = 1_000;

/// One page of the list.
///
/// # Errors
///
/// The cloud's; or it took too long.
pub(crate) async fn page(cloud: &dyn CloudVolumes, cursor: Option<String>) -> Result<VolumePage, CloudError> {
    let asked = cloud.list(cursor, cloud.description().list_page_size);
    timeout(CALL, asked).await.unwrap_or_else(|_| Err(late()).into()).answer
}
