//! The list of volumes, read now and then for those that nothing in the cluster has.

use std::sync::Arc;

use cloud_provider::{CloudVolume, Error as CloudError};
use k8s_openapi::api::core::v1::{Namespace, PersistentVolume};
use kube::api::Api;
use tokio::time::Instant;
use tracing::{debug, warn};

use super::orphans::{self, VolumeOwners};
use super::{VolumeProvisioner, intent, plan};
use crate::error::chain;
use crate::events::{CLUSTER, EventKind, cluster};
use crate::object::answer;
use crate::volume_lists::{self, PAGES, REST};
use crate::worker::random;

/// Lists say so for this part of the period at least before an orphan is told of.
const TOLD_AFTER: f64 = 0.9;
/// The reason of these events.
const REASON: &str = "OrphanedVolume";

impl VolumeProvisioner {
    /// Looks for orphans from time to time.
    pub(super) async fn look_for_orphans(self: Arc<Self>) {
        loop {
            tokio::time::sleep(self.options.orphan_period.mul_f64(1.0 + random() / 10.0)).await;
            if self.cloud.description().list_page_size == 0 {
                continue;
            }
            match self.listed().await {
                Ok(Some(volumes)) => self.tell_of_orphans(&volumes).await,
                // That it lacks some would let those be forgotten that are orphans.
                Ok(None) => debug!("the list of volumes is not complete: nothing is said of orphans"),
                Err(error) => debug!(error = chain(&error), "the list of volumes cannot be read"),
            }
        }
    }

    /// All volumes; `None` if the list may lack some.
    async fn listed(&self) -> Result<Option<Vec<CloudVolume>>, CloudError> {
        let (mut all, mut cursor) = (Vec::new(), None);
        for number in 0..PAGES {
            if number > 0 {
                tokio::time::sleep(REST).await;
            }
            let page = volume_lists::page(&*self.cloud, cursor.take()).await?;
            if page.incomplete.is_some() {
                return Ok(None);
            }
            all.extend(page.volumes);
            cursor = page.next;
            if cursor.is_none() {
                return Ok(Some(all));
            }
        }
        Ok(None)
    }

    async fn tell_of_orphans(&self, volumes: &[CloudVolume]) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let cluster_uid = match answer(namespaces.get(CLUSTER)).await {
            Ok(found) => found.metadata.uid.unwrap_or_default(),
            Err(error) => {
                debug!(error = chain(&error), "the cluster's UID cannot be read: nothing is said of orphans");
                return;
            }
        };
        let driver = self.driver();
        let all = self.volumes.all();
        let mut owners = VolumeOwners {
            cluster_uid,
            handles: all.iter().filter_map(|it| plan::handle(it, &driver)).map(str::to_owned).collect(),
            claims: self.names.lock().keys().cloned().collect(),
            made: all.iter().filter_map(|it| made_for(it, &driver)).collect(),
        };
        owners.claims.extend(self.intents.lock().keys().cloned());
        let age = self.options.orphan_period.mul_f64(TOLD_AFTER);
        let (news, count) = {
            let mut orphans = self.orphans.lock();
            (orphans.look(volumes, &owners, age, Instant::now()), orphans.count())
        };
        self.metrics.orphans.set(i64::try_from(count).unwrap_or(i64::MAX));
        for volume in news {
            let text = orphans::text(volume, &owners);
            warn!("{text}");
            self.events.tell(cluster(), EventKind::Warning, REASON, &text);
        }
    }
}

/// The UID of the claim that a PersistentVolume of this driver was made for, and the handle of its volume.
fn made_for(volume: &PersistentVolume, driver: &str) -> Option<(String, String)> {
    let name = volume.metadata.name.as_ref()?;
    Some((intent::uid(name)?.to_owned(), plan::handle(volume, driver)?.to_owned()))
}
