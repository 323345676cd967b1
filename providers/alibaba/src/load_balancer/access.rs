//! The list of access that lets in the ranges of a Service.

use std::time::Duration;

use aerostat_sdk::backend::Creation;
use aerostat_sdk::{LoadBalancer, clock};

use super::announced::AccessMemo;
use super::marks::{CLUSTER_UID, SERVICE_UID};
use crate::api::access_lists::{self as lists, SlbAccessList};
use crate::api::fields::without;
use crate::api::{AcsRefusal, RefusedCall};

/// The lists of one Service.
pub(super) struct ServiceAccess<'a> {
    pub(super) region: &'a str,
    pub(super) service: &'a LoadBalancer,
    pub(super) cluster_uid: &'a str,
    /// The memo about a list of access that no lookup shows yet, or that no listener may use yet.
    pub(super) memo: &'a AccessMemo,
    /// How long one may take until it is shown.
    pub(super) longest: Duration,
}

impl ServiceAccess<'_> {
    fn tags(&self) -> [(&str, &str); 2] {
        [(CLUSTER_UID, self.cluster_uid), (SERVICE_UID, &self.service.owner.uid)]
    }

    fn is_own(&self, list: &SlbAccessList) -> bool {
        self.tags().iter().all(|(key, value)| list.tags.iter().any(|(own, text)| own == key && text == value))
    }

    /// Those that a list shows, by our tags.
    fn shown(&self) -> Result<Vec<String>, AcsRefusal> {
        let [_, service] = self.tags();
        let found = lists::tagged(self.region, service)?;
        Ok(found.into_iter().filter(|it| self.is_own(it)).map(|it| it.id).collect())
    }

    /// Whether there may be one that no listener tells of.
    pub(super) fn may_be_there(&self) -> bool {
        self.memo.waits().is_some()
    }

    /// The Service's lists: first one that is not shown.
    pub(super) fn all(&self) -> Result<Vec<String>, AcsRefusal> {
        let mut all = self.shown()?;
        if let Some(id) = self.memo.look(&all, clock::now(), self.longest) {
            match lists::find(self.region, &id)?.is_some_and(|it| self.is_own(&it)) {
                true => all.insert(0, id),
                false => self.memo.forget(&id),
            }
        }
        Ok(all)
    }

    /// One of these with exactly these ranges, or a new one. First lets in what is missing.
    pub(super) fn write(&self, all: &[String], ranges: &[String]) -> Result<String, AcsRefusal> {
        let (id, live) = match all.first() {
            Some(id) => (id.clone(), lists::ranges(self.region, id)?),
            None => (self.make()?, Vec::new()),
        };
        lists::change(self.region, &id, "AddAccessControlListEntry", &without(ranges, &live))?;
        lists::change(self.region, &id, "RemoveAccessControlListEntry", &without(&live, ranges))?;
        Ok(id)
    }

    /// Makes one, if its creation was announced and not sent before.
    fn make(&self) -> Result<String, AcsRefusal> {
        let now = clock::now();
        let announced = self.memo.begin(now).map_err(RefusedCall::waits)?;
        let name = format!("k8s-{}", self.service.name);
        match lists::create(self.region, &name, &self.tags())? {
            Creation::Begun(found) | Creation::Made(found) => {
                self.memo.made(&found.id, now);
                Ok(found.id)
            }
            Creation::Busy(why) => {
                self.memo.announce_again(announced, now);
                Err(RefusedCall::waits(why))
            }
            Creation::Taken(why) | Creation::Unclear(why) => {
                self.memo.seek(now);
                Err(RefusedCall::waits(why))
            }
        }
    }

    /// Remembers one that no listener uses yet: they may be refused, and the ranges go.
    pub(super) fn remember(&self, id: &str) {
        self.memo.remember_unused(id);
    }

    /// Lets listeners stop to use these, once the host has kept that they are to go: a listener tells of its list no more then, and until they
    /// are gone each call looks for them.
    pub(super) fn announce_removal(&self, all: &[String]) -> Result<(), AcsRefusal> {
        match all.first() {
            Some(id) if self.memo.remember_unused(id) => self.check(),
            _ => Ok(()),
        }
    }

    /// Deletes those that no listener needs any more. All listeners are written.
    pub(super) fn remove(&self, all: &[String], used: Option<&String>) -> Result<(), AcsRefusal> {
        if let Some(id) = used {
            self.memo.forget_unused(id);
        }
        for id in all.iter().filter(|it| Some(*it) != used) {
            // It may be in use for a moment, and another one that stood in the memo may be gone.
            self.memo.remember_unused(id);
            lists::delete(self.region, id)?;
            self.memo.forget(id);
        }
        Ok(())
    }

    /// Deletes all of them. One that may still be shown is waited for.
    pub(super) fn remove_all(&self) -> Result<(), AcsRefusal> {
        self.remove(&self.all()?, None)?;
        self.check()
    }

    /// Waits for one that is not shown yet: a load balancer that is ready has the id alone for memo.
    pub(super) fn settle(&self) -> Result<(), AcsRefusal> {
        if self.may_be_there() {
            let _ = self.memo.look(&self.shown()?, clock::now(), self.longest);
        }
        self.check()
    }

    fn check(&self) -> Result<(), AcsRefusal> {
        self.memo.waits().map_or(Ok(()), |why| Err(RefusedCall::waits(why)))
    }
}
