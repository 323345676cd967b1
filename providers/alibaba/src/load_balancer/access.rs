//! The list of access that lets in the ranges of a Service.

use aerostat_sdk::LoadBalancer;

use super::marks::{CLUSTER_UID, SERVICE_UID};
use crate::api::AcsRefusal;
use crate::api::access_lists::{self as lists, SlbAccessList};

/// The lists of one Service.
pub(super) struct ServiceAccess<'a> {
    pub(super) region: &'a str,
    pub(super) service: &'a LoadBalancer,
    pub(super) cluster_uid: &'a str,
}

impl ServiceAccess<'_> {
    fn tags(&self) -> [(&str, &str); 2] {
        [(CLUSTER_UID, self.cluster_uid), (SERVICE_UID, &self.service.owner.uid)]
    }

    /// The Service's lists, by our tags.
    pub(super) fn all(&self) -> Result<Vec<String>, AcsRefusal> {
        let [cluster, service] = self.tags();
        let has = |list: &SlbAccessList, (key, value): (&str, &str)| {
            list.tags.iter().any(|(own, text)| own == key && text == value)
        };
        let found = lists::tagged(self.region, service)?;
        Ok(found.into_iter().filter(|it| has(it, cluster) && has(it, service)).map(|it| it.id).collect())
    }

    /// One of these with exactly these ranges, or a new one. First lets in what is missing.
    pub(super) fn write(&self, all: &[String], ranges: &[String]) -> Result<String, AcsRefusal> {
        let (id, live) = match all.first() {
            Some(id) => (id.clone(), lists::ranges(self.region, id)?),
            None => {
                let name = format!("k8s-{}", self.service.name);
                (lists::create(self.region, &name, &self.tags())?, Vec::new())
            }
        };
        let without = |all: &[String], others: &[String]| -> Vec<String> {
            all.iter().filter(|it| !others.contains(it)).cloned().collect()
        };
        lists::change(self.region, &id, "AddAccessControlListEntry", &without(ranges, &live))?;
        lists::change(self.region, &id, "RemoveAccessControlListEntry", &without(&live, ranges))?;
        Ok(id)
    }

    /// Deletes those that no listener needs any more.
    pub(super) fn remove(&self, all: &[String], used: Option<&String>) -> Result<(), AcsRefusal> {
        all.iter().filter(|it| Some(*it) != used).try_for_each(|id| lists::delete(self.region, id))
    }
}
