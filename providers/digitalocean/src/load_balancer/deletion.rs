//! Taking a load balancer away: by the id that is remembered, by the name that holds the Service's UID, or by what proves whose
//! it is.

use aerostat_sdk::{Deletion, Result, clock, events};

use super::annotations::ID;
use super::memo::Memo;
use super::{AT_ONCE, Call, ownership, status};
use crate::api::load_balancers::{self as api, Change};
use crate::settings::uuid;

impl Call<'_> {
    /// Nothing is remembered of it: what the id annotation names and is proven to be ours, and what has our name.
    pub(super) fn delete_unremembered(&self) -> Result<Deletion> {
        let named = self.annotations.text(ID.name).and_then(uuid).map(|id| api::find(&id)).transpose()?.flatten();
        if let Some(live) = &named
            && ownership::is_proven(self.service, live, &self.settings)?
        {
            let status = status::owned(self.service, &live.listed());
            let because = format_args!("{} is this Service's, and deleted next", live.title());
            return Ok(Deletion::pending(status, AT_ONCE, because));
        }
        if let Some(deletion) = self.delete_named()? {
            return Ok(deletion);
        }
        if let Some(live) = named {
            events::warning(None, "LoadBalancerNotDeleted", &ownership::stays(&live));
        }
        Ok(Deletion::Done)
    }

    /// It was to be created: if it is not there, it may still come.
    pub(super) fn delete_created(&self, memo: &Memo) -> Result<Deletion> {
        if let Some(deletion) = self.delete_named()? {
            return Ok(deletion);
        }
        let Some(left) = memo.remaining(self.settings.create_again_after, clock::now()) else {
            return Ok(Deletion::Done);
        };
        let because = format_args!(
            "load balancer {} may have been created, and may be listed late: it is looked for {} s more",
            self.service.name,
            left.as_secs()
        );
        Ok(Deletion::pending(self.service.status(), left.min(self.settings.poll_interval), because))
    }

    /// Deletes whatever has the name that holds the Service's UID; `None` if nothing has it.
    fn delete_named(&self) -> Result<Option<Deletion>> {
        let mut deletion = None;
        for live in api::list()?.iter().filter(|it| it.name == self.service.name) {
            match self.delete(&live.id)? {
                Deletion::Done => deletion = deletion.or(Some(Deletion::Done)),
                other @ (Deletion::Pending(_) | Deletion::Kept(_)) => deletion = Some(other),
            }
        }
        Ok(deletion)
    }

    pub(super) fn delete(&self, id: &str) -> Result<Deletion> {
        Ok(match api::delete(id)? {
            Change::Done(()) => Deletion::Done,
            Change::Busy(why) => Deletion::pending(self.service.status(), self.settings.poll_interval, why),
        })
    }
}
